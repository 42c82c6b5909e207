"""Erasing the restricted part of finished jobs. A tombstone stays: which job it was, what it worked on, how it ended.

Inputs stay with it, because draws from the same data are counted for ever, and so does the public provenance of its
release. Callers hold the locks that keep submissions away.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, delete, exists, func, null, select, update

from app.contracts.jobs import JobKind, JobState
from app.db.tables.jobs import job, job_checkpoint, job_input, job_result, provenance
from app.db.tables.releases import release

#: Warnings are as restricted as the result that they are about.
_WITHOUT_RESULT: dict[str, Any] = {
    "result": null(), "result_shown": null(), "warnings": [], "findings": [], "result_bytes": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Erasable:
    """A job of an owner, locked, and its release if that is still there."""

    id: str
    kind: str
    finished: bool
    spec: dict[str, Any]
    release_id: str | None


def lock(connection: Connection, *, owner: str, job_id: str) -> Erasable | None:
    """Keep submissions away from the owner's job and its release until the transaction ends; None when there is none.

    The release comes first, as it does where both are named by a submission.
    """
    made = select(release.c.id).where(release.c.job_id == job_id, release.c.owner == owner)
    there = made.where(release.c.deleted_at.is_(None)).with_for_update()
    release_id = connection.execute(there).scalar_one_or_none()
    mine = (job.c.id == job_id, job.c.owner == owner, job.c.parent_id.is_(None), job.c.erased_at.is_(None))
    query = select(job.c.id, job.c.kind, job.c.finished_at, job.c.spec).where(*mine).with_for_update()
    row = connection.execute(query).first()
    return None if row is None else Erasable(row.id, row.kind, row.finished_at is not None, row.spec, release_id)


def parts_of(connection: Connection, *, job_id: str) -> dict[str, str]:
    """Parts of a job by id, and the state of each, locked."""
    statement = select(job.c.id, job.c.state).where(job.c.parent_id == job_id).with_for_update()
    return {row.id: row.state for row in connection.execute(statement)}


def erase(connection: Connection, *, erasable: Erasable, spec: dict[str, Any]) -> None:
    """Leave a tombstone, with that much of the specification. The part in storage remains to be removed."""
    now = func.clock_timestamp()
    emptied = _WITHOUT_RESULT | {"spec_shown": null(), "error": null(), "seed": None}
    tombstone = {"tags": {}, "listed": False, "requested_by": None, "result_erased_at": now, "erased_at": now}
    connection.execute(update(job).where(job.c.id == erasable.id).values(spec=spec, **emptied, **tombstone))
    connection.execute(delete(job).where(job.c.parent_id == erasable.id))
    pages = select(job_input.c.job_id).where(job_input.c.source_job_id == erasable.id)
    connection.execute(delete(job).where(job.c.kind == JobKind.REPORT, job.c.id.in_(pages)))
    connection.execute(delete(job_result).where(job_result.c.job_id == erasable.id, job_result.c.key.is_(None)))
    connection.execute(delete(job_checkpoint).where(job_checkpoint.c.job_id == erasable.id))
    whole = provenance.c.job_id == erasable.id
    if erasable.release_id is None:
        connection.execute(delete(provenance).where(whole))
        return
    facts: dict[str, Any] = {"spec": {}, "attempts": [], "restricted": {}, "requested_by": None, "dataset_sha256": None}
    connection.execute(update(provenance).where(whole).values(**facts))


def forget_release(connection: Connection, *, release_id: str) -> None:
    """A release is deleted: if its job was erased, nothing of the specification is needed any more."""
    made_by = select(release.c.job_id).where(release.c.id == release_id).scalar_subquery()
    erased = (job.c.id == made_by, job.c.erased_at.is_not(None))
    connection.execute(update(job).where(*erased).values(spec={}))
    tombstone = select(job.c.id).where(*erased)
    connection.execute(delete(provenance).where(provenance.c.job_id.in_(tombstone)))


def expire_results(connection: Connection, *, older_than: timedelta, limit: int) -> list[str]:
    """Empty the results of jobs that ended long ago and that no unfinished job uses; which."""
    due = (
        select(job.c.id)
        .where(job.c.finished_at < func.clock_timestamp() - older_than, job.c.state == JobState.SUCCEEDED)
        .where(job.c.listed, job.c.result_erased_at.is_(None))
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    locked = list(connection.execute(due.where(~_in_use())).scalars())
    # Requested again: a submission may have named one between the two locks.
    ids = list(connection.execute(select(job.c.id).where(job.c.id.in_(locked), ~_in_use())).scalars())
    if ids:
        emptied = _WITHOUT_RESULT | {"result_erased_at": func.clock_timestamp()}
        connection.execute(update(job).where(job.c.id.in_(ids)).values(**emptied))
        connection.execute(delete(job_result).where(job_result.c.job_id.in_(ids), job_result.c.key.is_(None)))
    return ids


def results_left(connection: Connection, *, limit: int, job_id: str | None = None) -> list[str]:
    """Storage keys of erased results that are still to be removed; of all jobs, or of one."""
    statement = (
        select(job_result.c.key)
        .join(job, job.c.id == job_result.c.job_id)
        .where(job.c.result_erased_at.is_not(None), job_result.c.key.is_not(None))
        .limit(limit)
    )
    if job_id is not None:
        statement = statement.where(job.c.id == job_id)
    return [key for key in connection.execute(statement).scalars() if key is not None]


def forget_results(connection: Connection, *, keys: Sequence[str]) -> None:
    """The bytes under these keys are gone."""
    connection.execute(delete(job_result).where(job_result.c.key.in_(keys)))


def _in_use() -> Any:
    user = job.alias("user")
    uses = (job_input.c.source_job_id == job.c.id, user.c.finished_at.is_(None))
    return exists().where(*uses, user.c.id == job_input.c.job_id)
