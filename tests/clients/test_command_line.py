"""The command line: what it prints, what its exit codes say, what it leaves."""

import hashlib
import json
import os
import random
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import psutil
import pytest
import typer

from app.cli.main import cli
from surebox_client import Surebox
from surebox_client.commands import keys, parsing, running, where
from surebox_client.commands.main import COMMANDS, GROUP, parser_of
from tests.clients.commands import CommandLine, Done, program
from tests.servers import still_alive
from tests.service import Service

BY = ["--quasi-identifiers", "age,hours", "--k", "5"]


def write_people(path: Path, *, rows: int = 400, seed: int = 1, more: int = 0) -> Path:
    """A table of invented persons; `more` rows follow those that the same seed made before."""
    draw = random.Random(seed)
    lines = [f"{draw.randint(18, 80)},{draw.randint(5, 60)},{draw.choice('fm')}" for _ in range(rows + more)]
    path.write_text("\n".join(["age,hours,sex", *lines]) + "\n")
    return path


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself_with_examples_that_it_reads_and_loads_nothing_for_it(name: str) -> None:
    code = (
        "import sys; from surebox_client.commands.main import run\n"
        "try: run(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'httpx', 'typer', 'app', 'numpy', 'polars', 'pydantic', 'asyncio'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, name, "--help"], capture_output=True, text=True, check=True
    )
    examples = [line.strip() for line in done.stdout.splitlines() if line.startswith(f"  surebox {name}")]
    assert len(examples) == 2
    for example in examples:
        parser_of(name).parse(shlex.split(example)[2:])


def test_the_service_adds_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    group: Any = typer.main.get_command(cli)
    own = {name for name, command in group.commands.items() if not command.hidden}
    assert {each.name for each in entry_points(group=GROUP)} == own
    assert not own & set(COMMANDS)
    overview = CommandLine(capsys)("--help")
    assert overview.code == 0
    assert all(name in overview.out for name in own | set(COMMANDS))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["audit", "people.csv", "--quasi-identifiers", "sex", "--require", "k=2"], 0),
        (["anonymize", "people.csv", *BY], 0),
        (["anonymize", "people.csv", *BY, "--publish"], 0),
        (["anonymize", "people.csv", *BY, "--url", "http://127.0.0.1:1"], 1),
        (["anonymize", "absent.csv", *BY], 2),
        (["anonymize", "people.csv", "--quasi-identifiers", "age"], 2),
        (["anonymize", "people.csv", "--k", "five"], 2),
        (["anonymize", "people.csv", *BY, "--unheard-of"], 2),
        (["anonymize", "people.csv", *BY, "--out", "release.xlsx"], 2),
        (["unheard-of"], 2),
        (["anonymize", "people.csv", *BY, "--draft"], 0),
        (["anonymize", "people.csv", *BY, "--draft", "--publish"], 2),
        (["anonymize", "people.csv", *BY, "--require", "k=300"], 0),
        (["anonymize", "people.csv", *BY, "--require", "k=300", "--publish"], 3),
        (["audit", "people.csv", "--quasi-identifiers", "age,hours", "--require", "k=50"], 3),
        (["anonymize", "people.csv", "--quasi-identifiers", "age", "--k", "1000"], 4),
        (["anonymize", "people.csv", "--quasi-identifiers", "aeg", "--k", "5"], 4),
        (["releases", "--key-file", "wrong.key"], 4),
        (["download", "rel_unknown"], 4),
        (["anonymize", "people.csv", *BY, "--timeout", "0.001"], 5),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_an_exit_code_says_how_a_command_has_ended(
    surebox: CommandLine, folder: Path, arguments: list[str], code: int
) -> None:
    write_people(folder / "people.csv")
    (folder / "wrong.key").write_text("sb_wrong_key_that_nobody_has\n")
    done = surebox(*arguments)
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    assert "sb_wrong" not in done.err
    assert done.err.count("\n") >= (code != 0), "what is wrong is said"


