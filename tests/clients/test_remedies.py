"""What messages advise, on the command line: commands and options that are there, and no request by HTTP."""

import ast
import random
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from app.cli.main import cli
from app.contracts import advice
from app.contracts.families import FamilyComposition
from surebox_client.commands.data import _unanswered as unanswered
from surebox_client.commands.finish import inferred
from surebox_client.commands.main import COMMANDS, GROUP, parser_of
from surebox_client.commands.proposal import _lines as proposed
from surebox_client.commands.refusals import in_options
from tests.clients.commands import PROGRAM, CommandLine
from tests.clients.test_command_line import write_people
from tests.drawing import seeds
from tests.meta.project import ROOT
from workers.frames.upload import charsets
from workers.methods.released.composed import finding
from workers.methods.released.earlier import Earlier, FamilyTerms

#: Places of messages that a command can print; questions to a release are put over HTTP alone.
FOLDERS = ("app/methods", "app/releases", "app/jobs", "app/datasets", "workers")
HTTP = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) /|/v1/")
QUOTED = re.compile(r"`([^`]+)`")


def parsed(folders: Sequence[str], pattern: re.Pattern[str]) -> Iterator[tuple[Path, list[ast.AST]]]:
    """Modules in whose source a pattern is, each with all its nodes."""
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if pattern.search(source):
            yield path, list(ast.walk(ast.parse(source)))


def messages() -> Iterator[tuple[str, str]]:
    """Texts of the code with a request by HTTP in them, each with its place."""
    for path, nodes in parsed(FOLDERS, HTTP):
        parts = [part for each in nodes if isinstance(each, ast.JoinedStr) for part in each.values]
        described = [
            part
            for each in nodes
            if isinstance(each, ast.keyword) and each.arg == "description"
            for part in ast.walk(each.value)
        ]
        documented = [each.value for each in nodes if isinstance(each, ast.Expr)]
        passed_over = set(map(id, [*parts, *described, *documented]))
        for each in nodes:
            if id(each) not in passed_over and (text := text_of(each)) is not None and HTTP.search(text):
                yield f"{path.relative_to(ROOT)}:{each.lineno}", text  # type: ignore[attr-defined]


