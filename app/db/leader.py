"""Leadership by a session advisory lock: it ends with the session, however the leader dies."""

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from app.db.session import Database, end_when_idle

_HOUSEKEEPING = 7_305_114_212
_IDLE_SECONDS = 30.0


class Leadership:
    """One process's bid for leading; nothing raises, a database that is away means not to lead.

    Parameters
    ----------
    database, key
        Where the lock is, and which.
    idle_seconds
        A leader that does not hold for so long is frozen: another one leads.
    """

    def __init__(self, database: Database, *, key: int = _HOUSEKEEPING, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._database = database
        self._key = key
        self._idle_seconds = idle_seconds
        self._session: Connection | None = None

    def hold(self) -> bool:
        """Whether this process leads now; takes the lead when no one else has it."""
        try:
            if self._session is not None:
                self._session.execute(select(1))
                return True
            return self._bid()
        except SQLAlchemyError:
            self.release()
            return False

    def _bid(self) -> bool:
        session = self._database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        self._session = session
        if session.execute(select(func.pg_try_advisory_lock(self._key))).scalar_one():
            end_when_idle(session, seconds=self._idle_seconds)
            return True
        self._session = None
        session.close()
        return False

    def release(self) -> None:
        """Give the lead up; closing the session frees the lock."""
        session, self._session = self._session, None
        if session is not None:
            session.invalidate()
            session.close()
