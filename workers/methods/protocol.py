"""What every method's runner is given, does and returns.

A runner is the impure ring around an algorithm: it reads columns, advances the algorithm's frozen state in steps, and
hands back an `Outcome`. The loop owns everything else: claim, heartbeat, cancel, time limit, checkpoints, storing and
the one transaction that ends the job. Runners keep nothing on themselves: one instance serves every job of a process.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from app.contracts.jobs import Progress
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome

S = TypeVar("S")

#: What a checkpoint is made of: plain arrays, no objects.
Arrays = dict[str, NDArray[Any]]


class SplitRequestedError(Exception):
    """The job's work goes to parts of its own; the loop alone raises it."""

    def __init__(self, parts: int) -> None:
        super().__init__(parts)
        self.parts = parts


class Runner(Protocol[S]):
    """One method's runner. A step takes at most about half a second, or calls `job.tick` about that often.

    Errors of `app.errors` say what only computing could tell and end the job with that problem; anything else ends it
    with an internal error that is logged without its message, for a message could quote a cell.
    """

    def init(self, job: JobContext, *, rng: np.random.Generator) -> S:
        """Read what is needed and make the first state."""
        ...

    def step(self, state: S, *, rng: np.random.Generator) -> S:
        """Advance by one step."""
        ...

    def done(self, state: S) -> bool:
        """Whether no step is left."""
        ...

    def progress(self, state: S) -> Progress:
        """How far the state has come."""
        ...

    def finish(self, state: S, job: JobContext, *, rng: np.random.Generator) -> Outcome:
        """Write the release's files to the scratch folder and say what was found."""
        ...


@runtime_checkable
class Splitting(Protocol[S]):
    """A runner whose work falls into independent parts, worth processes of their own when there is much of it.

    Each part is a job with the same specification and inputs, and `JobContext.part` to say which; what it finds is the
    `result` of its outcome. A part draws from the streams that it would have drawn from unsplit: a given seed gives the
    same result however the work is split.
    """

    def parts(self, state: S, job: JobContext, *, hands: int) -> int:
        """Into how many parts to split, at most one per hand is sensible; 1 to go on unsplit."""
        ...

    def join(self, job: JobContext, found: Sequence[Mapping[str, Any]]) -> S:
        """The state of the whole from what its parts found, in their order."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A runner whose published random choices are functions of secrets of the data, not drawn anew for each release."""

    def keyed_by(self, job: JobContext) -> Sequence[str]:
        """The numeric columns of the first dataset whose secrets it needs: they will be in `JobContext.secrets`."""
        ...


@runtime_checkable
class Checkpointing(Protocol[S]):
    """A runner whose state can be packed into arrays and taken up again by another attempt.

    `algorithm` is the version of what is packed: raised with a change after which a state of before means something
    else or goes on to another result. A checkpoint of another version is discarded, and the job starts over.
    """

    @property
    def algorithm(self) -> int:
        """The version."""
        ...

    def pack(self, state: S) -> Arrays:
        """The state as arrays; neither objects nor pickles."""
        ...

    def unpack(self, job: JobContext, arrays: Arrays) -> S:
        """The state again; what was only read (columns) is read again from the dataset."""
        ...


@runtime_checkable
class Warming(Protocol):
    """A runner with kernels to compile."""

    def warm(self, scratch: Path) -> None:
        """Run what every job runs on a handful of records; `scratch` is removed afterwards."""
        ...
