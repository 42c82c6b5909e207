"""The audit log: entries of actions, next to the chain of `log`; both are read as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    cast,
    delete,
    func,
    literal,
    null,
    select,
    tuple_,
    type_coerce,
    union_all,
)
from sqlalchemy.dialects.postgresql import insert

from app.contracts.log import LogAction, LogEntry
from app.db.tables.access import audit_entry
from app.db.tables.jobs import job
from app.db.tables.releases import log_entry

#: Numbers as text sort as numbers do.
_DIGITS: Final = 19
#: Whose log contains what concerns the service, or whom it does not know.
NO_OWNER: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """Which entries a list contains; None and empty mean all."""

    owner: str | None = None
    key_ids: Sequence[str] = ()
    actions: Sequence[LogAction] = ()
    subject: str | None = None
    after: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """An entry, whose log it is in, and its place among those of the same instant."""

    owner: str
    place: str
    entry: LogEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The records counted together: the same thing, done with the same key, in the same minute."""

    bucket: str
    owner: str
    key_id: str | None
    action: LogAction
    subject: str
    facts: Mapping[str, Any]


def record(
    connection: Connection,
    *,
    owner: str,
    action: LogAction,
    subject: str,
    key_id: str | None,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Note the actions of this transaction."""
    values = {"owner": owner, "action": action.value, "subject": subject, "key_id": key_id, "facts": dict(facts or {})}
    connection.execute(insert(audit_entry).values(**values))


def record_end(connection: Connection, *, job_id: str, state: str) -> None:
    """Note that a listed job has ended; fields internal to another one have no entry."""
    facts = func.json_build_object("state", literal(state, Text), "method", job.c.method)
    ended = select(job.c.owner, job.c.requested_by, literal(LogAction.ENDED.value), job.c.id, type_coerce(facts, JSON))
    ended = ended.where(job.c.id == job_id, job.c.listed)
    names = ["owner", "key_id", "action", "subject", "facts"]
    connection.execute(insert(audit_entry).from_select(names, ended))


def count_up(connection: Connection, *, counts: Sequence[tuple[Counted, int]]) -> None:
    """Add to the counts of a minute, always in the same order: other processes do the same."""
    rows = [
        {
            "owner": counted.owner, "key_id": counted.key_id, "action": counted.action.value,
            "subject": counted.subject, "facts": dict(counted.facts), "count": count, "bucket": counted.bucket,
        }
        for counted, count in sorted(counts, key=lambda pair: pair[0].bucket)
    ]  # fmt: skip
    added = insert(audit_entry)
    added = added.on_conflict_do_update(
        index_elements=[audit_entry.c.bucket],
        index_where=audit_entry.c.bucket.is_not(None),
        set_={"count": audit_entry.c.count + added.excluded.count},
    )
    connection.execute(added, rows)


def entries(
    connection: Connection, *, only: LogFilter, before: tuple[datetime, str] | None, limit: int
) -> list[PlacedEntry]:
    """Entries of both logs, newest first, strictly before the (at, place) of a cursor."""
    both = union_all(
        _wanted(_CHAINED, log_entry, _CHAINED_PLACE, only, before, limit).subquery().select(),
        _wanted(_SINGLE, audit_entry, _SINGLE_PLACE, only, before, limit).subquery().select(),
    ).subquery()
    newest = both.select().order_by(both.c.created_at.desc(), both.c.place.desc()).limit(limit)
    return [_placed(row) for row in connection.execute(newest).mappings()]


def remove_old(connection: Connection, *, older_than: timedelta, limit: int, refusals: bool) -> int:
    """Remove entries whose time has passed, refusals or all others; how many."""
    is_refusal = audit_entry.c.action == LogAction.REFUSED.value
    due = select(audit_entry.c.id).where(
        audit_entry.c.created_at < func.clock_timestamp() - older_than, is_refusal if refusals else ~is_refusal
    )
    oldest = due.order_by(audit_entry.c.created_at).limit(limit)
    return connection.execute(delete(audit_entry).where(audit_entry.c.id.in_(oldest))).rowcount


def remove_refusals_above(connection: Connection, *, most: int, limit: int) -> int:
    """Of refusals without a key only the newest are kept, so many; how many were removed."""
    without_key = (audit_entry.c.action == LogAction.REFUSED.value, audit_entry.c.owner == NO_OWNER)
    excess = (
        select(audit_entry.c.id).where(*without_key).order_by(audit_entry.c.created_at.desc()).offset(most).limit(limit)
    )
    return connection.execute(delete(audit_entry).where(audit_entry.c.id.in_(excess))).rowcount


_CHAINED_PLACE: Final = literal("chain").concat(func.lpad(cast(log_entry.c.sequence, Text), _DIGITS, "0"))
_SINGLE_PLACE: Final = literal("entry").concat(func.lpad(cast(audit_entry.c.id, Text), _DIGITS, "0"))
_CHAINED: Final = select(
    *(log_entry.c[name] for name in ("owner", "created_at", "key_id", "action", "subject", "facts")),
    log_entry.c.sequence, log_entry.c.previous, log_entry.c.hash, literal(1).label("count"),
    cast(null(), Text).label("bucket"), _CHAINED_PLACE.label("place"),
)  # fmt: skip
_SINGLE: Final = select(
    *(audit_entry.c[name] for name in ("owner", "created_at", "key_id", "action", "subject", "facts")),
    cast(null(), BigInteger).label("sequence"), cast(null(), Text).label("previous"), cast(null(), Text).label("hash"),
    audit_entry.c.count, audit_entry.c.bucket, _SINGLE_PLACE.label("place"),
)  # fmt: skip


def _wanted(
    statement: Select[Any],
    table: Any,
    place: ColumnElement[str],
    only: LogFilter,
    before: tuple[datetime, str] | None,
    limit: int,
) -> Select[Any]:
    """The newest entries of one of the two tables."""
    columns = table.c
    conditions = {
        "owner": None if only.owner is None else columns.owner == only.owner,
        "keys": and_(*(columns.key_id == each for each in only.key_ids)) if only.key_ids else None,
        "actions": columns.action.in_([each.value for each in only.actions]) if only.actions else None,
        "subject": None if only.subject is None else columns.subject == only.subject,
        "after": None if only.after is None else columns.created_at > only.after,
        "before": None if only.before is None else columns.created_at < only.before,
        "cursor": None if before is None else tuple_(columns.created_at, place) < before,
    }
    statement = statement.where(*(each for each in conditions.values() if each is not None))
    return statement.order_by(columns.created_at.desc(), place.desc()).limit(limit)


def _placed(row: Mapping[Any, Any]) -> PlacedEntry:
    facts = row["facts"] if row["bucket"] is None else {**row["facts"], "count": row["count"]}
    shown = {name: row[name] for name in LogEntry.model_fields if name != "facts"}
    return PlacedEntry(row["owner"], row["place"], LogEntry(**shown, facts=facts))
