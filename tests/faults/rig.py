"""A production in small: workers and housekeeping as processes, and what a test does to them."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psycopg
from psycopg.rows import dict_row

from app.auth.keys import create_key
from app.contracts.base import new_id
from app.contracts.datasets import (
    ColumnType,
    DatasetColumn,
    FileFormat,
    NumericSummary,
    Profile,
    ReadOptions,
    TypeSource,
)
from app.db.repositories import datasets
from app.db.session import Database
from app.embedded.broker import free_port
from app.embedded.worker import celery_arguments
from app.jobs.needs import Estimate
from app.jobs.submit import Submission, submit
from app.queue import JobQueue
from app.settings import Settings
from tests import patient
from tests.probe.contract import ProbeSpec
from tests.servers import wait_until

ROOT = Path(__file__).parents[2]
WORKER = "import sys; from tests.probe.worker import app; app.worker_main(sys.argv[1:])"
HOUSEKEEPING = "from app.housekeeping.loop import run; from app.settings import get_settings; run(get_settings())"
OWNER = "tester"
SERVER_SECRET = "s" * 40
DATASET_SHA256 = "d" * 64
DATASET_ROWS = 48_842

#: Short enough for tests, long enough for a busy machine.
QUICK = {
    "heartbeat_seconds": 0.2,
    "heartbeat_timeout_seconds": 2.5,
    "cancel_poll_seconds": 0.2,
    "checkpoint_seconds": 0.05,
    "requeue_after_seconds": 0.5,
    "housekeeping_seconds": 0.2,
    "max_unfinished_jobs": 1_000,
    "requests_per_minute": 1_000_000,
    "warm_kernels": False,  # the probe has kernels of its own
}


@dataclass
class Process:
    """One process group of ours."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def group(self, number: signal.Signals) -> None:
        os.killpg(self.process.pid, number)

    def children(self) -> list[int]:
        tasks = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        return [int(pid) for pid in tasks.read_text().split()]

    def text(self) -> str:
        return self.log.read_text()

    def end(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGCONT)
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(10)


