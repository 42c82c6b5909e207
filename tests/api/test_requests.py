"""Requests that could be read in two ways, or that ask for what is not there, are refused and not guessed at."""

import json
import socket
from typing import Any

import httpx
import pytest

from tests.api.conftest import Api


def send_lines(api: Api, *lines: str) -> tuple[int, dict[str, Any]]:
    """Send these lines as a request; status and body of the answer."""
    host, port = api.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode())
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_of_two_keys_none_is_taken(api: Api) -> None:
    alice, bob = (f"Authorization: Bearer {api.make_key(name)}" for name in ("alice", "bob"))
    for lines in ([alice, bob], [bob, alice], [alice, alice]):
        status, problem = send_lines(api, "GET /v1/jobs HTTP/1.1", "Host: here", *lines)
        assert (status, problem["type"]) == (400, "/problems/bad-request")
        assert "`Authorization` is there 2 times" in problem["detail"]
    assert send_lines(api, "GET /v1/jobs HTTP/1.1", "Host: here", alice)[0] == 200


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("Content-Type", ("text/csv", "application/json")),
        ("Idempotency-Key", ("one", "two")),
        ("Host", ("here", "there")),
    ],
)
def test_what_decides_how_a_request_is_read_stands_once(api: Api, header: str, values: tuple[str, str]) -> None:
    host = [] if header == "Host" else ["Host: here"]
    key = f"Authorization: Bearer {api.make_key()}"
    lines = [f"{header}: {value}" for value in values]
    status, problem = send_lines(api, "POST /v1/datasets HTTP/1.1", *host, key, *lines, "Content-Length: 0")
    assert status == 400
    assert f"`{header}` is there 2 times" in problem["detail"]
    assert problem["instance"] == "/v1/datasets"


def test_a_request_names_its_host(api: Api) -> None:
    status, problem = send_lines(api, "GET /healthz HTTP/1.1")
    assert (status, problem["type"]) == (400, "/problems/bad-request")
    assert "`Host`" in problem["detail"]
    assert send_lines(api, "GET /healthz HTTP/1.0")[0] == 200, "HTTP/1.0 knows no Host"


LISTS = ("/v1/jobs", "/v1/datasets", "/v1/releases")


@pytest.mark.parametrize("path", LISTS)
def test_a_misspelt_filter_of_a_list_is_refused(client: httpx.Client, path: str) -> None:
    answer = client.get(path, params={"tagg": "a:b", "limit": 3, "q": "x"})
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["type"] == "/problems/invalid"
    assert [error["pointer"] for error in problem["errors"]] == ["?tagg", "?q"]
    assert problem["errors"][0]["detail"] == "No such parameter; did you mean `tag`?"
    assert "created_after" in problem["errors"][1]["detail"]


@pytest.mark.parametrize("path", LISTS)
def test_what_the_document_names_is_taken(client: httpx.Client, path: str) -> None:
    values = {
        "limit": "3", "method": "boxes", "kind": "audit", "series_id": "rel_x", "tag": "a:b", "dataset_id": "ds_x",
        "state": {"/v1/datasets": "ready", "/v1/releases": "published"}.get(path, "queued"),
        "created_after": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    operation = client.get("/openapi.json").json()["paths"][path]["get"]
    named = {one["name"] for one in operation["parameters"] if one["in"] == "query"} - {"cursor"}
    answer = client.get(path, params={name: values[name] for name in named})
    assert answer.status_code == 200, answer.text


def test_who_may_not_read_a_list_is_told_that_first(api: Api) -> None:
    with api.client() as nobody:
        assert nobody.get("/v1/jobs", params={"tagg": "a:b"}).status_code == 401