def text_of(node: ast.AST) -> str | None:
    """The text of a constant, or of a pattern with an id in each place."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("{id}/statistics", "rel_1a/statistics")
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "rel_1a" for part in node.values)
    return None


@pytest.mark.parametrize(("place", "text"), [pytest.param(*each, id=each[0]) for each in messages()])
def test_no_message_of_the_command_line_speaks_http(place: str, text: str) -> None:
    printed = in_options(text)
    assert not HTTP.search(printed), place
    assert_runs(printed)


def assert_runs(text: str) -> None:
    """Each command and option that a message names is there, and what it prints of a command is one to paste."""
    options = {option for name in COMMANDS for each in parser_of(name)._actions for option in each.option_strings}
    for quoted in QUOTED.findall(text):
        words = shlex.split(quoted)
        if words[0] == "surebox":
            assert_is_command(words[1:])
        elif words[0].startswith("--"):
            assert words[0] in options, text
    assert not re.search(r'`"|\b(?:dataset_id|base_release_id|version_of_dataset_id|person_column)\b', text), text


def assert_is_command(words: list[str]) -> None:
    """The command is there; with arguments, it is whole."""
    name, *rest = words
    if name in COMMANDS:
        if rest:  # else it is only named
            parser_of(name).parse(rest)
        return
    assert name in {each.name for each in entry_points(group=GROUP)}, words
    command = typer.main.get_command(cli).commands[name]  # type: ignore[attr-defined]
    while isinstance(command, typer.core.TyperGroup) and rest:
        command, rest = command.commands[rest[0]], rest[1:]
    if rest:
        command.make_context(name, list(rest))


def commands_of(text: str) -> list[str]:
    """Commands of the command line in a text: in backticks, or after a colon until the line ends."""
    quoted = [each for each in QUOTED.findall(text) if each.startswith("surebox ")]
    bare = re.findall(r": (surebox [a-z][^`\n]*?)(?: \(or \w+\))?$", text, flags=re.MULTILINE)
    return [each.replace(r"\1", "rel_1a") for each in [*quoted, *bare]]


def printed_commands() -> Iterator[tuple[str, str]]:
    """Commands that texts of the code name, each with its place; ids stand for what is filled in."""
    folders = ("app", "workers", "surebox_core", "openapi/sdk/python/surebox_client", "verify/surebox_verify")
    for path, nodes in parsed(folders, re.compile("surebox ")):
        inner = {id(part) for each in nodes if isinstance(each, ast.JoinedStr) for part in each.values}
        passed_over = inner | {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
        for each in nodes:
            if id(each) not in passed_over and (text := text_of(each)) is not None:
                for command in commands_of(text):
                    yield f"{path.relative_to(ROOT)}:{each.lineno}", command  # type: ignore[attr-defined]


@pytest.mark.parametrize(("place", "command"), [pytest.param(*each, id=each[0]) for each in printed_commands()])
def test_each_command_that_a_message_names_is_one(place: str, command: str) -> None:
    if "surebox rel_1a" in command:
        return  # of any command
    assert_is_command(shlex.split(command)[1:])


ADVICE = (
    advice.above_notes(1), advice.above_notes(3), advice.renamed(2, 4), advice.below_title(2), advice.second_header(1),
    advice.groups_or_fraction("column 1"), advice.numbers_or_days("Column 1", can_read=True),
    advice.value_or_missing("column 1", "NA", 2, number=False), advice.totals("column 1", "Sum", 1, leads=True),
    advice.read_with({"decimal": ",", "missing_values": ("NA", "-")}, others=1), advice.read_with({}, others=1),
    advice.either([("days", {"date_format": "%d.%m.%Y"}), ("numbers", {"decimal": ","})]),
    *(
        advice.in_order("size of it", order, several=not order, commas=commas, missing=missing, others=0)
        for order in ([], ["S", "M"]) for commas in (True, False) for missing in ([], ["NA"], ["NA", "-"])
    ),
    *(f"The file is {what}." for _, what in charsets._OTHERS),
)  # fmt: skip


@pytest.mark.parametrize("text", ADVICE)
def test_advice_about_an_upload_has_the_words_of_the_command_line_once(text: str) -> None:
    printed = in_options(text)
    assert not re.search(r"on the command line|application/|`[a-z_]+=", printed), printed
    assert_runs(printed)


@pytest.mark.parametrize("seed", seeds(40))
def test_remedies_of_a_composition_are_commands(seed: int) -> None:
    draw = random.Random(seed)
    names = ["age", "weekly hours", "sex, or gender", "it's", "town"]
    composition = FamilyComposition(
        composed_k=1.0, overlay=1, overlay_below=draw.random(), candidates=None, candidates_below=None, changed=None,
        expected=None, expected_below=None, diversity={}, release_count=2, exact=True,
        unplaced=draw.choice([0, 1, 7]), new=draw.choice([0, 20]), left=draw.choice([0, 20]),
    )  # fmt: skip
    earlier = [
        Earlier(
            release_id=f"rel_{number}",
            method=draw.choice(["boxes", "uncertain", "swaps"]),
            dataset=None,
            ledger=None,
            parameters=draw.choice([None, {"quasi_identifiers": draw.sample(names, 2), "keep": names, "k": 7}]),
        )
        for number in range(draw.randint(1, 3))
    ]
    persons: dict[str, str | None] = draw.choice([{}, {"person": "person"}, {"id": None}])
    terms = FamilyTerms(persons=persons, is_new_version=draw.random() < 0.5)
    spec = {"method": "boxes", "k": 5, "quasi_identifiers": draw.sample(names, 3), "keep": draw.sample(names, 1)}
    against = finding(composition, spec, earlier, terms)
    assert against is not None
    for remedy in against.remedies:
        printed = in_options(remedy)
        assert not HTTP.search(printed)
        assert_runs(printed)


def test_the_series_that_a_draft_advises_is_published(surebox: CommandLine, folder: Path) -> None:
    """More columns of data of which something was published: the finding names the command that keeps k."""
    write_people(folder / "people.csv")
    first = surebox(
        "anonymize", "people.csv", "--quasi-identifiers", "age,hours,sex", "--k", "5", "--publish", "--json"
    )
    assert first.code == 0, first.err
    draft = surebox("anonymize", "people.csv", "--quasi-identifiers", "age,sex", "--k", "5", "--publish")
    assert draft.code == 3, draft.err
    commands = commands_of(draft.err)
    (series,) = [each for each in commands if "--series-of" in each]
    made = surebox(*shlex.split(series)[1:], "--publish", "--out", "made.csv")
    assert made.code == 0, made.err
    assert (folder / "made.csv").read_text().startswith("box,age_lo,age_hi,sex_set")
    others = [each for each in commands if each != series and "FILE" not in each]
    assert {each.split()[1] for each in others} == {"families", "download"}
    for each in others:
        done = pasted(each, folder)
        assert done.returncode == 0, (each, done.stderr)


def pasted(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command as a shell does, with the key of the owner; those of operators have the service's own settings."""
    words = shlex.split(command)
    if words[1] not in COMMANDS:
        words.append("--help")
    return subprocess.run([PROGRAM, *words[1:]], cwd=folder, capture_output=True, text=True, check=False)


