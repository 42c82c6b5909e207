"""Memory that a job has freed, given back to the system.

Arrow's pool and the heaps of the C library keep pages for what comes next. A process that runs jobs of all sizes, one
after the other, would hold what the largest took, and pieces of all others.
"""

import ctypes
import sys
from typing import Final

import psutil

#: How much more a process may hold than when it last gave back: below it that is not worth the time.
SPARE: Final = 32_000_000


class Held:
    """Memory that a process holds between its jobs."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._settled = 0

    def settle(self) -> None:
        """Give free memory back, if the process has grown by more than SPARE: 1 to 30 ms, which follow a large job."""
        if self._process.memory_info().rss > self._settled + SPARE:
            give_back()
            self._settled = self._process.memory_info().rss


def give_back() -> None:
    """Give back what no column and no object takes any more; a C library other than GNU's does so unasked."""
    arrow = sys.modules.get("pyarrow")  # not imported for that: a child that has read no file has no pool
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
