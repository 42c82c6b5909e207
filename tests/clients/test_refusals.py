"""Refusals, warnings and releases on the command line: in its own words, once, and briefly."""

import http.server
import json
import random
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.contracts import advice
from surebox_client import Surebox
from surebox_client.commands.main import COMMANDS, parser_of
from surebox_client.commands.refusals import OPTIONS, grouped, in_options
from tests.clients.commands import CommandLine
from tests.clients.test_command_line import BY, write_people
from tests.drawing import seeds

#: Fields of the API that have an option, which a command line therefore never prints.
FIELDS = ("missing_policy", "quasi_identifiers", "person_column", "domains", "/k", "/keep", "/statistics", "/gate")
SENTENCE = re.compile(r"[A-Z`'\"/0-9-].*[.?!:)]$")


def write_gaps(path: Path, *, columns: int, seed: int = 1) -> list[str]:
    """A table of columns that all lack values."""
    draw = random.Random(seed)
    names = [f"c{number}" for number in range(columns)]
    rows = [[str(draw.randint(1, 9)) if draw.random() > 0.1 else "" for _ in names] for _ in range(200)]
    path.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    return names


MISTAKES = [
    (["--quasi-identifiers", "aeg,hours", "--k", "5"], "--quasi-identifiers", "'age'"),
    ([*BY, "--keep", "sxe"], "--keep", "'sex'"),
    ([*BY, "--person-column", "sxe"], "--person-column", "'sex'"),
    ([*BY, "--domain", "hors=0,100"], "--domain", "hors"),
    ([*BY, "--statistic", "mean(aeg)"], "--statistic", "'age'"),
    ([*BY, "--set", "bounds=gird"], "--set bounds", "'grid'"),
    ([*BY, "--set", "bonds=grid"], "--set bonds", "bounds"),
    ([*BY, "--read", "delimter=;"], "--read delimter", "delimiter"),
    ([*BY, "--type", "age=integr"], "--type", "'integer'"),
    ([*BY, "--method", "boxs"], "", "'boxes'"),
    (["--quasi-identifiers", "age,hours", "--k", "401"], "--k", "400"),
    ([*BY, "--l", "2"], "--l", "--sensitive"),
    ([*BY, "--sensitive", "sex", "--keep", "sex", "--l", "3"], "--l", "2"),
]


def test_an_option_is_called_as_the_field_that_it_sets() -> None:
    """In the singular where it is repeated; those that take more than their field, or less, have words of their own."""
    other = {field for field, option in OPTIONS.items() if option[2:].replace("-", "_") not in (field, field[:-1])}
    assert other == {"gate", "version_of_dataset_id", "base_release_id", "column"}


@pytest.mark.parametrize(("options", "option", "nearest"), MISTAKES, ids=lambda value: str(value)[:40])
def test_a_refusal_names_the_option_once_and_what_would_work(
    surebox: CommandLine, folder: Path, options: list[str], option: str, nearest: str
) -> None:
    write_people(folder / "people.csv")
    done = surebox("anonymize", "people.csv", *options)
    assert done.code == 4
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    assert option in lines[0]
    assert nearest in lines[0]
    assert not any(field in done.err for field in FIELDS), done.err
    stated = lines[0].removeprefix("surebox: ").removeprefix(f"{option}: ")
    assert SENTENCE.match(stated), stated


def test_missing_values_are_refused_in_one_line_for_all_columns(surebox: CommandLine, folder: Path) -> None:
    names = write_gaps(folder / "gaps.csv", columns=20)
    done = surebox(
        "anonymize", "gaps.csv", "--quasi-identifiers", ",".join(names), "--k", "5", "--missing-policy", "refuse"
    )
    assert done.code == 4
    (line,) = done.err.splitlines()
    assert "`--missing-policy drop`" in line
    assert line.count("leaves those records out") == 1
    assert "'c0'" in line
    assert "11 more" in line


def test_warnings_about_many_columns_are_one_line(surebox: CommandLine, folder: Path) -> None:
    draw = random.Random(3)
    names = [f"c{number}" for number in range(20)]
    rows = [[f"{draw.randint(1, 9)},5" if draw.random() > 0.02 else "?" for _ in names] for _ in range(200)]
    (folder / "text.csv").write_text("\n".join(";".join(row) for row in [names, *rows]) + "\n")
    done = surebox("profile", "text.csv", "--json")
    warned = [line for line in done.err.splitlines() if line.startswith("Warning: ")]
    assert len(warned) <= 3, done.err
    assert surebox("profile", "text.csv", "--json", "--quiet").err.count("Warning") == 0


