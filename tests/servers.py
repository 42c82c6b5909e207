"""Real servers for tests: one Postgres and one Valkey per test session, more of one's own where a test breaks them."""

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg import sql

from app.embedded.broker import BrokerServer, free_port
from app.embedded.postgres import PostgresServer

TEMPLATE = "surebox_template"


def still_alive(processes: Iterable[psutil.Process], *, within: float) -> list[psutil.Process]:
    """The processes that have not ended in time; one that nobody has waited for yet has ended."""
    deadline = time.monotonic() + within
    while True:
        alive = [process for process in processes if not has_ended(process)]
        if not alive or time.monotonic() > deadline:
            return alive
        time.sleep(0.02)


def wait_until(condition: Callable[[], Any], *, seconds: float = 120.0, what: str | Callable[[], str] = "") -> Any:
    """What the condition says once it is true; a deadline, never a fixed pause."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            why = what() if callable(what) else what
            raise AssertionError(f"not within {seconds} s: {why or condition}")
        time.sleep(0.01)
    return value


def has_ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder of our own whose path is short enough for a Unix socket."""
    folder = Path(tempfile.mkdtemp(prefix="sbx-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_postgres(folder: Path, *, tcp: bool = False, durable: bool = False, **more: int) -> PostgresServer:
    """A server that is not started yet."""
    return PostgresServer(
        folder=folder / "postgres",
        sockets=folder / "run",
        password=secrets.token_urlsafe(24),
        log=folder / "postgres.log",
        port=free_port() if tcp else None,
        durable=durable,
        **more,
    )


def new_broker(folder: Path) -> BrokerServer:
    """A server that is not started yet."""
    return BrokerServer(
        sockets=folder / "run", password=secrets.token_urlsafe(24), log=folder / "valkey.log", port=free_port()
    )


class Databases:
    """Fresh migrated databases on one server, each a copy of a template that is migrated once."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self._count = 0
        self._migrated = False

    def execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.server.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def empty(self, name: str | None = None) -> str:
        """The URL of a new database with nothing in it."""
        name = name or self._next_name()
        self.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.server.url(name)

    def fresh(self) -> str:
        """The URL of a new database at the newest migration."""
        if not self._migrated:
            from app.db.migrate import upgrade

            upgrade(self.empty(TEMPLATE))
            self._migrated = True
        name = self._next_name()
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        self.execute(statement.format(sql.Identifier(name), sql.Identifier(TEMPLATE)))
        return self.server.url(name)

    def drop(self, url: str) -> None:
        """Drop a database even while somebody is connected."""
        name = str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])
        self.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _next_name(self) -> str:
        self._count += 1
        return f"surebox_{self._count}"
