"""Deleting jobs: the restricted part of them is erased, their releases stay; and results whose time has passed."""

from contextlib import suppress
from datetime import timedelta
from threading import Event
from typing import Final

import structlog

from app.contracts.jobs import JobKind, JobState
from app.contracts.log import LogAction
from app.contracts.stored import kept_spec
from app.db.repositories import audit, erasing, release_links, retention
from app.db.repositories.erasing import Erasable
from app.db.repositories.inputs import users_of_job, users_of_release
from app.db.session import Database, UnitOfWork
from app.errors import JobInUseError, NotFoundError
from app.storage.protocol import TRASH, Storage

_SHOWN: Final = frozenset(JobKind)
_NAMED_JOBS: Final = 3
_BATCH: Final = 100
_RETRY_SECONDS: Final = 2

log = structlog.get_logger(__name__)


def delete_job(
    *,
    database: Database,
    storage: Storage,
    owner: str,
    job_id: str,
    key_id: str | None = None,
    because: str | None = None,
) -> None:
    """Erase the owner's job; the restricted part of it is gone when this returns, its release remains.

    Raises
    ------
    NotFoundError
        If there is no such job.
    JobInUseError
        If it has not ended, or an unfinished job uses it or the link of its release.
    """
    with database.unit_of_work() as unit:
        erasable = erasing.lock(unit.connection, owner=owner, job_id=job_id)
        if erasable is None or erasable.kind not in _SHOWN:
            raise NotFoundError("there is no job with this id")
        parts = _free_parts(unit, erasable)
        _refuse_in_use(unit, erasable)
        erasing.erase(unit.connection, erasable=erasable, spec=kept_spec(erasable.spec) if erasable.release_id else {})
        audit.record(
            unit.connection, owner=owner, action=LogAction.DELETED, subject=job_id, key_id=key_id,
            facts={} if because is None else {"because": because},
        )  # fmt: skip
    remove_leftovers(database=database, storage=storage, job_id=job_id)
    if erasable.release_id is not None:
        remove_links(database=database, storage=storage, release_id=erasable.release_id)
    for one in (job_id, *parts):  # checkpoints, and what attempts that were lost have left
        for prefix in (f"jobs/{one}/", f"{TRASH}jobs/{one}/"):
            for stored in list(storage.list(prefix)):
                storage.delete(stored.key)


def erase_ended(*, database: Database, storage: Storage, older_than: timedelta, stop: Event) -> int:
    """Erase jobs that ended that long ago, one at a time, as their owner would; those in use stay. How many."""
    erased, after = 0, None
    while not stop.is_set():
        with database.read() as connection:
            due = retention.ended_jobs(connection, older_than=older_than, after=after, limit=_BATCH)
        for finished_at, job_id, owner in due:
            after = (finished_at, job_id)
            with suppress(JobInUseError, NotFoundError):
                delete_job(database=database, storage=storage, owner=owner, job_id=job_id, because="job_days")
                erased += 1
        if len(due) < _BATCH:
            break
    return erased


def expire_results(*, database: Database, older_than: timedelta) -> int:
    """Empty the restricted results of jobs that ended that long ago; specification and provenance stay. How many."""
    expired = 0
    while True:
        with database.unit_of_work() as unit:
            ids = erasing.expire_results(unit.connection, older_than=older_than, limit=_BATCH)
        for job_id in ids:
            log.info("job.result_erased", job_id=job_id)
        expired += len(ids)
        if len(ids) < _BATCH:
            return expired


def remove_leftovers(*, database: Database, storage: Storage, job_id: str | None = None) -> int:
    """Remove from storage the results that were erased; housekeeping calls this for all, to end interrupted work.

    Returns
    -------
    int
        Files removed.
    """
    removed = 0
    while keys := _left(database, job_id):
        for key in keys:
            storage.delete(key)
        with database.unit_of_work() as unit:
            erasing.forget_results(unit.connection, keys=keys)
        removed += len(keys)
    return removed


def _left(database: Database, job_id: str | None) -> list[str]:
    with database.read() as connection:
        return erasing.results_left(connection, limit=_BATCH, job_id=job_id)


def _free_parts(unit: UnitOfWork, erasable: Erasable) -> list[str]:
    """The job's parts, none of which is at work any more."""
    if not erasable.finished:
        raise JobInUseError("the job has not ended: cancel it or wait until it has", retry_after=_RETRY_SECONDS)
    parts = erasing.parts_of(unit.connection, job_id=erasable.id)
    if JobState.RUNNING in parts.values():
        detail = "parts of this job are still stopping; delete it in a moment"
        raise JobInUseError(detail, retry_after=_RETRY_SECONDS)
    return list(parts)


def _refuse_in_use(unit: UnitOfWork, erasable: Erasable) -> None:
    """Questions need nothing of erased data; audits of the release and jobs that use the result do."""
    users = users_of_job(unit.connection, job_id=erasable.id, limit=_NAMED_JOBS)
    if erasable.release_id is not None:
        attacks = users_of_release(unit.connection, release_id=erasable.release_id, limit=_BATCH)
        users += [(job_id, listed) for job_id, listed in attacks if listed]
    if users:
        named = ", ".join(job_id for job_id, _ in users[:_NAMED_JOBS])
        detail = f"unfinished jobs use this job or its release ({named}): cancel them or wait until they have ended"
        raise JobInUseError(detail)


def remove_links(
    *, database: Database, storage: Storage, release_id: str | None = None, dataset_id: str | None = None
) -> int:
    """Remove the links of deleted releases, of releases of deleted originals, and of those whose job was deleted.

    Deleting one of them calls this for what hangs on it; housekeeping for all, to end what a crash interrupted.

    Returns
    -------
    int
        Links removed.
    """
    removed = 0
    while keys := _due(database, release_id=release_id, dataset_id=dataset_id):
        for key in keys:
            storage.delete(key)
        with database.unit_of_work() as unit:
            release_links.forget(unit.connection, keys=keys)
        removed += len(keys)
    return removed


def _due(database: Database, *, release_id: str | None, dataset_id: str | None) -> list[str]:
    with database.read() as connection:
        return release_links.due(connection, limit=_BATCH, release_id=release_id, dataset_id=dataset_id)
