"""What generators of clients make of the document: every type has a name, every field words, every file is bytes."""

import builtins
import re
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from app.api.schema_names import renamed
from app.methods.catalogue import METHODS
from tests.documented import the_document

REFERENCE = "#/components/schemas/"
#: Fields that answers may do without: what a problem or a key has none of, lists that stand in the whole result only.
ABSENT = {
    "Problem": {"errors", "unavailable", "quota"},
    "Quota": {"requested"},
    "PublicKey": {"exp", "revoked"},
    "CountSummary": {"counts", "base", "n"},
    "ClassifySummary": {"classes", "probabilities"},
    "SwapsSummary": {"fitness_by_generation", "swap_list", "swap_list_complete"},
    "GroupSummary": {
        "rules", "common", "unreached_terms", "region_columns", "regions", "region_sizes", "signal",
        "auxiliary_signal", "crisp_auxiliary_signal", "outliers", "auxiliary_outliers",
    },
    "StatisticsSummary": {"statistics", "value_disclosure"},
    "GroupProfileSummary": {"inputs"},
    "SwapDetectionSummary": {"inputs"},
    "FrontierStatistic": {"at", "interval", "called"},
    "ReleaseReportSummary": {"html"},
    "JobReportSummary": {"html"},
}  # fmt: skip
OLDER = {"domain_may_be_empty", "value_known", "reason", "base", "n", "labels"}
#: Of answers that are two schemas, for regressions and for all else.
BY_KIND = {
    "BoxStatistic": OLDER | {"at", "interval", "called"},
    "RestrictedStatistic": OLDER | {"at", "interval", "called"},
    "CoreStatistic": OLDER,
    "ComputedStatistic": {"at", "interval", "called"},
}
#: Words by which clients choose a schema, so that they must know them.
DISCRIMINATING = {"/properties/kind"}
ABSENT |= {name + kind: fields for name, fields in BY_KIND.items() for kind in ("OfNumber", "OfRegression")}


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return the_document()


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
    named = (node["$ref"] for _, node in walk(value) if isinstance(node.get("$ref"), str))
    return {name.removeprefix(REFERENCE) for name in named if name.startswith(REFERENCE)}


def reached(made: Mapping[str, Any], todo: list[Any]) -> set[str]:
    """Names of all schemas that these refer to, also by others."""
    names = set[str]()
    while todo:
        new = referred(todo.pop()) - names
        names |= new
        todo += [made["components"]["schemas"][name] for name in new]
    return names


def answered(made: Mapping[str, Any]) -> set[str]:
    """Names of all schemas that answers are made of."""
    return reached(made, [operation["responses"] for operation in operations(made)])


def test_every_union_has_a_name(made: dict[str, Any]) -> None:
    inline = {
        place
        for place, node in walk({"paths": made["paths"], "schemas": made["components"]["schemas"]})
        for ways in (node.get("anyOf"), node.get("oneOf"))
        if isinstance(ways, list) and len([way for way in ways if way.get("type") != "null"]) > 1
        if place.count("/") != 2 or not place.startswith("/schemas/")
    }
    assert not inline


def test_every_schema_field_and_parameter_is_described(made: dict[str, Any]) -> None:
    schemas = made["components"]["schemas"]
    silent = [f"{name} is silent" for name, schema in schemas.items() if not schema.get("description")]
    for name, schema in schemas.items():
        for field, subschema in schema.get("properties", {}).items():
            if not subschema.get("description") and "$ref" not in subschema:  # a reference has the words of its schema
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
    assert "missing_policy" not in schemas["BoxesRequest"]["required"]
    assert schemas["BoxesSpec"]["properties"]["missing_policy"]["default"] == "refuse"


