"""The reference answers what a reader of a field asks: rules of summaries, descriptions and answers."""

import json
import re
from typing import Any

from tests.meta.project import ROOT

DOCUMENT: dict[str, Any] = json.loads((ROOT / "openapi" / "openapi.json").read_text())
VERBS = {
    "Answer", "Cancel", "Change", "Check", "Classify", "Compute", "Confirm", "Create", "Delete", "Download", "Erase",
    "Estimate", "Explain", "Get", "List", "Publish", "Redirect", "Renew", "Set", "Stream", "Update", "Upload",
    "Withdraw",
}  # fmt: skip

#: How many descriptions there may be of four words or fewer, and how many that begin like the middle of a sentence:
#: only ever fewer.
SHORT, HEADLESS = 42, 90


def operations() -> list[dict[str, Any]]:
    return [one for methods in DOCUMENT["paths"].values() for one in methods.values()]


def descriptions(part: Any) -> set[str]:
    """All descriptions below a part of the document."""
    if isinstance(part, list):
        return {text for each in part for text in descriptions(each)}
    if not isinstance(part, dict):
        return set()
    own = {part["description"]} if isinstance(part.get("description"), str) else set()
    return own | {text for each in part.values() for text in descriptions(each)}


def test_a_summary_is_a_verb_and_its_object() -> None:
    for one in operations():
        summary = one["summary"]
        assert summary.split()[0] in VERBS, summary
        assert not summary.endswith((".", "?")), summary
        assert len(summary.split()) > 1, summary


def test_no_two_operations_have_the_same_summary() -> None:
    summaries = [one["summary"] for one in operations()]
    assert sorted(set(summaries)) == sorted(summaries)


def test_the_meanings_of_an_enums_values_stand_in_the_enum_alone() -> None:
    schemas, twice = DOCUMENT["components"]["schemas"], []
    for name, schema in schemas.items():
        for field, given in schema.get("properties", {}).items():
            ways = [given, *given.get("anyOf", ())]
            named = [schemas[way["$ref"].rpartition("/")[2]] for way in ways if "$ref" in way]
            values = [f"`{value}`" for one in named for value in one.get("enum", ())]
            if len(values) > 1 and all(value in given.get("description", "") for value in values):
                twice.append(f"{name}.{field}")
    assert not twice


def test_no_description_has_a_sentence_twice() -> None:
    for text in descriptions(DOCUMENT):
        sentences = [each.strip() for each in re.split(r"(?<=[.:;,])\s", text) if len(each.split()) > 4]
        assert len(set(sentences)) == len(sentences), text


def test_descriptions_are_sentences_and_become_longer() -> None:
    texts = descriptions(DOCUMENT)
    short = sorted(text for text in texts if len(text.split()) < 5)
    headless = sorted(text for text in texts if re.match(r"(?:Of|As asked|The same|What|Is|So)\b", text))
    assert len(short) <= SHORT, short
    assert len(headless) <= HEADLESS, headless
    assert SHORT - len(short) < 10, "lower SHORT"
    assert HEADLESS - len(headless) < 10, "lower HEADLESS"


def test_no_status_is_described_by_its_phrase_alone() -> None:
    for one in operations():
        for status, answer in one["responses"].items():
            assert len(answer["description"].split()) > 2, (one["operationId"], status)
            assert answer["description"] != "Successful Response", one["operationId"]
