"""The log of an owner: publications and readings of restricted data, as a chain, and what else was done."""

from dataclasses import replace
from datetime import datetime

from app.contracts.log import LogAction, LogEntry
from app.db.repositories import audit, log
from app.db.repositories.audit import LogFilter, PlacedEntry
from app.db.session import Database


def record_read(*, database: Database, owner: str, key_id: str, subject: str, what: str) -> None:
    """Someone is about to be shown restricted data."""
    with database.unit_of_work() as unit:
        log.append(
            unit.connection, owner=owner, action=LogAction.READ, subject=subject, key_id=key_id, facts={"what": what}
        )


def read_log(
    *, database: Database, only: LogFilter, before: tuple[datetime, str] | None, limit: int, findings: bool
) -> list[PlacedEntry]:
    """Entries, newest first, those before a place; `findings` states whether these may be shown."""
    with database.read() as connection:
        rows = audit.entries(connection, only=only, before=before, limit=limit)
    return rows if findings else [replace(row, entry=_without_findings(row.entry)) for row in rows]


def _without_findings(entry: LogEntry) -> LogEntry:
    """The entry for who may not read findings; without hashes too, which would confirm a guess of what they state."""
    facts = {name: value for name, value in entry.facts.items() if name != "findings"}
    return entry.model_copy(update={"facts": facts, "previous": None, "hash": None})
