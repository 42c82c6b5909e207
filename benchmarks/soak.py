"""A service that is used for an hour, killed and denied its storage: what it holds, how fast it answers, what it loses.

    PYTHONPATH=. python benchmarks/soak.py [--seconds 3600] [--fault-seconds 150] [--pause-seconds 1] [--csv soak.csv]
    PYTHONPATH=. python benchmarks/soak.py --draw soak.csv --picture docs/pictures/soak.svg

Starts `surebox serve` in a folder of its own and asks for every method in turn (the two examples of each, about new
data in every round), questions and uploads among them; each round also makes a release of 60,000
rows and puts a question to all of those so far, which fills the cache of the processes that answer. `--pause-seconds`
lie between jobs. Every `--fault-seconds` one fault, in turn: a SIGKILL of a
process that runs jobs, of the interactive one, of the API, of the broker, of Postgres, of everything at once; storage
that is read-only for 20 s (where it can be mounted so: as root). A request that is not answered is repeated with its
Idempotency-Key. A sample every five seconds: memory and file descriptors by process, bytes on disk, rows of tables,
and how long requests took meanwhile; as CSV, and as a picture. At the end nothing that was accepted may be missing:
datasets, jobs, releases; and no job may have failed for the faults.
"""

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
import polars as pl
import psutil
from psycopg import connect, sql

from app.cli.settings import running_settings
from app.contracts.examples import DATASET, GROUP_JOB, RELEASE
from app.methods.catalogue import METHODS
from tests import patient
from tests.methods.bases import microfile
from tests.methods.examples import EXAMPLES
from tests.service import Service, bare_environment, wait_for_line

SAMPLE_SECONDS: Final = 5.0
SAMPLES_A_WRITE: Final = 12
READ_ONLY_SECONDS: Final = 20.0
LARGE_ROWS: Final = 60_000
TABLES: Final = ("job", "job_event", "dataset", "release", "log_entry", "table_sketch", "idempotency")
#: What a process is, by the beginning of its name; those that have a parent of the same name run jobs.
ROLES: Final = {
    "surebox-api": "API", "surebox-house": "housekeeping", "surebox-inter": "interactive", "surebox-batch": "batch",
    "valkey": "broker", "postgres": "Postgres",
}  # fmt: skip
QUESTIONS: Final = ("count", "classify")
#: Problems that say that a fault, and not the request, ended a job.
OURS: Final = ("attempts-exhausted", "internal", "unavailable", "storage", "time-limit", "memory-limit")


