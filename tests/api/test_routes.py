"""Walks every route there is: each needs a scope and hides what belongs to others. New routes are walked too."""

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic import SecretStr
from sqlalchemy import text

from app.api.openapi import requirement
from app.main import create_app
from app.settings import Settings
from tests import patient
from tests.api.conftest import SECRET, Api

#: Routes that everybody may ask: nothing else is open.
OPEN = {
    "/",
    "/problems/{code}",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/docs/files",
    "/guide",
} | {"/.well-known/jwks.json"}
#: State reads: nothing else is unlimited.
UNLIMITED = {("GET", "/v1/datasets/{dataset_id}"), ("GET", "/v1/jobs/{job_id}"), ("GET", "/v1/jobs/{job_id}/events")}
#: Objects of Alice, by the name of the path parameter that holds their id.
IDS = {"dataset_id": "ds_alice", "job_id": "job_alice", "release_id": "rel_alice", "family_id": "fam_alice"}
#: Bodies and queries that are valid, for routes that want some.
ASYNC = {"Prefer": "respond-async"}
SENT: dict[tuple[str, str], dict[str, Any]] = {
    ("PATCH", "/v1/datasets/{dataset_id}"): {"json": {"tags": {"a": "b"}}},
    ("POST", "/v1/releases/{release_id}/publish"): {"json": {}},
    ("POST", "/v1/families/{family_id}/answer"): {"json": {"other_family_id": "fam_bob", "people": "other"}},
    ("POST", "/v1/releases/{release_id}/withdraw"): {"json": {"reason": "wrong"}},
    ("PATCH", "/v1/releases/{release_id}"): {"json": {"tags": {"a": "b"}}},
    ("GET", "/v1/releases/{release_id}/data"): {"params": {"format": "csv"}},
    ("POST", "/v1/releases/{release_id}/count"): {"json": {"queries": [{"x": [1, 2]}]}, "headers": ASYNC},
    ("POST", "/v1/releases/{release_id}/statistics"): {
        "json": {"statistics": [{"kind": "mean", "of": ["x"]}]},
        "headers": ASYNC,
    },
    ("POST", "/v1/releases/{release_id}/classify"): {
        "json": {"target": "town", "neighbours": 1, "points": [{"x": 1}]},
        "headers": ASYNC,
    },
}
BODY = b"x\n1\n"
SPEC = '{"quasi_identifiers": ["x"], "keep": ["town"]}'


def routes() -> list[tuple[str, str, APIRoute | None]]:
    app = create_app(Settings(server_secret=SecretStr(SECRET)))
    return [
        (method, str(context.path), context.original_route if isinstance(context.original_route, APIRoute) else None)
        for context in iter_route_contexts(app.routes)
        for method in sorted((context.methods or set()) - {"HEAD"})
    ] + [("MOUNT", str(c.path), None) for c in iter_route_contexts(app.routes) if not c.methods]


ROUTES = routes()
OF_ONE = [(method, path) for method, path, _ in ROUTES if "{" in path and path not in OPEN]


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in ROUTES])
def test_every_route_needs_a_scope_or_is_on_the_short_list(method: str, path: str) -> None:
    route = next(route for m, p, route in ROUTES if (m, p) == (method, path))
    required = None if route is None else requirement(route.dependant)
    if path in OPEN:
        assert required is None
    else:
        assert required is not None, "a route needs `require(...)`"
        assert required.scopes
        assert required.limited == ((method, path) not in UNLIMITED)
        if path == "/v1/log" or (method, path) in {("DELETE", "/v1/families/{family_id}"), ("PATCH", "/v1/owner")}:
            assert required.scopes == {"admin"}
            return
        words = {"GET": "read", "HEAD": "read"}.get(method, "write")
        assert all(scope.endswith(f":{words}") or method == "POST" for scope in required.scopes)


def test_the_short_list_names_only_what_exists() -> None:
    assert {path for _, path, route in ROUTES} >= OPEN
    assert {(method, path) for method, path, _ in ROUTES} >= UNLIMITED | set(SENT)


def test_every_parameter_that_holds_an_id_is_known() -> None:
    assert {name for _, path in OF_ONE for name in re.findall(r"{(\w+)", path)} <= IDS.keys()
    assert len(OF_ONE) >= 12


