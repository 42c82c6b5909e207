"""Owners take turns, whatever order the broker hands out ids in; questions come before uploads."""

import itertools
from concurrent.futures import ThreadPoolExecutor

from app.db.repositories import claims, turns, workers
from app.db.session import Database
from app.db.tables.jobs import queue_turn
from tests.faults.rig import Rig
from tests.servers import wait_until

KNOWN = {("probe", 1)}


def next_claimed(database: Database, ticket: str) -> str | None:
    with database.unit_of_work() as unit:
        chosen = turns.next_job(unit.connection, ticket=ticket, known=KNOWN)
        if chosen is not None:
            assert claims.claim(unit.connection, job_id=chosen, worker="host:1", known=KNOWN) is not None
        return chosen


def test_one_job_of_an_owner_does_not_wait_behind_fifty_of_another(rig: Rig) -> None:
    """A worker that takes one job at a time: whose job is second, of an owner who came last."""
    journal = rig.journal()
    many = [rig.submit(owner="many", journal=str(journal)) for _ in range(50)]
    other = rig.submit(owner="other", journal=str(journal))
    rig.worker()
    for job_id in (*many, other):
        rig.wait(job_id)
    claimed = [row["job_id"] for row in rig.rows("SELECT job_id FROM job_attempt ORDER BY started_at")]
    assert claimed.index(other) <= 1
    assert [one for one in claimed if one != other] == many  # of one owner the oldest first


def test_turns_go_round_and_the_owner_with_fewer_running_jobs_is_first(rig: Rig) -> None:
    jobs = {owner: [rig.submit(owner=owner) for _ in range(3)] for owner in ("ada", "ben", "eva")}
    ticket = jobs["ada"][0]
    chosen = [next_claimed(rig.database, ticket) for _ in range(9)]
    rounds = [chosen[:3], chosen[3:6], chosen[6:]]
    assert [set(one) for one in rounds] == [{jobs[owner][turn] for owner in jobs} for turn in range(3)]
    assert next_claimed(rig.database, ticket) is None
    with rig.database.read() as connection:
        owners = {row.owner for row in connection.execute(queue_turn.select())}
    assert owners == set(jobs)


def test_what_cannot_run_takes_no_turn(rig: Rig) -> None:
    cancelled, unknown = rig.submit(owner="ada"), rig.submit(owner="ada")
    rig.rows("UPDATE job SET cancel_requested_at = now() WHERE id = %s RETURNING id", cancelled)
    rig.rows("UPDATE job SET spec_version = 99 WHERE id = %s RETURNING id", unknown)
    assert next_claimed(rig.database, cancelled) is None
    assert next_claimed(rig.database, "job_of_nobody") is None
    with rig.database.read() as connection:
        assert connection.execute(queue_turn.select()).first() is None


def test_two_workers_never_choose_the_same_job(rig: Rig) -> None:
    """The choice is locked: who chooses meanwhile passes over it."""
    first, second = rig.submit(owner="ada"), rig.submit(owner="ada")
    with rig.database.unit_of_work() as one:
        assert turns.next_job(one.connection, ticket=first, known=KNOWN) == first
        with rig.database.unit_of_work() as other:
            queued = turns.chosen(other.connection, queue="batch", known=KNOWN)
            assert queued is not None
            assert queued.id == second


def test_a_question_comes_before_uploads_that_were_there_first(rig: Rig) -> None:
    uploads = [rig.submit(owner="ada") for _ in range(3)]
    question = rig.submit(owner="ada")
    rig.rows("UPDATE job SET kind = 'ingest' WHERE id = ANY(%s) RETURNING id", uploads)
    assert next_claimed(rig.database, uploads[0]) == question
    assert [next_claimed(rig.database, uploads[0]) for _ in uploads] == uploads


LANE = turns.Lane(30.0, seen_seconds=15.0)


def employ(rig: Rig, concurrency: int) -> None:
    """The only worker that is seen runs so many jobs at a time."""
    seen = workers.Sighting(id="w", queue="batch", host="h", pid=1, rss_bytes=1, concurrency=concurrency)
    with rig.database.unit_of_work() as unit:
        workers.forget(unit.connection, worker_id=seen.id)
        workers.seen(unit.connection, sighting=seen)


