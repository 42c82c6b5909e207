"""Admission of jobs: what each is expected to need, against what workers have and its owner may take.

A question is answered by the processes of the interactive queue if it is short. A long one is a job of whoever asks: it
waits its turn in the batch queue, and counts against what its owner may take in a day.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from app.auth.principal import Principal
from app.contracts.inputs import Given
from app.contracts.jobs import JobKind, JobSpec, Queue, ReleasingSpec
from app.contracts.owners import LimitedResource, limit_met
from app.contracts.releases import ReleaseFormat
from app.db.repositories import jobs, quotas, workers
from app.db.session import Connection
from app.errors import FieldError, JobTooLargeError, TooMuchWorkError
from app.jobs.estimates import columns_field, estimated, is_upper, items_field, usual_seconds
from app.jobs.needs import Estimate
from app.jobs.quotas import DAY, admit_job
from app.jobs.refusals import withheld
from app.observability.job_metrics import WORKER_SECONDS
from app.settings import Settings

_RETRY_SECONDS: Final = 600
_PARQUET: Final = {"formats": (ReleaseFormat.PARQUET,)}
#: What else than jobs people ask for.
_NAMES: Final = {JobKind.QUERY: "question", JobKind.REPORT: "report"}


@dataclass(frozen=True, slots=True)
class Room:
    """What one job may take."""

    seconds: float
    bytes: float
    written: float
    scratch: float

    def holds(self, need: Estimate) -> bool:
        """Whether a job of this need fits."""
        return (
            need.seconds <= self.seconds
            and need.bytes <= self.bytes
            and need.written <= self.written
            and need.scratch <= self.scratch
        )


@dataclass(frozen=True, slots=True)
class Way:
    """A job that fits in place of one that does not: in words, and as a job, of so many rows (None: of all)."""

    words: str
    spec: JobSpec
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The expected need of an admitted job, and the queue whose processes run it."""

    need: Estimate
    queue: str


def admitted(connection: Connection, spec: JobSpec, given: Given, *, principal: Principal, settings: Settings) -> Place:
    """Find the queue in which a job fits, and return it with the expected need.

    Parameters
    ----------
    connection
        Of the transaction that accepts it.
    spec, given
        The specification with its defaults filled in, and what it names.
    principal
        Who asks; figures that follow from the data are for keepers.
    settings
        What a job, and an owner in 24 hours, may take.

    Raises
    ------
    JobTooLargeError
        It needs more than one job may take; the error states how much, and what would fit.
    QuotaExceededError
        Its owner may keep no more jobs, releases or bytes.
    TooMuchWorkError
        Its owner has requested as much as may be requested in 24 hours.
    """
    need, is_question = estimated(spec, given), spec.queue is Queue.INTERACTIVE
    if is_question and _room(connection, spec.queue, settings, seconds=settings.long_question_seconds).holds(need):
        return Place(need, spec.queue)
    room = _room(connection, Queue.BATCH, settings, seconds=settings.max_job_cpu_seconds)
    if not room.holds(need):
        error = _too_large(spec, given, need, room)
        # What a question needs follows from the release: whoever may ask it knows that.
        raise error if is_question or principal.is_keeper else withheld(error)
    limits = quotas.limits(connection, owner=principal.owner, settings=settings)
    if not is_question:
        whose = principal.owner
        keeper = principal.is_keeper
        admit_job(connection, spec, written=need.written, owner=whose, keeper=keeper, limits=limits)
    if principal.key_id:  # of a public release anyone may have a page: that takes nothing from its owner's jobs
        _admit_seconds(connection, need, principal=principal, limit=limits[LimitedResource.CPU_SECONDS])
    return Place(need, Queue.BATCH)


def _room(connection: Connection, queue: str, settings: Settings, *, seconds: float) -> Room:
    """The room for one job of a queue, on the workers that are seen."""
    space = workers.space(connection, queue=queue, within_seconds=WORKER_SECONDS)
    memory, scratch = (math.inf if one is None else one for one in (space.memory, space.scratch))
    return Room(seconds, memory, settings.max_job_release_bytes, scratch)


def _admit_seconds(connection: Connection, need: Estimate, *, principal: Principal, limit: float) -> None:
    """Refuse what the owner's jobs of the day leave no time for; what time frees is 429, not 403."""
    taken = jobs.estimated_since(connection, owner=principal.owner, within=DAY)
    if taken + need.seconds > limit:
        figures = (
            f": this one is expected to take {_seconds(need.seconds)} of CPU, those of the last 24 hours "
            f"{_seconds(taken)}, and together they may take {_seconds(limit)}"
        )
        raise TooMuchWorkError(
            f"the jobs of this owner take too long today{figures if principal.is_keeper else ''}; ask again later, or "
            "for less",
            retry_after=_RETRY_SECONDS,
            quota=limit_met(
                LimitedResource.CPU_SECONDS, used=taken, limit=limit, requested=need.seconds, keeper=principal.is_keeper
            ),
        )