@pytest.fixture
def others(api: Api) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Clients of Alice, who has one of everything, and of Bob, who has nothing."""
    digest = hashlib.sha256(BODY).hexdigest()
    with api.app.state.resources.storage.writer(f"releases/rel_alice/{digest}.csv") as writer:
        writer.write(BODY)
    with api.database.unit_of_work() as unit:
        for statement in STATEMENTS:
            unit.connection.execute(text(statement), {"sha": digest, "bytes": len(BODY), "spec": SPEC})
    with api.client(api.make_key("alice")) as alice, api.client(api.make_key("bob")) as bob:
        yield alice, bob


STATEMENTS = (
    "INSERT INTO family (id, owner) VALUES ('fam_alice', 'alice')",
    (
        "INSERT INTO dataset (id, owner, name, state, options, bytes, sha256, rows, columns)"
        " VALUES ('ds_alice', 'alice', 'planted', 'ready', '{\"format\": \"csv\"}', 4, :sha, 1, '[]')"
    ),
    (
        "INSERT INTO job (id, owner, kind, method, queue, state, spec, result, finished_at, release_id)"
        " VALUES ('job_alice', 'alice', 'anonymization', 'boxes', 'batch', 'succeeded', CAST(:spec AS jsonb), '{}',"
        " now(), 'rel_alice')"
    ),
    "INSERT INTO job_input (job_id, role, position, dataset_id) VALUES ('job_alice', 'dataset_id', 0, 'ds_alice')",
    "INSERT INTO job_progress (job_id, fraction, stage) VALUES ('job_alice', 1, 'done')",
    "INSERT INTO job_event (job_id, state, attempt) VALUES ('job_alice', 'succeeded', 1)",
    "INSERT INTO job_result (job_id, body, bytes, sha256) VALUES ('job_alice', '{}', 2, :sha)",
    (
        "INSERT INTO release (id, owner, job_id, dataset_id, method, rows, columns, flags, statistics)"
        " VALUES ('rel_alice', 'alice', 'job_alice', 'ds_alice', 'boxes', 1, '[]', '{}', '[]')"
    ),
    (
        "INSERT INTO release_file (release_id, format, key, sha256, bytes)"
        " VALUES ('rel_alice', 'csv', 'releases/rel_alice/' || :sha || '.csv', :sha, :bytes)"
    ),
    (
        "INSERT INTO certificate (release_id, owner, position, sha256, envelope, issued_at, timestamp)"
        " VALUES ('rel_alice', 'alice', 1, :sha, '{}', now(), 'planted')"
    ),
    (
        "INSERT INTO provenance (job_id, owner, requested_at, finished_at, seconds, spec, versions, attempts, public,"
        " restricted) VALUES ('job_alice', 'alice', now(), now(), 1, '{}', '{}', '[]', '{}', '{}')"
    ),
)


@pytest.mark.parametrize(("method", "path"), OF_ONE)
def test_an_object_of_another_owner_is_404(others: tuple[httpx.Client, httpx.Client], method: str, path: str) -> None:
    alice, bob = others
    url = path.format(**IDS)
    sent = SENT.get((method, path), {})
    refused = bob.request(method, url, **sent)
    assert refused.status_code == 404, refused.text
    if method != "HEAD":
        assert refused.json()["type"] == "/problems/not-found"
        absent = bob.request(method, path.format(**{name: f"{value}_absent" for name, value in IDS.items()}), **sent)
        assert {**absent.json(), "instance": "", "detail": ""} == {**refused.json(), "instance": "", "detail": ""}
        assert absent.json()["detail"].replace("_absent", "") == refused.json()["detail"]
    assert "planted" not in refused.text
    own = alice.request(method, url, **({"headers": {"Prefer": "respond-async"}} if method == "GET" else {}) | sent)
    assert own.status_code < 500
    assert own.status_code != 404, "Alice's own object is there: the test can fail"


def test_lists_show_nothing_of_others(others: tuple[httpx.Client, httpx.Client]) -> None:
    alice, bob = others
    lists = {path for method, path, _ in ROUTES if method == "GET" and path.startswith("/v1/") and "{" not in path}
    lists.remove("/v1/revocations")  # of digests only, of all owners
    lists -= {"/v1/releases/latest", "/v1/owner", "/v1/usage"}  # one release; what the owner has decided, and uses
    lists.remove("/v1/log")
    assert [each["action"] for each in bob.get("/v1/log").json()["items"]] == ["key_created"], "of his own key"
    newest = {"series_id": IDS["release_id"]}
    assert [one.get("/v1/releases/latest", params=newest).status_code for one in (alice, bob)] == [303, 404]
    assert len(lists) >= 3
    for path in lists:
        assert bob.get(path).json() == {"items": [], "next_cursor": None}
        assert len(alice.get(path).json()["items"]) == (0 if path == "/v1/log" else 1)


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in ROUTES if path.startswith("/v1/")])
def test_without_a_key_every_route_is_401(url_of_one: str, method: str, path: str) -> None:
    answer = patient.request(method, url_of_one + path.format(**IDS))
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.fixture(scope="module")
def url_of_one(databases: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One API for many requests that reach nothing."""
    from tests.api.conftest import serving

    url = databases.fresh()
    app: FastAPI = create_app(
        Settings(database_url=url, server_secret=SecretStr(SECRET), storage_url=f"file:{tmp_path_factory.mktemp('s')}")
    )
    with serving(app) as address:
        yield address
    databases.drop(url)


def test_methods_that_are_not_there_are_405_with_all_that_are(api: Api) -> None:
    known: dict[str, set[str]] = {}
    for method, path, _ in ROUTES:
        known.setdefault(path, set()).add(method)
    walk: Callable[[str], str] = lambda path: path.format(**IDS, code="conflict")  # noqa: E731
    with api.client(api.make_key()) as client:
        for path, methods in known.items():
            methods.discard("MOUNT")
            if not methods:
                continue
            answer = client.request("PUT", walk(path))
            assert answer.status_code == 405, path
            assert methods <= set(answer.headers["allow"].split(", ")), path
            assert answer.json()["type"] == "/problems/method-not-allowed"


def test_an_id_with_a_nul_is_a_problem_and_no_crash(api: Api) -> None:
    with api.client(api.make_key()) as client:
        for method, path in OF_ONE:
            answer = client.request(method, re.sub(r"{\w+}", "a%00b", path))
            assert answer.status_code in {404, 422}, path
            assert answer.headers["content-type"] == "application/problem+json"


def test_routes_are_complete_before_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that completed them would do it beside other requests' threads."""
    app = create_app(Settings(server_secret=SecretStr(SECRET)))
    looked: list[Any] = []
    monkeypatch.setattr("fastapi.dependencies.utils.analyze_param", lambda **given: looked.append(given))
    scope = {"type": "http", "method": "GET", "path": "/v1/nowhere", "headers": [], "root_path": ""}
    for route in app.routes:
        route.matches(scope)
    assert looked == []
