"""A job as the holder of a key sees it: its specification and its result are for who reads jobs."""

from app.auth.principal import Principal, Scope
from app.contracts.jobs import JobKind
from app.db.job_record import JobRecord
from app.jobs.envelope import job_json

_RELEASES = frozenset({Scope.RELEASES_READ})


def shown_job(record: JobRecord, principal: Principal, *, answers: bool = True) -> str:
    """Render the job. Who reads releases sees the whole of questions to them; whichever route answers, this decides.

    Parameters
    ----------
    record, principal
        Which job, for whom.
    answers
        False: of a question only how far it has come.
    """
    if is_question(record):
        whole = answers and (reads_all(principal) or not principal.missing(_RELEASES))
    else:
        whole = reads_all(principal)
    return job_json(record, whole=whole)


def reads_all(principal: Principal) -> bool:
    """Whether this key reads jobs of every kind."""
    return principal.is_keeper


def is_question(record: JobRecord) -> bool:
    """Whether the job is a question to a release."""
    return record.kind == JobKind.QUERY