def claim_all(rig: Rig, ticket: str) -> list[str]:
    """What workers with so many free processes would begin, one after the other."""
    begun: list[str] = []
    while True:
        with rig.database.unit_of_work() as unit:
            chosen = turns.next_job(unit.connection, ticket=ticket, known=KNOWN, lane=LANE)
            if chosen is None:
                return begun
            assert claims.claim(unit.connection, job_id=chosen, worker="host:1", known=KNOWN) is not None
        begun.append(chosen)


def test_two_long_jobs_do_not_hold_both_workers_while_another_owner_waits(rig: Rig) -> None:
    """Two audits of 180 bytes held both workers for eleven minutes."""
    traps = rig.folder / "traps"
    traps.mkdir()
    (traps / "step").touch()  # the first to come waits there until its process is ended
    worker = rig.worker(concurrency=2)
    wait_until(lambda: rig.rows("SELECT id FROM worker"), what=worker.text())  # before, its processes are not counted
    long = [rig.submit(owner="many", cpu_seconds=600.0, traps=str(traps)) for _ in range(2)]
    wait_until(lambda: list(traps.glob("step.*")), what=worker.text())
    short = rig.submit(owner="other", cpu_seconds=1.0)
    assert rig.wait(short)["state"] == "succeeded"
    states = sorted(rig.job(one)["state"] for one in long)
    assert states == ["queued", "running"]


def test_a_long_job_that_left_its_ticket_to_short_ones_begins_when_a_long_one_has_ended(rig: Rig) -> None:
    """Without housekeeping, which would send it again."""
    worker = rig.worker(concurrency=2)
    wait_until(lambda: rig.rows("SELECT id FROM worker"), what=worker.text())
    long = [rig.submit(owner="many", cpu_seconds=600.0, step_seconds=0.3, steps=3) for _ in range(3)]
    for one in long:
        assert rig.wait(one)["state"] == "succeeded"
    begun = rig.rows("SELECT started_at, finished_at FROM job ORDER BY started_at")
    assert all(first["finished_at"] <= second["started_at"] for first, second in itertools.pairwise(begun))


def test_long_jobs_have_all_processes_but_one_and_a_single_one_too(rig: Rig) -> None:
    long = [rig.submit(owner=owner, cpu_seconds=31.0) for owner in ("ada", "ben", "eva", "kim")]
    short = rig.submit(owner="zoe", cpu_seconds=30.0)
    employ(rig, 3)
    assert claim_all(rig, short) == [*long[:2], short]
    employ(rig, 1)
    assert claim_all(rig, short) == long[2:]


def test_a_job_that_has_run_for_long_is_long_and_so_is_a_part_of_one(rig: Rig) -> None:
    first, second, whole = (rig.submit(owner=owner, cpu_seconds=seconds) for owner, seconds in
                            (("ada", 1.0), ("ben", 31.0), ("eva", 100.0)))  # fmt: skip
    employ(rig, 2)
    assert next_claimed(rig.database, first) == first
    rig.rows("UPDATE job SET started_at = now() - interval '1 minute' WHERE id = %s RETURNING id", first)
    rig.rows("UPDATE job SET whole_id = %s, estimated_seconds = NULL WHERE id = %s RETURNING id", whole, second)
    rig.rows("UPDATE job SET state = 'running', parts = 2, parts_left = 2 WHERE id = %s RETURNING id", whole)
    assert claim_all(rig, second) == []  # half of 100 s
    rig.rows("UPDATE job SET parts = 4 WHERE id = %s RETURNING id", whole)
    assert claim_all(rig, second) == [second]


def test_two_workers_never_take_the_last_place_of_long_jobs_at_once(rig: Rig) -> None:
    long = [rig.submit(owner=owner, cpu_seconds=60.0) for owner in ("ada", "ben")]
    employ(rig, 2)

    def claimed(_: int) -> str | None:
        with rig.database.unit_of_work() as unit:
            chosen = turns.next_job(unit.connection, ticket=long[0], known=KNOWN, lane=LANE)
            if chosen is not None:
                claims.claim(unit.connection, job_id=chosen, worker="host:1", known=KNOWN)
            return chosen

    with ThreadPoolExecutor(2) as pool:
        assert len([one for one in pool.map(claimed, range(2)) if one]) == 1
