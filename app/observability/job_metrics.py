"""Metrics that are read from Postgres at a scrape: jobs, queues, seconds, workers.

What ended long ago is folded into totals once and never read again, so a scrape costs as much as jobs ended since the
last one. The youngest half minute is read anew each time, because transactions may commit out of the order of their
clocks.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from threading import Lock
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from app.contracts.jobs import Queue
from app.db.repositories import installation, measures, stored_objects, unpublished, workers
from app.db.repositories.installation import Installation
from app.db.repositories.measures import FinishedJobs, Unfinished
from app.db.repositories.workers import WorkerSeen
from app.db.session import Connection, Database
from app.errors import UnavailableError

BOUNDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
SETTLED: Final = timedelta(seconds=30)
#: A worker not seen for longer counts as gone.
WORKER_SECONDS: Final = 15.0


class Totals:
    """Ended jobs by method and state: how many, their seconds, and their seconds' buckets."""

    def __init__(self) -> None:
        self.buckets: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)

    def add(self, rows: list[FinishedJobs]) -> None:
        """Add the data that are read."""
        for row in rows:
            self.buckets[row.method, row.state][row.bucket] += row.jobs
            self.seconds[row.method, row.state] += row.seconds

    def copy(self) -> "Totals":
        """Totals of one's own, to add to."""
        copied = Totals()
        copied.buckets.update({key: list(counts) for key, counts in self.buckets.items()})
        copied.seconds.update(self.seconds)
        return copied


class JobMetrics(Collector):
    """Reads Postgres when it is collected; one scrape at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._settled = Totals()
        self._settled_until: datetime | None = None

    def describe(self) -> list[Metric]:
        """Nothing: registering must not ask the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All families; without a database only the one that states it."""
        up = GaugeMetricFamily("surebox_database_up", "Whether the database answered this scrape.")
        try:
            with self._lock, self._database.read() as connection:
                totals = self._ended(connection)
                waiting = measures.unfinished(connection)
                present = workers.recent(connection, within_seconds=WORKER_SECONDS)
                known = installation.read(connection)
                damaged, unchecked = stored_objects.watched(connection)
                silence, waits = measures.longest_silence(connection), unpublished.longest_wait(connection)
        except UnavailableError:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from _ended_families(totals)
        yield from _unfinished_families(waiting)
        yield _stranded_family(waiting, present)
        yield _silence_family(silence)
        yield _publication_family(waits)
        yield from _worker_families(present)
        if known is not None:
            yield from _held_families(known)
        yield from _stored_families(damaged, unchecked)

    def _ended(self, connection: Connection) -> Totals:
        settled = measures.now(connection) - SETTLED
        self._settled.add(measures.finished(connection, after=self._settled_until, until=settled, bounds=BOUNDS))
        self._settled_until = settled
        totals = self._settled.copy()
        totals.add(measures.finished(connection, after=settled, until=None, bounds=BOUNDS))
        return totals


def _ended_families(totals: Totals) -> Iterator[Metric]:
    ended = CounterMetricFamily("surebox_jobs_finished", "Jobs that ended, by state.", labels=["method", "state"])
    seconds = HistogramMetricFamily(
        "surebox_job_seconds", "Seconds from a job's first start to its end.", labels=["method", "state"]
    )
    for key, buckets in sorted(totals.buckets.items()):
        ended.add_metric(key, sum(buckets))
        reached = 0
        cumulative: list[tuple[str, float]] = []
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), buckets, strict=True):
            reached += count
            cumulative.append((bound, reached))
        seconds.add_metric(key, cumulative, totals.seconds[key])
    yield ended
    yield seconds


def _unfinished_families(waiting: list[Unfinished]) -> Iterator[Metric]:
    jobs = GaugeMetricFamily("surebox_jobs", "Unfinished jobs.", labels=["method", "state"])
    depth = GaugeMetricFamily("surebox_queue_depth", "Queued jobs.", labels=["queue"])
    by_state: defaultdict[tuple[str, str], int] = defaultdict(int)
    queued: dict[str, int] = dict.fromkeys((queue.value for queue in Queue), 0)
    for row in waiting:
        by_state[row.method, row.state] += row.jobs
        if row.state == "queued":
            queued[row.queue] = queued.get(row.queue, 0) + row.jobs
    for key, count in sorted(by_state.items()):
        jobs.add_metric(key, count)
    for queue, count in sorted(queued.items()):
        depth.add_metric([queue], count)
    yield jobs
    yield depth


def _stranded_family(waiting: list[Unfinished], present: list[WorkerSeen]) -> Metric:
    """What alarms of an upgrade that took the last worker of a version away, or has not brought the first one."""
    stranded = GaugeMetricFamily(
        "surebox_jobs_stranded", "Queued jobs that no worker of their queue knows.", labels=["method", "version"]
    )
    for row in waiting:
        if row.state == "queued" and workers.strands(
            present, queue=row.queue, method=row.method, spec_version=row.spec_version
        ):
            stranded.add_metric([row.method, str(row.spec_version)], row.jobs)
    return stranded


def _silence_family(seconds: float) -> Metric:
    """The silence of running jobs: an alarm for a frozen worker, and for housekeeping that takes no job from it."""
    silence = GaugeMetricFamily(
        "surebox_job_silence_seconds", "Since the last heartbeat of the running job that is silent for longest."
    )
    silence.add_metric([], seconds)
    return silence


def _publication_family(seconds: float) -> Metric:
    """The longest wait of a publication for storage: an alarm for storage that accepts bytes and never answers."""
    waits = GaugeMetricFamily(
        "surebox_publication_wait_seconds", "Since the publication began that waits for storage for longest."
    )
    waits.add_metric([], seconds)
    return waits


def _held_families(known: Installation) -> Iterator[Metric]:
    """What waits for an operator to look at it."""
    orphans = GaugeMetricFamily("surebox_orphans_held", "Stored objects without a row that are too many to remove.")
    orphans.add_metric([], known.orphans_held)
    publishing = GaugeMetricFamily("surebox_publishing_held", "Whether nothing is published until it is confirmed.")
    publishing.add_metric([], known.publishing_held_at is not None)
    yield orphans
    yield publishing


def _stored_families(damaged: int, unchecked: float) -> Iterator[Metric]:
    """Damaged and unchecked objects: alarms for bytes that changed at rest, and for a storage that nobody reads."""
    count = GaugeMetricFamily("surebox_storage_damaged_objects", "Stored objects that are not as written.")
    count.add_metric([], damaged)
    seconds = GaugeMetricFamily(
        "surebox_storage_unchecked_seconds", "Since the comparison of the stored object not compared for longest."
    )
    seconds.add_metric([], unchecked)
    yield count
    yield seconds


def _worker_families(present: list[WorkerSeen]) -> Iterator[Metric]:
    count = GaugeMetricFamily("surebox_workers", "Worker processes seen lately.", labels=["queue"])
    memory = GaugeMetricFamily(
        "surebox_worker_resident_memory_bytes", "Resident memory of a worker process.", labels=["queue", "worker"]
    )
    by_queue: dict[str, int] = dict.fromkeys((queue.value for queue in Queue), 0)
    for worker in present:
        by_queue[worker.queue] = by_queue.get(worker.queue, 0) + 1
        memory.add_metric([worker.queue, worker.id], worker.rss_bytes)
    for queue, number in sorted(by_queue.items()):
        count.add_metric([queue], number)
    yield count
    yield memory
