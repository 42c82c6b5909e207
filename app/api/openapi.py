"""The OpenAPI document: FastAPI's, completed by security, problems and answers as examples for every route.

The same document is served at `/openapi.json` and kept under `openapi/`; nothing in it depends on settings.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from app.api.deps import Require
from app.api.open_values import with_words
from app.api.portable import portable
from app.api.problems import described
from app.api.schema_names import name_bodies, renamed, with_open_answers
from app.api.surface import include_routes
from app.errors import PHRASES

TITLE: Final = "Surebox"
VERSION: Final = version("surebox")
_DESCRIPTION: Final = """\
Anonymizes microdata and audits anonymized tables. With a signing key, every published release carries a signed
certificate of its guarantees.

Upload a dataset, create an anonymization or an audit, wait for its job, then read the release. Errors are problem
details (RFC 9457): `errors` names invalid fields by JSON pointers into the body that you sent, and parameters as
`?name` (query), `header:name` or `path:name`; `/problems/{code}` explains each kind. You can safely repeat a request
that creates something with an `Idempotency-Key`. Artifacts never change: their `ETag` is their SHA-256.
"""
_TAGS: Final = (
    ("datasets", "Upload microdata, and read its profile."),
    ("anonymizations", "Create jobs that anonymize a dataset and make a release."),
    ("audits", "Create jobs that attack or measure a dataset or a release."),
    ("jobs", "Follow jobs: state, events, results, provenance."),
    ("releases", "Publish, read and withdraw releases, and download their files."),
    ("queries", "Query a release: counts, statistics, classes."),
    ("certificates", "Verify releases: certificates, timestamps, revocations, keys."),
    ("administration", "Manage families of data, settings of owners, the log, quotas and health."),
)
_BEARER: Final[Mapping[str, Any]] = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key (`sb_…`). It belongs to an owner and carries scopes; `admin` is all of them.",
}
_COMMON: Final[Mapping[int, str]] = {
    401: "No valid API key.",
    403: "The key lacks a scope.",
    503: "A part of the service cannot be reached; `Retry-After` gives the time to wait.",
}
#: Sentences for statuses whose routes have none of their own.
_STATUSES: Final[Mapping[int, str]] = {
    200: "The request succeeded.",
    201: "The object was created.",
    400: "The body or a header cannot be read.",
    404: "There is no such object of this owner.",
    406: "No format that exists is acceptable.",
    408: "The body did not arrive in time.",
    409: "The state of the object does not allow this; `detail` explains it.",
    410: "The object was deleted.",
    413: "The body exceeds a limit of the service.",
    415: "The content type is not supported.",
    416: "The range begins after the end of the file.",
    422: "The request is not valid; `errors` names the fields.",
    429: "Too many requests or unfinished jobs of this owner; `Retry-After` gives the time to wait.",
    507: "The service has no room for files.",
}
#: Statuses whose answers say when to ask again, and how.
_LATER: Final = ("429", "503")
_RETRY_AFTER: Final[Mapping[str, Any]] = {
    "schema": {"type": "integer", "format": "int64", "minimum": 1},
    "description": "Seconds to wait before you ask again; absent where waiting alone changes nothing.",
}
#: Header fields of draft-ietf-httpapi-ratelimit-headers-11, by the names that the document has for them.
_RATES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "RateLimit-Policy": (
        "RateLimitPolicy",
        {
            "schema": {"type": "string", "example": '"owner";q=6000;w=60'},
            "description": "Requests (`q`) that an owner, or an `address` without a key, has in a window (`w`, s).",
        },
    ),
    "RateLimit": (
        "RateLimit",
        {
            "schema": {"type": "string", "example": '"owner";r=5999;t=37'},
            "description": "Requests that are left (`r`) for the next seconds (`t`); keys of an owner share them.",
        },
    ),
}


class DescribedApi(FastAPI):
    """An app whose document is completed for every route."""

    def openapi(self) -> dict[str, Any]:
        """The document, made once."""
        if self.openapi_schema is None:
            self.openapi_schema = _complete(self)
        return self.openapi_schema


def document() -> dict[str, Any]:
    """The OpenAPI document of the service, without starting it."""
    app = DescribedApi(title=TITLE, version=VERSION)
    include_routes(app)
    return app.openapi()


def requirement(dependant: Dependant) -> Require | None:
    """The `require(...)` a route depends on, however deep."""
    for below in dependant.dependencies:
        required = below.call if isinstance(below.call, Require) else requirement(below)
        if required is not None:
            return required
    return None


def operations(app: FastAPI) -> Iterator[tuple[str, str, APIRoute]]:
    """Path template, method and route of everything in the document."""
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in sorted(route.methods or ()):
                yield str(context.path), method, route


def _complete(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(
        title=TITLE,
        version=VERSION,
        summary="Anonymization of microdata with guarantees.",
        description=_DESCRIPTION,
        routes=app.routes,
        tags=[{"name": name, "description": description} for name, description in _TAGS],
        servers=[{"url": "/", "description": "This server."}],
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    made = renamed(made)
    components = made.setdefault("components", {})
    schemas = with_words(components["schemas"] | name_bodies(made["paths"]))
    components["schemas"] = dict(sorted(schemas.items()))
    components["securitySchemes"] = {"bearer": dict(_BEARER)}
    components["headers"] = {"RetryAfter": dict(_RETRY_AFTER)} | {name: dict(field) for name, field in _RATES.values()}
    made["paths"] = dict(sorted(made["paths"].items(), key=_reading_order))
    for path, method, route in operations(app):
        _describe(made["paths"][path][method.lower()], requirement(route.dependant))
        _show(made["paths"][path][method.lower()])
    made = portable(with_open_answers(made))
    made["components"]["schemas"] = dict(sorted(made["components"]["schemas"].items()))
    return made


def _reading_order(entry: tuple[str, dict[str, Any]]) -> int:
    """Paths are in the order of their tags, whatever the order in which routes are tried."""
    names = [name for name, _ in _TAGS]
    return min(names.index(operation["tags"][0]) for operation in entry[1].values())


def _describe(operation: dict[str, Any], required: Require | None) -> None:
    """Add security and the problems that any such route may answer."""
    responses: dict[str, Any] = operation["responses"]
    common = {"default": described("Any other problem.")}
    if required is None:
        operation["security"] = []
        common["400"] = described("The head of the request cannot be read.")
    else:
        operation["security"] = [{"bearer": sorted(scopes)} for scopes in required.ways]
        common |= {str(status): described(text) for status, text in _COMMON.items()}
        if required.limited:
            common["429"] = described("Too many requests of this owner; `Retry-After` gives the time to wait.")
    body = operation.get("requestBody")
    parameters = operation.get("parameters", ())
    if body or parameters:
        if _is_fastapis(responses.get("422")):
            del responses["422"]
        common["422"] = described("The request is not valid; `errors` names the fields.")
    if any(parameter["in"] == "path" for parameter in parameters):
        common["404"] = described("There is no such object of this owner.")
    if any(parameter["name"] == "release_id" for parameter in parameters):
        common["410"] = described("The release was deleted.")
    if body:
        common |= {
            "400": described("The body cannot be understood."),
            "413": described("The body is too large."),
            "415": described("The content type is not supported."),
        }
    merged = {**common, **responses}
    counted = required is not None and (required.limited or required.public)
    operation["responses"] = {
        status: _with_headers(_worded(status, merged[status]), _names(status, counted=counted))
        for status in sorted(merged)
    }


def _show(operation: dict[str, Any]) -> None:
    """Add the answers that were recorded (docs/example_answers.py) to the contents that they are of."""
    for status, contents in _answers().get(str(operation["operationId"]), {}).items():
        declared = operation["responses"].get(status, {}).get("content", {})
        for media, answer in contents.items():
            if media not in declared:
                continue
            if list(answer) == [""]:
                declared[media]["example"] = answer[""]
            else:
                declared[media]["examples"] = {name or "one": {"value": value} for name, value in answer.items()}


@cache
def _answers() -> dict[str, dict[str, dict[str, Any]]]:
    recorded = files("app.api").joinpath("examples.json").read_text(encoding="utf-8")
    return dict(json.loads(recorded))


def _worded(status: str, response: dict[str, Any]) -> dict[str, Any]:
    """A response whose description is a sentence, where a route gives none of its own."""
    if response["description"] in {"Successful Response", *PHRASES.values()}:
        return {**response, "description": _STATUSES[int(status)]}
    return response


def _names(status: str, *, counted: bool) -> dict[str, str]:
    """Headers of answers with a status, and their names in the document."""
    later = {"Retry-After": "RetryAfter"} if status in _LATER else {}
    rates = {header: name for header, (name, _) in _RATES.items()}
    return later | (rates if counted and (status < "400" or status == "429") else {})


def _with_headers(response: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A response that declares headers by their names in the document."""
    references = {header: {"$ref": f"#/components/headers/{name}"} for header, name in names.items()}
    return {**response, "headers": {**response.get("headers", {}), **references}} if references else response


def _is_fastapis(response: Mapping[str, Any] | None) -> bool:
    content = (response or {}).get("content", {})
    reference = content.get("application/json", {}).get("schema", {}).get("$ref", "")
    return str(reference).endswith("/HTTPValidationError")
