"""What generators of clients make of the document: every type has a name, every field words, every file is bytes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from app.api.openapi import document
from app.api.schema_names import renamed
from app.contracts.methods import METHODS

REFERENCE = "#/components/schemas/"
#: Fields that answers may do without: what a problem or a key has none of, lists that stand in the whole result only.
ABSENT = {
    "Problem": {"errors", "missing", "quota"},
    "Quota": {"requested"},
    "PublicKey": {"exp", "revoked"},
    "CountsSummary": {"counts"},
    "ClassifiedSummary": {"labels", "probabilities"},
    "SwapsSummary": {"generations", "swap_list", "swap_list_complete"},
    "GroupSummary": {
        "rules", "common", "unreached_terms", "parameter", "parameter_values", "sizes", "signal", "auxiliary_signal",
        "crisp_auxiliary_signal", "outliers", "auxiliary_outliers",
    },
    "ComputedSummary": {"statistics", "share_single_value"},
    "GroupProfileSummary": {"files"},
    "SwapDetectionSummary": {"files"},
    "StatisticResult": {"domain_may_be_empty", "value_known", "reason", "interval"},
    "RestrictedStatistic": {"domain_may_be_empty", "value_known", "reason", "interval"},
    "AboutCore": {"domain_may_be_empty", "value_known", "reason"},
    "ComputedStatistic": {"interval"},
    "FrontierStatistic": {"interval"},
    "ReleaseReportSummary": {"html", "policy"},
    "JobReportSummary": {"html", "policy"},
}  # fmt: skip


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return document()


def operations(made: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for item in made["paths"].values():
        yield from item.values()


def walk(value: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in the document, with its place."""
    if isinstance(value, dict):
        yield place, value
        for name, below in value.items():
            yield from walk(below, f"{place}/{name}")
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from walk(below, f"{place}/{index}")


def referred(value: Any) -> set[str]:
    return {
        str(found["$ref"]).removeprefix(REFERENCE) for _, found in walk(value) if isinstance(found.get("$ref"), str)
    }


def answered(made: Mapping[str, Any]) -> set[str]:
    """Names of all schemas that answers are made of."""
    schemas = made["components"]["schemas"]
    todo, found = [operation["responses"] for operation in operations(made)], set[str]()
    while todo:
        new = referred(todo.pop()) - found
        found |= new
        todo += [schemas[name] for name in new]
    return found


def test_every_union_has_a_name(made: dict[str, Any]) -> None:
    inline = {
        place
        for place, found in walk({"paths": made["paths"], "schemas": made["components"]["schemas"]})
        for ways in (found.get("anyOf"), found.get("oneOf"))
        if isinstance(ways, list) and len([way for way in ways if way.get("type") != "null"]) > 1
        if place.count("/") != 2 or not place.startswith("/schemas/")
    }
    assert not inline


def test_every_schema_field_and_parameter_is_described(made: dict[str, Any]) -> None:
    schemas = made["components"]["schemas"]
    silent = [f"{name} is silent" for name, schema in schemas.items() if not schema.get("description")]
    for name, schema in schemas.items():
        for field, found in schema.get("properties", {}).items():
            if not found.get("description") and "$ref" not in found:  # a reference has the words of its schema
                silent.append(f"{name}.{field}")
    for operation in operations(made):
        silent += [
            f"{operation['operationId']} ?{parameter['name']}"
            for parameter in operation.get("parameters", ())
            if not parameter.get("description")
        ]
    assert not silent


def test_fields_of_answers_are_required_though_bodies_may_leave_them_out(made: dict[str, Any]) -> None:
    schemas = made["components"]["schemas"]
    names = answered(made)
    absent = {name: set(schemas[name].get("properties", ())) - set(schemas[name].get("required", ())) for name in names}
    assert {name: fields for name, fields in absent.items() if fields} == ABSENT
    assert "missing" not in schemas["BoxesSpec"]["required"]
    assert schemas["FilledBoxesSpec"]["properties"]["missing"]["default"] == "refuse"


