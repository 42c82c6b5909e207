"""Owners take turns, whatever order the broker hands out ids in; questions come before uploads."""

from app.db.models.queue_turn import queue_turn
from app.db.repositories import claims, turns
from app.db.session import Database
from tests.faults.rig import Rig

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
