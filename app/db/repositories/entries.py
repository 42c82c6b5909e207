"""What a publication writes, as rows in JSON: gathered when it is written to storage, inserted when it was forgotten.

Rows are taken and put back whole, by Postgres itself, so that a column that is added to a table comes along. They are
JSON and not JSONB, which would write long doubles as integers.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, Table, func, insert, select, text, update

from app.contracts.jobs import JobState
from app.db.repositories import families
from app.db.tables.all import metadata
from app.db.tables.datasets import dataset, family
from app.db.tables.jobs import job, job_event
from app.db.tables.releases import publication, publication_entry, release

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

_LOCK: Final = 0x656E74
#: A job's secrets are older than its publication by less than a job may take.
_SECRETS_OVERLAP: Final = timedelta(days=1)
#: A secret of the same name was made here meanwhile; the same secret may have been sealed again, and stays.
_MADE_HERE: Final = "secret.created_at <> excluded.created_at"
#: Of the job only its tombstone is written, as if it had been erased; of its provenance public data.
_TOMBSTONE: Final[Mapping[str, Any]] = {
    "spec_shown": None, "result": None, "result_shown": None, "warnings": [], "findings": [], "error": None,
    "seed": None, "tags": {}, "listed": False, "requested_by": None, "whole_id": None,
}  # fmt: skip
_PUBLIC: Final[Mapping[str, Any]] = {
    "spec": {}, "attempts": [], "restricted": {}, "requested_by": None, "dataset_sha256": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """One publication of an owner, as storage has it."""

    owner: str
    number: int
    release_id: str
    key: str


def lock(connection: Connection, *, owner: str) -> int:
    """The number of the owner's last entry; no other is added until the transaction ends."""
    connection.execute(select(func.pg_advisory_xact_lock(_LOCK, func.hashtext(owner))))
    return head(connection, owner=owner)


def owner_of(connection: Connection, *, release_id: str) -> str:
    """Whose release it is."""
    owner: str = connection.execute(select(release.c.owner).where(release.c.id == release_id)).scalar_one()
    return owner


def spec_of(connection: Connection, *, release_id: str) -> dict[str, Any]:
    """The specification of the job that has made a release."""
    made = select(job.c.spec).join(release, release.c.job_id == job.c.id).where(release.c.id == release_id)
    spec: dict[str, Any] = connection.execute(made).scalar_one()
    return spec


def head(connection: Connection, *, owner: str) -> int:
    """The number of the owner's last entry; 0 where there is none."""
    last = select(func.max(publication_entry.c.number)).where(publication_entry.c.owner == owner)
    return connection.execute(last).scalar_one() or 0


def add(connection: Connection, *, entry: Entry, stale: bool = False) -> None:
    """Note an entry that is written to storage; `stale` where its rows are other ones by now."""
    values = {"owner": entry.owner, "number": entry.number, "release_id": entry.release_id, "key": entry.key}
    connection.execute(insert(publication_entry).values(**values, stale=stale))


def stale(connection: Connection, *, limit: int) -> list[Entry]:
    """Entries whose rows have changed since they were written."""
    wanted = _SELECT.where(publication_entry.c.stale).limit(limit)
    return [Entry(*row) for row in connection.execute(wanted)]


def lock_entry(connection: Connection, *, entry: Entry) -> None:
    """Let nobody change whether the entry is stale until the transaction ends."""
    mine = (publication_entry.c.owner == entry.owner, publication_entry.c.number == entry.number)
    connection.execute(select(publication_entry.c.key).where(*mine).with_for_update())


def mark_all_stale(connection: Connection) -> None:
    """Secrets were sealed again: entries are to contain them as they are sealed now."""
    connection.execute(update(publication_entry).values(stale=True))


def mark_stale(connection: Connection, *, release_id: str) -> None:
    """The rows of a release change: its entry, if there is one, is to be written again."""
    mine = publication_entry.c.release_id == release_id
    connection.execute(update(publication_entry).where(mine).values(stale=True))


def note_fresh(connection: Connection, *, entry: Entry) -> None:
    """What storage has is what the rows state."""
    mine = (publication_entry.c.owner == entry.owner, publication_entry.c.number == entry.number)
    connection.execute(update(publication_entry).where(*mine).values(stale=False))


