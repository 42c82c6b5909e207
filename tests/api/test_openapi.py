"""The document: valid, the same each time, the one that is served, and complete for a generated client."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import yaml
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from app.api.openapi import DescribedApi, document, operations, requirement
from app.api.schema_names import reached
from app.api.surface import include_routes
from app.contracts.statistics import StatisticKind
from tests import patient
from tests.api.conftest import Api
from tests.meta.project import ROOT

OPEN = {"get_health", "get_readiness", "get_metrics", "get_problem", "get_key_set"}


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return document()


def every_operation(made: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, operation) for path, item in made["paths"].items() for method, operation in item.items()]


def test_it_is_valid_openapi_3_1(made: dict[str, Any]) -> None:
    assert made["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(made).validate()


def test_it_is_served_and_the_same_each_time(made: dict[str, Any], api: Api) -> None:
    assert document() == made
    served = patient.get(f"{api.url}/openapi.json")
    assert served.json() == made
    assert list(served.json()["paths"]) == list(made["paths"])
    docs = patient.get(f"{api.url}/docs")
    assert docs.status_code == 200
    assert "/openapi.json" in docs.text


def test_every_operation_has_a_name_a_tag_words_and_security(made: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in every_operation(made)]
    assert len(names) == len(set(names))
    tags = {tag["name"] for tag in made["tags"]}
    for path, method, operation in every_operation(made):
        assert operation["operationId"].replace("_", "").islower(), operation["operationId"]
        assert set(operation["tags"]) <= tags, path
        assert operation["tags"], path
        assert operation["summary"], path
        assert operation["description"], path
        security = operation["security"]
        assert security == [] if operation["operationId"] in OPEN else security[0]["bearer"], (path, method)


def test_every_operation_declares_its_problems(made: dict[str, Any]) -> None:
    for path, method, operation in every_operation(made):
        answers = operation["responses"]
        refused = {status for status in answers if status == "default" or status >= "400"}
        wanted = {"default"}
        if operation["operationId"] not in OPEN:
            wanted |= {"401", "403", "503"}
        if "{" in path:
            wanted |= {"404"}
        if "requestBody" in operation:
            wanted |= {"400", "413", "415", "422"}
        assert wanted <= refused, (method, path, wanted - refused)
        for status in refused:
            content = answers[status]["content"]
            assert list(content) == ["application/problem+json"], (method, path, status)
            assert content["application/problem+json"]["schema"] == {"$ref": "#/components/schemas/Problem"}


def test_nothing_of_fastapis_own_errors_is_left(made: dict[str, Any]) -> None:
    assert "HTTPValidationError" not in str(made)


def test_a_real_problem_fits_its_schema(made: dict[str, Any], api: Api) -> None:
    from jsonschema import Draft202012Validator

    schema = {"$ref": "#/components/schemas/Problem", "components": made["components"]}
    for answer in (patient.get(f"{api.url}/nope"), patient.get(f"{api.url}/readyz"), patient.get(f"{api.url}/v1/jobs")):
        Draft202012Validator(schema).validate(answer.json())


def test_the_page_of_the_document_loads_nothing_from_elsewhere(api: Api) -> None:
    with api.client() as client:
        page = client.get("/docs").text
        loaded = re.findall(r'(?<!<a )(?:src|href)="([^"]+)"', page)
        assert len(loaded) >= 3
        for path in loaded:
            assert path.startswith("/"), path
            assert client.get(path).status_code == httpx.codes.OK
        assert 'persistAuthorization": false' in page


def every_schema(value: Any) -> Iterator[dict[str, Any]]:
    """All schemas of a part of the document, however deep; examples and headers that are referred to are none."""
    if isinstance(value, list):
        for below in value:
            yield from every_schema(below)
    elif isinstance(value, dict):
        if isinstance(value.get("type", ""), str | list) and value.keys() & {"type", "anyOf", "oneOf", "$ref"}:
            yield value
        for key, below in value.items():
            if key not in {"example", "examples", "default", "mapping", "Retry-After", "RateLimit", "RateLimit-Policy"}:
                yield from every_schema(below)


def ways(schema: dict[str, Any], made: dict[str, Any]) -> list[dict[str, Any]]:
    """The ways of a union, those of unions among them in their place; null is none."""
    if "$ref" in schema:
        return ways(made["components"]["schemas"][schema["$ref"].rpartition("/")[2]], made)
    below = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if not below:
        return [] if schema == {"type": "null"} else [schema]
    return [way for one in below for way in ways(one, made)]


def test_numbers_are_as_wide_as_the_service_has_them(made: dict[str, Any]) -> None:
    wide = {"integer": "int64", "number": "double"}
    schemas = [one for one in every_schema(made) if one.get("type") in ("integer", "number")]
    assert len(schemas) > 300
    assert [one for one in schemas if one.get("format") != wide[one["type"]]] == []


def test_no_default_is_of_a_union_or_of_a_body_that_changes_something(made: dict[str, Any]) -> None:
    assert [one for one in every_schema(made) if "default" in one and len(ways(one, made)) > 1] == []
    bodies = [op["requestBody"] for _, method, op in every_operation(made) if method == "patch"]
    named = {one["$ref"].rpartition("/")[2] for one in every_schema(bodies) if "$ref" in one}
    assert len(named) >= 3
    fields = [field for name in named for field in made["components"]["schemas"][name]["properties"].values()]
    assert [field for field in fields if "default" in field] == []


def test_lists_and_maps_among_the_ways_of_a_union_have_names(made: dict[str, Any]) -> None:
    unions = [one for one in every_schema(made) if len(ways(one, made)) > 1]
    assert len(unions) > 50
    listed = [way for one in unions for way in [*one.get("anyOf", ()), *one.get("oneOf", ())]]
    assert [way for way in listed if way.get("type") in ("array", "object")] == []
    configured = yaml.safe_load((ROOT / "openapi" / "openapi-generator-java.yaml").read_text())["schemaMappings"]
    schemas = made["components"]["schemas"]
    named = {way["$ref"].rpartition("/")[2] for one in schemas.values() for way in listed_ways(one)}
    expected = {
        name: {"array": "List", "object": "Map"}[schemas[name]["type"]]
        for name in named
        if schemas[name].get("type") == "array" or ("properties" not in schemas[name] and "type" in schemas[name])
    }
    assert configured == {name: kind for name, kind in expected.items() if kind}


def listed_ways(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The references among the ways of a union."""
    return [way for way in [*schema.get("anyOf", ()), *schema.get("oneOf", ())] if "$ref" in way]


