"""Whether a job may be queued: what it is expected to need against what workers have and its owner may take."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.auth.principal import Principal
from app.contracts.inputs import Given
from app.contracts.jobs import JobSpec
from app.contracts.owners import LimitedResource, limit_met
from app.db.repositories import jobs, quotas, workers
from app.db.session import Connection
from app.errors import FieldError, JobTooLargeError, TooMuchWorkError
from app.jobs.estimates import Estimate, columns_field, columns_of, estimated
from app.jobs.quotas import DAY, admit_job
from app.jobs.refusals import withheld
from app.observability.job_metrics import WORKER_SECONDS
from app.settings import Settings

_RETRY_SECONDS: Final = 600


@dataclass(frozen=True, slots=True)
class Room:
    """What one job may take."""

    seconds: float
    bytes: float

    def holds(self, need: Estimate) -> bool:
        """Whether a job of this need fits."""
        return need.seconds <= self.seconds and need.bytes <= self.bytes


def admitted(
    connection: Connection, spec: JobSpec, given: Given, *, principal: Principal, settings: Settings
) -> Estimate:
    """What a job is expected to need, once it is found to fit.

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
    need = estimated(spec, given)
    memory = workers.memory(connection, queue=spec.queue, within_seconds=WORKER_SECONDS)
    room = Room(settings.max_job_cpu_seconds, float("inf") if memory is None else memory)
    if not room.holds(need):
        error = _too_large(spec, given, need, room)
        raise error if principal.is_keeper else withheld(error)
    limits = quotas.limits(connection, owner=principal.owner, settings=settings)
    admit_job(connection, spec, owner=principal.owner, keeper=principal.is_keeper, limits=limits)
    _admit_seconds(connection, need, principal=principal, limit=limits[LimitedResource.CPU_SECONDS])
    return need


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
        needs.append(f"{_seconds(need.seconds)} of CPU, and a job may take {_seconds(room.seconds)}")
    fitting = _fitting(spec, given, room)
    field = columns_field(spec)
    detail = f"this job is expected to need {'; '.join(needs)}. {fitting}"
    return JobTooLargeError(detail, errors=[FieldError("" if field is None else f"/{field}", detail)])


def _fitting(spec: JobSpec, given: Given, room: Room) -> str:
    """What would fit: fewer columns, or fewer rows."""
    ways = []
    field, columns = columns_field(spec), columns_of(spec)

    def narrower(many: int) -> Estimate:
        return estimated(spec.model_copy(update={str(field): columns[:many]}), given)

    fewer = _most(len(columns), narrower, room)
    if fewer:
        ways.append(f"{fewer:,} of its {len(columns):,} columns")
    rows = max((one.profile.rows for one in given.datasets.values()), default=0)
    sampled = _most(rows, lambda many: estimated(spec, given, share=many / rows), room)
    if sampled:
        ways.append(f"a sample of about {sampled:,} rows")
    return f"What would fit: {', or '.join(ways)}" if ways else "Ask for a smaller search"


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
