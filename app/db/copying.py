"""The content of a database as files, one a table, and back: plain COPY, whatever the versions of the two servers."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Connection, text

from app.db.tables.all import metadata

#: Who is there at the moment, and checkpoints: secret, replaced every few seconds, and a job goes on without.
LEFT_OUT = frozenset({"worker", "job_checkpoint", "alembic_version"})
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TableCopy:
    """One table in a file."""

    name: str
    columns: tuple[str, ...]
    rows: int
    bytes: int
    sha256: str


def revision(connection: Connection) -> str:
    """The migration that the database is at."""
    version: str = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    return version


def copy_out(connection: Connection, folder: Path) -> list[TableCopy]:
    """Write every table to `<folder>/<table>.copy`, as the connection's transaction sees it."""
    return [_copy_table(connection, name, folder / f"{name}.copy") for name in _tables(connection)]


def sequences(connection: Connection) -> dict[str, int]:
    """The last value of each sequence that was used; they are not part of a transaction: read them last."""
    statement = "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = current_schema()"
    return {row.sequencename: row.last_value for row in connection.execute(text(statement)) if row.last_value}


def copy_in(connection: Connection, folder: Path, tables: Sequence[TableCopy], last: dict[str, int]) -> None:
    """Replace the content of every table by what the files contain, in an order in which references are met."""
    order = {table.name: place for place, table in enumerate(metadata.sorted_tables)}
    names = [name for name in _all_tables(connection) if name in order]
    connection.execute(text(f"TRUNCATE {', '.join(_quoted(name) for name in names)}"))
    for table in sorted(tables, key=lambda each: order[each.name]):
        into = sql.SQL("COPY {} ({}) FROM STDIN").format(_name(table.name), _names(table.columns))
        with _cursor(connection).copy(into) as copy, (folder / f"{table.name}.copy").open("rb") as file:
            while data := file.read(_READ_BYTES):
                copy.write(data)
    for name, value in last.items():
        connection.execute(text("SELECT setval(to_regclass(:name), :value)"), {"name": _quoted(name), "value": value})


def is_empty(connection: Connection) -> bool:
    """Whether the database has no tables at all."""
    return not _all_tables(connection)


def drop_everything(connection: Connection) -> None:
    """Remove every table of the database, with the functions and sequences that migrations made."""
    for name in _all_tables(connection):
        connection.execute(text(f"DROP TABLE {_quoted(name)} CASCADE"))
    left = (
        "SELECT format('DROP FUNCTION %s', p.oid::regprocedure) FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner"
        " WHERE p.pronamespace = current_schema()::regnamespace AND r.rolname = current_user"
        " UNION ALL SELECT format('DROP SEQUENCE %I', sequencename) FROM pg_sequences"
        " WHERE schemaname = current_schema()"
    )
    for statement in connection.execute(text(left)).scalars().all():
        connection.execute(text(statement))


def others_connected(connection: Connection) -> int:
    """How many connections to this database there are besides this one."""
    statement = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type = 'client backend'"
    )
    return int(connection.execute(text(statement)).scalar_one())


def _copy_table(connection: Connection, name: str, path: Path) -> TableCopy:
    columns = _columns(connection, name)
    out = sql.SQL("COPY {} ({}) TO STDOUT").format(_name(name), _names(columns))
    digest, size = hashlib.sha256(), 0
    cursor = _cursor(connection)
    with cursor.copy(out) as copy, path.open("xb") as file:
        for data in copy:
            file.write(data)
            digest.update(data)
            size += len(data)
    return TableCopy(name, columns, cursor.rowcount, size, digest.hexdigest())


def _tables(connection: Connection) -> list[str]:
    return [name for name in _all_tables(connection) if name not in LEFT_OUT]


def _all_tables(connection: Connection) -> list[str]:
    statement = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"
    return list(connection.execute(text(statement)).scalars())


def _columns(connection: Connection, table: str) -> tuple[str, ...]:
    statement = (
        "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema()"
        " AND table_name = :table AND is_generated = 'NEVER' ORDER BY ordinal_position"
    )
    return tuple(connection.execute(text(statement), {"table": table}).scalars())


def _cursor(connection: Connection) -> psycopg.Cursor[Any]:
    driver: Any = connection.connection.driver_connection
    cursor: psycopg.Cursor[Any] = driver.cursor()
    return cursor


def _name(name: str) -> sql.Identifier:
    return sql.Identifier(name)


def _names(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def table_names(tables: Sequence[TableCopy]) -> Iterator[str]:
    """Names that this version does not know: the backup is a newer one's."""
    known = {table.name for table in metadata.sorted_tables}
    return (table.name for table in tables if table.name not in known)
