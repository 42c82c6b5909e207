"""Running the migrations, from anywhere: the scripts are part of the distribution."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, make_url

from app.db.tables.all import metadata
from app.errors import CannotStartError

#: Revisions of unreleased versions; one migration has taken their place.
_UNRELEASED: Final = re.compile(r"00[0-2][0-9]")


def config(database_url: str) -> Config:
    """Alembic's configuration, without a file."""
    made = Config()
    made.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
    made.attributes["database_url"] = database_url
    return made


def upgrade(database_url: str, *, revision: str = "head") -> str | None:
    """Bring the database to the newest revision, or a named one; safe to call from several processes at once.

    Returns
    -------
    str or None
        The revision of a newer version that the database is at: migrations only add, so this version goes on with it.
    """
    made = config(database_url)
    newer = unknown_revision(made)
    if newer is not None:
        refuse_unreleased(newer, database_url)
        refuse_foreign(newer, database_url)
    else:
        command.upgrade(made, revision)
    return newer


def unknown_revision(made: Config) -> str | None:
    """The revision that the database is at, if this version does not know it."""
    with _connection(made.attributes["database_url"]) as connection:
        heads = MigrationContext.configure(connection).get_current_heads()
    return next((head for head in heads if not knows(head, made)), None)


def refuse_unreleased(revision: str, database_url: str) -> None:
    """Refuse a database of an unreleased version.

    Raises
    ------
    CannotStartError
        It is one: no migration leads from its tables to these.
    """
    if _UNRELEASED.fullmatch(revision):
        named = make_url(database_url).database
        msg = (
            f"The database {named!r} was made by an unreleased version of Surebox (revision {revision}): start with an "
            "empty database and an empty storage (of a data folder: name another one), and upload the data again."
        )
        raise CannotStartError(msg)


def refuse_foreign(revision: str, database_url: str) -> None:
    """Refuse a database that another program has migrated.

    Raises
    ------
    CannotStartError
        It lacks a table of ours, which every newer version has: migrations only add.
    """
    with _connection(database_url) as connection:
        missing = sorted(set(metadata.tables) - set(inspect(connection).get_table_names()))
    if missing:
        named = make_url(database_url).database
        msg = (
            f"The database {named!r} is at revision {revision}, which no version of Surebox has made: it has no table "
            f"`{missing[0]}`. Name a database of Surebox, or an empty one, in DATABASE_URL."
        )
        raise CannotStartError(msg)


@contextmanager
def _connection(database_url: str) -> Iterator[Connection]:
    engine = create_engine(database_url.replace("postgresql://", "postgresql+psycopg://", 1))
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def knows(revision: str, made: Config) -> bool:
    """Whether this version has a revision among its migrations."""
    return revision in {script.revision for script in ScriptDirectory.from_config(made).walk_revisions()}


def check(database_url: str) -> None:
    """Raise when the models and the migrated database differ."""
    command.check(config(database_url))
