"""Every answer that is not a success is a problem document, and quotes nothing that was sent."""

import json
import re
import socket
from typing import Annotated, Any, Literal, get_args

import httpx
import pytest
from fastapi import APIRouter, Body, FastAPI, Query
from pydantic import Field, ValidationError
from pydantic_core import core_schema

from app.api.invalid import field_errors, parts_of
from app.api.kinds import CAUSE_AND_REMEDY
from app.contracts.base import Contract
from app.errors import StorageFullError, SureboxError
from tests import patient

PLANTED = "planted-value-4711"


class Cat(Contract):
    kind: Literal["cat"]
    k: int = Field(ge=1)
    lives: dict[str, tuple[int, int]] = Field(default_factory=dict)


class Dog(Contract):
    kind: Literal["dog"]
    of: list[Cat] = Field(default_factory=list)


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


def add_routes(app: FastAPI) -> None:
    router = APIRouter(prefix="/test")

    @router.post("/pets")
    def pets(pet: Annotated[Pet, Body()], size: Annotated[int, Query(ge=1)] = 1) -> None: ...

    @router.get("/crash")
    def crash() -> None:
        raise RuntimeError(PLANTED)

    @router.get("/full")
    def full() -> None:
        raise StorageFullError("the disk of the storage is full: nothing was stored")

    @router.put("/pets")
    def replace() -> None: ...

    app.include_router(router)


@pytest.fixture
def url(start: Any) -> Any:
    with start(prepare=add_routes) as api:
        yield api.url


def problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["status"] == status
    assert body["type"] == f"/problems/{code}"
    assert body["title"]
    assert body["detail"]
    assert body.pop("instance") == response.request.url.path
    assert PLANTED not in str(body)
    return body


def test_unknown_paths_methods_and_crashes_are_problems(url: str) -> None:
    problem(patient.get(f"{url}/nope"), 404, "not-found")
    problem(patient.get(f"{url}/test/pets/"), 404, "not-found")
    wrong = patient.get(f"{url}/test/pets")
    problem(wrong, 405, "method-not-allowed")
    assert wrong.headers["allow"] == "POST, PUT"
    problem(patient.get(f"{url}/test/full"), 507, "storage-full")
    kind = patient.get(url + patient.get(f"{url}/test/full").json()["type"])
    expected = {"type": "/problems/storage-full", "title": "The storage is full", "status": 507}
    assert expected.items() <= kind.json().items()
    problem(patient.get(f"{url}/problems/{PLANTED}"), 404, "not-found")
    crashed = problem(patient.get(f"{url}/test/crash"), 500, "internal-error")
    assert "Traceback" not in str(crashed)


def test_a_crash_logs_where_and_not_what(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    patient.get(f"{url}/test/crash")
    logged = capsys.readouterr()
    assert "RuntimeError" in logged.out + logged.err
    assert "in crash" in logged.out + logged.err or " crash" in logged.out + logged.err
    assert PLANTED not in logged.out + logged.err


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"kind": "cat", "k": 0}, "/k"),
        ({"kind": "cat"}, "/k"),
        ({"kind": "cat", "k": PLANTED}, "/k"),
        ({"kind": "cat", "k": 1, "more": PLANTED}, "/more"),
        ({"kind": "cat", "k": 1, "cat": PLANTED}, "/cat"),
        ({"kind": "cat", "k": 1, "lives": {"a/b~c": [1, PLANTED]}}, "/lives/a~1b~0c/1"),
        ({"kind": "dog", "of": [{"kind": "cat", "k": 1}, {"kind": "cat", "k": 0}]}, "/of/1/k"),
        ({"kind": PLANTED}, "/kind"),
        ({"kind": ["cat"], "more": PLANTED}, "/kind"),
        ({}, "/kind"),
        ([PLANTED], ""),
    ],
)
def test_pointers_lead_into_the_body_as_sent(url: str, body: Any, pointer: str) -> None:
    errors = problem(patient.post(f"{url}/test/pets", json=body), 422, "invalid")["errors"]
    assert [error["pointer"] for error in errors] == [pointer]


