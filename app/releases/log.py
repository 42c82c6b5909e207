"""The log of an owner: written where something is published or read that is restricted, read by its admins."""

from app.contracts.log import LogAction, LogEntry
from app.db.repositories import log
from app.db.session import Database


def record_read(*, database: Database, owner: str, key_id: str, subject: str, what: str) -> None:
    """Somebody is about to be shown what is restricted."""
    with database.unit_of_work() as unit:
        log.append(
            unit.connection, owner=owner, action=LogAction.READ, subject=subject, key_id=key_id, facts={"what": what}
        )


def read_log(*, database: Database, owner: str, before: int | None, limit: int) -> list[LogEntry]:
    """The owner's entries, newest first, those before a number."""
    with database.read() as connection:
        return log.entries(connection, owner=owner, before=before, limit=limit)