@dataclass
class Rig:
    """One database, one broker, one storage folder, and processes on them."""

    database_url: str
    redis_url: str
    folder: Path
    settings_more: dict[str, Any] = field(default_factory=dict)
    storage_folder: Path | None = None
    started: list[Process] = field(default_factory=list)
    _database: Database | None = None
    _connection: psycopg.Connection[dict[str, Any]] | None = None
    _dataset_ids: dict[str, str] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Any]:
        return QUICK | {"staging_dir": str(self.folder / "scratch")} | self.settings_more

    @property
    def settings(self) -> Settings:
        return Settings(
            database_url=self.database_url,
            redis_url=self.redis_url,
            storage_url=f"file:{self.storage_folder or self.folder / 'storage'}",
            server_secret=SERVER_SECRET,
            **self.values,
        )

    def environment(self) -> dict[str, str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("SUREBOX_")}
        ours = {f"SUREBOX_{name.upper()}": str(value) for name, value in self.values.items()}
        settings = self.settings
        return (
            plain
            | ours
            | {
                "DATABASE_URL": settings.database_url,
                "REDIS_URL": settings.redis_url,
                "STORAGE_URL": settings.storage_url,
                "SUREBOX_SERVER_SECRET": SERVER_SECRET,
                "PYTHONPATH": str(ROOT),
                "OMP_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1",
            }
        )

    def start(self, *arguments: str, name: str, **environment: str) -> Process:
        log = self.folder / f"{name}-{len(self.started)}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-P", *arguments],
                stdout=output,
                stderr=output,
                env=self.environment() | environment,
                cwd=ROOT,
                start_new_session=True,
            )
        self.started.append(Process(process, log))
        return self.started[-1]

    def worker(self, *, concurrency: int = 1, queue: str = "batch", ready: bool = True, **environment: str) -> Process:
        arguments = celery_arguments(queue=queue, concurrency=concurrency, log_level="INFO")
        worker = self.start("-c", WORKER, *arguments, name="worker", **environment)
        if ready:
            wait_until(lambda: self.row("SELECT 1 FROM worker WHERE pid = %s", worker.pid), what=worker.text())
        return worker

    def api(self) -> tuple[Process, str]:
        """An API process, and where it listens."""
        port = free_port()
        api = self.start("-m", "app.cli", "serve", "--port", str(port), name="api")
        address = f"http://127.0.0.1:{port}"
        wait_until(lambda: _answers(address), what=api.text())
        return api, address

    def client(self, address: str) -> httpx.Client:
        _, key = create_key(
            database=self.database,
            secret=self.settings.server_secret,
            owner=OWNER,
            scopes=["admin"],
            name="test",
            now=datetime.now(UTC),
        )
        headers = {"Authorization": f"Bearer {key}"}
        # An upload is answered once a worker has read it; a real one that just started imports the numeric stack first,
        # which takes long where every core is busy. That nothing hangs is for the deadlines of `wait` to tell.
        return patient.Client(base_url=address, headers=headers, timeout=120)

    def housekeeping(self) -> Process:
        return self.start("-c", HOUSEKEEPING, name="housekeeping")

    @property
    def database(self) -> Database:
        if self._database is None:
            self._database = Database(self.database_url, pool_size=4)
        return self._database

    def dataset(self, owner: str = OWNER) -> str:
        """A dataset that is ready; the probe does not read it."""
        if owner not in self._dataset_ids:
            dataset_id = self._dataset_ids[owner] = new_id("ds")
            new = datasets.NewDataset(
                id=dataset_id,
                owner=owner,
                name="adult",
                tags={},
                options=ReadOptions(format=FileFormat.CSV),
                bytes=1,
                sha256=DATASET_SHA256,
                staged_key="staging/gone",
            )
            names = ("age", "hours")
            profile = Profile(
                rows=DATASET_ROWS,
                columns=[
                    DatasetColumn(
                        name=name, type=ColumnType.INTEGER, missing=0, distinct=70, type_from=TypeSource.DECLARED
                    )
                    for name in names
                ],
                numeric={name: NumericSummary(finite_minimum=0, finite_maximum=99, infinite=0) for name in names},
            )
            key = f"datasets/{dataset_id}/data.parquet"
            with self.database.unit_of_work() as unit:
                datasets.insert_dataset(unit.connection, new=new)
                datasets.set_ready(unit.connection, dataset_id=dataset_id, profile=profile, data_key=key, data_bytes=1)
        return self._dataset_ids[owner]

    def submit(
        self,
        *,
        broker: JobQueue | None = None,
        kind: type[ProbeSpec] = ProbeSpec,
        owner: str = OWNER,
        cpu_seconds: float | None = None,
        queue: str = "batch",
        as_kind: str = "anonymization",
        **spec: Any,
    ) -> str:
        """Submit a probe as the API does, which is expected to take so many CPU seconds; `as_kind` as what."""
        submission = Submission(
            owner=owner,
            key_id="key_test",
            spec=kind(dataset_id=self.dataset(owner), **spec),
            kind=as_kind,
            queue=queue,
            estimate=None if cpu_seconds is None else Estimate(cpu_seconds, 1.0),
        )
        with self.database.unit_of_work() as unit:
            return submit(unit, submission=submission, broker=broker or JobQueue(self.settings), max_unfinished=1_000)

    def rows(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        try:
            return self._connected().execute(statement, values).fetchall()
        except psycopg.OperationalError:  # the test has ended the server since the last question
            return self._connected(again=True).execute(statement, values).fetchall()

    def _connected(self, *, again: bool = False) -> psycopg.Connection[dict[str, Any]]:
        """The connection of `rows`: waiting asks a hundred times a second, a connection each would keep a core busy."""
        if self._connection is not None and (again or self._connection.closed):
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = psycopg.connect(self.database_url, autocommit=True, row_factory=dict_row)
        return self._connection

    def row(self, statement: str, *values: Any) -> dict[str, Any] | None:
        return next(iter(self.rows(statement, *values)), None)

    def job(self, job_id: str) -> dict[str, Any]:
        job = self.row("SELECT * FROM job WHERE id = %s", job_id)
        assert job is not None
        return job

    def wait(self, job_id: str, *states: str, seconds: float = 120.0) -> dict[str, Any]:
        wanted = states or ("succeeded", "failed", "cancelled")
        logs = [process.log for process in self.started]
        return wait_until(
            lambda: (job := self.job(job_id))["state"] in wanted and job,
            seconds=seconds,
            what=f"{job_id} {wanted}, see {logs}",
        )

    def events(self, job_id: str) -> list[str]:
        return [row["state"] for row in self.rows("SELECT state FROM job_event WHERE job_id = %s ORDER BY id", job_id)]

    def outcomes(self, job_id: str) -> list[str | None]:
        statement = "SELECT outcome FROM job_attempt WHERE job_id = %s ORDER BY attempt"
        return [row["outcome"] for row in self.rows(statement, job_id)]

    def journal(self, name: str = "journal") -> Path:
        path = self.folder / name
        path.touch()
        return path

    def stop(self) -> None:
        for process in self.started:
            process.end()
        if self._database is not None:
            self._database.close()
        if self._connection is not None:
            self._connection.close()


def _answers(address: str) -> bool:
    try:
        return patient.get(f"{address}/healthz", timeout=5).is_success
    except httpx.TransportError:
        return False


def steps(journal: Path) -> list[int]:
    """The numbers of the steps that were completed, in order, by whichever attempt."""
    return [int(line.split()[2]) for line in journal.read_text().splitlines() if " step " in line]