@pytest.mark.parametrize(
    ("body", "pointer", "detail"),
    [
        ({"kind": "cat", "k": 1, "live": {}}, "/live", "No such field; did you mean `lives`?"),
        ({"kind": "cat", "k": 1, PLANTED: 1}, f"/{PLANTED}", "No such field; there are kind, k, lives."),
        ({"kind": "dog", "of": [{"kind": "cat", "k": 1, "k_": 2}]}, "/of/0/k_", "No such field; did you mean `k`?"),
        ({"kind": "dog", "lives": {}}, "/lives", "No such field; there are kind, of."),
    ],
)
def test_a_field_that_is_not_there_is_answered_with_those_that_are(
    url: str, body: Any, pointer: str, detail: str
) -> None:
    errors = patient.post(f"{url}/test/pets", json=body).json()["errors"]
    assert errors == [{"pointer": pointer, "detail": detail}]


def test_a_parameter_is_named_with_a_question_mark(url: str) -> None:
    sent = patient.post(f"{url}/test/pets", params={"size": PLANTED}, json={"kind": "cat", "k": 1})
    assert [error["pointer"] for error in problem(sent, 422, "invalid")["errors"]] == ["?size"]


def test_a_body_that_is_not_json_is_told_apart(url: str) -> None:
    headers = {"content-type": "application/json"}
    broken = patient.post(f"{url}/test/pets", content=b'{"kind": ' + PLANTED.encode(), headers=headers)
    problem(broken, 400, "bad-request")
    problem(patient.post(f"{url}/test/pets", content=b"\xff\xfe{}", headers=headers), 400, "bad-request")
    problem(patient.post(f"{url}/test/pets", content=b"[" * 100_000, headers=headers), 400, "bad-request")
    other = patient.post(f"{url}/test/pets", content=PLANTED, headers={"content-type": "text/plain"})
    problem(other, 415, "unsupported-media-type")
    absent = problem(patient.post(f"{url}/test/pets", headers=headers), 422, "invalid")
    assert absent["errors"] == [{"pointer": "", "detail": "This field is required."}]


def test_a_large_json_body_is_refused_with_and_without_a_declared_length(start: Any) -> None:
    with start(prepare=add_routes, max_json_bytes=1_000) as api:
        headers = {"content-type": "application/json"}
        declared = patient.post(f"{api.url}/test/pets", content=b" " * 1_001, headers=headers)
        problem(declared, 413, "too-large")
        chunked = patient.post(f"{api.url}/test/pets", content=iter([b" " * 600] * 2), headers=headers)
        problem(chunked, 413, "too-large")
        fits = patient.post(f"{api.url}/test/pets", content=b" " * 1_000, headers=headers)
        problem(fits, 400, "bad-request")


def test_a_request_id_is_taken_if_sane_and_always_returned(url: str) -> None:
    assert patient.get(f"{url}/healthz", headers={"x-request-id": "abc-1"}).headers["x-request-id"] == "abc-1"
    made = patient.get(f"{url}/healthz", headers={"x-request-id": 'no "quotes"'}).headers["x-request-id"]
    assert made
    assert '"' not in made
    answer = patient.get(f"{url}/nope")
    assert answer.headers["x-request-id"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "'unsafe" not in patient.get(f"{url}/docs").headers["content-security-policy"]


def test_a_broken_request_line_does_not_break_the_server(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as raw:
        raw.sendall(b"NOT HTTP AT ALL\r\n\r\n")
        head, _, body = raw.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head
    assert json.loads(body)["type"] == "/problems/bad-request"
    assert patient.get(f"{url}/healthz").json() == {"status": "ok"}


def test_pointers_prefer_the_reading_that_keeps_most() -> None:
    assert parts_of(["cat", "cat", "k"], body={"cat": {"k": 0}}) == ("cat", "k")
    assert parts_of(["cat", "k"], body={"k": 1}, missing=False) == ("k",)
    assert parts_of(["cat", "k"], body={"cat": 1}, missing=True) == ("k",)
    assert parts_of(["cat", "lives", "a", 1], body={"lives": {"a": [9]}}, missing=True) == ("lives", "a", 1)
    assert parts_of([0, "function-after[check()]", "x"], body=[{"x": 1}]) == (0, "x")


def test_messages_of_our_validators_are_shown_and_others_quote_nothing() -> None:
    ours = {
        "type": "value_error",
        "loc": ("body", "k"),
        "msg": "Value error, k is odd",
        "ctx": {"error": ValueError("k is odd")},
    }
    theirs = {"type": "uuid_parsing", "loc": ("query", "id"), "msg": f"found `{PLANTED}`", "ctx": {"error": PLANTED}}
    errors = field_errors([ours, ours, theirs], body={"k": 3})
    assert [(error.pointer, error.detail) for error in errors] == [("/k", "k is odd"), ("?id", "must be a UUID")]


class Item(Contract):
    size: int


class Items(Contract):
    items: tuple[Item, ...] = Field(min_length=1)


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"items": [{"size": "x"}]}, ["/items/0/size"]),
        ({"items": []}, ["/items"]),
        ({"items": [{}]}, ["/items/0/size"]),
    ],
)
def test_a_list_of_wrong_elements_is_not_called_too_short_as_well(body: dict[str, Any], pointers: list[str]) -> None:
    with pytest.raises(ValidationError) as raised:
        Items.model_validate(body)
    errors = [{**error, "loc": ("body", *error["loc"])} for error in raised.value.errors()]
    assert [error.pointer for error in field_errors(errors, body=body)] == pointers


