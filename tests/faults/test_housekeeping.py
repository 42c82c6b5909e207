"""Housekeeping: one leads, another follows when it dies; its rounds, against the real database, broker and storage."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import psycopg
import pytest
import redis

from app.contracts.base import new_id
from app.contracts.jobs import FINISHED, TRANSITIONS, JobState
from app.db.repositories import claims, expiry
from app.db.repositories.claims import Claim
from app.db.tables.all import metadata
from app.errors import CannotStartError, FencedError, StorageUnavailableError
from app.housekeeping.loop import Rounds, keep
from app.queue import JobQueue
from app.storage.factory import open_storage
from tests import patient
from tests.faults.rig import Process, Rig
from tests.servers import wait_until


@pytest.fixture
def rounds(rig: Rig) -> Rounds:
    rig.settings_more["requeue_after_seconds"] = 0.05
    return Rounds(rig.settings, database=rig.database, storage=open_storage(rig.settings), queue=JobQueue(rig.settings))


@pytest.fixture
def broker(rig: Rig) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(rig.redis_url) as client:
        yield client


def claim(rig: Rig, job_id: str) -> Claim:
    with rig.database.unit_of_work() as unit:
        claimed = claims.claim(unit.connection, job_id=job_id, worker="host:1", known={("probe", 1)})
    assert claimed is not None
    return claimed


def fall_silent(rig: Rig, job_id: str) -> None:
    """The last heartbeat was an hour ago; so was Postgres' start, as far as this test can say."""
    rig.rows("UPDATE job_progress SET beat_at = beat_at - interval '1 hour' WHERE job_id = %s RETURNING 1", job_id)
    started = "SELECT clock_timestamp() - pg_postmaster_start_time() > interval '2.5 s' AS old"
    wait_until(lambda: rig.row(started)["old"])


def tolerant(rig: Rig, **more: float) -> Rounds:
    """Rounds that let any share of the objects be orphans."""
    settings = rig.settings.model_copy(update={"orphan_share": 1.0, **more})
    return Rounds(settings, database=rig.database, storage=open_storage(settings), queue=JobQueue(settings))