def test_options_with_a_blank_are_printed_as_a_shell_reads_them() -> None:
    release = SimpleNamespace(data={"columns": [{"name": "weekly hours_lo", "type": "integer"}]})
    (line,) = inferred([{"code": "types_inferred"}], release)  # type: ignore[arg-type]
    (option,) = QUOTED.findall(line)
    assert parser_of("anonymize").parse(shlex.split(option)).types == [("weekly hours", "integer")]


def test_a_column_of_persons_is_proposed_in_the_words_of_the_command_line() -> None:
    proposal = {"columns": [], "pairs": [], "person_columns": [{"detail": "If so, name it as `person_column`."}]}
    lines = proposed({"name": "people", "rows": 2, "columns": []}, proposal)
    assert lines[-1] == "Is it a person? If so, name it as `--person-column`."


def test_an_order_is_asked_of_columns_that_are_used_and_have_none() -> None:
    names = ["month", "size", "unused"]
    warnings = [{"code": "ordered_words", "pointer": f"/columns/{j}"} for j in range(3)]
    warnings.append({"code": "two_readings", "pointer": "/columns/2"})
    profile = {"columns": [{"name": name} for name in names], "warnings": warnings}
    given = parser_of("anonymize").parse(["f", "--quasi-identifiers", "month,size", "--ordinal", "size=S,M,L"])
    assert unanswered(given, profile) == [warnings[0], warnings[3]]
    assert unanswered(parser_of("profile").parse(["f"]), profile) == warnings


@pytest.mark.parametrize("seed", seeds(3))
def test_the_series_that_is_advised_leaves_out_what_its_base_lacks(
    surebox: CommandLine, folder: Path, seed: int
) -> None:
    draw = random.Random(seed)
    rows = [f"{draw.randint(18, 80)},{draw.randint(5, 60)},{draw.choice('fm')},{draw.choice('no')}" for _ in range(400)]
    (folder / "people.csv").write_text("\n".join(["age,weekly hours,sex,town", *rows]) + "\n")
    least = str(draw.choice([4, 9]))
    done = surebox(
        "anonymize", "people.csv", "--quasi-identifiers", "age,weekly hours", "--k", least, "--publish", "--json"
    )
    assert done.code == 0, done.err
    draft = surebox("anonymize", "people.csv", "--quasi-identifiers", "weekly hours,town", "--k", "5", "--publish")
    assert draft.code == 3, draft.err
    (series,) = [each for each in commands_of(draft.err) if "--series-of" in each]
    assert "without 'town'" in draft.err
    made = surebox(*shlex.split(series)[1:], "--publish", "--json")
    assert made.code == 0, (series, made.err)
    assert [column["name"] for column in made.json["columns"]] == ["box", "weekly hours_lo", "weekly hours_hi"]


def test_no_series_of_a_withdrawn_release_is_advised(surebox: CommandLine, folder: Path) -> None:
    write_people(folder / "people.csv")
    done = surebox("anonymize", "people.csv", "--quasi-identifiers", "age,hours,sex", "--k", "5", "--publish", "--json")
    withdrawn = str(done.json["id"])
    assert surebox("withdraw", withdrawn).code == 0
    draft = surebox("anonymize", "people.csv", "--quasi-identifiers", "age,sex", "--k", "5", "--publish")
    assert draft.code == 3, "what was withdrawn was seen, so it counts"
    assert f"Together with {withdrawn}" in draft.err
    assert "--series-of" not in draft.err
    refused = surebox("anonymize", "--series-of", withdrawn, "--quasi-identifiers", "age,sex", "--k", "5", "--publish")
    assert (refused.code, "withdrawn" in refused.err) == (4, True)


def test_a_command_of_the_service_is_known_where_only_the_client_is(
    surebox: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surebox_client.commands.main.entry_points", lambda **_: ())
    done = surebox("certify", "made.csv")
    assert (done.code, "`surebox certify` comes with the service" in done.err) == (2, True)


@pytest.mark.parametrize(
    "line", [[], ["people.csv", "--series-of", "rel_1"], ["--series-of", "rel_1", "--set", "base_release_id=rel_2"]]
)
def test_a_file_or_a_base_is_named_and_not_both(surebox: CommandLine, folder: Path, line: list[str]) -> None:
    write_people(folder / "people.csv")
    done = surebox("anonymize", *line, "--quasi-identifiers", "age", "--k", "5", "--publish")
    assert done.code == 2
    assert "--series-of" in done.err
