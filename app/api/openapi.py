"""The OpenAPI document: what FastAPI finds out, and what holds for every route: security and problems.

The same document is served at `/openapi.json` and kept under `openapi/`; nothing in it depends on settings.
"""

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from app.api.deps import Require
from app.api.problems import described
from app.api.schema_names import name_bodies, renamed, with_open_answers
from app.api.surface import include_routes

TITLE: Final = "Surebox"
VERSION: Final = version("surebox")
_DESCRIPTION: Final = """\
Anonymizes microdata and audits anonymization; every release carries a certificate of what it guarantees.

Upload a dataset, ask for an anonymization or an audit, wait for the job, take the release. Errors are problem details
(RFC 9457); fields that are not valid are named in `errors` by JSON pointers into the body as it was sent, parameters as
`?name` (query), `header:name` or `path:name`. A request that creates something can be repeated safely with an
`Idempotency-Key`. Artifacts never change: their `ETag` is their SHA-256.
"""
_TAGS: Final = (
    ("datasets", "Microdata to work on."),
    ("anonymizations", "Jobs that anonymize a dataset and make a release."),
    ("audits", "Jobs that attack or measure a dataset or a release."),
    ("jobs", "Following jobs: state, events, results, provenance."),
    ("releases", "What jobs made: files, publishing, readers."),
    ("queries", "Questions to a release: counts, statistics, classes."),
    ("certificates", "What every published release guarantees, signed."),
    ("administration", "Families of data, settings of owners, the log, and what operators need."),
)
_BEARER: Final[Mapping[str, Any]] = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key (`sb_…`). It belongs to an owner and carries scopes; `admin` is all of them.",
}
_COMMON: Final[Mapping[int, str]] = {
    401: "No valid API key.",
    403: "The key lacks a scope.",
    503: "A part of the service cannot be reached; `Retry-After` says when to try again.",
}


class DescribedApi(FastAPI):
    """An app whose document is completed by what holds for every route."""

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
    components["schemas"] = dict(sorted((components["schemas"] | name_bodies(made["paths"])).items()))
    components["securitySchemes"] = {"bearer": dict(_BEARER)}
    made["paths"] = dict(sorted(made["paths"].items(), key=_reading_order))
    for path, method, route in operations(app):
        _describe(made["paths"][path][method.lower()], requirement(route.dependant))
    made = with_open_answers(made)
    made["components"]["schemas"] = dict(sorted(made["components"]["schemas"].items()))
    return made


def _reading_order(entry: tuple[str, dict[str, Any]]) -> int:
    """Paths stand in the order of their tags, whatever the order in which routes are tried."""
    names = [name for name, _ in _TAGS]
    return min(names.index(operation["tags"][0]) for operation in entry[1].values())


def _describe(operation: dict[str, Any], required: Require | None) -> None:
    """Add security and the problems that any such route may answer."""
    responses: dict[str, Any] = operation["responses"]
    common = {"default": described("Any other problem.")}
    if required is None:
        operation["security"] = []
    else:
        operation["security"] = [{"bearer": sorted(scopes)} for scopes in required.ways]
        common |= {str(status): described(text) for status, text in _COMMON.items()}
        if required.limited:
            common["429"] = described("Too many requests of this owner; `Retry-After` says when to try again.")
    body = operation.get("requestBody")
    parameters = operation.get("parameters", ())
    if body or parameters:
        if _is_fastapis(responses.get("422")):
            del responses["422"]
        common["422"] = described("The request is not valid; `errors` names the fields.")
    if any(parameter["in"] == "path" for parameter in parameters):
        common["404"] = described("There is no such object of this owner.")
    if body:
        common |= {
            "400": described("The body cannot be understood."),
            "413": described("The body is too large."),
            "415": described("The content type is not supported."),
        }
    merged = {**common, **responses}
    operation["responses"] = {status: merged[status] for status in sorted(merged)}


def _is_fastapis(response: Mapping[str, Any] | None) -> bool:
    content = (response or {}).get("content", {})
    reference = content.get("application/json", {}).get("schema", {}).get("$ref", "")
    return str(reference).endswith("/HTTPValidationError")