@pytest.mark.parametrize(
    "options",
    [{"thousands": " ", "decimal": ","}, {"type": "of both:number"}, {"missing_values": ("?", "-9")},
     {"date_format": "%d %m %Y"}, {"delimiter": "\\t"}],
)  # fmt: skip
def test_advice_is_printed_as_the_options_that_can_be_copied(options: advice.Options) -> None:
    text = f"Upload the file with {advice.spelled(options)}. As it is, it stays text."
    assert in_options(text) == f"Upload the file with `{advice.command_line(options)}`. As it is, it stays text."


@pytest.mark.parametrize("seed", seeds(30))
def test_messages_that_differ_in_the_column_alone_are_one(seed: int) -> None:
    draw = random.Random(seed)
    kinds = [f"fault {letter} of '{{}}' with {{}} cells." for letter in "abcd"[: draw.randint(1, 4)]]
    drawn = [(kind, f"c{draw.randint(0, 50)}") for kind in kinds for _ in range(draw.randint(1, 25))]
    draw.shuffle(drawn)
    lines = grouped(kind.format(name, draw.randint(1, 99)) for kind, name in drawn)
    assert len(lines) == len(kinds)
    for line in lines:
        kind = next(each for each in kinds if line.startswith(each.partition(" of")[0]))
        columns = {name for each, name in drawn if each == kind}
        named = set(re.findall(r"'(c\d+)'", line))
        assert named <= columns
        more = re.search(r"and (\d+) more", line)
        assert len(columns) <= len(named) + int(more[1] if more else 0)


@pytest.mark.parametrize(
    "option", [["--statistic", "mean(age_now)"], ["--domain", "age_now=0,99"], ["--set", 'min_width={"age_now": 2}']]
)
def test_a_column_of_the_file_that_is_not_used_can_be_added_as_advised(
    surebox: CommandLine, folder: Path, option: list[str]
) -> None:
    write_people(folder / "people.csv")
    text = (folder / "people.csv").read_text()
    (folder / "people.csv").write_text(text.replace("age,hours,sex", "age,age_now,sex"))
    used = ["--quasi-identifiers", "age,sex", "--k", "5"]
    refused = surebox("anonymize", "people.csv", *used, *option)
    assert (refused.code, "did you mean" in refused.err) == (4, False), refused.err
    assert "olumn 'age_now' is not among the columns of this job: add it to `--quasi-identifiers`" in refused.err
    added = surebox("anonymize", "people.csv", *used, "--quasi-identifiers", "age_now", *option, "--quiet")
    assert added.code == 0, added.err
    close = surebox("anonymize", "people.csv", *used, *[each.replace("age_now", "age_nwo") for each in option])
    assert "did you mean 'age_now'?" in close.err


def test_quiet_is_quiet(surebox: CommandLine, folder: Path) -> None:
    write_gaps(folder / "gaps.csv", columns=2)
    done = surebox(
        "anonymize", "gaps.csv", "--quasi-identifiers", "c0,c1", "--k", "5", "--missing-policy", "drop", "--quiet"
    )
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) == 3


@pytest.mark.parametrize("name", COMMANDS)
def test_a_misspelt_option_or_command_is_answered_with_the_nearest(surebox: CommandLine, name: str) -> None:
    assert f"did you mean `{name}`?" in surebox(name[:-1] + name[-1] * 2).err
    options = [text for action in parser_of(name)._actions for text in action.option_strings if len(text) > 6]
    for option in options:
        refused = surebox(name, *(["x"] if name != "releases" else []), f"{option}x")
        assert refused.code == 2
        if "There is no option" in refused.err:
            assert "did you mean --" in refused.err


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("median(age)", "quantile(age, 0.5)"),
        ("avg(age)", "mean(age)"),
        ("sd(age)", "standard_dev"),
        ("percentile(age, 0.25)", "quantile(age, 0.25)."),
        ("percentile(age)", "quantile(age, 0.9)"),
    ],
)
def test_a_statistic_by_another_name_is_answered_with_ours(
    surebox: CommandLine, folder: Path, text: str, written: str
) -> None:
    write_people(folder / "people.csv")
    done = surebox("anonymize", "people.csv", *BY, "--statistic", text)
    assert (done.code, written in done.err) == (2, True), done.err


def test_releases_are_three_lines_and_json_by_order(surebox: CommandLine, folder: Path) -> None:
    write_people(folder / "people.csv", seed=21)
    draft = surebox("anonymize", "people.csv", *BY, "--draft")
    assert draft.code == 0
    assert len(draft.out.splitlines()) == 3
    release = draft.out.split()[0]
    assert draft.out.startswith(f"{release} is a draft\n")
    published = surebox("publish", release)
    assert (published.code, published.out.splitlines()[0]) == (0, f"{release} is published")
    assert len(published.out.splitlines()) == 3
    for reason in ([], ["--reason", "wrong year"], [], ["--reason", "wrong file"]):
        withdrawn = surebox("withdraw", release, *reason)
        assert (withdrawn.code, withdrawn.out.splitlines()[0]) == (0, f"{release} is withdrawn")
    assert surebox("withdraw", release, "--json").json["state"] == "withdrawn"
    with Surebox() as service:
        log = [each for each in service.get("/v1/log", action="withdrawn")["items"] if each["subject"] == release]
    assert [each["facts"]["reason"] for each in sorted(log, key=lambda each: each["sequence"])] == [
        None, "wrong year", "wrong file",
    ]  # fmt: skip


