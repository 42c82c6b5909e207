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
from sqlalchemy.exc import DBAPIError, DisconnectionError, InvalidRequestError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from app.errors import InvalidError, NotTrustedError, StorageFullError, UnavailableError
from app.processes.tls import certificate_fault

#: `Connection` is exported so that nothing outside `app.db` imports SQLAlchemy, not even for an annotation.
__all__ = ["Connection", "Database", "UnitOfWork", "end_when_idle"]


#: For so long no request is sent once Postgres has stood still.
_STANDSTILL_SECONDS = 1.0
_SERVER_FIRST_SECONDS = 0.5
#: A transaction in which its process does nothing for so long is ended by the server, and its locks are free: a process
#: that is frozen (SIGSTOP, a paused container) or waits for something else blocks nobody for longer.
FROZEN_SECONDS = 15.0
#: The version of Postgres that ends idle sessions.
_IDLE_SESSIONS_SINCE = 140_000
#: The server looks after peers that are gone as we do after it.
_SERVER_LOOKS = {
    "tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "2", "tcp_user_timeout": "10s",
}  # fmt: skip
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
        with self._answering(), _checked_out(self.engine) as connection, connection.begin():
            unit = UnitOfWork(connection)
            yield unit
        unit.run_after()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for single reads, each its own snapshot."""
        with self._answering(), _checked_out(self._autocommit) as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees one moment and changes nothing: for reading everything."""
        with _unavailable(), _checked_out(self.engine) as connection:
            frozen = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with frozen.begin():
                # It locks no row, and a copy of everything does other work in between.
                frozen.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
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
    limits = {"timezone": "UTC", "lock_timeout": f"{int(seconds * 1_000)}ms"} | _SERVER_LOOKS
    limits["idle_in_transaction_session_timeout"] = f"{int(FROZEN_SECONDS * 1_000)}ms"
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


def end_when_idle(session: Connection, *, seconds: float) -> None:
    """Let the server end a session that is itself a lock once its holder, frozen, has asked nothing for so long."""
    driver: Any = session.connection.driver_connection
    if driver.info.server_version >= _IDLE_SESSIONS_SINCE:
        session.exec_driver_sql(f"SET idle_session_timeout = '{int(seconds * 1_000)}ms'")


def _refuse_closed(connection: Any, _record: object, _proxy: object) -> None:
    """Detect a connection that the server has closed, without a round trip: an idle socket has nothing to read.

    `poll` takes any socket; `select` takes none whose number is 1,024 or more.
    """
    poller = select.poll()
    try:
        poller.register(connection.fileno(), select.POLLIN)
        events = poller.poll(0)
    except (OSError, psycopg.Error) as error:
        raise DisconnectionError from error
    if events:
        raise DisconnectionError


@contextmanager
def _checked_out(engine: Engine) -> Iterator[Connection]:
    """Yield a connection of the pool, which gives up where three in a row have been closed by the server."""
    try:
        connection = engine.connect()
    except InvalidRequestError as error:
        raise _unreachable() from error
    with connection:
        yield connection


@contextmanager
def _unavailable() -> Iterator[None]:
    """Turn a lost database into a 503; an error of our own SQL stays what it is."""
    try:
        yield
    except PoolTimeoutError as error:
        raise UnavailableError("all database connections are busy; try again in a moment", retry_after=2) from error
    except PendingRollbackError as error:  # the connection was lost, and the transaction with it
        raise _unreachable() from error
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
            raise _unreachable() from error
        if _holds_nul(error.orig):
            raise InvalidError("the request contains the character U+0000, which no text here can contain") from None
        raise


def _unreachable() -> UnavailableError:
    return UnavailableError("the database cannot be reached; try again in a moment", retry_after=2)


def _holds_nul(error: BaseException | None) -> bool:
    """Postgres has no NUL in texts: psycopg refuses it without a state, the server refuses it in JSON."""
    return isinstance(error, UntranslatableCharacter) or (isinstance(error, psycopg.DataError) and not error.sqlstate)