def test_jobs_and_results_are_told_apart_by_their_method(made: dict[str, Any]) -> None:
    schemas = made["components"]["schemas"]
    for name in ("Job", "JobResult"):
        discriminator = schemas[name]["discriminator"]
        assert discriminator["propertyName"] == "method"
        assert list(discriminator["mapping"]) == sorted(METHODS)
        assert set(discriminator["mapping"].values()) == {way["$ref"] for way in schemas[name]["oneOf"]}
        for method, reference in discriminator["mapping"].items():
            assert schemas[reference.removeprefix(REFERENCE)]["properties"]["method"]["const"] == method
    for reference in schemas["Job"]["discriminator"]["mapping"].values():
        fields = schemas[reference.removeprefix(REFERENCE)]["properties"]
        assert fields["error"]["anyOf"][0] == {"$ref": REFERENCE + "Problem"}
        for typed in (fields["spec"], fields["result"]):
            assert [set(way) for way in typed["anyOf"]] == [{"$ref"}, {"type"}]


def test_results_are_named_after_their_method() -> None:
    for method in METHODS.values():
        stem = method.spec.__name__.removesuffix("Spec")
        assert method.result.__name__ == f"{stem}Result"
        assert method.shown.__name__ in {f"{stem}Result", f"{stem}Summary"}


def test_an_operation_that_answers_with_pages_lists(made: dict[str, Any]) -> None:
    paged = {
        name for name, schema in made["components"]["schemas"].items() if "next_cursor" in schema.get("properties", ())
    }
    listing = {
        operation["operationId"]
        for operation in operations(made)
        if referred(operation["responses"].get("200")) & paged
    }
    assert len(listing) == 5
    assert all(name.startswith("list_") for name in listing)


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


def sent(made: Mapping[str, Any]) -> set[str]:
    """Names of all schemas that bodies are made of."""
    return reached(made, [operation.get("requestBody", {}) for operation in operations(made)])


def test_answers_are_open_and_bodies_are_closed(made: dict[str, Any]) -> None:
    schemas = made["components"]["schemas"]
    assert not sent(made) & answered(made) - {name for name in schemas if "properties" not in schemas[name]}
    for name in answered(made):
        for place, one in walk(schemas[name]):
            assert one.get("additionalProperties") is not False, f"{name}{place}"
            if one.get("type") == "string" and {"enum", "x-extensible-enum"} & one.keys():
                assert str(one["description"]).endswith("More may come."), f"{name}{place}"
                assert "enum" not in one or place in DISCRIMINATING, f"{name}{place}: clients break on the next word"
    for name in sent(made):
        if schemas[name].get("type") == "object":
            assert schemas[name].get("additionalProperties", True) is not True, name


#: What programs in TypeScript have without importing it: the general words among them.
_DOM_WORDS = (
    "Animation Attr Audio Blob Body BodyInit Cache Clients Clipboard Comment Credential Document Element Event "
    "File FileList FormData Headers History Image Location Lock MessageEvent Navigator Node Notification Option "
    "Performance Permissions Plugin Position ProgressEvent Range Report Request Response Screen Selection Storage "
    "Text Touch Transferable URL Window Worker Worklet Array Boolean Date Error Function JSON Map Math Number "
    "Object Partial Pick Promise Proxy Readonly Record RegExp Required Set String Symbol Exclude Extract Iterator"
)
DOM = frozenset(_DOM_WORDS.split())


def test_no_schema_is_called_like_a_global_or_by_a_number(made: dict[str, Any]) -> None:
    globals_ = {*dir(builtins), *typing.__all__, *DOM}
    for name in made["components"]["schemas"]:
        assert name not in globals_, name
        assert not name[-1].isdigit(), name
        assert "-" not in name, name


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
        subschema.get("anyOf", [subschema])[0]
        for _, schema in walk(made["components"]["schemas"])
        for name, subschema in (schema.get("properties") or {}).items()
        if name in {"created_at", "started_at", "finished_at", "expires_at"}
    ]
    assert len(instants) > 5
    assert all(subschema == {"type": "string", "format": "date-time"} for subschema in map(bare, instants))


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
    "names", [("Statistic-Output", "StatisticSpec"), ("app__one__StatisticSpec", "app__other__StatisticSpec")]
)
def test_two_schemas_never_get_one_name(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="StatisticSpec"):
        renamed({"components": {"schemas": {name: {} for name in names}}})
