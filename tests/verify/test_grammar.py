"""Statistics as they are written: `surebox-client` and `surebox-certify` read them alike."""

import json
from typing import Any

import pytest

from surebox_client import parse_statistic
from surebox_verify.envelope import UnreadableError
from surebox_verify.questions import parse_question
from tests.meta.project import ROOT

VECTORS = json.loads((ROOT / "openapi" / "statistics.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["read"], ids=lambda vector: vector["text"])
def test_both_read_what_is_meant(vector: dict[str, Any]) -> None:
    meant = vector["statistic"]
    assert parse_statistic(vector["text"]) == meant
    question = parse_question(vector["text"])
    read = {
        "kind": question.kind,
        "of": list(question.of),
        "p": question.p,
        "values": question.values and list(question.values),
        "interval": question.interval and list(question.interval),
        "at": question.at and list(question.at),
    }
    assert {name: value for name, value in read.items() if value is not None} == meant


@pytest.mark.parametrize("text", VECTORS["refused"])
def test_both_refuse_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_statistic(text)
    with pytest.raises(UnreadableError):
        parse_question(text)
