"""How much memory there is for this process, and for each job that it runs."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

#: Where a container finds its limit: of control groups of version 2, and of version 1.
LIMITS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
#: Share of the machine that the jobs of a worker may take together: Postgres, the API and the cache have the rest.
_SHARE: Final = 0.75
#: Less than that and a job cannot even load what it computes with, which takes so much.
LEAST: Final = 2_000_000_000
HELD: Final = 1_600_000_000
#: What a short job may be expected to take: the process of a queue that is left to short ones needs no more than LEAST.
SHORT: Final = LEAST - HELD
#: Of a worker's child: the kernel ends it before it ends Postgres, the broker or the API.
CHILD_SCORE: Final = 500


def usable_bytes() -> int:
    """Return the memory of the machine, or less where a container has a limit."""
    usable = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in LIMITS:
        with suppress(OSError, ValueError):  # none, or "max"
            usable = min(usable, int(limit.read_text(encoding="ascii")))
    return usable


def bytes_each(*, setting: int | None, concurrency: int, queue: str) -> int:
    """Return what each of the jobs that a worker runs at a time may take.

    Of several batch processes one is left to short jobs, which need little: the others share what it leaves.

    Parameters
    ----------
    setting
        As the operator states; None for a share of the machine.
    concurrency
        Jobs at a time.
    queue
        Of which queue.
    """
    usable = int(usable_bytes() * _SHARE)
    if queue == "interactive" or concurrency == 1:
        return setting or max(LEAST, usable // concurrency)
    return setting or max(LEAST, (usable - LEAST) // (concurrency - 1))


def be_ended_first() -> None:
    """Let the kernel choose this process, where memory runs out, before what cannot be lost."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(CHILD_SCORE), encoding="ascii")
