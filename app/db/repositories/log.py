"""The log of an owner: appended to under a lock, each entry with the hash of the one before."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select

from app.contracts.base import rfc3339
from app.contracts.log import LogAction, LogEntry
from app.db.tables.releases import log_entry

#: Namespace of the advisory locks that order the entries of one owner; the last lock that a transaction takes.
_LOCK: Final = 0x6C6F67
_BEFORE_THE_FIRST: Final = "0" * 64


def append(
    connection: Connection,
    *,
    owner: str,
    action: LogAction,
    subject: str,
    key_id: str | None,
    facts: Mapping[str, Any] | None = None,
) -> LogEntry:
    """Append an entry; the last thing that a transaction does, for others of this owner wait until it ends."""
    connection.execute(select(func.pg_advisory_xact_lock(_LOCK, func.hashtext(owner))))
    last = select(log_entry.c.sequence, log_entry.c.hash).where(log_entry.c.owner == owner)
    row = connection.execute(last.order_by(log_entry.c.sequence.desc()).limit(1)).first()
    at: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    sequence, previous = (1, _BEFORE_THE_FIRST) if row is None else (row.sequence + 1, row.hash)
    body: dict[str, Any] = {
        "sequence": sequence, "created_at": rfc3339(at), "key_id": key_id, "action": action.value, "subject": subject,
        "facts": dict(facts or {}), "previous": previous,
    }  # fmt: skip
    entry = LogEntry(**{**body, "created_at": at}, hash=hash_of(body, owner=owner))
    connection.execute(insert(log_entry).values(owner=owner, **{**body, "created_at": at}, hash=entry.hash))
    return entry


def hash_of(entry: Mapping[str, Any], *, owner: str) -> str:
    """SHA-256 of an entry without its hash, and of its owner, as JSON with sorted keys."""
    text = json.dumps(
        {**entry, "owner": owner}, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def of_subject(connection: Connection, *, owner: str, subject: str, action: LogAction) -> list[LogEntry]:
    """The actions of one kind to one thing of the owner's, in order."""
    statement = select(log_entry).where(
        log_entry.c.owner == owner, log_entry.c.subject == subject, log_entry.c.action == action.value
    )
    return [_entry(row) for row in connection.execute(statement.order_by(log_entry.c.sequence)).mappings()]


def _entry(row: Mapping[Any, Any]) -> LogEntry:
    return LogEntry(**{name: value for name, value in row.items() if name != "owner"})