def test_a_statistic_is_a_number_or_a_regression_as_its_kind_says(made: dict[str, Any]) -> None:
    schemas = made["components"]["schemas"]
    for name in ("ComputedStatistic", "BoxStatistic", "RestrictedStatistic"):
        mapping = schemas[name]["discriminator"]["mapping"]
        assert set(mapping) == set(StatisticKind)
        listed = {kind for kind, way in mapping.items() if way.endswith("OfRegression")}
        assert listed == {"regression"}
        for way in set(mapping.values()):
            fields = schemas[way.rpartition("/")[2]]["properties"]
            kinds = {fields["kind"].get("const")} | set(fields["kind"].get("enum", ()))
            assert kinds - {None} == {kind for kind, one in mapping.items() if one == way}
            types = {one.get("type") for one in ways(fields["estimate"], made)}
            assert types == ({"array"} if way.endswith("OfRegression") else {"number"})


def test_answers_that_may_be_asked_again_say_when(made: dict[str, Any]) -> None:
    later = [
        op["responses"][status]
        for _, _, op in every_operation(made)
        for status in ("429", "503")
        if status in op["responses"]
    ]
    assert len(later) > 80
    assert {json.dumps(one["headers"]["Retry-After"]) for one in later} == {
        '{"$ref": "#/components/headers/RetryAfter"}'
    }
    assert made["components"]["headers"]["RetryAfter"]["schema"]["type"] == "integer"


def test_answers_to_counted_requests_declare_what_is_left(made: dict[str, Any]) -> None:
    fields = {"RateLimit": "RateLimit", "RateLimit-Policy": "RateLimitPolicy"}
    app = DescribedApi()
    include_routes(app)
    required = {(path, method.lower()): requirement(route.dependant) for path, method, route in operations(app)}
    for path, method, operation in every_operation(made):
        need = required[path, method]
        counted = need is not None and (need.limited or need.public)
        for status, response in operation["responses"].items():
            declared = {name: one for name, one in response.get("headers", {}).items() if name in fields}
            stated = counted and (status.startswith(("2", "3")) or status == "429")
            references = {header: {"$ref": f"#/components/headers/{name}"} for header, name in fields.items()}
            assert declared == (references if stated else {}), (path, method, status)


def closed(value: Any) -> Any:
    """A part of the document whose objects have the fields that it names and no others."""
    if isinstance(value, list):
        return [closed(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: closed(one) for key, one in value.items()}
    plain = isinstance(value.get("properties"), dict) and value.get("type") == "object"
    return {**made, "unevaluatedProperties": False} if plain and "additionalProperties" not in value else made


def test_nothing_is_described_twice_or_for_no_one(made: dict[str, Any]) -> None:
    """Every schema is used, no number has two bounds on one side, every operation may be refused."""
    schemas = made["components"]["schemas"]
    assert reached(made["paths"], schemas) == set(schemas)
    for schema in every_schema(made):
        assert not {"minimum", "exclusiveMinimum"} <= schema.keys()
        assert not {"maximum", "exclusiveMaximum"} <= schema.keys()
    for path, method, operation in every_operation(made):
        assert any(status.startswith("4") for status in operation["responses"]), (path, method)


def test_examples_are_what_their_schemas_say(made: dict[str, Any]) -> None:
    """Check bodies and answers, recorded ones among them; none shows a field that its schema does not describe."""
    looked, components = 0, closed(made["components"])
    for path, method, operation in every_operation(made):
        contents = [operation.get("requestBody", {}), *operation["responses"].values()]
        for media in (
            one for content in contents for name, one in content.get("content", {}).items() if "json" in name
        ):
            given = [each["value"] for each in media.get("examples", {}).values()]
            given += [media["example"]] if "example" in media else []
            validator = Draft202012Validator({**media["schema"], "components": components})
            wrong = [next(validator.iter_errors(one), None) for one in given]
            assert [error.message for error in wrong if error is not None] == [], (path, method)
            looked += len(given)
    assert looked > 60
