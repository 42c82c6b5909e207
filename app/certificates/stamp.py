"""Timestamps of certificates: asked for after publication, again and again until the authority gives them.

Publication knows nothing of it: an authority that is slow or gone delays timestamps and nothing else.
"""

import threading
from typing import Final

import structlog

from app.certificates.authority import Authority, AuthorityError
from app.db.repositories import timestamps
from app.db.session import Database
from app.errors import SureboxError
from app.settings import Settings

_AT_ONCE: Final = 500

log = structlog.get_logger(__name__)


def stamp_missing(*, database: Database, authority: Authority, stop: threading.Event) -> int:
    """Get the timestamps that are due; how many there were.

    Parameters
    ----------
    database
        Where certificates stand.
    authority
        Who is asked. The first time it gives none ends the round: what it was asked for comes last in the next.
    stop
        Ends the round between two.
    """
    with database.read() as connection:
        waiting = timestamps.due(connection, limit=_AT_ONCE)
    count = 0
    for each in waiting:
        if stop.is_set():
            break
        try:
            timestamp = authority.stamp(each.envelope)
        except AuthorityError as error:
            log.warning("timestamp.none", release_id=each.release_id, why=str(error))
            with database.unit_of_work() as unit:
                timestamps.note_failure(unit.connection, release_id=each.release_id)
            break
        with database.unit_of_work() as unit:
            count += timestamps.keep(
                unit.connection, release_id=each.release_id, token=timestamp.token, at=timestamp.at
            )
    return count


class Stamping:
    """Rounds of it beside those of housekeeping, which wait for no authority."""

    def __init__(self, settings: Settings, *, database: Database) -> None:
        self._settings, self._database = settings, database
        self._round: threading.Thread | None = None

    def begin(self, stop: threading.Event) -> None:
        """Begin a round, unless one is going on."""
        if not self._settings.timestamp_url or (self._round is not None and self._round.is_alive()):
            return
        self._round = threading.Thread(target=self._stamp, args=(stop,), daemon=True, name="timestamps")
        self._round.start()

    def wait(self) -> None:
        """Until the round that is going on has ended."""
        if self._round is not None:
            self._round.join()

    def _stamp(self, stop: threading.Event) -> None:
        try:
            authority = Authority.of(self._settings)
            if authority is not None:
                stamped = stamp_missing(database=self._database, authority=authority, stop=stop)
                if stamped:
                    log.info("housekeeping.stamped", certificates=stamped)
        except SureboxError as error:  # the next round tries again
            log.warning("timestamp.unavailable", why=error.detail)
        except Exception as error:
            log.warning("timestamp.failed", error=type(error).__name__, exc_info=True)
