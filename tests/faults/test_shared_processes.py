"""No owner has all processes of a queue, whatever was expected of the jobs that hold them."""

import random
from collections import Counter

import pytest

from app.db.repositories import claims, turns, workers
from tests.drawing import seeds
from tests.faults.rig import Rig
from tests.servers import wait_until

KNOWN = {("probe", 1)}
LANE = turns.Lane(30.0, seen_seconds=15.0)
#: Rounds of a hash that take several seconds of CPU.
BURNT = 8_000_000
LONG_RUNNING = (
    "SELECT id FROM job WHERE state = 'running' AND started_at < clock_timestamp() - make_interval(secs => %s)"
)


def employ(rig: Rig, concurrency: int) -> None:
    """The only worker that is seen answers so many at a time."""
    seen = workers.Sighting(id="w", queue="interactive", host="h", pid=1, rss_bytes=1, concurrency=concurrency)
    with rig.database.unit_of_work() as unit:
        workers.seen(unit.connection, sighting=seen)


def begin(rig: Rig, ticket: str) -> str | None:
    """Claim the job that a free process begins, and return its id; None if there is none."""
    with rig.database.unit_of_work() as unit:
        chosen = turns.next_job(unit.connection, ticket=ticket, known=KNOWN, lane=LANE)
        if chosen is not None:
            assert claims.claim(unit.connection, job_id=chosen, worker="host:1", known=KNOWN) is not None
    return chosen


