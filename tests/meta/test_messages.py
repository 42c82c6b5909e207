"""Messages are full sentences wherever they leave the service, and no text of the reference repeats another."""

import json
import random
import re
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from app.cli.main import cli
from app.contracts.findings import Finding, FindingSeverity
from app.contracts.warnings import WarningCode, warning
from app.errors import FieldError, InvalidError, SureboxError
from app.sentences import sentence
from tests.drawing import seeds
from tests.meta.project import ROOT

WORDS = ("the column", "k", "l", "a worker", "max_suppressed", "`spec`", "'age'", "5 records", "/k", "no such field",
         "limit", "x", "Records", "…")  # fmt: skip


def drawn(seed: int) -> str:
    draw = random.Random(seed)
    words = draw.choices([*WORDS, "has", "is = 5", "(at most 3)", "; did you mean 'age'?", ":"], k=draw.randint(1, 9))
    return " ".join(words) + draw.choice(["", " ", ".", "?", "…"])


def full(text: str) -> bool:
    """Return whether a text begins as a sentence does, by a rule of its own, and ends as one."""
    begins = text[0].isupper() or not text[0].isalpha()
    return begins and text[-1] in ".?!:…"


@pytest.mark.parametrize("seed", seeds(60))
def test_errors_findings_and_warnings_are_full_sentences(seed: int) -> None:
    text = drawn(seed)
    problem = InvalidError(text, errors=[FieldError("/k", text), FieldError("/l", text)]).problem()
    together = InvalidError.of([FieldError("/k", text)]).problem()["detail"]
    made = [
        problem["detail"],
        *(one["detail"] for one in problem["errors"]),
        together,
        together.removeprefix("/k: "),
        Finding(audit="table", severity=FindingSeverity.LOW, detail=text, measured=None, required=None).detail,
        warning(WarningCode.ONE_COLUMN, text).detail,
    ]
    assert [one for one in made if not full(one)] == []
    plain = [re.sub(r"[`\s]", "", one).casefold().rstrip(".") for one in (text, sentence(text))]
    assert plain[0] == plain[1], "no word is lost"


def test_a_sentence_stays_as_it_is() -> None:
    assert sentence("A worker is gone.") == sentence("a worker is gone") == "A worker is gone."
    assert sentence("k = 5 is too large") == "`k` = 5 is too large."
    assert sentence(sentence("l is 3")) == "`l` is 3."


def test_an_error_without_a_detail_states_its_title() -> None:
    assert SureboxError().problem()["detail"] == "Something went wrong."


def descriptions(part: Any) -> Any:
    if isinstance(part, dict):
        for name, value in part.items():
            if name == "description" and isinstance(value, str):
                yield value
            yield from descriptions(value)
    elif isinstance(part, list):
        for value in part:
            yield from descriptions(value)


def test_operations_have_summaries_of_their_own_and_descriptions_say_nothing_twice() -> None:
    document = json.loads((ROOT / "openapi/openapi.json").read_text(encoding="utf-8"))
    summaries = [each["summary"] for path in document["paths"].values() for each in path.values() if "summary" in each]
    assert len(summaries) > 40
    assert len(set(summaries)) == len(summaries)
    doubled = []
    for text in set(descriptions(document)):
        sentences = [each.strip() for each in re.split(r"(?<=[.:])\s+", text) if len(each.split()) > 3]
        doubled += [each for each in sentences if sentences.count(each) > 1]
    assert doubled == []


def commands(command: Any, *names: str) -> Any:
    if isinstance(command, typer.core.TyperGroup):
        for name, each in command.commands.items():
            yield from commands(each, *names, name)
    else:
        yield names, command


@pytest.mark.parametrize("names", [names for names, each in commands(typer.main.get_command(cli)) if not each.hidden])
def test_help_of_an_operators_command_loses_no_default(names: tuple[str, ...]) -> None:
    if names[0] in ("verify", "certify"):
        pytest.skip("its arguments are read by a program of its own")
    shown = CliRunner().invoke(cli, [*names, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert shown.exit_code == 0, shown.output
    assert not re.search(r"\w \.(\s|$)", shown.output), "markup has eaten a default"
    (command,) = [each for given, each in commands(typer.main.get_command(cli)) if given == names]
    for option in command.params:
        if option.default is None and option.opts[0].startswith("--") and not option.hidden and not option.required:
            text = option.help or ""
            assert "(default: " in text or option.is_flag, (names, option.opts)
            head = text.partition("`")[0].strip()
            assert head.split("(")[0].strip()[:30] in shown.output
