"""What must be done in a database before the service can use it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app.auth.keys import create_key
from app.auth.principal import Scope
from app.db.migrate import upgrade
from app.db.session import Database
from app.errors import CannotStartError
from app.processes.tls import certificate_fault
from app.settings import Settings

#: What the server states, by a part of it that no version has changed, and what we state.
_REASONS: Final = {
    "password authentication failed": "the server refuses the password of user {user}",
    "no password supplied": "the server asks for a password of user {user}, and the address has none",
    "no pg_hba.conf entry": "the server does not let user {user} in from this machine, or not without TLS",
    "does not exist": "the server has no database {dbname} or no user {user}",
    "starting up": "the server is starting; try again in a moment",
}
ADMIN = "admin"
FIRST_KEY = "first start"


def create_database(url: str) -> None:
    """Make the database that a URL names, where its server has none of that name."""
    name = str(conninfo_to_dict(url)["dbname"])
    with (
        _explained(url),
        psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as connection,
    ):
        row = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
        if row is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def migrate(settings: Settings) -> str | None:
    """Bring the database to the newest revision; one of a newer version is left as it is.

    Returns
    -------
    str or None
        What a person should know.

    Raises
    ------
    CannotStartError
        The database cannot be opened; why, in words of ours.
    """
    with _explained(settings.database_url), psycopg.connect(settings.database_url, connect_timeout=5) as connection:
        encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise CannotStartError(
            f"The database of DATABASE_URL has the encoding {encoding}, and names of columns need UTF8. Make another: "
            "CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0."
        )
    newer = upgrade(settings.database_url)
    if newer is None:
        return None
    return (
        f"The database is at revision {newer} of a newer version of Surebox. Migrations only add, so this version goes "
        "on with it; what only the newer one knows waits for it."
    )


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """State why a database cannot be opened without the driver's words, which differ by version and may quote."""
    try:
        yield
    except psycopg.OperationalError as error:
        known = conninfo_to_dict(url)
        words = str(error)
        reason = next((said for sign, said in _REASONS.items() if sign in words), "nothing answers there")
        if fault := certificate_fault(error):
            reason = f"the server {fault}"
        where = f"{known.get('host') or 'localhost'} port {known.get('port') or 5432}"
        reason = reason.format(user=known.get("user", ""), dbname=known.get("dbname", ""))
        raise CannotStartError(f"The database of DATABASE_URL at {where} cannot be opened: {reason}.") from None
    except psycopg.ProgrammingError:
        raise CannotStartError("DATABASE_URL is not an address of Postgres: postgresql://user@host/database") from None


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
