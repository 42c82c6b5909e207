"""The housekeeping process: a loop that sends again what the broker lost, ends what has died, removes what has expired.

Any number may run; the one that holds an advisory lock in Postgres leads, and another follows it when it dies. Nothing
here is needed for correctness at any single moment: a round that fails is tried again in the next.
"""

import signal
import threading
from collections.abc import Callable

import structlog

from app.db.leader import Leadership
from app.db.session import Database
from app.errors import UnavailableError
from app.housekeeping.rounds import Rounds
from app.observability.logs import configure_logging
from app.queue import JobQueue
from app.settings import Settings
from app.storage.factory import open_storage

#: Removing what has expired lists the storage, so only one round in so many does it; never the first one: an
#: operator who has started it on a wrong address has a minute to see it.
_SLOW_ROUND = 30

log = structlog.get_logger(__name__)


def run(settings: Settings) -> None:
    """Keep house until SIGTERM or SIGINT."""
    configure_logging(settings)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    keep(settings, stop=stop)


def keep(settings: Settings, *, stop: threading.Event) -> None:
    """Do rounds while leading, until `stop` is set."""
    database = Database(settings.database_url, pool_size=2)
    leadership = Leadership(database)
    rounds = Rounds(settings, database=database, storage=open_storage(settings), queue=JobQueue(settings))
    led = caught_up = False
    number = 0
    try:
        while not stop.is_set():
            leads = leadership.hold()
            if leads != led:
                log.info("housekeeping.leads" if leads else "housekeeping.follows")
                led, caught_up, number = leads, False, 0
            if leads:
                if not caught_up and number % _SLOW_ROUND == 0:
                    caught_up = _attempt(rounds.first)
                _attempt(rounds.quick)
                number += 1
                if number % _SLOW_ROUND == 0:
                    _attempt(lambda: rounds.slow(stop))
            stop.wait(settings.housekeeping_seconds)
    finally:
        leadership.release()
        database.close()


def _attempt(work: Callable[[], None]) -> bool:
    """Do it; whether that went well."""
    try:
        work()
    except UnavailableError as error:
        log.warning("housekeeping.unavailable", detail=error.detail)
    except Exception as error:  # the next round tries again
        log.warning("housekeeping.failed", error=type(error).__name__, exc_info=True)
    else:
        return True
    return False
