"""The housekeeping process: a loop that sends again what the broker lost, ends dead processes, removes expired data.

Any number may run; the one that holds an advisory lock in Postgres leads, and another follows it when it dies. Nothing
here is needed for correctness at any single moment: a round that fails is tried again in the next. Time is the
database's; every step of a round is a short transaction of its own.
"""

import signal
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeAlias

import structlog

from app.certificates.issue import issue_missing
from app.certificates.stamp import Stamping
from app.datasets.delete import remove_leftovers as datasets_left
from app.db.digests import DatabaseDigests
from app.db.leader import Leadership
from app.db.repositories import audit, expiry, parts, reaping, retention, stranded, workers
from app.db.repositories.claims import QueuedJob
from app.db.session import Connection, Database
from app.errors import UnavailableError
from app.housekeeping.orphans import Orphans
from app.housekeeping.scrub import Scrub
from app.installation.check import check as check_installation
from app.jobs.erase import erase_ended, expire_results
from app.jobs.erase import remove_leftovers as results_left
from app.observability.job_metrics import WORKER_SECONDS
from app.observability.logs import configure_logging
from app.queue import JobQueue
from app.releases.delete import expire_drafts
from app.releases.delete import remove_leftovers as releases_left
from app.releases.entries import catch_up, refresh, sweep_unpublished
from app.settings import Settings
from app.storage.factory import open_storage
from app.storage.protocol import Storage

#: Removing expired data lists the storage, so only one round in so many does it; never the first one: an
#: operator who has started it on a wrong address has a minute to see it.
_SLOW_ROUND = 30

log = structlog.get_logger(__name__)
#: A leader that is frozen for so long, and three rounds, leads no more.
_IDLE_SECONDS: Final = 20.0
#: What a slow round that is under way may take to end.
_PARTING_SECONDS: Final = 5.0
#: A worker's row is kept so long after it was last seen.
_WORKER_SECONDS = 300.0
#: Rows that one transaction removes.
_AT_ONCE: Final = 1_000
#: Refusals without a key that are kept, however young: outsiders make them.
_REFUSALS_WITHOUT_KEY: Final = 100_000
#: Removes some rows, and states how many.
Removal: TypeAlias = Callable[[Connection], int]


def run(settings: Settings) -> None:
    """Keep house until SIGTERM or SIGINT."""
    configure_logging(settings)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    keep(settings, stop=stop)


def keep(settings: Settings, *, stop: threading.Event) -> None:
    """Do rounds while leading, until `stop` is set."""
    database = Database(settings.database_url, pool_size=4)
    leadership = Leadership(database, idle_seconds=_IDLE_SECONDS + 3 * settings.housekeeping_seconds)
    storage = open_storage(settings, DatabaseDigests(database))
    rounds = Rounds(settings, database=database, storage=storage, queue=JobQueue(settings))
    slow: _SlowRounds | None = None
    try:
        while not stop.is_set():
            leads = leadership.hold()
            if leads != (slow is not None):
                log.info("housekeeping.leads" if leads else "housekeeping.follows")
                slow = _replaced(slow, rounds if leads else None)
            if leads:
                _attempt(rounds.quick)
            stop.wait(settings.housekeeping_seconds)
    finally:
        _replaced(slow, None)
        leadership.release()
        database.close()


def _replaced(slow: "_SlowRounds | None", rounds: "Rounds | None") -> "_SlowRounds | None":
    """Begin slow rounds, or end those that are under way."""
    if slow is not None:
        slow.end()
    return None if rounds is None else _SlowRounds(rounds)


