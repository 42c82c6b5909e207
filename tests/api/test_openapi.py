"""The document: valid, the same each time, the one that is served, and complete for a generated client."""

import re
from typing import Any

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from app.api.openapi import document
from tests import patient
from tests.api.conftest import Api

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
