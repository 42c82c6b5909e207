"""A job as the holder of a key sees it: its specification and its result are for who reads jobs."""

from app.auth.principal import Principal, Scope
from app.contracts.jobs import JobKind
from app.db.job_record import JobRecord
from app.jobs.envelope import job_json

_JOBS = frozenset({Scope.JOBS_READ})
_RELEASES = frozenset({Scope.RELEASES_READ})


def shown_job(record: JobRecord, principal: Principal) -> str:
    """Render the job. Who reads releases sees the whole of questions to them; whichever route answers, this decides."""
    return job_json(record, whole=reads_all(principal) or (_is_question(record) and not principal.missing(_RELEASES)))


def reads_all(principal: Principal) -> bool:
    """Whether this key reads jobs of every kind."""
    return not principal.missing(_JOBS)


def _is_question(record: JobRecord) -> bool:
    return record.kind == JobKind.QUERY
