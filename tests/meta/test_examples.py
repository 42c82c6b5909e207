"""The answers that the OpenAPI document shows: of every content that is text, each as its schema has it."""

import json
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from app.contracts.jobs import JobKind
from app.methods.catalogue import methods_of
from tests.clients.conformity import DOCUMENT, Conformity
from tests.documented import the_document
from tests.meta.project import ROOT

MADE: dict[str, Any] = the_document()
CONFORMITY = Conformity(MADE)
#: Contents that JSON cannot show: bytes.
BYTES = {"application/vnd.apache.parquet", "application/gzip", "application/zip", "application/timestamp-reply"}
METHODS = {kind: {one.name for one in methods_of(kind)} for kind in (JobKind.ANONYMIZATION, JobKind.AUDIT)}


def contents() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, media type and content of every successful answer."""
    for methods in MADE["paths"].values():
        for operation in methods.values():
            for status, answer in operation["responses"].items():
                if status.startswith("2"):
                    for media, content in answer.get("content", {}).items():
                        yield f"{operation['operationId']} {status}", media, content


def shown(content: dict[str, Any]) -> dict[str, Any]:
    """The examples of a content by what they are of; one without a name has none."""
    named = {name: one["value"] for name, one in content.get("examples", {}).items()}
    return named | ({"": content["example"]} if "example" in content else {})


SHOWN = [
    (f"{name} {media} {of}".strip(), media, content["schema"], example)
    for name, media, content in contents()
    for of, example in shown(content).items()
]


@pytest.mark.parametrize(("media", "schema", "example"), [one[1:] for one in SHOWN], ids=[one[0] for one in SHOWN])
def test_an_answer_that_is_shown_is_as_its_schema_has_it(media: str, schema: dict[str, Any], example: Any) -> None:
    if media.endswith("json") and "ndjson" not in media:
        CONFORMITY.validate(
            json.loads(json.dumps(schema).replace('"#/components/', f'"{DOCUMENT}#/components/')), example
        )
    elif media == "text/event-stream":
        data = [line.removeprefix("data: ") for line in example.split("\n") if line.startswith("data: ")]
        assert data
        assert all(json.loads(line)["id"].startswith("job_") for line in data)
    elif media == "application/x-ndjson":
        assert json.loads(example.split("\n")[0])["box"] > 0  # a part (206) ends within a line
    elif media == "text/csv":
        head, *rows = example.strip().split("\n")
        assert rows
        assert head.startswith("box,")
    elif media == "text/html":
        assert example.startswith("<!doctype html>")
        assert "<h2" in example
    else:
        assert media == "text/plain"
        assert example.startswith("# HELP")


def test_every_content_that_is_text_shows_an_answer() -> None:
    without = sorted(f"{name} {media}" for name, media, content in contents() if not shown(content))
    assert [one for one in without if one.split()[-1] not in BYTES] == []


@pytest.mark.parametrize("operation", ["get_job 200", "get_job_result 200"])
def test_there_is_an_answer_of_each_method(operation: str) -> None:
    (content,) = (content for name, _, content in contents() if name == operation)
    assert set(shown(content)) >= METHODS[JobKind.ANONYMIZATION] | METHODS[JobKind.AUDIT]


@pytest.mark.parametrize(
    ("operation", "kind"), [("create_anonymization 202", JobKind.ANONYMIZATION), ("create_audit 202", JobKind.AUDIT)]
)
def test_there_is_a_new_job_of_each_method(operation: str, kind: JobKind) -> None:
    (content,) = (content for name, _, content in contents() if name == operation)
    assert set(shown(content)) == METHODS[kind]


def test_no_answer_that_is_shown_names_a_machine() -> None:
    text = json.dumps([example for *_, example in SHOWN])
    assert not any(part in text for part in ("/root", "/home", "/tmp", "/work"))


def test_a_recording_that_breaks_off_leaves_the_answers_as_they_are(tmp_path: Path) -> None:
    spec = spec_from_file_location("example_answers", ROOT / "docs" / "example_answers.py")
    assert spec is not None
    assert spec.loader is not None
    recording = module_from_spec(spec)
    spec.loader.exec_module(recording)
    target = tmp_path / "examples.json"
    target.write_text("as before")
    ask = recording.Recorder.__new__(recording.Recorder)  # without a service: the story tells it what came
    ask.answers = {}

    def story(ask: Any, error: type[BaseException] | None) -> None:
        ask.answers["list_jobs"] = {"200": {"application/json": []}}
        if error is not None:
            raise error

    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error):
            recording.record(ask, lambda ask, error=error: story(ask, error), target)
        assert [path.name for path in tmp_path.iterdir()] == ["examples.json"]
        assert target.read_text() == "as before"
    recording.record(ask, lambda ask: story(ask, None), target)
    assert json.loads(target.read_text()) == ask.answers
