"""The engine and the only commit of the code base.

`unit_of_work` is one transaction; what must happen after it (sending an id to the broker) is registered with
`after_commit` and runs only when the commit has succeeded. `read` is a connection without a transaction for single
reads: it saves two round trips.
"""

import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.errors import DiskFull, UntranslatableCharacter
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app.errors import InvalidError, StorageFullError, UnavailableError

#: `Connection` is exported so that nothing outside `app.db` imports SQLAlchemy, not even for an annotation.
__all__ = ["Connection", "Database", "UnitOfWork", "on_rollback"]


class UnitOfWork:
    """One transaction: its connection, and what to do once it is committed."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._after: list[Callable[[], None]] = []

    def after_commit(self, action: Callable[[], None]) -> None:
        """Run `action` once the transaction is committed, in order of registration."""
        self._after.append(action)

    def run_after(self) -> None:
        """Run what was registered; called by `unit_of_work` only."""
        for action in self._after:
            action()


class Database:
    """A pool of connections to one Postgres."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.url = url
        self.engine: Engine = create_engine(
            url.replace("postgresql://", "postgresql+psycopg://", 1),
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_timeout=10,
            hide_parameters=True,  # an error's text must not quote what somebody's row holds
            connect_args={"connect_timeout": 5, "options": "-c timezone=UTC -c lock_timeout=10s"},
        )
        self._autocommit = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        event.listen(self.engine, "checkout", _refuse_closed)

    @contextmanager
    def unit_of_work(self) -> Iterator[UnitOfWork]:
        """One transaction, committed at the end of the block, rolled back when it raises."""
        with _unavailable(), self.engine.begin() as connection:
            unit = UnitOfWork(connection)
            yield unit
        unit.run_after()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for single reads, each its own snapshot."""
        with _unavailable(), self._autocommit.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees one moment and changes nothing: for reading everything."""
        with _unavailable(), self.engine.connect() as connection:
            frozen = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with frozen.begin():
                yield frozen

    def close(self, *, forked: bool = False) -> None:
        """Close the pool; in a forked child the parent's connections are left alone."""
        self.engine.dispose(close=not forked)


def on_rollback(connection: Connection, action: Callable[[], None]) -> None:
    """Run `action` if the transaction is rolled back; not where a commit was sent and its answer lost."""
    sent: list[bool] = []

    def committed(_: Connection) -> None:
        sent.append(True)

    def rolled_back(_: Connection) -> None:
        if not sent:
            action()

    event.listen(connection, "commit", committed)
    event.listen(connection, "rollback", rolled_back)


def _refuse_closed(connection: Any, _record: object, _proxy: object) -> None:
    """Detect a connection that the server has closed, without a round trip: an idle socket has nothing to read."""
    try:
        readable, _, _ = select.select([connection.fileno()], [], [], 0)
    except (OSError, ValueError, psycopg.Error) as error:
        raise DisconnectionError from error
    if readable:
        raise DisconnectionError


@contextmanager
def _unavailable() -> Iterator[None]:
    """Turn a lost database into a 503; an error of our own SQL stays what it is."""
    try:
        yield
    except PoolTimeoutError as error:
        raise UnavailableError("all database connections are busy; try again in a moment", retry_after=2) from error
    except DBAPIError as error:
        if isinstance(error.orig, DiskFull):
            raise StorageFullError("there is no room left for the database; ask the operator for more room") from error
        lost = error.connection_invalidated or isinstance(error.orig, psycopg.OperationalError)
        if lost:
            raise UnavailableError("the database cannot be reached; try again in a moment", retry_after=2) from error
        if _holds_nul(error.orig):
            raise InvalidError("the request holds the character U+0000, which no text here can hold") from None
        raise


def _holds_nul(error: BaseException | None) -> bool:
    """Postgres has no NUL in texts: psycopg refuses it without a state, the server refuses it in JSON."""
    return isinstance(error, UntranslatableCharacter) or (isinstance(error, psycopg.DataError) and not error.sqlstate)
