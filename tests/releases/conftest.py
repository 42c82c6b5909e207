from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.contracts.base import new_id
from app.contracts.datasets import FileFormat, ReadOptions
from app.db.repositories import datasets, releases
from app.db.tables.jobs import provenance
from app.embedded.broker import BrokerServer
from app.jobs.submit import Submission, submit
from app.methods.ingest.spec import IngestSpec
from app.queue import JobQueue
from app.settings import Settings
from app.storage.protocol import Storage
from tests import patient
from tests.processes import Processes, processes
from tests.servers import Databases

CSV = b"box,age_lo,age_hi\n" + b"".join(b"%d,%d,%d\n" % (i, i, i + 5) for i in range(200_000))
STATISTIC = {
    "kind": "mean", "of": ["age"], "weight": 1.0, "estimate": 38.6, "first_order": [38.1, 39.1],
    "guaranteed": [38.0, 39.2], "attained": [38.2, 39.0], "sharp": False, "gap": 0.1,
}  # fmt: skip
RESTRICTED = {"true_value": 38.58123, "shift": 0.0771, "delta_at_records": 0.5551, "dismissed": 7771}


@dataclass(frozen=True)
class Releases:
    """A running API, and a client of one owner who has releases."""

    processes: Processes
    owner: str
    client: httpx.Client
    storage: Storage

    def publish(
        self, *, method: str = "boxes", tags: dict[str, str] | None = None, files: dict[str, bytes] | None = None
    ) -> str:
        """Write a release as the end of a job does: bytes first, then its rows in one transaction."""
        files = {"csv": CSV, "parquet": b"PAR1" + CSV[:100], "ndjson": b'{"box":0}\n'} if files is None else files
        dataset_id, release_id = new_id("ds"), new_id("rel")
        stored = []
        for name, content in files.items():
            checksum = sha256(content).hexdigest()
            key = f"releases/{release_id}/{checksum}.{name}"
            with self.storage.writer(key) as writer:
                writer.write(content)
            stored.append(releases.ReleaseFile(format=name, key=key, sha256=checksum, bytes=len(content)))
        with self.processes.database.unit_of_work() as unit:
            options = ReadOptions(format=FileFormat.CSV)
            datasets.insert_dataset(
                unit.connection,
                new=datasets.NewDataset(
                    id=dataset_id, owner=self.owner, name="x", tags={}, options=options, bytes=1, sha256="0" * 64,
                    staged_key="staging/none",
                ),
            )  # fmt: skip
            spec = IngestSpec(dataset_id=dataset_id, options=options, staged_key="staging/none", bytes=1)
            submission = Submission(
                owner=self.owner, key_id=None, spec=spec, kind="anonymization", queue=spec.queue,
            )  # fmt: skip
            broker = JobQueue(Settings(redis_url=self.processes.settings["REDIS_URL"]))
            job_id = submit(unit, submission=submission, broker=broker, max_unfinished=1000)
            unknown = "UPDATE job SET spec_version = 99 WHERE id = %s"  # to every worker: it stays queued
            unit.connection.exec_driver_sql(unknown, (job_id,))
            releases.insert_release(
                unit.connection,
                new=releases.ReleaseRow(
                    id=release_id, owner=self.owner, job_id=job_id, dataset_id=dataset_id, method=method, rows=200_000,
                    columns=[{"name": "box", "type": "integer"}], flags=["reproducible"], tags=tags or {},
                    statistics=[STATISTIC | RESTRICTED],
                ),
                files=stored,
            )  # fmt: skip
            unit.connection.execute(
                provenance.insert().values(
                    job_id=job_id, owner=self.owner, requested_at=datetime.now(UTC), finished_at=datetime.now(UTC),
                    seconds=1.0, spec={}, versions={}, attempts=[], release_id=release_id,
                    public={"entity": {"release": {}}}, restricted={"entity": {"planted_restricted": {}}},
                )
            )  # fmt: skip
        return release_id


PUBLIC = {"SUREBOX_PUBLIC_RELEASES": "true"}


@pytest.fixture(scope="session")
def service(
    databases: Databases, broker_server: BrokerServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Processes, str]]:
    """One API process per test session."""
    folder: Path = tmp_path_factory.mktemp("releases")
    url = databases.fresh()
    with processes(folder, database_url=url, redis_url=broker_server.tcp_url(), **PUBLIC) as made:
        yield made, made.api()[0]
    databases.drop(url)


@pytest.fixture
def make_releases(service: tuple[Processes, str]) -> Iterator[Callable[..., Releases]]:
    """Owners of the service."""
    running, address = service
    clients: list[httpx.Client] = []

    def make(owner: str | None = None, **key: Any) -> Releases:
        owner = owner or f"owner-{uuid4().hex[:8]}"
        headers = {"Authorization": f"Bearer {running.key(owner, **key)}"}
        clients.append(patient.Client(base_url=address, headers=headers, timeout=180))
        return Releases(running, owner, clients[-1], running.storage())

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def published(make_releases: Callable[..., Releases]) -> Releases:
    """The service as a new owner sees it."""
    return make_releases()