@dataclass
class Soak:
    """One run: what was accepted, and how long requests took since the last sample."""

    folder: Path
    process: "subprocess.Popen[bytes]"
    service: Service
    pause: float = 0.0
    large: list[str] = field(default_factory=list)
    accepted: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    reading: list[float] = field(default_factory=list)
    asking: list[float] = field(default_factory=list)
    faults: list[tuple[float, str]] = field(default_factory=list)
    repeated: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    begun: float = field(default_factory=time.monotonic)

    def ask(self, method: str, path: str, times: list[float], **more: Any) -> httpx.Response:
        """A request that is repeated until it is answered by other than a fault."""
        key = {"Idempotency-Key": os.urandom(16).hex()} if method == "POST" else {}
        headers = {"Authorization": f"Bearer {self.service.key}", **key, **more.pop("headers", {})}
        first = time.monotonic()
        while True:
            begun = time.monotonic()
            with suppress(httpx.TransportError):
                answer = patient.request(method, self.service.address + path, headers=headers, **more)
                if answer.status_code not in {409, 429, 500, 502, 503, 504, 507}:
                    times.append(time.monotonic() - begun)
                    return answer
                if answer.status_code == httpx.codes.CONFLICT and "request-in-flight" not in answer.text:
                    return answer
            self.repeated += 1
            if self.stop.is_set() and time.monotonic() - first > patient.SECONDS:
                raise TimeoutError(path)
            time.sleep(0.5)

    def ended(self, job_id: str) -> dict[str, Any]:
        """A job, once it has ended."""
        while True:
            job: dict[str, Any] = self.ask("GET", f"/v1/jobs/{job_id}", self.reading).json()
            if job.get("finished_at") or "id" not in job:
                return job
            time.sleep(0.5)

    def submit(self, body: dict[str, Any]) -> dict[str, Any]:
        """One job to its end; what is refused is counted."""
        self.stop.wait(self.pause)
        kind = METHODS[body["method"]].spec.kind.value
        where = "audits" if kind == "audit" else "anonymizations"
        answer = self.ask("POST", f"/v1/{where}", self.asking, json=body)
        if answer.status_code != httpx.codes.ACCEPTED:
            name = f"{body['method']} {answer.status_code}"
            self.refused[name] = self.refused.get(name, 0) + 1
            return {}
        self.accepted[answer.json()["id"]] = body["method"]
        return self.ended(answer.json()["id"])

    def upload(self, frame: pl.DataFrame) -> str:
        """A dataset of a table."""
        headers = {"Content-Type": "text/csv"}
        answer = self.ask("POST", "/v1/datasets", self.asking, content=frame.write_csv().encode(), headers=headers)
        dataset: dict[str, Any] = answer.json()
        while dataset.get("state") not in {"ready", "failed", None}:
            time.sleep(0.2)
            dataset = self.ask("GET", f"/v1/datasets/{dataset['id']}", self.reading).json()
        self.kept[f"/v1/datasets/{dataset['id']}"] = str(dataset.get("state"))
        return str(dataset["id"])

    def round(self, number: int) -> None:
        """Every method about new data, and questions to all large releases."""
        self.ask_large(number)
        people = microfile(number, people=60, bases={4: 40, 11: 34, 23: 45}).with_row_index("row")
        places = {DATASET: self.upload(people)}
        places[GROUP_JOB] = self.submit(_named(EXAMPLES["group"][0], places)).get("id", "")
        made = self.submit(_named({**EXAMPLES["boxes"][0], "keep": ["job"]}, places))
        places[RELEASE] = made.get("release_id") or ""
        for body in (body for bodies in EXAMPLES.values() for body in bodies):
            if self.stop.is_set():
                return
            named = _named(body, places)
            if named["method"] in QUESTIONS:
                rest = {name: value for name, value in named.items() if name not in {"method", "release_id"}}
                self.ask("POST", f"/v1/releases/{places[RELEASE]}/{named['method']}", self.asking, json=rest)
                continue
            release_id = self.submit(named).get("release_id")
            if release_id:
                self.kept[f"/v1/releases/{release_id}"] = ""

    def ask_large(self, number: int) -> None:
        """One large release more; a question to each."""
        columns = [f"x{at}" for at in range(4)]
        x = np.random.default_rng(number).normal(size=(LARGE_ROWS, len(columns))).round(4)
        dataset_id = self.upload(pl.DataFrame(x, schema=columns))
        body = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": columns, "k": 5}
        if release_id := self.submit(body).get("release_id"):
            self.kept[f"/v1/releases/{release_id}"] = ""
            self.large.append(release_id)
        question = {"queries": [{"x0": [-0.5, 0.5], "x1": [0.0, None]}]}
        for release_id in self.large:
            self.ask("POST", f"/v1/releases/{release_id}/count", self.asking, json=question)

    def work(self) -> None:
        """Rounds until it is time to stop."""
        for number in count():
            if self.stop.is_set():
                return
            self.round(number)


def _named(body: dict[str, Any], places: dict[str, str]) -> dict[str, Any]:
    text = json.dumps(body)
    for example, ours in places.items():
        text = text.replace(example, ours)
    named: dict[str, Any] = json.loads(text)
    return named


def processes(pid: int) -> Iterator[tuple[str, psutil.Process]]:
    """What belongs to a service, by role; processes that run jobs have theirs, numbered."""
    numbers: dict[str, Iterator[int]] = {}
    with suppress(psutil.Error):
        for one in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):
                name, above = one.name(), (one.parent() or one).name()
                role = next((role for begins, role in ROLES.items() if name.startswith(begins)), "other")
                if role in {"interactive", "batch"} and name == above:
                    role = f"{role} child {next(numbers.setdefault(role, count(1)))}"
                yield role, one


