"""From a committed job to its result: an empty job of the service next to a bare Celery task, in one run.

    python benchmarks/queue_latency.py [--rounds 200]

Both workers are warm, on the same broker, with the product's Celery settings. The service's time runs from before the
transaction that accepts the job (as the API does it) to the notification that it has ended, by which API processes wake
those who wait. It contains the claim, the release-less ending and provenance, all in a real Postgres with `fsync` on.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

import psycopg
import redis

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from app.queue import JobQueue, make_celery  # noqa: E402
from app.settings import Settings, get_settings  # noqa: E402
from benchmarks.recorded import as_table, printed, record  # noqa: E402
from tests.faults.rig import Rig  # noqa: E402
from tests.servers import Databases, new_broker, new_postgres, short_folder  # noqa: E402

COMMAND = "python benchmarks/queue_latency.py"
ROUNDS = 200
#: A worker whose one task answers on a list: what Celery and the broker cost by themselves.
BARE = "import sys; from benchmarks.queue_latency import bare; bare().worker_main(sys.argv[1:])"


def bare():  # type: ignore[no-untyped-def]
    """The bare worker's Celery object."""
    settings = get_settings()
    celery = make_celery(settings)
    clients: dict[int, redis.Redis] = {}

    @celery.task(name="bare")
    def answer(*, job_id: str) -> None:
        client = clients.setdefault(os.getpid(), redis.Redis.from_url(settings.redis_url))
        client.rpush("answers", job_id)

    return celery


def measure_bare(settings: Settings, rounds: int) -> list[float]:
    """Milliseconds from sending to the answer."""
    celery = JobQueue(settings).celery
    times = []
    with redis.Redis.from_url(settings.redis_url, socket_timeout=60) as client:
        for number in range(rounds):
            began = time.perf_counter()
            celery.send_task("bare", kwargs={"job_id": str(number)}, queue="bare")
            assert client.blpop(["answers"], timeout=30) is not None
            times.append((time.perf_counter() - began) * 1000)
    return times


def measure_jobs(rig: Rig, rounds: int) -> list[float]:
    """Milliseconds from submission to the notification of the end."""
    queue = JobQueue(rig.settings)
    times = []
    with psycopg.connect(rig.database_url, autocommit=True) as listener:
        listener.execute("LISTEN surebox_job")
        for _ in range(rounds):
            began = time.perf_counter()
            job_id = rig.submit(broker=queue, steps=0)
            # it tells of the claim and of the end
            payloads = [notice.payload for notice in listener.notifies(timeout=30, stop_after=2)]
            times.append((time.perf_counter() - began) * 1000)
            assert payloads == [job_id, job_id], payloads
            assert rig.job(job_id)["state"] == "succeeded"
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    with short_folder() as folder:
        postgres, broker = new_postgres(folder, durable=True), new_broker(folder)
        postgres.start()
        broker.start()
        rig = Rig(Databases(postgres).fresh(), broker.tcp_url(), folder)
        try:
            rig.worker()
            rig.start("-c", BARE, "worker", "--queues", "bare", "--concurrency", "1", "-l", "WARNING", name="bare")
            measure_bare(rig.settings, 20)
            measure_jobs(rig, 20)
            task, job = measure_bare(rig.settings, rounds), measure_jobs(rig, rounds)
            rows = [printed("from sending to the end", "median, ms", "95th percentile, ms")]
            for name, times in (("a bare Celery task", task), ("an empty job", job)):
                late = statistics.quantiles(times, n=20)[-1]
                rows.append(printed(name, f"{statistics.median(times):.1f}", f"{late:.1f}"))
        finally:
            rig.stop()
            broker.stop()
            postgres.stop()
    if rounds == ROUNDS:
        record("queue_latency", COMMAND, {"rounds": rounds, "table": as_table(rows)})


if __name__ == "__main__":
    main()