def test_ctrl_c_ends_a_command_with_130(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with program("releases", "--url", address, cwd=folder, SUREBOX_API_KEY="sb_some_key_12345678") as process:
            connection, _ = silent.accept()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
            connection.close()
    assert process.returncode == 130
    assert err == "surebox: Interrupted.\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_interrupts_a_command_is_told_of_the_job_that_goes_on(
    surebox: CommandLine, folder: Path, number: signal.Signals
) -> None:
    write_people(folder / "people.csv", rows=60_000)
    mine = {name: os.environ[name] for name in ("SUREBOX_URL", "SUREBOX_API_KEY")}
    with Surebox() as service, program("anonymize", "people.csv", *BY, cwd=folder, **mine) as process:
        while not (jobs := [each.id for each in service.jobs()]):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (130, ""), err
        assert err.splitlines()[-3:] == [
            f"Job {jobs[0]} goes on.",
            f"To have its answer, and the uploaded rows deleted: surebox wait {jobs[0]}",
            "surebox: Interrupted.",
        ]
        assert len(list(service.datasets())) == 1
    assert surebox("wait", jobs[0]).code == 0
    with Surebox() as service:
        assert not list(service.datasets())


def test_a_release_is_written_in_each_format_and_verified(surebox: CommandLine, folder: Path) -> None:
    write_people(folder / "people.csv")
    done = surebox(
        "anonymize", "people.csv", *BY, "--keep", "sex", "--statistic", "mean(hours)", "--missing-policy", "drop",
        "--tag", "table=people", "--out", "release.csv", "--format", "csv,parquet", "--certificate", "--publish",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.out.split() == ["release.csv", "release.parquet"]
    keys = ["--keys", "release.csv.jwks.json"]
    verified = program("verify", "release.csv", *keys, cwd=folder)
    out, err = verified.communicate(timeout=300)
    assert verified.returncode == 0, out + err
    (listed,) = [json.loads(line) for line in surebox("releases", "--tag", "table=people").out.splitlines()]
    assert (listed["state"], listed["rows"], listed["tags"]) == ("published", 400, {"table": "people"})
    again = surebox("download", "latest:table=people", "--out", "again.parquet")
    assert (again.code, again.out) == (0, "again.parquet\n")
    assert (folder / "again.parquet").read_bytes() == (folder / "release.parquet").read_bytes()
    withdrawn = surebox("withdraw", listed["id"], "--reason", "a trial", "--json")
    assert (withdrawn.code, withdrawn.json["state"]) == (0, "withdrawn")


def test_rows_are_deleted_with_the_answer_unless_they_are_to_be_kept(
    surebox: CommandLine, folder: Path, service: Service
) -> None:
    write_people(folder / "people.csv")
    with service.client() as client:
        client.headers["Authorization"] = f"Bearer {os.environ['SUREBOX_API_KEY']}"

        def kept() -> int:
            return len(client.get("/v1/datasets").raise_for_status().json()["items"])

        assert surebox("anonymize", "people.csv", *BY, "--publish").code == 0
        assert surebox("anonymize", "people.csv", "--quasi-identifiers", "aeg", "--k", "5").code == 4
        assert surebox("audit", "people.csv", "--quasi-identifiers", "sex").code == 0
        assert kept() == 0
        left = surebox("anonymize", "people.csv", *BY, "--draft", "--no-wait")
        assert (left.code, kept()) == (0, 1), left.err
        waited = surebox("wait", left.json["job_id"], "--json")
        assert (waited.code, kept()) == (0, 0), waited.err
        assert waited.json["state"] == "draft"
        assert surebox("anonymize", "people.csv", *BY, "--draft", "--keep-data").code == 0
        assert kept() == 1
        (family,) = client.get("/v1/families").raise_for_status().json()["items"]
        assert len(family["published"]) == 1, "one family of all, whose rows are gone"


def test_a_command_that_is_left_promises_to_delete_rows_that_it_has_uploaded_only(
    surebox: CommandLine, folder: Path
) -> None:
    write_people(folder / "people.csv")
    anonymized = surebox("anonymize", "people.csv", *BY, "--tag", "table=left")
    assert anonymized.code == 0, anonymized.err
    (released,) = [json.loads(line) for line in surebox("releases", "--tag", "table=left").out.splitlines()]
    assert surebox("audit", released["id"]).code == 0
    with Surebox() as service:
        said = {job.data["method"]: running.left(job) for job in service.jobs() if job.data["kind"] != "upload"}
        ids = {job.data["method"]: job.id for job in service.jobs()}
    assert said["boxes"] == f"To have its answer, and the uploaded rows deleted: surebox wait {ids['boxes']}"
    assert said["table"] == f"To have its answer: surebox wait {ids['table']}"


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_an_audit_of_a_file_takes_the_columns_of_the_certificate_next_to_it(
    surebox: CommandLine, folder: Path, file_format: str
) -> None:
    write_people(folder / "people.csv", seed=11)
    out = f"own.{file_format}"
    assert surebox("anonymize", "people.csv", *BY, "--publish", "--out", out, "--certificate").code == 0
    audited = surebox("audit", out, "--require", "k=2", "--json")
    assert audited.code == 0, audited.err
    assert "as its certificate states them" in audited.err
    write_people(folder / "other.csv", seed=12)
    (folder / "other.csv.dsse.json").write_bytes((folder / f"{out}.dsse.json").read_bytes())
    other = surebox("audit", "other.csv", "--require", "k=2")
    assert other.code == 2, "the certificate is another file's: columns are proposed"


def test_a_draft_states_its_findings_and_no_override(surebox: CommandLine, folder: Path) -> None:
    write_people(folder / "people.csv", rows=300, seed=3)
    done = surebox("anonymize", "people.csv", *BY, "--require", "k=100", "--publish", "--json", "--out", "release.csv")
    assert done.code == 3
    assert not (folder / "release.csv").exists(), "what is not published is not handed on"
    draft = done.json
    assert "`k` is" in done.err
    assert f"surebox download {draft['id']}" in done.err
    assert "--accept-findings" not in done.err, "how findings are overridden is in the documents alone"
    refused = surebox("publish", draft["id"])
    assert refused.code == 3, refused.err
    assert "accept" not in refused.err
    published = surebox("publish", draft["id"], "--accept-findings", "table", "--json")
    assert (published.code, published.json["state"]) == (0, "published")


def test_one_idempotency_key_is_one_release(surebox: CommandLine, folder: Path) -> None:
    write_people(folder / "people.csv", seed=4)
    order = [
        "anonymize",
        "people.csv",
        *BY,
        "--publish",
        "--version-of",
        "latest:table=people",
        "--idempotency-key",
        "monday",
        "--json",
    ]
    first, second = (surebox(*order) for _ in range(2))
    assert (first.code, second.code) == (0, 0), second.err
    assert first.json["id"] == second.json["id"]
    assert len(surebox("releases").out.splitlines()) == 1
    other = surebox(*order, "--keep", "sex")
    assert other.code == 2
    assert "another order" in other.err


def test_the_marks_of_a_run_are_of_a_secret_and_not_of_what_readers_can_guess(
    surebox: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tags are a job's alone, and trying keys, orders and files finds none of them."""
    write_people(folder / "people.csv", seed=9)
    order = ["anonymize", "people.csv", *BY]
    done = surebox(*order, "--idempotency-key", "tuesday", "--json")
    assert done.json["tags"] == {}
    with Surebox() as service:
        tags = service.job(done.json["job_id"]).data["tags"]
    assert set(tags) == {"job.idempotency", "job.idempotency-order"}
    guesses = ["tuesday", "people.csv", (folder / "people.csv").read_text(), ["tuesday"]]
    digests = {
        hashlib.new(kind, text.encode()).hexdigest()[:24]
        for kind in ("md5", "sha1", "sha256")
        for guess in guesses
        for text in (str(guess), json.dumps(guess))
    }
    assert not digests & set(tags.values())
    given = parser_of("anonymize").parse([*order[1:], "--idempotency-key", "tuesday"])
    assert running.mark(where.marking_key(given), "tuesday") == tags["job.idempotency"]
    monkeypatch.setenv("SUREBOX_API_KEY", "sb_of_somebody_else_12345")
    assert running.mark(where.marking_key(given), "tuesday") != tags["job.idempotency"]


def test_a_folder_keeps_the_secret_of_its_marks(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with ThreadPoolExecutor(8) as threads:
        secrets = set(threads.map(keys.secret_of, [tmp_path / "one"] * 8))
    (secret,) = secrets
    assert secret != keys.secret_of(tmp_path / "two")
    (file,) = (tmp_path / "one").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_without_quasi_identifiers_nothing_is_guessed_and_the_proposal_can_be_copied(
    surebox: CommandLine, folder: Path
) -> None:
    write_people(folder / "people.csv", seed=5)
    done = surebox("anonymize", "people.csv")
    assert (done.code, done.out) == (2, "")
    assert all(name in done.err for name in ("age", "hours", "sex"))
    assert surebox("releases").out == ""
    copied = shlex.split(done.err.splitlines()[-1])
    assert copied[:3] == ["surebox", "anonymize", "people.csv"]
    assert surebox(*copied[1:]).code == 0
    profile = surebox("profile", "people.csv", "--json")
    assert profile.code == 0
    assert [column["name"] for column in profile.json["columns"]] == ["age", "hours", "sex"]
    assert "quasi_identifiers" in profile.json["proposal"]


def test_what_is_proposed_for_persons_is_of_their_column(surebox: CommandLine, folder: Path) -> None:
    rows = [f"{visit % 50},{20 + visit % 50},{visit % 7}" for visit in range(200)]
    (folder / "visits.csv").write_text("\n".join(["patient,age,ward", *rows, ""]))
    audit = surebox("audit", "visits.csv", "--person-column", "patient")
    assert audit.code == 2
    assert "--person-column patient" in audit.err.splitlines()[-1], audit.err
    with Surebox() as service:
        (job,) = service.get("/v1/jobs", kind="audit")["items"]
    assert job["spec"]["person_column"] == "patient"


def test_each_k_is_shown_with_what_it_costs(surebox: CommandLine, folder: Path) -> None:
    write_people(folder / "people.csv", seed=6)
    done = surebox("frontier", "people.csv", "--quasi-identifiers", "age,hours", "--k", "5,50", "--json")
    few, many = done.json["points"]
    assert (done.code, few["k"], many["k"]) == (0, 5, 50)
    assert few["box_count"] > many["box_count"]


def test_the_width_of_each_named_statistic_is_shown_for_each_k(surebox: CommandLine, folder: Path) -> None:
    write_people(folder / "people.csv", seed=6)
    named = [part for one in ("mean(age)", "quantile(hours, 0.5)", "share(sex)") for part in ("--statistic", one)]
    columns = ("--quasi-identifiers", "age,hours,sex")
    done = surebox("frontier", "people.csv", *columns, "--k", "5,50", *named, "--json")
    head, *rows = (re.split(r"  +", line) for line in done.err.splitlines()[-3:])
    labels = ["mean(age)", "quantile(hours, 0.5)", "share(sex)"]
    of_means = [f"{label}, means" for label in labels]
    assert head == ["k", "boxes", "released", "lost", "known", *labels, *of_means, "insider"]
    points = done.json["points"]
    for row, point in zip(rows, points, strict=True):
        mean, median, *shares = (one["width"] for one in point["statistics"])
        assert [float(cell) for cell in row[5:8]] == pytest.approx([mean, median, max(shares)], rel=1e-3)
        mean, median, *shares = (one["width_with_means"] for one in point["statistics"])
        assert [float(cell) for cell in row[8:11]] == pytest.approx([mean, median, max(shares)], rel=1e-3)
        assert float(row[8]) < float(row[5]), "means make the range of a mean narrower"
        left = min(point["with_means"]["left_to_insider"].values())
        assert float(row[11].rstrip("%")) / 100 == pytest.approx(left, abs=6e-3)
        known = max(one["exact"] for one in point["value_disclosure"].values())
        assert float(row[4].rstrip("%")) / 100 == pytest.approx(known, abs=6e-4)
    assert float(rows[0][5]) < float(rows[1][5]), "a larger k has wider ranges"


def test_a_login_is_kept_for_its_owner_only_and_the_key_is_never_shown(
    surebox: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, url = os.environ["SUREBOX_API_KEY"], os.environ["SUREBOX_URL"]
    monkeypatch.delenv("SUREBOX_API_KEY")
    (folder / "key.txt").write_text(key + "\n")
    assert surebox("releases").code == 4
    done = surebox("login", "--url", url, "--key-file", "key.txt")
    kept = Path(done.out.strip())
    assert (done.code, stat.S_IMODE(kept.stat().st_mode)) == (0, 0o600)
    assert surebox("releases", "--url", f"{url}/").code == 0
    (folder / "key.txt").write_text("sb_wrong_key_that_nobody_has")
    wrong = surebox("login", "--url", url, "--key-file", "key.txt")
    assert (wrong.code, "sb_wrong" in wrong.err) == (4, False)
    assert surebox("releases").code == 0, "the login before is still there"
    for arguments in (["releases", "--key", key], ["releases", f"--key={key}"], ["releases", key]):
        refused = surebox(*arguments)
        assert (refused.code, key in refused.err) == (2, False)
    (folder / "key.txt").write_text(f"{key}\nanother line")
    unreadable = surebox("releases", "--key-file", "key.txt")
    assert (unreadable.code, key in unreadable.err) == (2, False)
    assert surebox("login", "--url", url, "--forget").code == 0
    assert surebox("releases").code == 4


def test_options_win_over_the_specification(surebox: CommandLine, folder: Path) -> None:
    write_people(folder / "people.csv", seed=7)
    spec = {"method": "boxes", "k": 50, "quasi_identifiers": ["age", "sex"], "domains": {"age": [0, 120]}}
    (folder / "spec.json").write_text(json.dumps(spec))
    options = ["--k", "8", "--set", "bounds=grid", "--domain", "hours=0,168", "--quasi-identifiers", "age,hours"]
    left = surebox("anonymize", "people.csv", "--spec", "spec.json", *options, "--no-wait")
    assert surebox("wait", left.json["job_id"]).code == 0
    with Surebox() as service:
        made = service.job(left.json["job_id"]).data["spec"]
    assert made is not None
    assert (made["k"], made["quasi_identifiers"], made["bounds"]) == (8, ["age", "hours"], "grid")
    assert made["domains"] == {"age": [0, 120], "hours": [0, 168]}


@pytest.mark.parametrize("option", ["--l", "--t", "--alpha"])
def test_what_is_demanded_of_a_sensitive_column_is_an_option(surebox: CommandLine, folder: Path, option: str) -> None:
    write_people(folder / "people.csv", seed=9)
    field, value = option.removeprefix("--"), {"--l": 2, "--t": 0.5, "--alpha": 1.0}[option]
    line = ["anonymize", "people.csv", *BY, "--sensitive", "sex", option, str(value), "--draft"]
    assert surebox(*line, "--set", f"{field}=0.25").code == 2, "two values of one field"
    with Surebox() as service:
        made = service.job(surebox(*line, "--no-wait").json["job_id"]).data["spec"]
    assert made is not None
    assert made[field] == value
    assert surebox(*line[:-2], "1.5", "--draft").code == 2, "neither a whole number nor a share"


def write_counts(path: Path, *, least: int) -> None:
    """Forty rows, the first of so many persons and each later one of one more."""
    rows = [f"{20 + at // 2},{'fm'[at % 2]},{least + at}" for at in range(40)]
    path.write_text("\n".join(["age,sex,n", *rows, ""]))


def test_counts_of_persons_are_an_option_of_each_command_on_a_table(surebox: CommandLine, folder: Path) -> None:
    write_counts(folder / "counts.csv", least=1)
    write_counts(folder / "large.csv", least=2)
    by, persons = ["--quasi-identifiers", "age,sex", "--frequency-column", "n"], sum(range(1, 41))
    made = surebox("anonymize", "counts.csv", *by, "--k", "5", "--draft", "--json")
    assert (made.code, made.json["rows"]) == (0, persons)
    assert surebox("frontier", "counts.csv", *by, "--k", "2,5").code == 0
    audit = surebox("audit", "counts.csv", *by, "--json")
    assert (audit.code, audit.json["records"]) == (0, persons)
    proposal = surebox("audit", "counts.csv", "--frequency-column", "n", "--json")
    assert (proposal.code, proposal.json["proposal"]["quasi_identifiers"]) == (2, ["age", "sex"])
    assert "--frequency-column n" in proposal.err
    refused = surebox("anonymize", "large.csv", *by, "--k", "5", "--draft")
    assert refused.code == 4
    assert "--frequencies-are-exact: No count of 'n' is below 2" in refused.err
    assert "`--frequencies-are-exact`" in refused.err
    assert surebox("anonymize", "large.csv", *by, "--k", "5", "--draft", "--frequencies-are-exact").code == 0
    assert surebox("anonymize", "counts.csv", *by, "--k", "5", "--person-column", "sex").code == 4
    assert surebox("anonymize", "counts.csv", *by, "--k", "5", "--set", "frequency_column=sex").code == 2


def test_a_sensitive_column_is_published_unless_withheld_and_the_guess_that_is_left_is_said(
    surebox: CommandLine, folder: Path
) -> None:
    write_people(folder / "people.csv", seed=10)
    line = ["anonymize", "people.csv", *BY, "--sensitive", "sex", "--l", "2", "--draft", "--json"]
    for more, shown in (([], True), (["--withheld", "sex"], False)):
        done = surebox(*line, *more)
        assert ("sex" in {column["name"] for column in done.json["columns"]}) == shown
        with Surebox() as service:
            result = service.job(done.json["job_id"]).data["result"]
        assert result is not None
        worst, above = result["largest_share"]["sex"], result["share_above_60_percent"]["sex"]
        assert 0.5 < worst < 1
        assert f"one value of `sex` is that of {worst:.0%} of the rows; {above:.0%} of all rows" in done.err
    refused = surebox(*line, "--withheld", "age")
    assert (refused.code, "--withheld: 'age' is not one of `--sensitive`" in refused.err) == (4, True)
    assert surebox(*line, "--withheld", "sex", "--set", "withheld=[]").code == 2


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (parsing.names, 'age, "hours, weekly",sex', ["age", "hours, weekly", "sex"]),
        (parsing.listed, "educ=low,mid,high", ("educ", ["low", "mid", "high"])),
        (parsing.ends, "age=0,120", ("age", [0, 120])),
        (parsing.ends, "born=1900-01-01,2026-12-31", ("born", ["1900-01-01", "2026-12-31"])),
        (parsing.demands, "k=5,t=0.2", {"k": 5, "t": 0.2}),
        (parsing.setting, "max_suppressed=0.1", ("max_suppressed", 0.1)),
        (parsing.setting, "bounds=grid", ("bounds", "grid")),
    ],
)
def test_what_is_written_between_commas_is_read(read: Callable[[str], Any], text: str, value: Any) -> None:
    assert read(text) == value


@pytest.fixture
def started(folder: Path) -> Iterator[Path]:
    """A folder on which no service runs yet; what was started on it has ended afterwards."""
    yield folder / ".surebox"
    with program("stop", "--force", cwd=folder) as stopping:
        stopping.communicate(timeout=120)


@pytest.mark.long
def test_five_commands_at_once_share_one_service_that_stops_at_once(started: Path, folder: Path) -> None:
    write_people(folder / "people.csv")
    order = ["audit", "people.csv", "--quasi-identifiers", "sex", "--require", "k=2", "--json"]
    settings = {"SUREBOX_WARM_KERNELS": "false"}
    five = [program(*order, cwd=folder, **settings) for _ in range(5)]
    ended = [Done(0, *process.communicate(timeout=500)) for process in five]
    assert [process.returncode for process in five] == [0] * 5, ended
    assert sum("Starting the service" in each.err for each in ended) == 1
    assert {each.json["k"] for each in ended} == {min(each.json["k"] for each in ended)}
    assert (started / ".gitignore").read_text() == "*\n"
    assert stat.S_IMODE(started.stat().st_mode) == 0o700
    service = psutil.Process(int((started / "serve.lock").read_text()))
    with program("stop", cwd=folder) as stopping:
        assert "has ended" in stopping.communicate(timeout=120)[1]
    assert still_alive([service], within=60) == []
