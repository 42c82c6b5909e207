"""Drafts on the command line: their exit code, their file, how long they stay, and what publishes them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sqlalchemy import update

from app.cli.settings import open_database
from app.db.tables.releases import release
from surebox_client.commands.main import parser_of
from surebox_client.commands.spec import named_draft, publication
from tests.clients.commands import CommandLine
from tests.clients.test_command_line import BY, write_people
from tests.service import Service


def test_a_draft_is_written_under_a_name_of_its_own_and_without_a_certificate(
    surebox: CommandLine, folder: Path
) -> None:
    write_people(folder / "people.csv", seed=41)
    out = ["--out", "release.parquet", "--format", "parquet,csv.gz", "--certificate"]
    draft = surebox("anonymize", "people.csv", *BY, *out)
    assert draft.code == 0, draft.err
    assert draft.out.split() == ["release.draft.parquet", "release.draft.csv.gz"]
    assert {path.name for path in folder.glob("release*")} == set(draft.out.split())
    assert "no certificate" in draft.err
    month = (datetime.now(UTC) + timedelta(days=30)).date()
    assert f"deleted on {month}" in draft.err or f"deleted on {month - timedelta(days=1)}" in draft.err
    (listed,) = [json.loads(line) for line in surebox("drafts").out.splitlines()]
    assert surebox("publish", listed["id"]).code == 0
    assert surebox("drafts").out == ""
    assert surebox("download", listed["id"], "--out", "release.parquet", "--certificate").code == 0
    assert pl.read_parquet(folder / "release.parquet").equals(pl.read_parquet(folder / "release.draft.parquet"))
    assert (folder / "release.parquet.dsse.json").exists()


def test_only_a_publication_that_was_requested_and_did_not_happen_is_exit_code_3(
    surebox: CommandLine, folder: Path
) -> None:
    write_people(folder / "people.csv", seed=42)
    line = ["anonymize", "people.csv", *BY, "--require", "k=100", "--out", "release.csv"]
    trial = surebox(*line)
    assert (trial.code, "`k` is" in trial.err) == (0, True), "the finding is shown all the same"
    requested = surebox(*line, "--publish")
    assert requested.code == 3
    assert "was not published" in requested.err
    assert "will be deleted" not in requested.err, "it waits for an answer"
    assert {path.name for path in folder.glob("release*")} == {"release.draft.csv"}
    left = surebox(*line[:-2], "--publish", "--no-wait").json["job_id"]
    assert surebox("wait", left).code == 3
    (folder / "spec.json").write_text(json.dumps({"publish": "auto"}))
    assert surebox(*line, "--spec", "spec.json").code == 3
    assert surebox(*line, "--spec", "spec.json", "--draft").code == 0
    assert surebox(*line, "--set", "publish=auto", "--draft").code == 2, "two values of one field"


def test_drafts_are_listed_with_those_that_expire_within_a_week(
    surebox: CommandLine, folder: Path, service: Service
) -> None:
    ids = []
    for seed in (43, 44, 45):
        write_people(folder / "people.csv", seed=seed)
        mode = ["--require", "k=100", "--publish"] if seed == 45 else []
        ids.append(surebox("anonymize", "people.csv", *BY, *mode, "--json").json["id"])
    quiet = surebox("drafts")
    assert [json.loads(line)["expiring"] for line in quiet.out.splitlines()] == [False] * 3
    assert quiet.err == ""
    _, database = open_database(service.folder)
    try:
        with database.unit_of_work() as unit:
            soon = datetime.now(UTC) + timedelta(days=6, hours=23)
            unit.connection.execute(update(release).where(release.c.id == ids[1]).values(expires_at=soon))
    finally:
        database.close()
    done = surebox("drafts")
    listed = [json.loads(line) for line in done.out.splitlines()]
    assert [each["id"] for each in listed] == [ids[1], ids[0], ids[2]], "the first to expire first, then what stays"
    assert [each["expiring"] for each in listed] == [True, False, False]
    assert listed[2]["expires_at"] is None
    assert done.err.startswith("1 of them will be deleted within a week")
    assert [each["id"] for each in surebox("drafts", "--json").json] == [ids[1], ids[0], ids[2]]


def test_the_command_says_draft_to_a_service_whose_default_was_another() -> None:
    body: dict[str, Any] = {}
    publication(parser_of("anonymize").parse(["people.csv", *BY]), body)
    assert body["publish"] == "draft"


@pytest.mark.parametrize(
    ("out", "draft"),
    [
        ("people.parquet", "people.draft.parquet"),
        ("a/people.2026.csv", "a/people.2026.draft.csv"),
        ("people.csv.gz", "people.draft.csv.gz"),
        ("people.excel.csv", "people.draft.excel.csv"),
    ],
)
def test_the_name_of_a_draft_keeps_its_ending(out: str, draft: str) -> None:
    assert named_draft(Path(out)) == Path(draft)
