"""Bodies that are told apart by `method`, however many methods there are."""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import httpx
import pytest
from fastapi import FastAPI
from pydantic import Field

from app.api import problems
from app.api.schemas.jobs import body_of
from app.contracts.base import Contract, Id
from app.contracts.jobs import JobKind, JobSpec
from app.methods import catalogue as methods
from app.methods.catalogue import METHODS, Method
from tests import patient


class Search(Contract):
    runs: int = Field(ge=1)


class OneSpec(JobSpec):
    kind: ClassVar[JobKind] = JobKind.AUDIT

    method: Literal["one"]
    k: int
    of: Id | None = None
    search: Search | None = None


class TwoSpec(JobSpec):
    kind: ClassVar[JobKind] = JobKind.AUDIT

    method: Literal["two"]
    one: dict[str, list[int]]


class Client:
    """Asks an app in this process."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            async with patient.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.request(method, path, **more)

        return asyncio.run(ask())

    def post(self, body: Any) -> Any:
        return self.request("POST", "/audits", json=body).json()


Serve = Callable[..., Client]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """A route whose body is what audits would be with these methods."""

    def start(**audits: type[JobSpec]) -> Client:
        others = {name: method for name, method in METHODS.items() if method.kind is not JobKind.AUDIT}
        made = others | {name: Method(spec_type, Contract) for name, spec_type in audits.items()}
        monkeypatch.setattr(methods, "METHODS", made)
        app = FastAPI()
        problems.install(app)

        @app.post("/audits")
        async def ask(spec: body_of(JobKind.AUDIT)) -> dict[str, Any]:  # type: ignore[valid-type]
            return {"type": type(spec).__name__}

        return Client(app)

    return start


def refused(client: Client, body: Any) -> list[str]:
    """Pointers of what is wrong."""
    return [error["pointer"] for error in client.post(body)["errors"]]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_document_is_valid_with_any_number_of_methods(serve: Serve, number: int) -> None:
    specs: dict[str, type[JobSpec]] = dict(list({"one": OneSpec, "two": TwoSpec}.items())[:number])
    document = serve(**specs).request("GET", "/openapi.json").json()
    body = document["paths"]["/audits"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    if number < 2:
        assert "oneOf" not in body
    else:
        assert [one["$ref"].rpartition("/")[2] for one in body["oneOf"]] == ["OneSpec", "TwoSpec"]
        assert body["discriminator"]["propertyName"] == "method"
        assert set(body["discriminator"]["mapping"]) == {"one", "two"}


@pytest.mark.parametrize("others", [{}, {"two": TwoSpec}])
def test_pointers_carry_no_tag_of_the_union(serve: Serve, others: dict[str, type[JobSpec]]) -> None:
    client = serve(one=OneSpec, **others)
    assert client.post({"method": "one", "k": 3}) == {"type": "OneSpec"}
    assert refused(client, {"method": "one"}) == ["/k"]
    assert refused(client, {"method": "one", "k": "x"}) == ["/k"]
    assert refused(client, {"method": "one", "k": 1, "surprise": 1}) == ["/surprise"]
    assert refused(client, {"method": "one", "k": 1, "one": 1}) == ["/one"]
    assert refused(client, {"method": "one", "k": 1, "search": {"runs": 0}}) == ["/search/runs"]
    assert refused(client, {"method": "nonsense"}) == ["/method"]
    assert refused(client, {}) == ["/method"]
    assert refused(client, {"method": None}) == ["/method"]
    assert refused(client, {"method": ["one"]}) == ["/method"]


def test_a_field_with_the_name_of_a_method_keeps_its_place(serve: Serve) -> None:
    client = serve(one=OneSpec, two=TwoSpec)
    assert refused(client, {"method": "two", "one": {"a": ["x"]}}) == ["/one/a/0"]
    assert refused(client, {"method": "two", "one": 7}) == ["/one"]


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ('"tags": {"a": "\\ud800"}', "/tags/a"),
        ('"tags": {"\\udfff": "a"}', "/tags"),
        ('"of": "\\udc00"', "/of"),
    ],
)
def test_half_a_surrogate_pair_is_refused(serve: Serve, text: str, pointer: str) -> None:
    body = '{"method": "one", "k": 3, ' + text + "}"
    answer = serve(one=OneSpec).request("POST", "/audits", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert answer.json()["errors"] == [{"pointer": pointer, "detail": "Must be valid Unicode."}]


@pytest.mark.parametrize("methods_of_kind", [method.spec for method in METHODS.values()], ids=list(METHODS))
def test_every_text_of_a_body_has_a_limit(methods_of_kind: type[JobSpec]) -> None:
    """Without one, pydantic lets half a surrogate pair pass, which no database can hold."""

    def unlimited(schema: Any, at: str = "") -> list[str]:
        if isinstance(schema, list):
            return [pointer for index, inner in enumerate(schema) for pointer in unlimited(inner, f"{at}/{index}")]
        if not isinstance(schema, dict):
            return []
        limits = {"maxLength", "minLength", "enum", "const", "pattern"}
        own = [at] if schema.get("type") == "string" and limits.isdisjoint(schema) else []
        return own + [pointer for name, inner in schema.items() for pointer in unlimited(inner, f"{at}/{name}")]

    properties = methods_of_kind.model_json_schema()
    inner = {name: schema for name, schema in properties["properties"].items() if name != "release_id"}
    assert unlimited({"properties": inner, "$defs": properties.get("$defs", {})}) == []