def in_trash(rig: Rig) -> list[str]:
    """The former keys of what lies in the trash."""
    folder = rig.folder / "storage" / "trash"
    return sorted(path.parent.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def old(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"bytes")
    long_ago = time.time() - 7_200
    os.utime(path, (long_ago, long_ago))
    return path


def test_the_follower_leads_when_the_leader_dies_and_sigterm_ends_it_within_a_second(rig: Rig) -> None:
    pair = [rig.housekeeping(), rig.housekeeping()]

    def leaders() -> list[Process]:
        return [process for process in pair if "housekeeping.leads" in process.text()]

    (leader,) = wait_until(leaders)
    (follower,) = [process for process in pair if process is not leader]
    leader.group(signal.SIGKILL)
    wait_until(lambda: follower in leaders())
    with redis.Redis.from_url(rig.redis_url) as client:
        rig.submit()
        client.flushall()
        wait_until(lambda: client.llen("batch") == 1, what="the new leader sends what was lost")
    stopped_at = time.monotonic()
    follower.process.terminate()
    assert follower.process.wait(60) == 0
    assert time.monotonic() - stopped_at < 10, "a second, and what a busy machine adds"


def test_ids_are_sent_again_only_where_the_broker_has_fewer_than_wait(
    rig: Rig, rounds: Rounds, broker: redis.Redis
) -> None:
    ids = [rig.submit() for _ in range(3)]
    wait_until(lambda: rig.row("SELECT bool_and(enqueued_at < now() - interval '0.1 s') AS due FROM job")["due"])
    rounds.quick()
    assert broker.llen("batch") == 3
    broker.rpop("batch")
    rounds.quick()
    assert broker.llen("batch") == 5
    broker.flushall()
    wait_until(lambda: rig.row("SELECT bool_and(enqueued_at < now() - interval '0.1 s') AS due FROM job")["due"])
    rounds.quick()
    assert broker.llen("batch") == len(ids)


def test_a_silent_attempt_is_queued_and_sent_at_once_and_its_worker_can_write_nothing(
    rig: Rig, rounds: Rounds, broker: redis.Redis
) -> None:
    job_id = rig.submit()
    claimed = claim(rig, job_id)
    broker.flushall()
    rounds.quick()
    assert rig.job(job_id)["state"] == "running"
    fall_silent(rig, job_id)
    rounds.quick()
    assert rig.job(job_id)["state"] == "queued"
    assert broker.llen("batch") == 1
    ending = claims.AttemptOutcome(state=JobState.SUCCEEDED, outcome="succeeded")
    for write in (
        lambda connection: claims.finish(connection, claimed=claimed, ending=ending),
        lambda connection: claims.release_claim(connection, job_id=job_id, attempt=1),
    ):
        with pytest.raises(FencedError), rig.database.unit_of_work() as unit:
            write(unit.connection)
    with rig.database.unit_of_work() as unit:
        assert claims.heartbeat(unit.connection, job_id=job_id, attempt=1, progress=None).fenced
    assert claim(rig, job_id).attempt == 2


def test_a_silent_attempt_of_a_cancelled_job_ends_it_and_the_last_attempt_fails_it(rig: Rig, rounds: Rounds) -> None:
    cancelled, exhausted = rig.submit(), rig.submit()
    for job_id in (cancelled, exhausted):
        claim(rig, job_id)
        fall_silent(rig, job_id)
    rig.rows("UPDATE job SET cancel_requested_at = now() WHERE id = %s RETURNING 1", cancelled)
    rig.rows("UPDATE job SET attempt = 3 WHERE id = %s RETURNING 1", exhausted)
    rounds.quick()
    assert rig.job(cancelled)["state"] == "cancelled"
    assert rig.job(exhausted)["state"] == "failed"
    assert rig.job(exhausted)["error"]["type"] == "/problems/attempts-exhausted"


def test_an_upload_whose_reading_was_lost_too_often_fails_with_its_job(rig: Rig, rounds: Rounds) -> None:
    job_id = rig.submit()
    rig.rows("UPDATE dataset SET state = 'ingesting' RETURNING 1")
    rig.rows("UPDATE job SET kind = 'ingest', attempt = 2 WHERE id = %s RETURNING 1", job_id)
    claim(rig, job_id)
    fall_silent(rig, job_id)
    rounds.quick()
    dataset = rig.row("SELECT state, error FROM dataset")
    assert (dataset["state"], dataset["error"]["type"]) == ("failed", "/problems/attempts-exhausted")


def test_objects_without_a_row_go_to_the_trash_once_old_and_no_others(rig: Rig) -> None:
    rounds = tolerant(rig)
    storage = rig.folder / "storage"
    job_id, dataset_id = rig.submit(), rig.dataset()
    claim(rig, job_id)
    kept = [
        old(storage / f"datasets/{dataset_id}/data.parquet"),
        old(storage / f"jobs/{job_id}/checkpoint-1-0.npz"),
        old(storage / "releases/rel_1/aa.csv"),
        storage / "releases/rel_2/young.csv",
    ]
    kept[-1].parent.mkdir(parents=True)
    kept[-1].write_bytes(b"bytes")
    orphans = [
        old(storage / f"jobs/{job_id}/checkpoint-1-1.npz"),
        old(storage / f"jobs/{job_id}/result-{'a' * 64}.json"),
        old(storage / "releases/rel_1/bb.csv"),
        old(storage / "datasets/ds_gone/data.parquet"),
    ]
    rig.rows(
        "INSERT INTO job_checkpoint (job_id, attempt, steps, key) VALUES (%s, 1, 1, %s) RETURNING 1",
        job_id,
        f"jobs/{job_id}/checkpoint-1-0.npz",
    )
    rig.rows(
        "INSERT INTO release (id, owner, job_id, dataset_id, method, rows, columns, flags, statistics)"
        " VALUES ('rel_1', 'tester', %s, %s, 'probe', 1, '[]', '{}', '[]') RETURNING 1",
        job_id,
        dataset_id,
    )
    rig.rows(
        "INSERT INTO release_file (release_id, format, key, sha256, bytes)"
        " VALUES ('rel_1', 'csv', 'releases/rel_1/aa.csv', 'aa', 5) RETURNING 1"
    )
    rounds.slow(threading.Event())
    assert [path for path in kept if not path.exists()] == []
    assert [path for path in orphans if path.exists()] == []
    assert in_trash(rig) == sorted(path.relative_to(storage).as_posix() for path in orphans)


def test_no_column_that_names_an_object_is_forgotten() -> None:
    others = {"idempotency.key", "publication_entry.key"}  # what a request is called; never looked for among orphans
    named = {
        f"{table.name}.{column.name}"
        for table in metadata.sorted_tables
        for column in table.columns
        if (column.name == "key" or column.name.endswith("_key")) and not column.primary_key
    }
    assert named - others == {f"{column.table.name}.{column.name}" for column, _ in expiry._sources()} - others


def test_the_trash_gives_back_what_has_a_row_again_and_keeps_the_rest_for_days(rig: Rig) -> None:
    storage, dataset_id = rig.folder / "storage", rig.dataset()
    key = f"datasets/{dataset_id}/data.parquet"
    file, lost = old(storage / key), old(storage / "releases/rel_1/aa.csv")
    rig.rows("UPDATE dataset SET data_key = 'datasets/elsewhere' RETURNING 1")
    tolerant(rig, trash_days=2).slow(threading.Event())
    assert in_trash(rig) == sorted([key, "releases/rel_1/aa.csv"])
    rig.rows("UPDATE dataset SET data_key = %s RETURNING 1", key)
    tolerant(rig, trash_days=2).slow(threading.Event())
    assert file.read_bytes() == b"bytes"
    assert in_trash(rig) == ["releases/rel_1/aa.csv"]
    (there,) = (storage / "trash").rglob("aa.csv/*")
    for days, left in ((1, ["releases/rel_1/aa.csv"]), (4, [])):
        before = (datetime.now(UTC) - timedelta(days=days)).date().isoformat()
        there = there.rename(there.with_name(before))
        tolerant(rig, trash_days=2).slow(threading.Event())
        assert in_trash(rig) == left
    assert not lost.exists()


def test_what_a_row_says_was_deleted_is_removed_at_once_also_from_the_trash(rig: Rig, rounds: Rounds) -> None:
    storage, dataset_id = rig.folder / "storage", rig.dataset()
    left = [
        old(storage / f"datasets/{dataset_id}/of-a-lost-attempt.parquet"),
        old(storage / f"trash/datasets/{dataset_id}/other.parquet/{datetime.now(UTC).date().isoformat()}"),
    ]
    rig.rows("UPDATE dataset SET state = 'deleted', deleted_at = now() RETURNING 1")
    rounds.slow(threading.Event())
    assert [path for path in left if path.exists()] == []
    assert in_trash(rig) == []


@pytest.mark.parametrize(("with_row", "without", "moved"), [(97, 3, 3), (96, 4, 0), (0, 5, 0)])
def test_more_orphans_than_a_few_per_cent_are_left_alone_and_told(
    rig: Rig, rounds: Rounds, with_row: int, without: int, moved: int
) -> None:
    storage, job_id, dataset_id = rig.folder / "storage", rig.submit(), rig.dataset()
    rig.rows(
        "INSERT INTO release (id, owner, job_id, dataset_id, method, rows, columns, flags, statistics)"
        " VALUES ('rel_1', 'tester', %s, %s, 'probe', 1, '[]', '{}', '[]') RETURNING 1",
        job_id, dataset_id,
    )  # fmt: skip
    for number in range(with_row):
        old(storage / f"releases/rel_1/{number}.csv")
        rig.rows(
            "INSERT INTO release_file (release_id, format, key, sha256, bytes)"
            " VALUES ('rel_1', %s, %s, 'aa', 5) RETURNING 1",
            str(number), f"releases/rel_1/{number}.csv",
        )  # fmt: skip
    orphans = [old(storage / f"jobs/{job_id}/checkpoint-1-{number}.npz") for number in range(without)]
    rounds.slow(threading.Event())
    assert len(in_trash(rig)) == moved
    assert sum(path.exists() for path in orphans) == without - moved
    held = without - moved
    assert rig.row("SELECT orphans_held FROM installation") == {"orphans_held": held}
    _, address = rig.api()
    assert f"surebox_orphans_held {float(held)}" in patient.get(f"{address}/metrics").text


def test_a_database_without_rows_removes_nothing_whatever_the_settings(rig: Rig) -> None:
    orphans = [old(rig.folder / f"storage/releases/rel_{number}/aa.csv") for number in range(4)]
    tolerant(rig).slow(threading.Event())
    assert all(path.exists() for path in orphans)
    assert rig.row("SELECT orphans_held FROM installation") == {"orphans_held": 4}


def test_a_database_beside_the_storage_of_another_installation_touches_nothing(rig: Rig) -> None:
    orphan = old(rig.folder / "storage/releases/rel_1/aa.csv")
    rig.submit()
    mark = rig.folder / "storage/installation/id"
    mark.parent.mkdir(parents=True)
    mark.write_text("ins_another\n")
    with pytest.raises(CannotStartError, match=r"belongs to installation ins_.* to installation ins_another"):
        tolerant(rig).slow(threading.Event())
    assert orphan.exists()


def test_the_first_round_removes_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.settings_more["housekeeping_seconds"] = 0.001
    done: list[str] = []
    stop = threading.Event()

    class Noted(Rounds):
        def tidy(self) -> None:
            done.append("tidy")
            super().tidy()

        def slow(self, _: threading.Event) -> None:
            done.append("slow")
            stop.set()

    monkeypatch.setattr("app.housekeeping.loop.Rounds", Noted)
    keep(rig.settings, stop=stop)
    assert done[:31] == ["tidy"] * 30 + ["slow"]


def test_lost_jobs_do_not_wait_for_rounds_that_hang_in_the_storage(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.settings_more["housekeeping_seconds"] = 0.01
    stop, hangs, released = threading.Event(), threading.Event(), threading.Event()

    class Hanging(Rounds):
        def slow(self, _: threading.Event) -> None:
            hangs.set()
            released.wait()

    monkeypatch.setattr("app.housekeeping.loop.Rounds", Hanging)
    job_id = rig.submit()
    claim(rig, job_id)
    keeping = threading.Thread(target=keep, args=(rig.settings,), kwargs={"stop": stop})
    keeping.start()
    try:
        assert hangs.wait(60)
        fall_silent(rig, job_id)
        wait_until(lambda: rig.job(job_id)["state"] == "queued", seconds=10)
    finally:
        released.set()
        stop.set()
        keeping.join(60)


def test_what_was_forgotten_is_learnt_later_where_storage_was_away_at_first(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.settings_more["housekeeping_seconds"] = 0.001
    attempts: list[str] = []
    stop = threading.Event()

    class Noted(Rounds):
        def first(self) -> None:
            attempts.append("first")
            if len(attempts) == 1:
                raise StorageUnavailableError("away")

        def quick(self) -> None:
            pass

        def slow(self, _: threading.Event) -> None:
            attempts.append("slow")
            if len(attempts) > 4:
                stop.set()

    monkeypatch.setattr("app.housekeeping.loop.Rounds", Noted)
    keep(rig.settings, stop=stop)
    assert attempts[:5] == ["first", "slow", "first", "slow", "slow"]


def test_nothing_is_learnt_from_the_storage_of_another_installation(rig: Rig, rounds: Rounds) -> None:
    other = rig.folder / "storage/publications/0/000000000001/rel_other.json"
    mark = rig.folder / "storage/installation/id"
    for path, content in ((other, "{}"), (mark, "ins_another\n")):
        path.parent.mkdir(parents=True)
        path.write_text(content)
    with pytest.raises(CannotStartError, match="to installation ins_another"):
        rounds.first()


def test_uploads_that_nobody_reads_go_to_the_trash_after_a_day(rig: Rig) -> None:
    staged, begun = old(rig.folder / "storage/staging/abandoned"), old(rig.folder / "storage/staging/begun")
    rig.submit()
    rig.rows("UPDATE dataset SET staged_key = 'staging/begun', state = 'ingesting' RETURNING 1")
    tolerant(rig).slow(threading.Event())
    assert staged.exists(), "two hours are not a day"
    tolerant(rig, staging_hours=1).slow(threading.Event())
    assert (staged.exists(), begun.exists()) == (False, True)
    assert in_trash(rig) == ["staging/abandoned"]


def test_rows_past_their_time_are_removed_and_no_others(rig: Rig, rounds: Rounds) -> None:
    gone, listed, unfinished = rig.submit(), rig.submit(), rig.submit()
    for job_id in (gone, listed):
        claimed = claim(rig, job_id)
        with rig.database.unit_of_work() as unit:
            unlisted = job_id == gone
            unit.connection.exec_driver_sql(
                "UPDATE job SET expires_at = now() - interval '1 s', listed = %s WHERE id = %s", (not unlisted, job_id)
            )
            claims.finish(
                unit.connection,
                claimed=claimed,
                ending=claims.AttemptOutcome(state=JobState.CANCELLED, outcome="cancelled"),
            )
    rig.rows("UPDATE job SET expires_at = now() - interval '1 s', listed = false WHERE id = %s RETURNING 1", unfinished)
    rig.rows(
        "INSERT INTO idempotency (owner, key, fingerprint, token, leased_until, created_at) VALUES"
        " ('o', 'old', '', '', now(), now() - interval '25 hours'), ('o', 'new', '', '', now(), now()) RETURNING 1"
    )
    rig.rows(
        "INSERT INTO worker (id, queue, host, pid, rss_bytes, seen_at) VALUES"
        " ('dead', 'batch', 'h', 1, 1, now() - interval '1 hour'), ('alive', 'batch', 'h', 2, 1, now()) RETURNING 1"
    )
    rounds.slow(threading.Event())
    assert {row["id"] for row in rig.rows("SELECT id FROM job")} == {listed, unfinished}
    assert [row["key"] for row in rig.rows("SELECT key FROM idempotency")] == ["new"]
    assert [row["id"] for row in rig.rows("SELECT id FROM worker")] == ["alive"]


def test_postgres_keeps_the_table_of_transitions(rig: Rig) -> None:
    for before, after in product(JobState, JobState):
        job_id = new_id("job")
        rig.rows(
            "INSERT INTO job (id, owner, kind, method, queue, state, spec, finished_at)"
            " VALUES (%s, 'o', 'audit', 'probe', 'batch', %s, '{}', CASE WHEN %s THEN now() END) RETURNING 1",
            job_id,
            before,
            before in FINISHED,
        )
        change = "UPDATE job SET state = %s, finished_at = CASE WHEN %s THEN now() END WHERE id = %s RETURNING 1"
        if after in TRANSITIONS[before] or (after is before and before not in FINISHED):
            rig.rows(change, after, after in FINISHED, job_id)
            assert rig.job(job_id)["state"] == after
        else:
            with pytest.raises(psycopg.errors.CheckViolation, match="must not change"):
                rig.rows(change, after, after in FINISHED, job_id)
            assert rig.job(job_id)["state"] == before
