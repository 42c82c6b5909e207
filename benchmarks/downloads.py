"""Measure how fast a release of 1 GB is downloaded and fetched for a job, beside another checkout of the project.

    PYTHONPATH=. python benchmarks/downloads.py [--beside DIR]

Each checkout starts a Postgres, a broker and an API process of its own, with storage in a folder, and the two are
measured in turns: whatever else the machine does falls on both. The figures are the best of all runs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil

MEGABYTES = 1000
RUNS = 3
TURNS = 2
COMMAND = "PYTHONPATH=. python benchmarks/downloads.py --beside DIR"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside", type=Path, help="another checkout, with an environment of its own")
    parser.add_argument("--one", action="store_true", help="measure this checkout and print it as JSON")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured()))
        return
    from benchmarks.recorded import as_table, printed, record

    places = {"here": Path.cwd()} | ({} if given.beside is None else {"beside": given.beside})
    figures: dict[str, list[list[float]]] = {name: [] for name in places}
    for _ in range(TURNS):
        for name, place in places.items():
            figures[name].append(in_checkout(place))
    rows = [printed("checkout", "download, MB/s", "CPU of the API, s", "1 MB range, ms")]
    for name, turns in figures.items():
        best = [pick(each) for pick, each in zip((max, min, min), zip(*turns, strict=True), strict=True)]
        rows.append(printed(name, f"{best[0]:.0f}", f"{best[1]:.2f}", f"{best[2]:.1f}"))
    record("downloads", COMMAND, {"megabytes": MEGABYTES, "runs": RUNS * TURNS, "table": as_table(rows)})


def in_checkout(place: Path) -> list[float]:
    """Figures of a checkout, by its own interpreter."""
    environment = os.environ | {"PYTHONPATH": str(place)}
    python = place / ".venv" / "bin" / "python"
    command = [str(python), str(Path(__file__).resolve()), "--one"]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, check=True, text=True)
    return [float(each) for each in json.loads(done.stdout.splitlines()[-1])]


def measured() -> tuple[float, float, float]:
    """Megabytes a second of a download, CPU seconds of the API process, milliseconds of a range."""
    with api() as (client, process, release_id):
        path, best, processor, ranged = f"/v1/releases/{release_id}/data", 0.0, float("inf"), float("inf")
        for _ in range(RUNS):
            began, spent = time.perf_counter(), sum(process.cpu_times()[:2])
            with client.stream("GET", path, params={"format": "csv"}) as answer:
                size = sum(map(len, answer.iter_raw(1 << 20)))
            assert size == MEGABYTES << 20
            best = max(best, MEGABYTES / (time.perf_counter() - began))
            processor = min(processor, sum(process.cpu_times()[:2]) - spent)
        for at in range(1, 30):
            began = time.perf_counter()
            client.get(path, params={"format": "csv"}, headers={"Range": f"bytes={at << 24}-{(at << 24) + (1 << 20)}"})
            ranged = min(ranged, 1000 * (time.perf_counter() - began))
        return best, processor, ranged


@contextmanager
def api() -> Iterator[tuple[httpx.Client, psutil.Process, str]]:
    """An API process, and a release of so many megabytes."""
    sys.path.insert(0, str(Path.cwd()))
    from tests.processes import processes
    from tests.releases.conftest import Releases
    from tests.servers import Databases, new_broker, new_postgres, short_folder

    with tempfile.TemporaryDirectory() as name, short_folder() as folder, ExitStack() as started:
        server, valkey = new_postgres(folder), new_broker(folder)
        for each in (server, valkey):
            each.start()
            started.callback(each.stop)
        databases = Databases(server)
        with processes(Path(name), database_url=databases.fresh(), redis_url=valkey.tcp_url()) as made:
            address, process = made.api()
            owner = "bench"
            with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {made.key(owner)}"}) as client:
                client.timeout = httpx.Timeout(600)
                releases = Releases(made, owner, client, made.storage())
                release_id = releases.publish(files={"csv": os.urandom(1 << 20) * MEGABYTES})
                client.get(f"/v1/releases/{release_id}/data", params={"format": "csv"})
                yield client, psutil.Process(process.pid), release_id


if __name__ == "__main__":
    main()
