"""Entries of publications that storage has, or is getting, before the transaction that publishes them.

Their rows say of an entry in storage that is not among the published ones that it is no publication which the database
has forgotten. Whoever publishes takes the row, in the transaction of the publication; whoever gives the entry up marks
it. Of the two only one can happen.
"""

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import Connection, delete, func, select, union_all, update
from sqlalchemy.dialects.postgresql import insert

from app.db.repositories.entries import Entry
from app.db.tables.releases import publication_entry, unpublished_entry


def begin(connection: Connection, *, entry: Entry) -> None:
    """Note that an entry is about to be written."""
    connection.execute(insert(unpublished_entry).values(key=entry.key, owner=entry.owner))


def take(connection: Connection, *, key: str) -> bool:
    """Remove the row of an entry that this transaction publishes; False where it was given up."""
    mine = (unpublished_entry.c.key == key, unpublished_entry.c.given_up_at.is_(None))
    return connection.execute(delete(unpublished_entry).where(*mine)).rowcount == 1


def give_up(connection: Connection, *, key: str) -> bool:
    """Mark an entry as one that will never be published; False where it was published meanwhile."""
    mine = (unpublished_entry.c.key == key, unpublished_entry.c.given_up_at.is_(None))
    marked = update(unpublished_entry).where(*mine).values(given_up_at=func.clock_timestamp())
    return connection.execute(marked).rowcount == 1


def known(connection: Connection, *, keys: Collection[str]) -> set[str]:
    """Those of the entries in storage that were published here, or wait to be, or were given up."""
    tables = (publication_entry, unpublished_entry)
    rows = union_all(*(select(table.c.key).where(table.c.key.in_(keys)) for table in tables))
    return set(connection.execute(rows).scalars())


def overdue(connection: Connection, *, older_than: timedelta, limit: int) -> list[str]:
    """Entries whose publication did not end: its process was killed, or storage hangs."""
    due = (unpublished_entry.c.given_up_at.is_(None), unpublished_entry.c.at < func.clock_timestamp() - older_than)
    return list(connection.execute(select(unpublished_entry.c.key).where(*due).limit(limit)).scalars())


def forget(connection: Connection, *, older_than: timedelta | None = None) -> None:
    """Remove rows of entries that wait for a publication: the database is an older one, and they may have had it."""
    forgotten = delete(unpublished_entry).where(unpublished_entry.c.given_up_at.is_(None))
    if older_than is not None:
        forgotten = forgotten.where(unpublished_entry.c.at < func.clock_timestamp() - older_than)
    connection.execute(forgotten)


def given_up(connection: Connection, *, older_than: timedelta, limit: int) -> list[str]:
    """Entries that were given up so long ago that nothing of them arrives in storage any more."""
    old = unpublished_entry.c.given_up_at < func.clock_timestamp() - older_than
    return list(connection.execute(select(unpublished_entry.c.key).where(old).limit(limit)).scalars())


def remove(connection: Connection, *, key: str) -> None:
    """Forget an entry that was given up, and is not in storage."""
    mine = (unpublished_entry.c.key == key, unpublished_entry.c.given_up_at.is_not(None))
    connection.execute(delete(unpublished_entry).where(*mine))


def longest_wait(connection: Connection) -> float:
    """Seconds for which the oldest publication has waited for its entry to be stored."""
    waited = select(func.extract("epoch", func.clock_timestamp() - func.min(unpublished_entry.c.at)))
    seconds = connection.execute(waited.where(unpublished_entry.c.given_up_at.is_(None))).scalar_one()
    return max(0.0, float(seconds or 0.0))
