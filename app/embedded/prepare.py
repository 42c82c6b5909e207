"""What must be done in a database before the service can use it."""

from datetime import datetime

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app.auth.keys import create_key
from app.auth.principal import Scope
from app.db.migrate import upgrade
from app.db.session import Database
from app.errors import CannotStartError
from app.settings import Settings

ADMIN = "admin"
FIRST_KEY = "first start"


def create_database(url: str) -> None:
    """Make the database that a URL names, where its server has none of that name."""
    name = str(conninfo_to_dict(url)["dbname"])
    with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
        if found is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def migrate(settings: Settings) -> None:
    """Bring the database to the newest revision.

    Raises
    ------
    CannotStartError
        The database cannot be reached.
    """
    try:
        psycopg.connect(settings.database_url, connect_timeout=5).close()
    except psycopg.OperationalError as error:
        reason = " ".join(str(error).split())
        raise CannotStartError(f"The database of DATABASE_URL cannot be opened: {reason}") from error
    upgrade(settings.database_url)


def create_admin_key(settings: Settings, *, now: datetime) -> str:
    """Make a key with all rights for the owner `admin`."""
    database = Database(settings.database_url, pool_size=1)
    try:
        _, key = create_key(
            database=database,
            secret=settings.server_secret,
            owner=ADMIN,
            scopes=[Scope.ADMIN],
            name=FIRST_KEY,
            now=now,
        )
    finally:
        database.close()
    return key