def sample(soak: Soak) -> dict[str, float]:
    """What the service holds now."""
    row: dict[str, float] = {"seconds": round(time.monotonic() - soak.begun, 1)}
    for role, one in processes(soak.process.pid):
        with suppress(psutil.Error, OSError):
            held = one.memory_full_info()
            size = held.pss if role in {"Postgres", "broker"} else held.rss
            row[f"MB {role}"] = round(row.get(f"MB {role}", 0.0) + size / 1e6, 1)
            row[f"fds {role}"] = row.get(f"fds {role}", 0) + one.num_fds()
    for name in ("storage", "postgres", "logs", "scratch"):
        row[f"MB on disk {name}"] = round(_size(soak.folder / name) / 1e6, 1)
    with suppress(Exception):  # Postgres is away: no figures for now
        row |= _rows(running_settings(soak.folder).database_url)
    for name, times in (("status", soak.reading), ("submit", soak.asking)):
        taken, times[:] = sorted(times), []
        if taken:
            row[f"ms {name} median"] = round(1e3 * taken[len(taken) // 2], 1)
            row[f"ms {name} worst"] = round(1e3 * taken[-1], 1)
    row["jobs accepted"] = len(soak.accepted)
    return row


def _rows(database_url: str) -> dict[str, float]:
    counted = {}
    with connect(database_url, connect_timeout=2) as connection:
        for table in TABLES:
            one = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
            counted[f"rows {table}"] = float((one or [0])[0])
    return counted


def _size(folder: Path) -> int:
    """Bytes of all files; those that are removed meanwhile, and their folders, have none."""
    total = 0
    for where, _, names in os.walk(folder):  # unlike `rglob`, which raises for a folder that is gone
        for name in names:
            with suppress(OSError):
                total += os.lstat(Path(where, name)).st_size
    return total


def start(folder: Path) -> tuple["subprocess.Popen[bytes]", Service]:
    """The service on a folder, once it is ready."""
    log = folder.with_name(f"serve-{time.monotonic_ns()}.log")
    command = [sys.executable, "-m", "app.cli", "serve", "--port", "0", "--data-dir", str(folder), "--workers", "2"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=bare_environment())
    address = wait_for_line(process, log, r"Surebox is ready at (\S+)")
    wait_for_line(process, log, "Admin key")
    return process, Service(address, (folder / "admin.key").read_text().strip(), folder)


def kill(*roles: str) -> Callable[[Soak], None]:
    """A SIGKILL of the first process of these roles that there is."""

    def strike(soak: Soak) -> None:
        there = dict(reversed(list(processes(soak.process.pid))))
        for role in roles:
            if role in there:
                there[role].kill()
                return

    return strike


def kill_all(soak: Soak) -> None:
    """The machine fails without a warning; the service is started again."""
    soak.process.kill()
    soak.process.wait()
    time.sleep(2.0)
    soak.process, soak.service = start(soak.folder)


def read_only(soak: Soak) -> None:
    """Storage can be read, not written, for a while."""
    storage = str(soak.folder / "storage")
    subprocess.run(["mount", "-o", "remount,bind,ro", storage], check=True)
    soak.stop.wait(READ_ONLY_SECONDS)
    subprocess.run(["mount", "-o", "remount,bind,rw", storage], check=True)


FAULTS: Final[dict[str, Callable[[Soak], None]]] = {
    "a job's process": kill("batch child 1"),
    "storage read-only": read_only,
    "interactive process": kill("interactive child 1"),
    "API": kill("API"),
    "broker": kill("broker"),
    "Postgres": kill("Postgres"),
    "batch worker": kill("batch"),
    "all": kill_all,
}


@contextmanager
def storage_of_its_own(folder: Path) -> Iterator[bool]:
    """Storage mounted on itself, so that it can be made read-only; False where nothing can be mounted."""
    storage = str(folder / "storage")
    mount = ["mount", "--bind", storage, storage]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "-l", storage], check=True)


def run(soak: Soak, *, seconds: float, fault_seconds: float, mounted: bool, path: Path) -> list[dict[str, float]]:
    """Load, faults and samples for so long; without faults at the end. What was measured is written all the while."""
    faults = cycle((name, strike) for name, strike in FAULTS.items() if mounted or strike is not read_only)
    rows, striking = [], threading.Thread()
    due = soak.begun + fault_seconds
    pool = ThreadPoolExecutor(1)
    load = pool.submit(soak.work)
    while (now := time.monotonic()) < soak.begun + seconds:
        rows.append(sample(soak))
        if len(rows) % SAMPLES_A_WRITE == 0:
            write_samples(rows, soak.faults, path)
        if due <= now < soak.begun + seconds - fault_seconds and not striking.is_alive():
            name, strike = next(faults)
            soak.faults.append((now - soak.begun, name))
            print(f"{now - soak.begun:.0f} s: {name}", flush=True)
            striking = threading.Thread(target=strike, args=(soak,))
            striking.start()
            due = now + fault_seconds
        time.sleep(max(0.0, SAMPLE_SECONDS - (time.monotonic() - now)))
    if striking.ident is not None:
        striking.join()
    soak.stop.set()
    load.result()  # load that ended early has measured nothing since
    write_samples(rows, soak.faults, path)
    return rows


