"""How many cores there are for this process."""

import os
from contextlib import suppress
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Return how many cores this process may use: those it is bound to, or fewer where a container has a quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = QUOTA.read_text(encoding="ascii").split()
        return max(1, min(bound, int(quota) // int(period)))
    return bound


def threads_each(*, queue: str, concurrency: int, cores: int) -> int:
    """Return how many threads each process of a worker has.

    Processes of jobs share the cores; of several one is left to short jobs and is seldom busy. Those of the interactive
    queue are seldom busy at once, and a person waits for each: an upload that is alone has all cores.
    """
    return cores if queue == "interactive" else max(1, cores // max(1, concurrency - 1))
