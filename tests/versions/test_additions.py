"""From the first version on the service only grows: its document is compared with those of all that were released.

`tests/versions/freeze.py` writes what is kept of a version: its document, and a bundle of a release of each method.
"""

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.documented import the_document
from tests.versions.additions import Comparison
from tests.versions.freeze import EXITS, exit_code

HERE = Path(__file__).parent
RELEASED = sorted(path for path in HERE.iterdir() if (path / "openapi.json.gz").is_file())

Document = dict[str, Any]


def breaks(before: Document, after: Document) -> list[str]:
    return list(Comparison(before, after).breaks())


def schema(made: Document, name: str) -> Document:
    return dict(made["components"]["schemas"])[name]


def fields(made: Document, name: str) -> Document:
    return dict(schema(made, name))["properties"]


def operation(made: Document, path: str, method: str = "get") -> Document:
    return dict(made["paths"])[path][method]


def required_field(made: Document) -> None:
    fields(made, "BoxesRequest")["later"] = {"type": "string", "description": "A later field."}
    schema(made, "BoxesRequest")["required"].append("later")


def nullable(made: Document) -> None:
    fields(made, "JobProgress")["fraction"] = {"anyOf": [{"type": "number", "format": "double"}, {"type": "null"}]}


def another_parameter(made: Document, *, required: bool) -> None:
    later = {"in": "query", "name": "later", "required": required, "schema": {"type": "string"}}
    operation(made, "/v1/jobs")["parameters"].append(later)


def without_parameter(made: Document, name: str) -> None:
    listed = operation(made, "/v1/jobs")["parameters"]
    listed[:] = [one for one in listed if one["name"] != name]


def without_a_method(made: Document) -> None:
    del schema(made, "Job")["discriminator"]["mapping"]["swaps"]


def another_method(made: Document) -> None:
    for name in ("Job", "AnonymizationRequest"):
        union = schema(made, name)
        later = f"{name}OfLater"
        made["components"]["schemas"][later] = {"type": "object", "properties": {"method": {"const": "later"}}}
        union["oneOf"].append({"$ref": f"#/components/schemas/{later}"})
        union["discriminator"]["mapping"]["later"] = f"#/components/schemas/{later}"


#: A change that breaks clients, and words of the sentence that names it.
BREAKING: dict[str, tuple[Callable[[Document], Any], str]] = {
    "a path": (lambda made: made["paths"].pop("/v1/log"), "GET /v1/log is gone"),
    "a method": (lambda made: made["paths"]["/v1/datasets/{dataset_id}"].pop("delete"), "DELETE /v1/datasets"),
    "a name": (lambda made: operation(made, "/v1/jobs").update(operationId="jobs"), "called otherwise"),
    "a schema": (lambda made: made["components"]["schemas"].pop("ProblemKind"), "schemas/ProblemKind is gone"),
    "a status": (lambda made: operation(made, "/v1/jobs")["responses"].pop("200"), "has no 200"),
    "a header": (
        lambda made: operation(made, "/v1/releases/{release_id}/data")["responses"]["200"]["headers"].pop("ETag"),
        "no header ETag",
    ),
    "a content": (
        lambda made: operation(made, "/v1/releases/{release_id}/data")["responses"]["200"]["content"].popitem(),
        "is no",
    ),
    "a scope": (
        lambda made: operation(made, "/v1/jobs").update(security=[{"bearer": ["admin"]}]), "requires other scopes",
    ),
    "a field of an answer": (lambda made: fields(made, "Release").pop("rows"), "rows is gone"),
    "a field not always there": (lambda made: schema(made, "Release")["required"].remove("rows"), "rows is not always"),
    "a field that may be null": (nullable, "fraction"),
    "a text for a number": (lambda made: fields(made, "Release")["rows"].update(type="string"), "rows: type"),
    "a word of an answer": (
        lambda made: schema(made, "JobState")["x-extensible-enum"].remove("cancelled"), "cancelled is gone",
    ),
    "a method of jobs": (without_a_method, "has no swaps"),
    "a field of a body": (lambda made: fields(made, "BoxesRequest").pop("keep"), "keep is gone"),
    "a new required field": (required_field, "later is required"),
    "a field that becomes required": (lambda made: schema(made, "BoxesRequest")["required"].append("keep"), "keep is"),
    "a word of a body": (lambda made: schema(made, "PartitionMethod")["enum"].remove("mondrian"), "mondrian is gone"),
    "a narrower bound": (lambda made: fields(made, "BoxesRequest")["k"].update(minimum=3), "minimum was"),
    "a shorter list": (lambda made: fields(made, "BoxesRequest")["keep"].update(maxItems=1), "maxItems"),
    "another default": (lambda made: fields(made, "BoxesRequest")["partition"].update(default="fast"), "default was"),
    "a new default": (lambda made: fields(made, "BoxesRequest")["k"].update(default=5), "default was"),
    "whole numbers": (lambda made: fields(made, "BoxesRequest")["alpha"].update(anyOf=[{"type": "integer"}]), "way"),
    "a parameter": (lambda made: without_parameter(made, "state"), "?state is gone"),
    "a new required parameter": (lambda made: another_parameter(made, required=True), "?later is new and required"),
}  # fmt: skip

ADDING: dict[str, Callable[[Document], Any]] = {
    "a path": lambda made: made["paths"].update({"/v1/later": made["paths"]["/v1/log"]}),
    "a parameter": lambda made: another_parameter(made, required=False),
    "a field of an answer": lambda made: fields(made, "Release").update(later={"type": "string"}),
    "a field of a body": lambda made: fields(made, "BoxesRequest").update(later={"type": "string"}),
    "a word of an answer": lambda made: schema(made, "JobState")["x-extensible-enum"].append("paused"),
    "a word of a body": lambda made: schema(made, "PartitionMethod")["enum"].append("later"),
    "any word": lambda made: schema(made, "PartitionMethod").pop("enum"),
    "a wider bound": lambda made: fields(made, "BoxesRequest")["k"].update(minimum=0),
    "a method": another_method,
    "a status": lambda made: operation(made, "/v1/log")["responses"].update({"409": {"description": "Later."}}),
    "a field always there": lambda made: schema(made, "Problem")["required"].append("errors"),
    "another sentence": lambda made: fields(made, "Release")["rows"].update(description="Rows."),
}


def test_a_document_breaks_nothing_of_itself() -> None:
    assert breaks(the_document(), the_document()) == []


@pytest.mark.parametrize("kind", BREAKING)
def test_what_breaks_clients_is_named(kind: str) -> None:
    change, words = BREAKING[kind]
    after = copy.deepcopy(the_document())
    change(after)
    assert any(words in one for one in breaks(the_document(), after)), breaks(the_document(), after)


@pytest.mark.parametrize("kind", ADDING)
def test_additions_break_nothing(kind: str) -> None:
    after = copy.deepcopy(the_document())
    ADDING[kind](after)
    assert after != the_document()
    assert breaks(the_document(), after) == []


def test_the_document_only_grew_since_each_version() -> None:
    for version in RELEASED:
        before = json.loads(gzip.decompress((version / "openapi.json.gz").read_bytes()))
        assert before["info"]["version"] == version.name
        assert breaks(before, the_document()) == [], version.name


def test_bundles_of_released_versions_are_read_as_then(capsys: pytest.CaptureFixture[str]) -> None:
    for version in RELEASED:
        exits = json.loads((version / EXITS).read_text(encoding="utf-8"))
        assert {bundle.name: exit_code(bundle) for bundle in version.glob("*.zip")} == exits, capsys.readouterr()
