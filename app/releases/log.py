"""The log of an owner: what was published or read that is restricted, as a chain, and what else was done."""

from datetime import datetime

from app.contracts.log import LogAction
from app.db.repositories import audit, log
from app.db.repositories.audit import LogFilter, PlacedEntry
from app.db.session import Database


def record_read(*, database: Database, owner: str, key_id: str, subject: str, what: str) -> None:
    """Somebody is about to be shown what is restricted."""
    with database.unit_of_work() as unit:
        log.append(
            unit.connection, owner=owner, action=LogAction.READ, subject=subject, key_id=key_id, facts={"what": what}
        )


def read_log(
    *, database: Database, only: LogFilter, before: tuple[datetime, str] | None, limit: int
) -> list[PlacedEntry]:
    """Entries, newest first, those before a place."""
    with database.read() as connection:
        return audit.entries(connection, only=only, before=before, limit=limit)
