"""The answers that the OpenAPI document shows: of nearly every content, each as its schema has it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from app.api.openapi import document
from tests.clients.conformity import DOCUMENT, Conformity

MADE: dict[str, Any] = document()
CONFORMITY = Conformity(MADE)
#: Contents of successful answers that show none: of jobs that a query or a report waits for, and of files.
WITHOUT = 23


def contents() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, media type and content of every successful answer."""
    for methods in MADE["paths"].values():
        for operation in methods.values():
            for status, answer in operation["responses"].items():
                if status.startswith("2"):
                    for media, content in answer.get("content", {}).items():
                        yield f"{operation['operationId']} {status}", media, content


SHOWN = [(name, media, content) for name, media, content in contents() if "example" in content]


@pytest.mark.parametrize(("name", "media", "content"), SHOWN, ids=[f"{name} {media}" for name, media, _ in SHOWN])
def test_an_answer_that_is_shown_is_as_its_schema_has_it(name: str, media: str, content: dict[str, Any]) -> None:
    example = content["example"]
    if media.endswith("json") and "ndjson" not in media:
        schema = json.loads(json.dumps(content["schema"]).replace('"#/components/', f'"{DOCUMENT}#/components/'))
        CONFORMITY.validate(schema, example)
    elif media == "text/event-stream":
        data = [line.removeprefix("data: ") for line in example.split("\n") if line.startswith("data: ")]
        assert data
        assert all(json.loads(line)["id"].startswith("job_") for line in data)
    elif media == "application/x-ndjson":
        assert all(isinstance(json.loads(line), dict) for line in example.strip().split("\n"))
    else:
        head, *rows = example.strip().split("\n")
        assert rows
        assert head.startswith("box,")


def test_nearly_every_content_shows_an_answer() -> None:
    without = sorted(f"{name} {media}" for name, media, content in contents() if "example" not in content)
    assert len(without) <= WITHOUT, without


def test_no_answer_that_is_shown_names_a_machine() -> None:
    text = json.dumps([content["example"] for _, _, content in SHOWN])
    assert not any(part in text for part in ("/root", "/home", "/tmp", "/work"))
