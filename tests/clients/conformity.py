"""Whether an answer is what the OpenAPI document says: status, type of content, and every field of it."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import httpx
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

FORMATS = FormatChecker(formats=())
DOCUMENT = "urn:openapi"


@FORMATS.checks("date-time", raises=ValueError)
def is_instant(value: object) -> bool:
    """UTC, as RFC 3339 writes it."""
    return not isinstance(value, str) or (value.endswith("Z") and datetime.fromisoformat(value).tzinfo is not None)


class Conformity:
    """Checks answers against a document; `seen` is what was checked, by name of the operation and status."""

    def __init__(self, served: Mapping[str, Any]) -> None:
        written = json.dumps(served).replace('"#/components/', f'"{DOCUMENT}#/components/')
        document: dict[str, Any] = _told_apart(json.loads(written))
        components = {"components": document["components"]}
        schemas = Resource.from_contents(components, default_specification=DRAFT202012)
        self._schemas: Registry[Any] = Registry().with_resource(DOCUMENT, schemas).crawl()
        self._operations: list[tuple[str, re.Pattern[str], dict[str, Any]]] = [
            (method.upper(), re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "$"), operation)
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
        ]
        self.seen: set[tuple[str, int]] = set()

    def check(self, answer: httpx.Response) -> None:
        """Read the answer and check it; made to be a hook of a client."""
        answer.read()
        operation = self._operation(answer.request)
        declared = operation["responses"].get(str(answer.status_code))
        if declared is None and answer.is_error:
            declared = operation["responses"]["default"]
        place = (operation["operationId"], answer.status_code)
        assert declared is not None, place
        self.seen.add(place)
        if not answer.content:
            return
        kind = answer.headers["content-type"].partition(";")[0]
        assert kind in declared["content"], (place, kind)
        schema = declared["content"][kind]["schema"]
        for value in _values(kind, answer):
            self.validate(schema, value)

    def validate(self, schema: Mapping[str, Any], value: Any) -> None:
        """Check one value against a schema of the document."""
        validator = Draft202012Validator(schema, registry=self._schemas, format_checker=FORMATS)
        failure = next(validator.iter_errors(value), None)
        if failure is not None:
            while failure.context:  # of a union: why its nearest branch does not fit
                failure = max(failure.context, key=lambda error: len(error.absolute_path))
            raise AssertionError(f"{failure.json_path}: {failure.message[:500]}")

    def _operation(self, request: httpx.Request) -> dict[str, Any]:
        fitting = [  # a path without templates comes before those that would match it, as OpenAPI has it
            operation
            for method, path, operation in sorted(self._operations, key=lambda each: "[^/]+" in each[1].pattern)
            if method == request.method and path.fullmatch(request.url.path)
        ]
        assert fitting, request.url.path
        return fitting[0]


def _told_apart(schema: Any) -> Any:
    """The same schema with its unions' branches chosen by their discriminators, as clients choose them."""
    if isinstance(schema, list):
        return [_told_apart(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _told_apart(each) for name, each in schema.items()}
    if "mapping" in made.get("discriminator", {}):
        field, branches = made["discriminator"]["propertyName"], made["discriminator"]["mapping"]
        assert {each["$ref"] for each in made["oneOf"]} == set(branches.values())
        del made["oneOf"]
        made["required"], made["properties"] = [field], {field: {"enum": list(branches)}}
        made["allOf"] = [
            {"if": {"properties": {field: {"const": value}}}, "then": {"$ref": branch}}
            for value, branch in branches.items()
        ]
    return made


def _values(kind: str, answer: httpx.Response) -> Iterator[Any]:
    """What of an answer has the declared schema: its JSON, or the data of each event."""
    if kind == "text/event-stream":
        for line in answer.text.splitlines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))
    elif kind.endswith("json"):
        yield answer.json()