def _too_large(spec: JobSpec, given: Given, need: Estimate, room: Room) -> JobTooLargeError:
    needs = []
    if need.bytes > room.bytes:
        needs.append(f"{_bytes(need.bytes)} of memory, and a worker has {_bytes(room.bytes)} for a job")
    if need.seconds > room.seconds:
        most = f"at most {_seconds(need.seconds)} of CPU, often about {_seconds(usual_seconds(spec, need))}"
        needs.append(
            f"{most if is_upper(spec) else f'{_seconds(need.seconds)} of CPU'}, and a job may take "
            f"{_seconds(room.seconds)}"
        )
    if need.written > room.written:
        needs.append(f"{_bytes(need.written)} of files, and those of a release may have {_bytes(room.written)}")
    if need.scratch > room.scratch:
        needs.append(f"{_bytes(need.scratch)} of temporary files, and a worker has room for {_bytes(room.scratch)}")
    fitting = _fitting(spec, given, room)
    field = items_field(spec) or columns_field(spec) or ("search" if hasattr(spec, "search") else None)
    persons = "".join(f" of {one.rows:,} persons" for one in given.datasets.values() if one.frequency_column)
    detail = f"this {_NAMES.get(spec.kind, 'job')}{persons} is expected to need {'; '.join(needs)}. {fitting}"
    return JobTooLargeError(detail, errors=[FieldError("" if field is None else f"/{field}", detail)])


def _fitting(spec: JobSpec, given: Given, room: Room) -> str:
    """State what would fit."""
    if fitting := [way.words for way in ways(spec, given, room)]:
        return f"What would fit: {', or '.join(fitting)}"
    return "Ask for a smaller search" if items_field(spec) is None else "Ask for less of the release"


def ways(spec: JobSpec, given: Given, room: Room) -> Iterator[Way]:
    """List what would fit in place of a job that does not: less of what a question lists, or of a search; fewer rows.

    Parameters
    ----------
    spec, given
        The job, and what it names.
    room
        What one job may take.
    """
    if (items := items_field(spec)) is not None:
        yield from _fewer(spec, given, room, items, items)
        return
    if (field := columns_field(spec)) is not None:
        yield from _fewer(spec, given, room, field, "columns")
    for listed in ("statistics", "variables"):
        if getattr(spec, listed, None):
            yield from _fewer(spec, given, room, listed, listed)
    if hasattr(spec, "search"):
        yield from _smaller(spec, given, room)
    if isinstance(spec, ReleasingSpec) and room.holds(estimated(alone := spec.model_copy(update=_PARQUET), given)):
        yield Way("Parquet alone", alone)
    rows = max((one.profile.rows for one in given.datasets.values()), default=0)
    if sampled := _most(rows, lambda many: estimated(spec, given, share=many / rows), room):
        of = "persons" if any(one.frequency_column for one in given.datasets.values()) else "rows"
        yield Way(f"a sample of about {sampled:,} {of}", spec, rows=sampled)


def _smaller(spec: JobSpec, given: Given, room: Room) -> Iterator[Way]:
    """A search of fewer generations, or of a smaller population, as large as fits."""
    search: Any = getattr(spec, "search", None)

    def smaller(name: str, many: int) -> JobSpec:
        sizes = {name: many}
        if name == "population" and hasattr(search, "replaced"):
            sizes["replaced"] = min(search.replaced, many)
        return spec.model_copy(update={"search": search.model_copy(update=sizes)})

    def estimated_with(name: str, many: int) -> Estimate:
        return estimated(smaller(name, many), given)

    for name, least, words in (("generations", 1, "{:,} generations"), ("population", 2, "a population of {:,}")):
        most = _most(getattr(search, name, 0), partial(estimated_with, name), room)
        if most >= least:
            yield Way(words.format(most), smaller(name, most))


def _fewer(spec: JobSpec, given: Given, room: Room, field: str, what: str) -> Iterator[Way]:
    """The first of what a field lists, as many as fit."""
    every = len(getattr(spec, field))
    if fewer := _most(every, lambda many: estimated(_first(spec, field, many), given), room):
        less = _first(spec, field, fewer)
        dropped = field != "statistics" and getattr(less, "statistics", None) != getattr(spec, "statistics", None)
        yield Way(
            f"{fewer:,} of its {every:,} {what}{' without the statistics of the others' if dropped else ''}", less
        )


def _first(spec: JobSpec, field: str, many: int) -> JobSpec:
    """A specification with the first of what a field lists, and without statistics of columns that are left out."""
    listed = getattr(spec, field)
    less: dict[str, Any] = {field: listed[:many]}
    if field == columns_field(spec) and getattr(spec, "statistics", None):
        left_out = {*listed[many:]}
        left = tuple(one for one in getattr(spec, "statistics", ()) if left_out.isdisjoint(one.of))
        less["statistics"] = left or None
    return spec.model_copy(update=less)


def _most(upper: int, need: Callable[[int], Estimate], room: Room) -> int:
    """The largest number below `upper` whose need fits; 0: none does."""
    low, high = 0, upper
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if room.holds(need(middle)) else (low, middle)
    return low


def _bytes(number: float) -> str:
    return f"{number / 1e9:.1f} GB"


def _seconds(number: float) -> str:
    return f"{number:,.0f} s" if number < 7200 else f"{number / 3600:,.1f} h"
