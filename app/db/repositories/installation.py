"""The one row of the installation: its id, what housekeeping holds back, whether publishing is held."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select, update
from sqlalchemy.exc import ProgrammingError

from app.db.tables.access import installation
from app.db.tables.datasets import dataset
from app.db.tables.jobs import job
from app.db.tables.releases import release


@dataclass(frozen=True, slots=True)
class Installation:
    """What a database states about the installation that it belongs to."""

    id: str
    storage_marked_at: datetime | None
    orphans_held: int
    publishing_held_at: datetime | None
    publishing_held_because: str | None


def read(connection: Connection) -> Installation | None:
    """The row; None in a database at a revision that has none."""
    columns = [installation.c[name] for name in Installation.__dataclass_fields__]
    try:
        return Installation(**connection.execute(select(*columns)).mappings().one())
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) == "42P01":  # undefined_table
            return None
        raise


def is_publishing_held(connection: Connection) -> str | None:
    """Why nothing is published at the moment; None where nothing is held."""
    because: str | None = connection.execute(select(installation.c.publishing_held_because)).scalar_one()
    return because


def note_marked(connection: Connection) -> None:
    """The id is in storage from now on."""
    connection.execute(update(installation).values(storage_marked_at=func.clock_timestamp()))


def note_secret(connection: Connection, *, name: bytes) -> bool:
    """A process starts with this secret of the server; whether another one was known before."""
    before = select(installation.c.secret_name).with_for_update()
    known: bytes | None = connection.execute(before).scalar_one()
    if known != name:
        connection.execute(update(installation).values(secret_name=name))
    return known not in {None, name}


def note_orphans_held(connection: Connection, *, count: int) -> bool:
    """How many objects without a row were left where they are; whether that is news."""
    changed = update(installation).where(installation.c.orphans_held != count).values(orphans_held=count)
    return connection.execute(changed).rowcount == 1


def hold_publishing(connection: Connection, *, because: str) -> None:
    """Publish nothing from now on."""
    values = {"publishing_held_at": func.clock_timestamp(), "publishing_held_because": because}
    connection.execute(update(installation).values(**values))


def resume_publishing(connection: Connection) -> bool:
    """Publish again; False where nothing was held."""
    held = update(installation).where(installation.c.publishing_held_at.is_not(None))
    values = {"publishing_held_at": None, "publishing_held_because": None}
    return connection.execute(held.values(**values)).rowcount == 1


def set_id(connection: Connection, *, installation_id: str) -> None:
    """The database belongs to this installation; where its storage is, is to be written there."""
    connection.execute(update(installation).values(id=installation_id, storage_marked_at=None))


def has_rows(connection: Connection) -> bool:
    """Whether anything was ever stored: deleted data leave rows as well."""
    return any(connection.execute(select(table.c.id).limit(1)).first() for table in (dataset, job, release))
