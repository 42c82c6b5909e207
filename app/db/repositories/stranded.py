"""Queued jobs of versions that no worker knows, in the midst of an upgrade: they state it in their progress."""

from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from app.db.repositories.job_history import notify
from app.db.tables.jobs import change, is_queued, job, job_progress

_QUEUED = "queued"


@dataclass(frozen=True, slots=True)
class Version:
    """A queue, a method and a version of its specification."""

    queue: str
    method: str
    spec_version: int

    @property
    def waiting(self) -> str:
        """The stage of a job that no one can run yet."""
        return f"waiting: no worker knows version {self.spec_version} of {self.method}"


def queued(connection: Connection) -> list[Version]:
    """What queued jobs ask for."""
    columns = (job.c.queue, job.c.method, job.c.spec_version)
    rows = connection.execute(select(*columns).where(is_queued).distinct())
    return [Version(*row) for row in rows]


def show(connection: Connection, version: Version, *, stranded: bool) -> int:
    """Let the progress of such queued jobs state that they wait for a worker, or no more; how many changed.

    A job that is claimed in the meantime has another stage by then and is left alone.
    """
    before, after = (_QUEUED, version.waiting) if stranded else (version.waiting, _QUEUED)
    such = select(job.c.id).where(
        is_queued,
        job.c.queue == version.queue,
        job.c.method == version.method,
        job.c.spec_version == version.spec_version,
    )
    statement = (
        update(job_progress)
        .where(job_progress.c.job_id.in_(such), job_progress.c.stage == before)
        .values(stage=after, version=change.next_value())
        .returning(job_progress.c.job_id)
    )
    changed = connection.execute(statement).scalars().all()
    for job_id in changed:
        notify(connection, job_id=job_id)
    return len(changed)
