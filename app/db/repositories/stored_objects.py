"""The digests of stored objects, beside the rows that name the objects, and when each was last compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ARRAY, Connection, String, any_, bindparam, delete, func, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from app.contracts.digests import ObjectDigests
from app.db.tables.releases import release_file
from app.db.tables.storage import stored_object


@dataclass(frozen=True, slots=True)
class StoredAmount:
    """The number of stored objects, and their bytes."""

    objects: int
    bytes: int


def get(connection: Connection, *, key: str) -> ObjectDigests | None:
    """The digests of an object, as they were kept when it was written, or that of its row as the file of a release."""
    kept = select(stored_object).where(stored_object.c.key == key)
    row = connection.execute(kept).mappings().first()
    stated = None
    if row is None or row["pieces"] is None:
        named = select(release_file.c.sha256).where(release_file.c.key == key)
        stated = connection.execute(named).scalars().first()
    if row is None:
        return None if stated is None else ObjectDigests(None, None, stated)
    return ObjectDigests(row["bytes"], row["pieces"], stated, damaged=row["damaged_at"] is not None)


def put(connection: Connection, *, key: str, digests: ObjectDigests) -> None:
    """Keep the digests of an object that is as written at this moment."""
    values = {
        "bytes": digests.size,
        "pieces": digests.pieces,
        "checked_at": func.clock_timestamp(),
        "damaged_at": None,
    }
    statement = insert(stored_object).values(key=key, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=[stored_object.c.key], set_=values))


def notice(connection: Connection, *, keys: Sequence[str]) -> None:
    """Objects that are there and have no digests are to be read soon."""
    if keys:
        statement = insert(stored_object).values([{"key": key} for key in keys])
        connection.execute(statement.on_conflict_do_nothing())


def forget(connection: Connection, *, key: str) -> None:
    """The object is gone."""
    connection.execute(delete(stored_object).where(stored_object.c.key == key))


def forget_abandoned(connection: Connection, *, key: str, age: timedelta) -> None:
    """The object never appeared: its digests were kept so long ago that nothing writes it any more."""
    kept = stored_object.c.checked_at
    old = or_(kept.is_(None), kept < func.clock_timestamp() - age)
    connection.execute(delete(stored_object).where(stored_object.c.key == key, old))


def copy(connection: Connection, *, key: str, to: str) -> None:
    """The object is about to have another key as well: its digests are kept under both until it has."""
    columns = [stored_object.c[name] for name in ("bytes", "pieces", "damaged_at")]
    row = select(literal(to), *columns, func.clock_timestamp()).where(stored_object.c.key == key)
    names = ["key", *(column.name for column in columns), "checked_at"]
    connection.execute(insert(stored_object).from_select(names, row).on_conflict_do_nothing())


def move(connection: Connection, *, key: str, to: str) -> None:
    """The object has another key, in the place of whatever had it."""
    if connection.execute(select(stored_object.c.key).where(stored_object.c.key == key)).first() is None:
        return
    forget(connection, key=to)
    connection.execute(update(stored_object).where(stored_object.c.key == key).values(key=to))


def note_damaged(connection: Connection, *, key: str) -> None:
    """The object was read, and is not as written."""
    now = func.clock_timestamp()
    statement = insert(stored_object).values(key=key, damaged_at=now, checked_at=now)
    first = func.coalesce(stored_object.c.damaged_at, now)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=[stored_object.c.key], set_={"damaged_at": first, "checked_at": now}
        )
    )


def due(connection: Connection, *, limit: int) -> list[tuple[str, int]]:
    """Objects that are not known as damaged and their bytes, those first whose last comparison is longest ago."""
    statement = select(stored_object.c.key, func.coalesce(stored_object.c.bytes, 0))
    whole = statement.where(stored_object.c.damaged_at.is_(None))
    rows = connection.execute(whole.order_by(stored_object.c.checked_at.nulls_first()).limit(limit))
    return [(row[0], int(row[1])) for row in rows]


def keys(connection: Connection, *, after: str, limit: int) -> list[str]:
    """Objects of which something is known, by key."""
    later = select(stored_object.c.key).where(stored_object.c.key > after)
    return list(connection.execute(later.order_by(stored_object.c.key).limit(limit)).scalars())


def note_compared(connection: Connection, *, key: str) -> None:
    """It is as written."""
    mine = update(stored_object).where(stored_object.c.key == key)
    connection.execute(mine.values(checked_at=func.clock_timestamp(), damaged_at=None))


def damaged(connection: Connection, *, older_than_seconds: float, limit: int) -> list[str]:
    """Objects that were not as written when they were last read, so long ago."""
    before = func.clock_timestamp() - timedelta(seconds=older_than_seconds)
    statement = select(stored_object.c.key).where(
        stored_object.c.damaged_at.is_not(None), stored_object.c.checked_at < before
    )
    return list(connection.execute(statement.order_by(stored_object.c.checked_at).limit(limit)).scalars())


def amount(connection: Connection) -> StoredAmount:
    """Count the stored objects and their bytes."""
    size = func.coalesce(func.sum(stored_object.c.bytes), 0)
    count, total = connection.execute(select(func.count(), size).select_from(stored_object)).one()
    return StoredAmount(int(count), int(total))


def unknown(connection: Connection, *, keys: Sequence[str]) -> list[str]:
    """Those of the keys that nothing is known of."""
    named = stored_object.c.key == any_(bindparam("keys", list(keys), type_=ARRAY(String)))
    known = set(connection.execute(select(stored_object.c.key).where(named)).scalars())
    return [key for key in keys if key not in known]


def watched(connection: Connection) -> tuple[int, float]:
    """Count the damaged objects, and the seconds since the longest ago comparison of another: for a scrape."""
    broken = select(func.count()).where(stored_object.c.damaged_at.is_not(None)).scalar_subquery()
    first = select(func.min(stored_object.c.checked_at)).where(stored_object.c.damaged_at.is_(None)).scalar_subquery()
    age = func.coalesce(func.extract("epoch", func.clock_timestamp() - first), 0)
    count, seconds = connection.execute(select(broken, age)).one()
    return int(count), max(0.0, float(seconds))
