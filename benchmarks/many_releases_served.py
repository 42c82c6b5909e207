"""A service whose owner has 100,000 releases: CPU of housekeeping, how soon a lost job is taken over, submissions.

    PYTHONPATH=. python benchmarks/many_releases_served.py [--releases 100000] [--seconds 180]

Rows are written by SQL, an empty file for each of a release's three formats and its entry. Then housekeeping runs for
so long, beside an API that is asked for jobs of that owner which no worker takes. Two jobs lose their worker: one as
housekeeping begins, one in the middle.
"""

import argparse
import json
import os
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil

from app.auth.keys import create_key
from app.db.repositories import claims
from app.releases.entries import PREFIX
from benchmarks.many_releases import OWNER, fill
from benchmarks.recorded import record
from tests import patient
from tests.faults.rig import Rig
from tests.servers import Databases, new_broker, new_postgres, short_folder

COMMAND = "PYTHONPATH=. python benchmarks/many_releases_served.py"
RELEASES, SECONDS, SUBMISSIONS = 100_000, 180.0, 40
#: The settings that a service has by default, where tests have quicker ones.
AS_SERVED = {
    "heartbeat_timeout_seconds": 20.0,
    "housekeeping_seconds": 2.0,
    "requeue_after_seconds": 30.0,
    "max_owner_releases": 1_000_000,
}


def write_files(storage: Path, count: int) -> None:
    """The files of all releases, older than what housekeeping leaves alone, and the first entry of the owner."""
    old = time.time() - 7_200
    for number in range(1, count + 1):
        folder = storage / "releases" / f"rel_{number}"
        folder.mkdir(parents=True)
        for form in ("csv", "ndjson", "parquet"):
            (folder / f"x.{form}").touch()
            os.utime(folder / f"x.{form}", (old, old))
        entry = storage / PREFIX / "many" / str(number) / "x.json"
        entry.parent.mkdir(parents=True)
        entry.write_bytes(json.dumps({"owner": OWNER}).encode())


def cpu_seconds(process: psutil.Process) -> float:
    """Of a process and all that it has started."""
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        used = each.cpu_times()
        total += used.user + used.system + used.children_user + used.children_system
    return total


def lose(rig: Rig) -> str:
    """A job that a worker has claimed that is no more."""
    job_id = rig.submit(owner=OWNER)
    with rig.database.unit_of_work() as unit:
        claims.claim(unit.connection, job_id=job_id, worker="gone:1", known={("probe", 1)})
    return job_id


def taken_over(rig: Rig, job_id: str, *, began: float, until: float) -> float:
    """Seconds until the job is queued again."""
    while rig.job(job_id)["state"] == "running" and time.monotonic() < until:
        time.sleep(0.1)
    return time.monotonic() - began


def submissions(client: httpx.Client, dataset_id: str) -> list[float]:
    """Milliseconds of each of some submissions."""
    taken = []
    for number in range(SUBMISSIONS):
        body = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": ["age", "hours"], "k": 5 + number}
        body["publish"] = "auto"
        began = time.perf_counter()
        answer = client.post("/v1/anonymizations", json=body)
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text
        taken.append(1000 * (time.perf_counter() - began))
        time.sleep(0.2)
    return taken


def measure(rig: Rig, postgres: psutil.Process, seconds: float) -> dict[str, float]:
    """Housekeeping for so long, submissions and lost jobs meanwhile."""
    _, address = rig.api()
    settings = rig.settings
    key = {"owner": OWNER, "scopes": ["admin"], "name": "many", "now": datetime.now(UTC)}
    headers = {"Authorization": f"Bearer {create_key(database=rig.database, secret=settings.server_secret, **key)[1]}"}
    dataset_id, lost = rig.dataset(OWNER), lose(rig)
    housekeeping = psutil.Process(rig.housekeeping().pid)
    began, before = time.monotonic(), cpu_seconds(postgres)
    first = taken_over(rig, lost, began=began, until=began + seconds)
    used_by_database = cpu_seconds(postgres) - before  # without what submissions cost
    with patient.Client(base_url=address, headers=headers, timeout=60) as client:
        taken = submissions(client, dataset_id)
    again, middle, before = lose(rig), time.monotonic(), cpu_seconds(postgres)
    second = taken_over(rig, again, began=middle, until=began + 2 * seconds)
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    used_by_database += cpu_seconds(postgres) - before
    return {
        "housekeeping_cpu_seconds": cpu_seconds(housekeeping),
        "postgres_cpu_seconds": used_by_database,
        "taken_over_first_seconds": first,
        "taken_over_later_seconds": second,
        "submit_p50_ms": statistics.median(taken),
        "submit_worst_ms": max(taken),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=RELEASES)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    with short_folder() as folder:
        server, broker = new_postgres(folder), new_broker(folder)
        server.start()
        broker.start()
        more: dict[str, Any] = AS_SERVED
        rig = Rig(Databases(server).fresh(), broker.tcp_url(), folder, settings_more=more)
        try:
            write_files(folder / "storage", given.releases)
            fill(rig.database, given.releases)
            postmaster = int((server.folder / "postmaster.pid").read_text().split()[0])
            figures = measure(rig, psutil.Process(postmaster), given.seconds)
        finally:
            rig.stop()
            broker.stop()
            server.stop()
    for name, value in figures.items():
        print(f"{name}: {value:.2f}")
    if (given.releases, given.seconds) == (RELEASES, SECONDS):
        record("many_releases_served", COMMAND, {"releases": RELEASES, "seconds": SECONDS, **figures})


if __name__ == "__main__":
    main()
