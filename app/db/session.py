"""The engine and the only commit of the code base.

`unit_of_work` is one transaction; what must happen after it (sending an id to the broker) is registered with
`after_commit` and runs only when the commit has succeeded. `read` is a connection without a transaction for single
reads: it saves two round trips.
"""

import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.errors import DiskFull, ReadOnlySqlTransaction, UntranslatableCharacter
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app.errors import InvalidError, NotTrustedError, StorageFullError, UnavailableError
from app.processes.tls import certificate_fault

#: `Connection` is exported so that nothing outside `app.db` imports SQLAlchemy, not even for an annotation.
__all__ = ["Connection", "Database", "UnitOfWork", "on_rollback"]


#: For so long no request is sent once Postgres has stood still.
_STANDSTILL_SECONDS = 1.0
_SERVER_FIRST_SECONDS = 0.5
#: Words of the server's refusals that waiting alone does not end.
_REFUSED = ("password authentication failed", "no password supplied", "no pg_hba.conf entry")


class UnitOfWork:
    """One transaction: its connection, and what to do once it is committed."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._after: list[Callable[[], None]] = []

    def after_commit(self, action: Callable[[], None]) -> None:
        """Run `action` once the transaction is committed, in order of registration."""
        self._after.append(action)

    def run_after(self) -> None:
        """Run the registered steps; called by `unit_of_work` only."""
        for action in self._after:
            action()


class Database:
    """A pool of connections to one Postgres.

    Parameters
    ----------
    url, pool_size
        Which one, and how many connections are kept.
    timeout
        Seconds in which it answers each statement, by its own clock and by ours: a server that stands still keeps no
        time. None: as long as it takes.
    """

    def __init__(self, url: str, *, pool_size: int = 10, timeout: float | None = None) -> None:
        self.url = url
        self._timeout = timeout
        self._stands_until = 0.0
        self.engine: Engine = create_engine(
            url.replace("postgresql://", "postgresql+psycopg://", 1),
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_timeout=10 if timeout is None else timeout,
            hide_parameters=True,  # an error's text must not quote what someone's row contains
            connect_args=_connection_options(timeout),
        )
        if timeout is not None:
            event.listen(self.engine, "do_connect", self._connect)
        self._autocommit = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        event.listen(self.engine, "checkout", _refuse_closed)

    @contextmanager
    def unit_of_work(self) -> Iterator[UnitOfWork]:
        """One transaction, committed at the end of the block, rolled back when it raises."""
        with self._answering(), self.engine.begin() as connection:
            unit = UnitOfWork(connection)
            yield unit
        unit.run_after()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for single reads, each its own snapshot."""
        with self._answering(), self._autocommit.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees one moment and changes nothing: for reading everything."""
        with _unavailable(), self.engine.connect() as connection:
            frozen = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with frozen.begin():
                yield frozen

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Once it has stood still, requests of the next second are refused at once: threads are few."""
        if time.monotonic() < self._stands_until:
            raise UnavailableError("the database does not answer; try again in a moment", retry_after=2)
        with _unavailable():
            yield

    def _connect(self, _dialect: object, _record: object, arguments: Any, options: Any) -> psycopg.Connection[Any]:
        connection = TimedConnection.connect(*arguments, **options)
        if self._timeout is not None:  # the server speaks first, where it can: one slow statement is no standstill
            connection.limit = self._timeout + _SERVER_FIRST_SECONDS
        connection.on_standstill = self._note_standstill
        return connection

    def _note_standstill(self) -> None:
        self._stands_until = time.monotonic() + _STANDSTILL_SECONDS

    def close(self, *, forked: bool = False) -> None:
        """Close the pool; in a forked child the parent's connections are left alone."""
        self.engine.dispose(close=not forked)


class TimedConnection(psycopg.Connection[Any]):
    """A connection that gives up on a server that does not answer, and closes: what it would state is not known."""

    limit: float | None = None
    on_standstill: Callable[[], None] = staticmethod(lambda: None)

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server, for so long only."""
        try:
            return super().wait(gen, interval, self.limit if timeout is None else timeout)
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - what `wait` is documented to raise
            self.on_standstill()
            self.pgconn.finish()
            raise psycopg.OperationalError("the server does not answer") from error


def _connection_options(timeout: float | None) -> dict[str, Any]:
    """Options of libpq and of the server: a peer that is gone is noticed, a lock is not waited for for ever."""
    seconds = 10.0 if timeout is None else timeout
    limits = {"timezone": "UTC", "lock_timeout": f"{int(seconds * 1_000)}ms"}
    if timeout is not None:
        limits["statement_timeout"] = limits["lock_timeout"]
    return {
        "connect_timeout": 5 if timeout is None else max(2, int(timeout) - 1),
        "options": " ".join(f"-c {name}={value}" for name, value in limits.items()),
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 2,
        "tcp_user_timeout": 10_000,
    }


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
        if isinstance(error.orig, ReadOnlySqlTransaction):
            raise UnavailableError("the database takes no changes now; try again in a moment", retry_after=5) from error
        lost = error.connection_invalidated or isinstance(error.orig, psycopg.OperationalError)
        if lost and (fault := certificate_fault(error)):
            raise NotTrustedError(f"the database's server {fault}", retry_after=5) from error
        if lost and any(sign in str(error.orig) for sign in _REFUSED):
            raise UnavailableError(
                "the database refuses the user or password of DATABASE_URL", retry_after=5
            ) from error
        if lost:
            raise UnavailableError("the database cannot be reached; try again in a moment", retry_after=2) from error
        if _holds_nul(error.orig):
            raise InvalidError("the request contains the character U+0000, which no text here can contain") from None
        raise


def _holds_nul(error: BaseException | None) -> bool:
    """Postgres has no NUL in texts: psycopg refuses it without a state, the server refuses it in JSON."""
    return isinstance(error, UntranslatableCharacter) or (isinstance(error, psycopg.DataError) and not error.sqlstate)