@pytest.mark.parametrize("seed", seeds(6))
def test_half_of_the_interactive_processes_at_most_work_for_one_owner(rig: Rig, seed: int) -> None:
    """Whoever asks how much: as many begin as may, and the oldest of each owner first."""
    draw = random.Random(seed)
    processes = draw.randint(1, 8)
    share = max(1, processes // 2)
    wanted = {owner: draw.randint(1, 6) for owner in ("ada", "ben", "eva")[: draw.randint(1, 3)]}
    order = [owner for owner, many in wanted.items() for _ in range(many)]
    draw.shuffle(order)
    jobs = [(rig.submit(owner=owner, queue="interactive", as_kind="query"), owner) for owner in order]
    employ(rig, processes)
    begun: list[str] = []
    while len(begun) < processes and (one := begin(rig, jobs[0][0])) is not None:
        begun.append(one)
    owners = Counter(owner for job_id, owner in jobs if job_id in begun)
    most = {owner: min(many, share) for owner, many in wanted.items()}
    assert all(owners[owner] <= most[owner] for owner in wanted)
    assert len(begun) == min(processes, sum(most.values()))
    for owner in wanted:
        mine = [job_id for job_id, whose in jobs if whose == owner]
        assert [one for one in begun if one in mine] == mine[: owners[owner]]


def test_an_owner_for_whom_one_is_about_to_begin_is_passed_over_and_not_waited_for(rig: Rig) -> None:
    """A process that stands still in the transaction that claims holds up no one else."""
    mine = [rig.submit(owner="ada", queue="interactive", as_kind="query") for _ in range(2)]
    other = rig.submit(owner="ben", queue="interactive", as_kind="query")
    employ(rig, 4)
    with rig.database.unit_of_work() as unit:
        assert turns.next_job(unit.connection, ticket=mine[0], known=KNOWN, lane=LANE) == mine[0]
        assert begin(rig, mine[1]) == other
        assert begin(rig, mine[1]) is None


def test_a_question_of_another_owner_is_answered_beside_many_that_go_on_one_after_the_other(rig: Rig) -> None:
    """Without housekeeping: a ticket that was spent on nothing comes again when a question of its owner ends."""
    traps = rig.folder / "traps"
    traps.mkdir()
    (traps / "step").touch()  # the first to come waits there until its process is ended
    worker = rig.worker(queue="interactive", concurrency=2)
    wait_until(lambda: rig.rows("SELECT id FROM worker"), what=worker.text())
    ask = {"queue": "interactive", "as_kind": "query"}
    held = rig.submit(owner="many", traps=str(traps), **ask)
    wait_until(lambda: list(traps.glob("step.*")), what=worker.text())
    mine = [rig.submit(owner="many", **ask) for _ in range(5)]
    for _ in range(3):
        assert rig.wait(rig.submit(owner="other", **ask))["state"] == "succeeded"
    assert {rig.job(one)["state"] for one in mine} == {"queued"}
    rig.rows("UPDATE job SET cancel_requested_at = now() WHERE id = %s RETURNING id", held)
    for one in mine:
        assert rig.wait(one)["state"] == "succeeded"


def test_no_owner_has_more_than_half_of_the_processes_where_a_long_question_is_passed_over(rig: Rig) -> None:
    ask = {"queue": "interactive", "as_kind": "query"}
    employ(rig, 4)
    for owner in ("ada", "ada", "ben"):
        long = rig.submit(owner=owner, cpu_seconds=600.0, **ask)
        assert begin(rig, long) == long
    rig.submit(owner="eva", cpu_seconds=600.0, **ask)
    mine = rig.submit(owner="ada", **ask)
    assert begin(rig, mine) is None
    other = rig.submit(owner="eva", **ask)
    assert begin(rig, mine) == other


def test_a_long_question_that_left_its_ticket_begins_when_a_long_one_of_another_owner_has_ended(rig: Rig) -> None:
    """Without housekeeping, which would send it again."""
    traps = rig.folder / "traps"
    traps.mkdir()
    (traps / "step").touch()
    worker = rig.worker(queue="interactive", concurrency=2)
    wait_until(lambda: rig.rows("SELECT id FROM worker"), what=worker.text())
    ask = {"queue": "interactive", "as_kind": "query", "cpu_seconds": 600.0}
    held = rig.submit(owner="many", traps=str(traps), **ask)
    wait_until(lambda: list(traps.glob("step.*")), what=worker.text())
    left = rig.submit(owner="other", **ask)
    short = rig.submit(owner="third", queue="interactive", as_kind="query")
    assert rig.wait(short)["state"] == "succeeded"
    assert rig.job(left)["state"] == "queued"
    rig.rows("UPDATE job SET cancel_requested_at = now() WHERE id = %s RETURNING id", held)
    assert rig.wait(left)["state"] == "succeeded"


def test_a_question_that_takes_longer_than_was_expected_goes_on_in_the_batch_queue(rig: Rig) -> None:
    """In one native kernel, so that the process is left; it comes back, and another owner is answered there."""
    rig.settings_more["long_question_seconds"] = 0.2
    interactive = rig.worker(queue="interactive")
    moved = rig.submit(owner="many", queue="interactive", as_kind="query", cpu_seconds=0.01, burnt_rounds=BURNT)
    wait_until(lambda: rig.job(moved)["queue"] == "batch", what=interactive.text())
    other = rig.submit(owner="other", queue="interactive", as_kind="query")
    assert rig.wait(other)["state"] == "succeeded"
    assert rig.job(moved)["state"] == "queued", "the process that answers questions takes no job of the other queue"
    rig.worker(queue="batch")
    row = rig.wait(moved)
    assert (row["state"], row["attempt"], row["given_back"]) == ("succeeded", 2, 1)
    assert row["estimated_seconds"] >= 0.2
    assert rig.outcomes(moved) == ["moved", "succeeded"]


def test_an_upload_that_takes_long_stays_where_it_is(rig: Rig) -> None:
    rig.settings_more["long_question_seconds"] = 0.1
    rig.worker(queue="interactive")
    upload = rig.submit(queue="interactive", as_kind="ingest", burnt_rounds=BURNT // 4, steps=2)
    rig.wait(upload)
    assert len(rig.outcomes(upload)) == 1
    assert rig.job(upload)["queue"] == "interactive"


def test_jobs_that_were_thought_short_give_a_process_back_to_another_owner(rig: Rig) -> None:
    """Both processes have run jobs of one owner for long: one of them waits its turn, and is known to be long."""
    rig.settings_more["long_job_seconds"] = 0.5
    worker = rig.worker(concurrency=2)
    wait_until(lambda: rig.rows("SELECT id FROM worker"), what=worker.text())
    long = [rig.submit(owner="many", cpu_seconds=0.1, steps=1_000, step_seconds=0.05) for _ in range(2)]
    for one in long:
        rig.wait(one, "running")
    wait_until(lambda: len(rig.rows(LONG_RUNNING, 1.0)) == 2, what=worker.text())
    assert [rig.outcomes(one) for one in long] == [[None], [None]]
    for _ in range(2):
        assert rig.wait(rig.submit(owner="other", cpu_seconds=0.1))["state"] == "succeeded"
    outcomes = [outcome for one in long for outcome in rig.outcomes(one)]
    assert outcomes.count("moved") in (1, 2)
    assert max(rig.job(one)["estimated_seconds"] for one in long) == 1.0
