"""What every method's runner is given, does and returns.

A runner is the impure ring around an algorithm: it reads columns, calls the algorithm, and hands back an `Outcome`. The
engine owns everything else: claim, heartbeat, cancel, time limit, checkpoints, storing and the one transaction that
ends the job. What more a runner can do, it does by having the methods of a protocol of its own; what it has none of, it
does not define. Runners keep nothing on themselves: one instance serves every job of a process.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from numpy.typing import NDArray

from app.contracts.jobs import JobProgress
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


@runtime_checkable
class Runner(Protocol):
    """One method's runner: it calls `job.tick` about every half second, which reports, and raises where to stop.

    Errors of `app.errors` state what only computing could reveal and end the job with that problem; anything else ends
    it with an internal error that is logged without its message, for a message could quote a cell.
    """

    def run(self, job: JobContext) -> Outcome:
        """Compute, write the release's files to the scratch folder, and report the result."""
        ...


@runtime_checkable
class Stepwise(Protocol[S]):
    """A runner of a long search, whose loop is the engine's: a step takes at most about half a second, or ticks.

    Between two steps the engine reports and takes checkpoints of a runner that is `Checkpointing` too. Errors are as of
    a `Runner`.
    """

    def init(self, job: JobContext) -> S:
        """Read the needed parts and make the first state."""
        ...

    def step(self, state: S, job: JobContext) -> S:
        """Advance by one step."""
        ...

    def done(self, state: S) -> bool:
        """Whether no step is left."""
        ...

    def progress(self, state: S) -> JobProgress:
        """How far the state has come."""
        ...

    def finish(self, state: S, job: JobContext) -> Outcome:
        """Write the release's files to the scratch folder and report the result."""
        ...


#: What a registry may name.
AnyRunner: TypeAlias = Runner | Stepwise[Any]


def run_through(runner: AnyRunner, job: JobContext) -> Outcome:
    """A runner from the beginning to the end, with neither checkpoints nor parts; its progress is ticked."""
    if not isinstance(runner, Stepwise):
        return runner.run(job)
    return runner.finish(last_state(runner, job), job)


def last_state(runner: Stepwise[S], job: JobContext) -> S:
    """The state of a search from which no step is left; its progress is ticked."""
    state = runner.init(job)
    while not runner.done(state):
        state = runner.step(state, job)
        now = runner.progress(state)
        job.on_tick(now)
    return state


@runtime_checkable
class Splitting(Protocol[S]):
    """A runner whose work falls into independent parts, worth processes of their own when there is much of it.

    Each part is a job with the same specification and inputs, and `JobContext.part` to state which; what it finds is
    the `result` of its outcome. A part draws from the streams that it would have drawn from unsplit: a given seed gives
    the same result however the work is split.
    """

    def parts(self, state: S, job: JobContext, *, processes: int) -> int:
        """Into how many parts to split, at most one per hand is sensible; 1 to go on unsplit."""
        ...

    def join(self, job: JobContext, parts: Sequence[Mapping[str, Any]]) -> S:
        """The state of the whole from the results of its parts, in their order."""
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

    `algorithm` is the version of the packed content: raised with a change after which a state of before means something
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
        """The state again; the part that is only read (columns) is read again from the dataset."""
        ...


@runtime_checkable
class Warming(Protocol):
    """A runner with kernels to compile."""

    def warm(self) -> None:
        """Run what every job runs on a handful of records."""
        ...


def warm(runner: AnyRunner) -> None:
    """Compile, or load, what the jobs of a runner need, where it has kernels."""
    if isinstance(runner, Warming):
        runner.warm()