def test_jobs_and_results_are_told_apart_by_their_method(made: dict[str, Any]) -> None:
    schemas = made["components"]["schemas"]
    for name in ("Job", "JobResult"):
        told = schemas[name]["discriminator"]
        assert told["propertyName"] == "method"
        assert list(told["mapping"]) == sorted(METHODS)
        assert set(told["mapping"].values()) == {way["$ref"] for way in schemas[name]["oneOf"]}
        for method, reference in told["mapping"].items():
            assert schemas[reference.removeprefix(REFERENCE)]["properties"]["method"]["const"] == method
    for reference in schemas["Job"]["discriminator"]["mapping"].values():
        fields = schemas[reference.removeprefix(REFERENCE)]["properties"]
        assert fields["error"]["anyOf"][0] == {"$ref": REFERENCE + "Problem"}
        for typed in (fields["spec"], fields["result"]):
            assert [set(way) for way in typed["anyOf"]] == [{"$ref"}, {"type"}]


def test_bodies_are_named_after_what_they_ask_for(made: dict[str, Any]) -> None:
    bodies = {
        operation["operationId"]: operation["requestBody"]["content"]["application/json"]["schema"]
        for operation in operations(made)
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    }
    assert bodies["create_anonymization"] == {"$ref": REFERENCE + "AnonymizationRequest"}
    assert bodies["create_audit"] == {"$ref": REFERENCE + "AuditRequest"}
    assert bodies["publish_release"] == {"$ref": REFERENCE + "PublishRequest"}, "left out, it is not null"
    required = {one["operationId"]: one.get("requestBody", {}).get("required", False) for one in operations(made)}
    assert not required["publish_release"]
    assert not required["withdraw_release"]
    assert all(set(schema) == {"$ref"} for schema in bodies.values())


def test_files_are_bytes_both_ways(made: dict[str, Any]) -> None:
    files = {}
    for operation in operations(made):
        parts = [operation.get("requestBody", {}), *operation["responses"].values()]
        for part in parts:
            for kind, content in part.get("content", {}).items():
                if not kind.endswith("json") and kind not in {"text/plain", "text/html", "text/event-stream"}:
                    files[operation["operationId"], kind] = content["schema"]
    assert {name for name, _ in files} >= {"create_dataset", "get_release_data"}
    assert all(schema == {"type": "string", "format": "binary"} for schema in files.values())


def test_events_carry_jobs(made: dict[str, Any]) -> None:
    answer = made["paths"]["/v1/jobs/{job_id}/events"]["get"]["responses"]["200"]
    assert answer["content"]["text/event-stream"]["schema"] == {"$ref": REFERENCE + "Job"}


def test_instants_are_declared_as_such(made: dict[str, Any]) -> None:
    instants = [
        found.get("anyOf", [found])[0]
        for _, schema in walk(made["components"]["schemas"])
        for name, found in (schema.get("properties") or {}).items()
        if name in {"created_at", "started_at", "finished_at", "expires_at"}
    ]
    assert len(instants) > 5
    assert all(found == {"type": "string", "format": "date-time"} for found in map(bare, instants))


def bare(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name not in {"title", "description"}}


def test_headers_are_spelt_as_rfcs_spell_them(made: dict[str, Any]) -> None:
    names = [
        parameter["name"]
        for operation in operations(made)
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "header"
    ]
    assert len(names) > 5
    assert all(re.fullmatch(r"[A-Z][a-z]+(-([A-Z][a-z]+|ID))*", name) for name in names), names


@pytest.mark.parametrize(
    "names", [("Statistic-Output", "FilledStatistic"), ("app__one__FilledStatistic", "app__other__FilledStatistic")]
)
def test_two_schemas_never_get_one_name(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="FilledStatistic"):
        renamed({"components": {"schemas": {name: {} for name in names}}})