class _SlowRounds:
    """The rounds of one term of leading that list or read the storage: a thread of their own, no job waits for them."""

    def __init__(self, rounds: "Rounds") -> None:
        self._rounds, self._ended = rounds, threading.Event()
        self._thread = threading.Thread(target=self._run, name="slow rounds", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Begin nothing new; what hangs in storage is not waited for."""
        self._ended.set()
        self._thread.join(_PARTING_SECONDS)

    def _run(self) -> None:
        caught_up, number = False, 0
        while not self._ended.is_set():
            if not caught_up and number % _SLOW_ROUND == 0:
                caught_up = _attempt(self._rounds.first)
            _attempt(self._rounds.tidy)
            number += 1
            if number % _SLOW_ROUND == 0:
                _attempt(lambda: self._rounds.slow(self._ended))
            self._ended.wait(self._rounds.pause)


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


class Rounds:
    """The leader's work."""

    def __init__(self, settings: Settings, *, database: Database, storage: Storage, queue: JobQueue) -> None:
        self._settings = settings
        self.pause = settings.housekeeping_seconds
        self._database, self._storage, self._queue = database, storage, queue
        self._stamping = Stamping(settings, database=database)
        self._orphans = Orphans(settings, database=database, storage=storage)
        self._scrub = Scrub(settings, database=database, storage=storage)

    def quick(self) -> None:
        """Reap and requeue: what jobs wait for, by the database and the broker alone."""
        self._reap()
        self._requeue()
        self._show_stranded()

    def tidy(self) -> None:
        """Uploads that have been read leave staging; entries of publications are written again."""
        datasets_left(database=self._database, storage=self._storage)
        sweep_unpublished(database=self._database, storage=self._storage)
        refresh(database=self._database, storage=self._storage)

    def first(self) -> None:
        """Learn of publications and deletions of families.

        Raises
        ------
        CannotStartError
            Database and storage belong to different installations: nothing is learnt.
        """
        check_installation(database=self._database, storage=self._storage)
        learnt = catch_up(database=self._database, storage=self._storage)
        if learnt:
            log.warning("housekeeping.caught_up", publications=learnt)

    def slow(self, stop: threading.Event) -> None:
        """Remove expired data; `stop` ends it early."""
        self._expire_rows()
        self._expire_log(stop)
        self._expire_kept(stop)
        self._expire_uploads()
        self._expire_results()
        self._certify()
        self._stamping.begin(stop)
        self._orphans.tidy(stop)
        self._scrub.read_some(stop)

    def _reap(self) -> None:
        silent_for = timedelta(seconds=self._settings.heartbeat_timeout_seconds)
        with self._database.unit_of_work() as unit:
            lost = reaping.reap(unit.connection, silent_for=silent_for, max_attempts=self._settings.max_attempts)
        with self._database.read() as connection:
            for job_id in reaping.locked(connection, silent_for=silent_for):
                log.warning("housekeeping.locked", job_id=job_id)
        with self._database.unit_of_work() as unit:
            parts.end_orphans(unit.connection)
        self._send(lost, why="lost")

    def _requeue(self) -> None:
        """Send ids again where the broker contains fewer than there are queued jobs: some were lost with it.

        A broker that contains as many may contain one twice and lack another; each it hands out makes that visible. So
        no job is forgotten, and the broker never contains more than twice what it should, however long jobs wait.
        """
        older_than = timedelta(seconds=self._settings.requeue_after_seconds)
        with self._database.read() as connection:
            queued = reaping.count_queued(connection)
        for queue, count in queued.items():
            depth = self._queue.depth(queue)
            if depth is None or depth >= count:
                continue
            with self._database.unit_of_work() as unit:
                unsent = reaping.take_unsent(unit.connection, queue=queue, older_than=older_than)
            self._send(unsent, why="requeued")

    def _show_stranded(self) -> None:
        """Jobs that no worker of their queue knows wait for one, and state it."""
        with self._database.unit_of_work() as unit:
            present = workers.recent(unit.connection, within_seconds=WORKER_SECONDS)
            for each in stranded.queued(unit.connection):
                alone = workers.strands(present, queue=each.queue, method=each.method, spec_version=each.spec_version)
                changed = stranded.show(unit.connection, each, stranded=alone)
                if changed and alone:
                    log.warning("housekeeping.stranded", method=each.method, version=each.spec_version, jobs=changed)

    def _send(self, waiting: list[QueuedJob], *, why: str) -> None:
        for position, each in enumerate(waiting):
            if not self._queue.enqueue(each.id, method=each.method, queue=each.queue):
                with self._database.unit_of_work() as unit:
                    reaping.mark_unsent(unit.connection, job_ids=[left.id for left in waiting[position:]])
                return
            log.info("housekeeping.sent", job_id=each.id, why=why)

    def _expire_rows(self) -> None:
        settings = self._settings
        with self._database.unit_of_work() as unit:
            expiry.forget_keys(unit.connection, older_than=timedelta(hours=settings.idempotency_hours))
            expiry.remove_expired_jobs(unit.connection)
            parts.remove_old(unit.connection)
            workers.forget_silent(unit.connection, older_than_seconds=_WORKER_SECONDS)

    def _expire_log(self, stop: threading.Event) -> None:
        settings, most = self._settings, _REFUSALS_WITHOUT_KEY

        def old(days: float, *, refusals: bool) -> Removal:
            age = timedelta(days=days)
            return lambda connection: audit.remove_old(connection, older_than=age, limit=_AT_ONCE, refusals=refusals)

        self._in_batches(stop, old(settings.log_days, refusals=False))
        self._in_batches(stop, old(settings.refusal_days, refusals=True))
        self._in_batches(stop, lambda connection: audit.remove_refusals_above(connection, most=most, limit=_AT_ONCE))

    def _expire_kept(self, stop: threading.Event) -> None:
        """Ended jobs, drafts, events, and tombstones: of a release before its job, of a job before its dataset."""
        settings = self._settings
        if settings.job_days is not None:
            erase_ended(
                database=self._database, storage=self._storage, older_than=timedelta(days=settings.job_days), stop=stop
            )
        expired = expire_drafts(
            database=self._database, storage=self._storage, now=self._instant_before(timedelta(0)), stop=stop
        )
        if expired:
            log.info("housekeeping.drafts_expired", releases=expired)
        events, tombstones = timedelta(days=settings.job_event_days), timedelta(days=settings.tombstone_days)
        self._in_batches(stop, partial(retention.remove_events, older_than=events, limit=_AT_ONCE))
        for remove in (retention.remove_releases, retention.remove_jobs, retention.remove_datasets):
            self._in_batches(stop, partial(remove, older_than=tombstones, limit=_AT_ONCE))

    def _in_batches(self, stop: threading.Event, remove: Removal) -> None:
        """Remove a thousand rows a transaction until fewer are left: no lock is held for long."""
        last = _AT_ONCE
        while last == _AT_ONCE and not stop.is_set():
            with self._database.unit_of_work() as unit:
                last = remove(unit.connection)

    def _expire_uploads(self) -> None:
        """What killed writers have left, and releases whose deletion was interrupted."""
        swept = self._storage.sweep(before=self._instant_before(timedelta(hours=self._settings.staging_hours)))
        if swept:
            log.info("staging.abandoned", removed=swept)
        releases_left(database=self._database, storage=self._storage)

    def _certify(self) -> None:
        """Releases of before there was a key, or while it could not be read, get their certificates now."""
        issued = issue_missing(database=self._database, settings=self._settings)
        if issued:
            log.info("housekeeping.certified", releases=issued)

    def _expire_results(self) -> None:
        """Results whose time has passed, and the rest in storage of those that were erased."""
        hours = self._settings.result_hours
        if hours is not None:
            expire_results(database=self._database, older_than=timedelta(hours=hours))
        results_left(database=self._database, storage=self._storage)

    def _instant_before(self, age: timedelta) -> datetime:
        with self._database.read() as connection:
            return expiry.instant_before(connection, age=age)
