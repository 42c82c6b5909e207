"""What an owner decides for all of its keys."""

from app.contracts.log import LogAction
from app.contracts.owners import OwnerChanges
from app.db.repositories import log, owner_settings
from app.db.session import Database


def jobs_may_publish(*, database: Database, owner: str) -> bool:
    """Return whether the owner lets jobs publish, whichever key created them."""
    with database.read() as connection:
        return owner_settings.jobs_may_publish(connection, owner=owner)


def change_owner(*, database: Database, owner: str, key_id: str | None, changes: OwnerChanges) -> None:
    """Decide otherwise; the log states it."""
    if changes.jobs_may_publish is None:
        return
    with database.unit_of_work() as unit:
        owner_settings.set_jobs_may_publish(unit.connection, owner=owner, value=changes.jobs_may_publish)
        log.append(
            unit.connection, owner=owner, action=LogAction.CONFIGURED, subject=owner, key_id=key_id,
            facts={"jobs_may_publish": changes.jobs_may_publish},
        )  # fmt: skip