class Counted(dict[str, Any]):
    """An error that counts how often it is looked at."""

    looks = 0

    def __getitem__(self, key: str) -> Any:
        Counted.looks += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("count", [10, 1000])
def test_every_error_is_looked_at_a_few_times_however_many_there_are(count: int) -> None:
    body = {"items": [{"size": "x"}] * count}
    with pytest.raises(ValidationError) as raised:
        Items.model_validate(body)
    errors = [Counted({**error, "loc": ("body", *error["loc"])}) for error in raised.value.errors()]
    Counted.looks = 0
    assert len(field_errors(errors, body=body)) == count
    assert Counted.looks < 20 * count


class Several(Contract):
    scale: Annotated[float, Field(ge=0)] | dict[str, Annotated[float, Field(ge=0)]] = 0.0
    mask: Literal["all"] | tuple[Item, ...] = "all"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"scale": -1}, [("/scale", "must be at least 0")]),
        ({"scale": {"a": -1}}, [("/scale/a", "must be at least 0")]),
        ({"scale": [1]}, [("/scale", "must be a number or an object")]),
        ({"mask": "none"}, [("/mask", "must be 'all' or an array")]),
        ({"mask": [{"size": None}]}, [("/mask/0/size", "must be a whole number")]),
        ({"scale": None, "mask": 1}, [("/scale", "must be a number or an object"),
                                      ("/mask", "must be 'all' or an array")]),
    ],
)  # fmt: skip
def test_a_value_that_can_be_written_in_several_ways_is_refused_once(
    body: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    with pytest.raises(ValidationError) as raised:
        Several.model_validate(body)
    errors = [{**error, "loc": ("body", *error["loc"])} for error in raised.value.errors()]
    assert [(error.pointer, error.detail) for error in field_errors(errors, body=body)] == expected


@pytest.mark.parametrize(
    ("path", "body", "where", "said"),
    [
        ("anonymizations", {"method": "boxs"}, "/method", "did you mean 'boxes'?"),
        ("anonymizations",
         {"method": "boxes", "dataset_id": "ds_1", "quasi_identifiers": [], "k": 5}, "/quasi_identifiers",
         "Must have at least 1 element"),
        ("anonymizations", {"method": "boxes", "dataset_id": "ds_1", "quasi_identifiers": ["a"], "k": "five"}, "/k",
         "Must be a whole number"),
        ("anonymizations",
         {"method": "boxes", "dataset_id": "ds_1", "quasi_identifiers": ["a"], "k": 5, "quasi_identifers": 1},
         "/quasi_identifers", "did you mean `quasi_identifiers`?"),
        ("anonymizations",
         {"method": "boxes", "dataset_id": "ds_1", "quasi_identifiers": ["a"], "k": 5,
          "statistics": [{"kind": "varience", "of": ["a"]}]}, "/statistics/0/kind", "did you mean 'variance'?"),
        ("audits", {"method": "table", "dataset_id": "ds_1", "quasi_identifiers": ["a"], "threshold": 2}, "/threshold",
         "Must be less than 1"),
        ("audits", {"method": "table", "dataset_id": "ds_1", "quasi_identifiers": "a"}, "/quasi_identifiers",
         "Must be an array"),
        ("audits", {"method": "table", "dataset_id": "ds_1", "quasi_identifiers": [7]}, "/quasi_identifiers/0",
         "Must be text"),
        ("audits", {"method": "table", "dataset_id": 7, "quasi_identifiers": ["a"]}, "/dataset_id", "Must be text"),
    ],
)  # fmt: skip
def test_no_sentence_is_pydantics_and_what_was_meant_is_named(
    client: httpx.Client, path: str, body: dict[str, Any], where: str, said: str
) -> None:
    answer = client.post(f"/v1/{path}", json=body)
    assert answer.status_code == 422
    details = {one["pointer"]: one["detail"] for one in answer.json()["errors"]}
    assert said in details[where]
    assert not re.search("Input|should be|should have|Tuple|Field required|valid (string|integer)", answer.text)


def test_every_kind_of_error_of_pydantics_has_words_of_ours() -> None:
    """Whatever pydantic tells by: a sentence of ours, which quotes nothing that was sent."""
    examples = {"enum": {"expected": "'a' or 'b'"}, "literal_error": {"expected": "'a'"}}
    for kind in get_args(core_schema.ErrorType):
        context = dict.fromkeys(("ge", "gt", "le", "lt", "min_length", "max_length", "multiple_of"), 3)
        context |= {"pattern": "^a$"} | examples.get(kind, {})
        if kind in {"value_error", "assertion_error", "union_tag_invalid", "union_tag_not_found"}:
            continue  # these are sentences of ours already
        error = {"type": kind, "loc": ("body", "x"), "msg": "PLANTED", "input": "PLANTED", "ctx": context}
        (failure,) = field_errors([error], body={"x": "PLANTED"})
        assert "PLANTED" not in failure.detail or kind == "extra_forbidden", kind
        assert failure.detail


@pytest.mark.parametrize(
    ("accept", "page"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("text/*", True),
        ("application/json", False),
        ("*/*", False),
        ("text/html;q=0.5, application/json", False),
        (None, False),
    ],
)
def test_a_kind_of_problem_is_a_page_for_who_accepts_that_more(
    client: httpx.Client, accept: str | None, page: bool
) -> None:
    del client.headers["accept"]
    answer = client.get("/problems/forbidden", headers={} if accept is None else {"Accept": accept})
    kind = answer.headers["content-type"].partition(";")[0]
    assert (kind, answer.headers["vary"]) == ("text/html" if page else "application/json", "Accept")
    cause, remedy = CAUSE_AND_REMEDY["forbidden"]
    if page:
        assert f"<p>{cause}</p>" in answer.text
        assert remedy.replace("`detail`", "<code>detail</code>") in answer.text
    else:
        assert (answer.json()["cause"], answer.json()["remedy"]) == (cause, remedy)


def test_pages_of_problems_show_code_as_code_and_nothing_as_html(client: httpx.Client) -> None:
    for code in CAUSE_AND_REMEDY:
        page = client.get(f"/problems/{code}", headers={"Accept": "text/html"})
        body = page.text.partition("<body>")[2]
        assert "`" not in body
        assert set(re.findall(r"</?(\w+)", body)) <= {"h1", "h2", "p", "code", "body", "html"}, code
    assert (
        "<code>Authorization: Bearer sb_...</code>"
        in client.get("/problems/unauthorized", headers={"Accept": "text/html"}).text
    )


def test_every_kind_of_problem_has_a_cause_and_a_remedy(client: httpx.Client) -> None:
    kinds: list[type[SureboxError]] = [SureboxError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
        explained = client.get(f"/problems/{kind.code}").json()
        assert explained["cause"].endswith(".")
        assert explained["remedy"]
    assert "`surebox publishing confirm`" in client.get("/problems/publishing-held").json()["remedy"]
    assert set(CAUSE_AND_REMEDY) == {kind.code for kind in kinds}
