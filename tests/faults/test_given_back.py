"""Memory of a worker's child between its jobs: what they have freed is given back, and what is too much ends it."""

import psutil

from app.processes.memory import HELD
from tests.faults.rig import Process, Rig, wait_until


def child_of(worker: Process) -> psutil.Process:
    (pid,) = worker.children()
    return psutil.Process(pid)


def test_what_a_job_has_freed_is_given_back_though_pieces_of_it_stay(rig: Rig) -> None:
    worker = rig.worker()
    rig.wait(rig.submit())
    child = child_of(worker)
    before = child.memory_info().rss
    rig.wait(rig.submit(scattered_bytes=400_000_000))
    wait_until(lambda: child.memory_info().rss < before + 100_000_000, what=f"{child.memory_info()}, {before} before")


def test_a_child_that_took_more_than_is_set_aside_for_it_is_replaced_once_its_job_has_ended(rig: Rig) -> None:
    worker = rig.worker()
    rig.wait(rig.submit())
    first = child_of(worker)
    assert rig.wait(rig.submit(filled_bytes=HELD))["state"] == "succeeded"
    wait_until(lambda: not first.is_running(), what=worker.text())
    ended = rig.wait(rig.submit())
    assert (ended["state"], ended["attempt"]) == ("succeeded", 1)
    assert child_of(worker).memory_info().rss < HELD / 2