def gather(connection: Connection, *, release_id: str, spec: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """All rows that state what a publication was, as they are in this transaction.

    Parameters
    ----------
    connection
        Of the transaction that publishes, or of a later one.
    release_id
        The release.
    spec
        The stored record of its job's specification for as long as the release is there.
    """
    made = connection.execute(select(release).where(release.c.id == release_id)).mappings().one()
    owner, job_id = made["owner"], made["job_id"]
    rows = {name: _rows(connection, name, "family_id", made["family_id"]) for name in _of_family()}
    rows |= {
        "family": _rows(connection, "family", "id", made["family_id"]),
        "dataset": _rows(connection, "dataset", "id", made["dataset_id"]),
        "job": [{**row, **_TOMBSTONE, "spec": dict(spec)} for row in _rows(connection, "job", "id", job_id)],
        "job_input": [row for row in _rows(connection, "job_input", "job_id", job_id) if row["dataset_id"]],
        "provenance": [{**row, **_PUBLIC} for row in _rows(connection, "provenance", "job_id", job_id)],
        "signing_key": _rows(connection, "signing_key"),
        "secret": _secrets(connection, owner, release_id, made["family_id"]),
        "log_entry": _log(connection, owner, release_id),
    }
    for name in ("release", "release_file", "certificate", "ledger_file"):
        rows[name] = _rows(connection, name, "id" if name == "release" else "release_id", release_id)
    return rows


def datasets_of(connection: Connection, *, release_id: str) -> list[str]:
    """The datasets of the release's family: a database that has forgotten the family finds it by them."""
    mine = select(release.c.family_id).where(release.c.id == release_id).scalar_subquery()
    return list(connection.execute(select(dataset.c.id).where(dataset.c.family_id == mine)).scalars())


def replay(connection: Connection, *, entry: Entry, rows: Rows, datasets: Sequence[str]) -> bool:
    """Learn again of a publication; False where another certificate has its place, or another release its job.

    What composing needs is learnt whatever happens: a later release is then composed with this one.
    """
    add(connection, entry=entry)
    for name in dict.fromkeys(("family", "secret", "signing_key", *_of_family(), "ledger_file")):
        for row in rows.get(name, ()):
            _put(connection, name, row, over=_MADE_HERE if name == "secret" else None)
    _join(connection, rows, datasets)
    taken = select(release.c.id).where(release.c.id != entry.release_id)
    job_ids = [row["id"] for row in rows.get("job", ())]
    if connection.execute(taken.where(release.c.job_id.in_(job_ids))).first() is not None:
        return False
    for name in ("dataset", "job", "job_input", "release", "release_file", "provenance", "certificate", "log_entry"):
        for row in rows.get(name, ()):
            if name == "job":
                _finish(connection, row)
            _put(connection, name, row, over="true" if name == "release" else None)
    issued = [row["sha256"] for row in rows.get("certificate", ())]
    known = text("SELECT sha256 FROM certificate WHERE release_id = :id")
    return list(connection.execute(known, {"id": entry.release_id}).scalars()) == issued


def _join(connection: Connection, rows: Rows, datasets: Sequence[str]) -> None:
    """Datasets that are here belong to the family of the entry, and so do the facts known of their families."""
    for row in rows.get("family", ()):
        here = select(dataset.c.family_id).where(dataset.c.id.in_(datasets), dataset.c.family_id != row["id"])
        others = sorted(set(connection.execute(here).scalars()))
        families.merge(connection, family_id=row["id"], others=others)
        mine = update(dataset).where(dataset.c.id.in_(datasets), dataset.c.family_id.is_(None))
        connection.execute(mine.values(family_id=row["id"]))
        count = select(func.count()).where(publication.c.family_id == row["id"]).scalar_subquery()
        known = func.greatest(family.c.published, count)
        connection.execute(update(family).where(family.c.id == row["id"]).values(published=known))


def _finish(connection: Connection, row: Mapping[str, Any]) -> None:
    """A job that waits or runs here has ended there: its release was published."""
    mine, at = job.c.id == row["id"], func.clock_timestamp()
    begun = update(job).where(mine, job.c.state == JobState.QUEUED)
    connection.execute(begun.values(state=JobState.RUNNING, attempt=job.c.attempt + 1))
    ended = update(job).where(mine, job.c.state == JobState.RUNNING).returning(job.c.attempt)
    values = {"state": JobState.SUCCEEDED, "finished_at": at, "release_id": row["release_id"], "result_erased_at": at}
    attempt = connection.execute(ended.values(**values)).scalar_one_or_none()
    if attempt is not None:
        event = {"job_id": row["id"], "state": JobState.SUCCEEDED, "attempt": attempt}
        connection.execute(insert(job_event).values(**event))


def _put(connection: Connection, name: str, row: Mapping[str, Any], *, over: str | None) -> None:
    """Insert a row where it is not yet; one that is there becomes this one if the condition `over` holds."""
    table = metadata.tables[name]
    numbered = [column.name for column in table.columns if column.identity is not None]
    known = [column.name for column in table.columns if column.name in row and column.name not in numbered]
    columns = ", ".join(f'"{column}"' for column in known)
    keys = ", ".join(column.name for column in table.primary_key)
    values = {"row": json.dumps({column: row[column] for column in known})}
    given = f"json_populate_record(NULL::{name}, CAST(:row AS json))"
    statement = f"INSERT INTO {name} ({columns}) SELECT {columns} FROM {given}"
    if numbered:
        bare = " - ".join(["to_jsonb(t)", *(f"'{column}'" for column in numbered)])
        statement += f" WHERE NOT EXISTS (SELECT 1 FROM {name} t WHERE {bare} @> CAST(:row AS jsonb))"
    if over is None:
        statement += " ON CONFLICT DO NOTHING"
    else:
        changes = (f'"{column}" = excluded."{column}"' for column in known if column not in table.primary_key)
        statement += f" ON CONFLICT ({keys}) DO UPDATE SET {', '.join(changes)} WHERE {over}"
    connection.execute(text(statement), values)


def _rows(connection: Connection, name: str, column: str | None = None, value: Any = None) -> list[dict[str, Any]]:
    """Rows of a table as JSON, in the order of its key."""
    if column is not None and value is None:
        return []
    order = ", ".join(f'"{each.name}"' for each in metadata.tables[name].primary_key)
    where = "" if column is None else f'WHERE "{column}" = :value'
    statement = text(f"SELECT to_json(t) FROM {name} t {where} ORDER BY {order}")
    return list(connection.execute(statement, {} if column is None else {"value": value}).scalars())


def _secrets(connection: Connection, owner: str, release_id: str, family_id: str | None) -> list[dict[str, Any]]:
    """The owner's secrets that are not of one column, the family's of columns, and what there was before these.

    Of the last, those that may have been made since the entry before.
    """
    statement = text(
        "SELECT to_json(t) FROM secret t WHERE owner = :owner AND (name NOT LIKE 'column:%' OR family_id = :family"
        f" OR family_id IS NULL AND (created_at BETWEEN ({_BEFORE.format('max(e.at)')}) - :overlap AND ({_OWN})"
        f" OR ({_BEFORE.format('count(*)')}) = 0)) ORDER BY name"
    )
    values = {"owner": owner, "id": release_id, "overlap": _SECRETS_OVERLAP, "family": family_id}
    return list(connection.execute(statement, values).scalars())


def _log(connection: Connection, owner: str, release_id: str) -> list[dict[str, Any]]:
    """The owner's log from the entry before to this one, and all that it states about the release."""
    published = (
        "SELECT max(l.sequence) FROM log_entry l WHERE l.owner = :owner AND l.action = 'published' AND l.subject"
    )
    statement = text(
        "SELECT to_json(t) FROM log_entry t WHERE owner = :owner AND (subject = :id OR sequence BETWEEN"
        f" COALESCE(({published} IN ({_BEFORE.format('e.release_id')})), 0) + 1 AND ({published} = :id))"
        " ORDER BY sequence"
    )
    return list(connection.execute(statement, {"owner": owner, "id": release_id}).scalars())


def _of_family() -> list[str]:
    """Tables whose rows belong to a family."""
    return [table.name for table in metadata.sorted_tables if _belongs(table)]


def _belongs(table: Table) -> bool:
    return any(key.column is family.c.id for column in table.columns for key in column.foreign_keys)


#: Of the owner's entries before the one of the release, and of that one.
_OWN: Final = "SELECT at FROM publication_entry WHERE release_id = :id"
_BEFORE: Final = (
    "SELECT {} FROM publication_entry e WHERE e.owner = :owner"
    " AND e.number < (SELECT number FROM publication_entry WHERE release_id = :id)"
)
_SELECT = select(
    publication_entry.c.owner, publication_entry.c.number, publication_entry.c.release_id, publication_entry.c.key
)