def test_marks_of_a_run_are_tags_of_the_job_and_not_of_its_release(surebox: CommandLine, folder: Path) -> None:
    write_people(folder / "people.csv", seed=22)
    done = surebox("anonymize", "people.csv", *BY, "--idempotency-key", "night", "--tag", "table=marked", "--json")
    assert done.json["tags"] == {"table": "marked"}
    with Surebox() as service:
        assert set(service.job(done.json["job_id"]).data["tags"]) == {
            "table", "job.idempotency", "job.idempotency-order",
        }  # fmt: skip


@pytest.mark.parametrize("rows", [0, 1])
def test_a_file_of_no_or_one_record_gets_no_command_to_copy(surebox: CommandLine, folder: Path, rows: int) -> None:
    (folder / "few.csv").write_text("a,b\n" + "1,2\n" * rows)
    done = surebox("profile", "few.csv")
    assert "surebox anonymize" not in done.err
    assert "surebox anonymize" not in done.out
    (folder / "no.csv").write_text("")
    assert "surebox anonymize" not in surebox("profile", "no.csv").err


def test_types_that_readers_see_are_named_when_they_are_first_published(surebox: CommandLine, folder: Path) -> None:
    write_people(folder / "people.csv", seed=23)
    assert "Types of columns" not in surebox("anonymize", "people.csv", *BY, "--draft").err
    declared = ["--type", "age=integer", "--type", "hours=integer"]
    assert "Types of columns" not in surebox("anonymize", "people.csv", *BY, *declared, "--draft").err
    first = surebox("anonymize", "people.csv", *BY, "--publish", "--version-of", "latest:table=typed")
    assert first.err.count("Types of columns") == 1
    write_people(folder / "people.csv", seed=23, more=40)
    later = surebox("anonymize", "people.csv", *BY, "--publish", "--version-of", "latest:table=typed")
    assert (later.code, "Types of columns" in later.err) == (0, False), later.err


class Other(http.server.BaseHTTPRequestHandler):
    """Another server, which answers everything with one status and body."""

    status, body, kind = 200, b"", "text/html"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(self.status)
        self.send_header("Content-Type", self.kind)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_POST = do_GET  # noqa: N815 - as the base class calls it

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(
    params=[
        (200, b"<html>hello</html>", "text/html"), (404, b"<html>no</html>", "text/html"),
        (404, json.dumps({"error": "no"}).encode(), "application/json"),
        (200, json.dumps({"hello": 1}).encode(), "application/json"), (200, b"[]", "application/json"),
    ],
    ids=["page", "page-404", "json-404", "json", "list"],
)  # fmt: skip
def elsewhere(request: pytest.FixtureRequest) -> Iterator[str]:
    status, body, kind = request.param
    handler = type("Handler", (Other,), {"status": status, "body": body, "kind": kind})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("command", [["releases"], ["audit", "people.csv", "--quasi-identifiers", "sex"]])
def test_another_server_at_the_address_is_said_not_to_be_surebox(
    surebox: CommandLine, folder: Path, elsewhere: str, command: list[str]
) -> None:
    write_people(folder / "people.csv")
    done = surebox(*command, "--url", elsewhere)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1].startswith("surebox: The server at this address answers, but is not Surebox")


def test_one_record_is_counted_in_the_singular_and_nothing_is_proposed(surebox: CommandLine, folder: Path) -> None:
    (folder / "one.csv").write_text("age,sex\n33,f\n")
    profile = surebox("profile", "one.csv")
    assert profile.code == 0, profile.err
    printed = profile.out + profile.err
    assert "one.csv: 1 record. " in printed
    assert "There is nothing to propose" in printed
    assert "surebox anonymize" not in printed, "no command that would fail"
    refused = surebox("anonymize", "one.csv", "--quasi-identifiers", "age", "--k", "2")
    assert (refused.code, "is too large for 1 record: the largest k is 1" in refused.err) == (4, True)


def test_letters_of_the_field_stay_letters_and_their_values_are_options() -> None:
    assert in_options("Variety by `l`, `t` or `alpha`, beside `k`.") == "Variety by `l`, `t` or `alpha`, beside `k`."
    assert in_options("Set `l: 2` or `alpha: 0.5`.") == "Set `--l 2` or `--alpha 0.5`."
