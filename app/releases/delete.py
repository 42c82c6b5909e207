"""Deleting releases, and removing the bytes of deleted ones."""

from contextlib import suppress
from datetime import datetime
from threading import Event
from typing import Final

from app.contracts.log import LogAction
from app.contracts.releases import ReleaseState
from app.db.repositories import audit, certificates, erasing, families, releases
from app.db.repositories.inputs import users_of_release
from app.db.repositories.installation import is_publishing_held
from app.db.repositories.releases import Expired
from app.db.session import Connection, Database
from app.errors import ForbiddenError, NotFoundError, ReleaseInUseError
from app.jobs.erase import remove_links
from app.releases import publishing
from app.storage.protocol import Storage

_NAMED_JOBS: Final = 3
_BATCH: Final = 100


def delete_release(
    *,
    database: Database,
    storage: Storage,
    owner: str,
    release_id: str,
    now: datetime,
    may_withdraw: bool,
    key_id: str | None = None,
) -> None:
    """Delete the owner's release; a published one is withdrawn first. Its bytes are gone when this returns.

    Raises
    ------
    NotFoundError
        If there is no such release.
    ForbiddenError
        If it is published, and the caller may not withdraw it.
    ReleaseInUseError
        If an unfinished job uses it.
    """
    with database.unit_of_work() as unit:
        state = releases.lock_state(unit.connection, owner=owner, release_id=release_id)
        if state is None:
            raise NotFoundError("there is no release with this id")
        if state is ReleaseState.PUBLISHED and not may_withdraw:
            raise ForbiddenError(
                "Deleting a published release withdraws it, and this key lacks the scope releases:publish. Use a key "
                "that has it."
            )
        _delete_locked(unit.connection, owner=owner, release_id=release_id, state=state, now=now, key_id=key_id)
    remove_leftovers(database=database, storage=storage, release_id=release_id)


def expire_drafts(*, database: Database, storage: Storage, now: datetime, stop: Event) -> int:
    """Delete drafts whose time has passed, one at a time, as their owner would; those in use stay. How many.

    While publishing is held nobody can publish one that is wanted: then none expires.
    """
    expired, after = 0, None
    while not stop.is_set():
        with database.read() as connection:
            held = is_publishing_held(connection) is not None
            due = [] if held else releases.expired_drafts(connection, after=after, limit=_BATCH)
        for each in due:
            after = (each.at, each.id)
            with suppress(ReleaseInUseError):
                expired += _expire(each, database=database, storage=storage, now=now)
        if len(due) < _BATCH:
            break
    return expired


def _expire(draft: Expired, *, database: Database, storage: Storage, now: datetime) -> bool:
    """Delete a draft, unless it has been published or deleted meanwhile; whether it was."""
    with database.unit_of_work() as unit:
        state = releases.lock_state(unit.connection, owner=draft.owner, release_id=draft.id)
        if state is not ReleaseState.DRAFT:
            return False
        _delete_locked(
            unit.connection, owner=draft.owner, release_id=draft.id, state=state, now=now, key_id=None,
            because="draft_days",
        )  # fmt: skip
    remove_leftovers(database=database, storage=storage, release_id=draft.id)
    return True


def _delete_locked(
    connection: Connection,
    *,
    owner: str,
    release_id: str,
    state: ReleaseState,
    now: datetime,
    key_id: str | None,
    because: str | None = None,
) -> None:
    """Delete a release that is locked; no key is the service itself, by one of its settings.

    Raises
    ------
    ReleaseInUseError
        If an unfinished job uses it.
    """
    _refuse_in_use(users_of_release(connection, release_id=release_id, limit=_NAMED_JOBS))
    releases.mark_deleted(connection, release_id=release_id, now=now)
    erasing.forget_release(connection, release_id=release_id)
    families.drop_file(connection, release_id=release_id)
    if state is ReleaseState.PUBLISHED:
        publishing.withdraw_locked(connection, owner=owner, key_id=key_id, release_id=release_id, reason="deleted")
    certificates.forget_envelope(connection, release_id=release_id)
    facts = {} if because is None else {"because": because}
    audit.record(connection, owner=owner, action=LogAction.DELETED, subject=release_id, key_id=key_id, facts=facts)


def remove_leftovers(*, database: Database, storage: Storage, release_id: str | None = None) -> int:
    """Remove the files and links of deleted releases; housekeeping calls this for all, to end what a crash interrupted.

    Returns
    -------
    int
        Files removed.
    """
    with database.read() as connection:
        keys = releases.files_of_deleted(connection, limit=_BATCH, release_id=release_id)
    for key in keys:
        storage.delete(key)
    if keys:
        with database.unit_of_work() as unit:
            releases.forget_files(unit.connection, keys=keys)
    return len(keys) + remove_links(database=database, storage=storage, release_id=release_id)


def _refuse_in_use(jobs: list[tuple[str, bool]]) -> None:
    if not jobs:
        return
    listed = [job_id for job_id, shown in jobs if shown]
    if not listed:
        raise ReleaseInUseError("questions to this release are being answered; delete it in a moment", retry_after=2)
    raise ReleaseInUseError(
        f"unfinished jobs use this release ({', '.join(listed)}): cancel them or wait until they have ended"
    )
