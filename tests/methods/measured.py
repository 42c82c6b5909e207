"""Needs of jobs in this process, next to those that are expected: CPU seconds and bytes.

Each job is run twice: of the first run the memory is measured, how far its high-water mark (VmHWM, reset before)
exceeds what the process held; of the second the CPU seconds, the bytes of the release's files, and those of all that it
read and wrote. The ratio is estimate by measured. A job below a second, or below the least memory or files, is too
small to matter: all figures are taken to be at least that.

Others who use the cores' caches make the same work take up to three times the CPU seconds. So a small piece of work is
done many times before and after each run: the seconds of the run are divided by how many times as long the pieces took
on average as the quickest of all.
"""

import ctypes
import gc
import math
import resource
import shutil
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from app.jobs.estimates import estimated, is_upper, usual_seconds
from app.jobs.needs import Estimate
from tests.methods.in_process import Bench, Done
from workers.engine.registry import runner_for
from workers.methods.context import InputFile, JobContext
from workers.methods.protocol import Warming
from workers.methods.queries.cache import CACHE

#: Of the machine's memory a process that measures may take this much.
MOST_BYTES: Final = 10 << 30
#: A job is never smaller than that: below it nothing can be refused, or made to wait.
LEAST: Final = Estimate(1.0, 60e6, 10e6, 10e6)
#: An estimate is meant to be right within that.
FACTOR: Final = 3.0
#: CPU seconds from which a job is run once, and after which a run is given up.
_ONCE: Final = 10.0
_GIVEN_UP: Final = 240.0


#: Pieces of work before and after a run, about half a second together, and the numbers in each.
_PIECES: Final = 100
_NUMBERS: Final = 20_000


@dataclass(frozen=True)
class Measured:
    """One job: what was expected, and what it took."""

    expected: Estimate
    taken: Estimate
    #: What is compared with the seconds: of a search that ends as soon as it has what it looks for not the most.
    usual: float
    #: The expected seconds are the most that it may take.
    is_upper: bool = False

    @property
    def above(self) -> tuple[bool, bool, bool, bool]:
        """Return of what more was taken than the least: CPU seconds, memory, files, temporary files."""
        taken = self.taken
        return (
            taken.seconds > LEAST.seconds,
            taken.bytes > LEAST.bytes,
            taken.written > LEAST.written,
            taken.scratch > LEAST.scratch,
        )

    @property
    def ratios(self) -> tuple[float, float, float, float]:
        """Expected by taken, of CPU seconds, of memory, of the files of the release and of temporary files."""
        expected, taken = self.expected, self.taken
        return (
            max(self.usual, LEAST.seconds) / max(taken.seconds, LEAST.seconds),
            max(expected.bytes, LEAST.bytes) / max(taken.bytes, LEAST.bytes),
            max(expected.written, LEAST.written) / max(taken.written, LEAST.written),
            max(expected.scratch, LEAST.scratch) / max(taken.scratch, LEAST.scratch),
        )


def right(measured: Measured) -> tuple[bool, bool, bool, bool]:
    """Return of what the expected need is within the factor: CPU seconds, memory, files, temporary files.

    Where the expected seconds are the most, the job takes no more than those too.
    """
    seconds, memory, written, scratch = (1 / FACTOR <= one <= FACTOR for one in measured.ratios)
    above = measured.is_upper and measured.taken.seconds > measured.expected.seconds
    return seconds and not above, memory, written, scratch


class Pace:
    """How many times as long work takes now as where nobody else uses the machine."""

    def __init__(self) -> None:
        self._numbers = np.random.default_rng(0).random(_NUMBERS)
        self._least = math.inf

    def slowness(self) -> float:
        """Return the mean of some pieces by the quickest of all so far."""
        taken = [self._piece() for _ in range(_PIECES)]
        self._least = min(self._least, *taken)
        return sum(taken) / len(taken) / self._least

    def _piece(self) -> float:
        begun = time.thread_time()  # while a timer of the process runs, that clock goes on by whole ticks
        sum(one * one for one in range(_NUMBERS))
        np.sort(self._numbers)
        return time.thread_time() - begun


PACE: Final = Pace()


class Watched(Bench):
    """A bench that knows which files a run has read and made."""

    def __init__(self, folder: Path, *, seed: int | None = 0) -> None:
        super().__init__(folder, seed=seed)
        self._fetched: set[Path] = set()
        self._scratch: Path | None = None

    def context(self, *arguments: Any, **named: Any) -> JobContext:
        """Note what the next run is given."""
        made = super().context(*arguments, **named)
        self._fetched, self._scratch = set(), made.scratch

        def fetch(kind: InputFile, role: str) -> Path | None:
            path = made.fetch(kind, role)
            self._fetched |= set() if path is None else {path}
            return path

        return replace(made, fetch=fetch)

    def swept(self) -> float:
        """Bytes of the files of the last run, and of what it has read; its own are removed."""
        if self._scratch is None:
            return 0.0
        own = {path for path in self._scratch.rglob("*") if path.is_file()}
        total = sum(path.stat().st_size for path in own | self._fetched)
        shutil.rmtree(self._scratch)
        return float(total)


def bounded() -> None:
    """Bound the memory of this process."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))


def measure(bench: Watched, body: dict[str, Any]) -> Measured:
    """Run a job, and compare.

    Parameters
    ----------
    bench
        Where what it names is.
    body
        Its specification.

    Raises
    ------
    TimeoutError
        It takes more than four minutes of CPU.
    """
    named = bench.named(body)
    assert named is not None
    expected, runner = estimated(*named), runner_for(body["method"])
    if isinstance(runner, Warming):
        runner.warm()
    signal.signal(signal.SIGPROF, _give_up)
    signal.setitimer(signal.ITIMER_PROF, _GIVEN_UP)
    before = PACE.slowness()
    try:
        held, begun = _emptied(), time.process_time()
        done = bench.run(body)
        peak, taken = _status("VmHWM"), time.process_time() - begun
        if taken < _ONCE:
            bench.swept()
            CACHE.empty()
            before, begun = PACE.slowness(), time.process_time()
            done = bench.run(body)
            taken = time.process_time() - begun
        taken /= (before + PACE.slowness()) / 2.0
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    need = Estimate(taken, float(peak - held), _written(done), bench.swept())
    return Measured(expected, need, usual_seconds(named[0], expected), is_upper(named[0]))


def _written(done: Done) -> float:
    return 0.0 if done.release is None else float(sum(file.bytes for file in done.release.files.values()))


def _give_up(number: int, frame: object) -> None:
    raise TimeoutError(f"more than {_GIVEN_UP:.0f} CPU s")


def _emptied() -> int:
    """Bytes that the process holds, once all that earlier jobs left is given back; the high-water mark begins there."""
    CACHE.empty()
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _status("VmRSS")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) * 1024
