"""Housekeeping and submissions cost what is due, not what there is: an owner of many releases holds up nobody."""

import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event

from app.db.repositories import datasets, expiry, quotas, stored_objects
from app.db.session import Database
from app.housekeeping import orphans
from app.housekeeping.loop import Rounds
from app.queue import JobQueue
from app.storage.factory import open_storage
from benchmarks.many_releases import OWNER, fill, least, questions
from tests.drawing import examples
from tests.faults.rig import Rig
from tests.servers import Databases

ROWS = 5_000
#: Tables with a row for each release, or more.
LARGE = {"job", "job_progress", "job_result", "job_input", "release", "release_file", "release_link", "ledger_file",
         "publication_entry"}  # fmt: skip
#: Questions of slow rounds that may read all jobs: once a minute, beside the quick rounds.
SLOW = {"links of deleted releases", "results that were erased"}


@pytest.fixture(scope="module")
def many(databases: Databases) -> Iterator[Database]:
    url = databases.fresh()
    database = Database(url, pool_size=2)
    fill(database, ROWS)
    yield database
    database.close()
    databases.drop(url)


@pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet"])
def test_a_batch_of_stored_objects_is_one_value_and_judged_as_one_by_one(many: Database, kind: str) -> None:
    """A parameter a key and column took a database and its client ten times as long."""
    sent: list[int] = []

    def note(_connection: Any, _cursor: Any, _statement: str, values: Any, *_: Any) -> None:
        sent.append(len(values))

    keys = [f"releases/rel_{at}/x.{end}" for at in range(1, 251) for end in (kind, "none")]
    event.listen(many.engine, "before_cursor_execute", note)
    with many.unit_of_work() as unit:
        named = expiry.referenced(unit.connection, keys=keys)
        gone = expiry.of_deleted(unit.connection, keys=keys)
        unknown = stored_objects.unknown(unit.connection, keys=keys)
        staged = datasets.referenced(unit.connection, staged_keys=keys)
    event.remove(many.engine, "before_cursor_execute", note)
    assert len(sent) == 4
    assert max(sent) <= 9  # a list a column that names objects, at most
    assert (named, gone, set(unknown), staged) == ({key for key in keys if key.endswith(kind)}, set(), set(keys), set())


def plans(database: Database, name: str) -> list[dict[str, Any]]:
    """The plans of the statements that a question sends."""
    sent: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if statement.startswith("SELECT"):
            sent.append((statement, values))

    event.listen(database.engine, "before_cursor_execute", note)
    with database.unit_of_work() as unit:
        questions()[name](unit.connection)
    event.remove(database.engine, "before_cursor_execute", note)
    rows = []
    for statement, values in sent:
        with database.unit_of_work() as unit:
            rows.append(unit.connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", values).scalar_one())
    return [(json.loads(row) if isinstance(row, str) else row)[0]["Plan"] for row in rows]


def read_whole(plan: dict[str, Any]) -> Iterator[str]:
    """Tables that a plan reads from their first row to the last."""
    if plan["Node Type"] == "Seq Scan":
        yield plan["Relation Name"]
    for part in plan.get("Plans", ()):
        yield from read_whole(part)


@pytest.mark.parametrize("name", sorted(questions().keys() - SLOW - {"parts without a whole"}))
def test_no_large_table_is_read_whole(many: Database, name: str) -> None:
    explained = plans(many, name)
    assert explained
    assert LARGE.isdisjoint(table for plan in explained for table in read_whole(plan))


def test_what_an_owner_keeps_is_counted_also_where_an_older_process_wrote_it(many: Database) -> None:
    with many.unit_of_work() as unit:
        assert quotas.releases(unit.connection, owner=OWNER) == quotas.Kept(ROWS, 3000 * ROWS)
        unit.connection.exec_driver_sql("UPDATE release SET file_bytes = NULL WHERE id IN ('rel_1', 'rel_7')")
        assert quotas.releases(unit.connection, owner=OWNER) == quotas.Kept(ROWS, 3000 * ROWS)
        unit.connection.exec_driver_sql("UPDATE release SET file_bytes = 3000 WHERE id IN ('rel_1', 'rel_7')")


def test_a_round_judges_some_objects_and_the_next_one_the_others(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "_KEYS", 10)
    monkeypatch.setattr(orphans, "_BATCHES", 3)
    rig.settings_more["orphan_share"] = 1.0
    rig.submit()
    folder = rig.folder / "storage" / "releases"
    paths = [folder / f"rel_{number}" / "a.csv" for number in range(100)]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"a")
        os.utime(path, (time.time() - 7_200, time.time() - 7_200))
    storage = open_storage(rig.settings)
    rounds = Rounds(rig.settings, database=rig.database, storage=storage, queue=JobQueue(rig.settings))
    stop, taken = threading.Event(), 0
    while any(path.exists() for path in paths):
        assert all(path.exists() for path in paths), "objects were moved before all were counted"
        assert taken < 10
        rounds.slow(stop)
        taken += 1
    assert taken >= 4


@pytest.mark.long
def test_questions_of_an_owner_of_many_releases_take_milliseconds(databases: Databases) -> None:
    url = databases.fresh()
    database = Database(url, pool_size=2)
    try:
        fill(database, examples(10_000))
        taken = {name: least(database, ask) for name, ask in questions().items()}
        assert max(taken.values()) < 500, taken
    finally:
        database.close()
        databases.drop(url)