def losses(soak: Soak) -> list[str]:
    """What was accepted and is not there, or failed for a fault of ours."""
    lost = []
    for job_id, method in soak.accepted.items():
        job = soak.ended(job_id)
        problem = str((job.get("error") or {}).get("type", ""))
        if "id" not in job or any(word in problem for word in OURS):
            lost.append(f"{method} {job_id}: {problem or job}")
    for path in soak.kept:
        answer = soak.ask("GET", path, [])
        if answer.status_code != httpx.codes.OK:
            lost.append(f"{path}: {answer.status_code}")
        elif path.startswith("/v1/releases/") and answer.json()["state"] == "published":
            data = soak.ask("GET", f"{path}/data", [], params={"format": "csv"})
            lost += [] if data.status_code == httpx.codes.OK else [f"{path}/data: {data.status_code}"]
    return lost


def write_samples(rows: list[dict[str, float]], faults: list[tuple[float, str]], path: Path) -> None:
    """Samples as CSV, each fault beside the sample before it."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    struck = {max((row["seconds"] for row in rows if row["seconds"] <= at), default=0.0): name for at, name in faults}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*names, "fault"])
        writer.writeheader()
        writer.writerows({**row, "fault": struck.get(row["seconds"], "")} for row in rows)


def read_samples(path: Path) -> tuple[list[dict[str, float]], list[tuple[float, str]]]:
    """What `write_samples` has written."""
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    faults = [(float(line["seconds"]), line.pop("fault")) for line in lines]
    rows = [{name: float(value) for name, value in line.items() if value} for line in lines]
    return rows, [(at, name) for at, name in faults if name]


def draw(rows: list[dict[str, float]], faults: list[tuple[float, str]], path: Path) -> None:
    """Memory, file descriptors, disk, rows and latency over time; faults as lines."""
    from docs.plots import FAINT, picture

    panels = {"MB": "memory, MB", "fds": "file descriptors", "MB on disk": "disk, MB", "rows": "rows", "ms": "ms"}
    title = "Memory, file descriptors, disk, rows and latency over time, faults as lines"
    minutes = round(rows[-1]["seconds"] / 60)
    about = f"Five panels over {minutes} minutes: memory, file descriptors, disk, rows and milliseconds."
    with picture(path, title, size=(8, 11), description=about, grid=(5, 1)) as axes:
        for place, (prefix, title) in zip(axes, panels.items(), strict=True):
            names = sorted({name for row in rows for name in row if name.startswith(prefix + " ")})
            names = [name for name in names if prefix != "MB" or not name.startswith("MB on disk ")]
            for name in names:
                points = [(row["seconds"] / 60, row[name]) for row in rows if name in row]
                place.plot(*zip(*points, strict=True), label=name.removeprefix(prefix + " "), linewidth=0.9)
            for at, _ in faults:
                place.axvline(at / 60, color=FAINT, linewidth=0.6, zorder=0)
            place.set_title(title)
            if prefix in {"ms", "rows"}:
                place.set_yscale("log")
            place.legend(fontsize=6, ncols=2, loc="center left", bbox_to_anchor=(1.0, 0.5))
        axes[-1].set_xlabel("minutes")


def main() -> None:
    """One run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--fault-seconds", type=float, default=60.0)
    parser.add_argument("--pause-seconds", type=float, default=0.0)
    parser.add_argument("--csv", type=Path, default=Path("soak.csv"))
    parser.add_argument("--picture", type=Path, default=None)
    parser.add_argument("--draw", type=Path, default=None, help="draw this CSV instead of a run")
    options = parser.parse_args()
    if options.draw is not None:
        draw(*read_samples(options.draw), options.picture)
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-"))) / "data"
        soak = Soak(folder, *start(folder), pause=options.pause_seconds)
        mounted = stack.enter_context(storage_of_its_own(folder))
        try:
            seconds, every = options.seconds, options.fault_seconds
            rows = run(soak, seconds=seconds, fault_seconds=every, mounted=mounted, path=options.csv)
            lost = losses(soak)
        finally:
            soak.stop.set()
            soak.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                soak.process.wait(60)
            soak.process.send_signal(signal.SIGKILL)
    if options.picture is not None:
        draw(rows, soak.faults, options.picture)
    print(f"{len(soak.accepted)} jobs accepted, {len(soak.kept)} datasets and releases, {len(soak.faults)} faults, ")
    print(f"{soak.repeated} requests repeated; refused: {soak.refused}; storage faults: {mounted}; lost: {lost}")
    assert not lost, lost


if __name__ == "__main__":
    main()
