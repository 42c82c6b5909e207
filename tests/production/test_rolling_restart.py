"""The production shape under load while our processes are restarted: accepted jobs end, once.

docker-compose.yml's own commands run as processes: two APIs, two workers of each queue, housekeeping twice, over a
Postgres and a Valkey of their own and S3 storage. `make test` restarts one process of each kind, `make long` all.
"""

import hashlib
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from app.embedded.broker import BrokerServer
from app.embedded.postgres import PostgresServer
from tests import patient
from tests.drawing import LONG
from tests.production.load import Load
from tests.production.stack import Container, Stack
from tests.s3 import S3Server
from tests.servers import Databases

END_SECONDS = 600.0
#: An API process ends by the signal itself once everything is closed.
ORDERLY = {0, -signal.SIGTERM}
FINISHED = {"succeeded", "failed", "cancelled"}


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    server = S3Server(tmp_path / "s3.log")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def stack(tmp_path: Path, own_postgres: PostgresServer, own_broker: BrokerServer, s3: S3Server) -> Iterator[Stack]:
    Databases(own_postgres).empty("surebox")
    made = Stack(tmp_path, postgres=own_postgres, broker=own_broker, s3=s3)
    yield made
    made.stop()


def people(rows: int) -> bytes:
    """Made-up microdata, the same in every run."""
    lines = [f"{18 + i * 7919 % 63},{5 + i * 104729 % 56},{(i * 15485863) % 90001 + 1000}" for i in range(rows)]
    return ("age,hours,wage\n" + "\n".join(lines) + "\n").encode()


def restart(container: Container) -> None:
    container.stop()
    container.start()
    container.wait_ready()


def wait_finished(http: httpx.Client, jobs: set[str]) -> dict[str, dict[str, object]]:
    """Every job, as soon as all have ended."""
    ended: dict[str, dict[str, object]] = {}
    deadline = time.monotonic() + END_SECONDS
    while len(ended) < len(jobs):
        for job in sorted(jobs - set(ended)):
            answer = http.get(f"/v1/jobs/{job}", headers={"Prefer": "wait=5"}).raise_for_status().json()
            if answer["state"] in FINISHED:
                ended[job] = answer
        assert time.monotonic() < deadline, f"{len(jobs) - len(ended)} of {len(jobs)} jobs have not ended"
    return ended


def test_every_accepted_job_ends_once(stack: Stack, own_postgres: PostgresServer) -> None:
    stack.once("migrate")
    with pytest.raises(AssertionError, match="No worker of this host"):
        stack.once("worker-batch", "healthcheck")
    apis = stack.start("api", copies=2)
    rest = [
        *stack.start("worker-interactive", copies=2),
        *stack.start("worker-batch", copies=2),
        *stack.start("housekeeping", copies=2),
    ]
    for api in apis:
        api.wait_ready()
    stack.once("worker-batch", "healthcheck")
    key = stack.once("api", "keys", "create", "--owner", "load", "--name", "load", "--scope", "admin").strip()
    first, second = (str(api.address) for api in apis)
    headers = {"Authorization": f"Bearer {key}"}
    with patient.Client(base_url=second, headers=headers) as http:
        dataset = patient.post(
            f"{first}/v1/datasets?name=people",
            content=people(2_000),
            headers=headers | {"Content-Type": "text/csv"},
            timeout=60,
            trust_env=False,
        )
        assert dataset.status_code == httpx.codes.CREATED, dataset.text
        spec = {"method": "boxes", "dataset_id": dataset.json()["id"], "k": 5}
        spec["quasi_identifiers"] = ["age", "hours", "wage"]
        load = Load([first, second], key, spec | {"partition": "fast"})
        load.start()
        try:
            for container in [*apis, *rest] if LONG else [*apis[1:], *rest[::2]]:
                restart(container)
        finally:
            load.stop()
        assert not load.problems
        jobs = set(load.accepted.values())
        assert len(jobs) == len(load.accepted) > 5
        ended = wait_finished(http, jobs)
        assert Counter(str(job["state"]) for job in ended.values()) == {"succeeded": len(jobs)}
        assert_released_once(http, ended)
    assert_ended_once(own_postgres, jobs)
    for container in stack.containers:
        container.stop()
        assert set(container.codes) <= ORDERLY, f"{container.name} left with {container.codes}"


def assert_released_once(http: httpx.Client, ended: dict[str, dict[str, object]]) -> None:
    """One release a job, whole: its bytes are what its checksum says."""
    releases = {str(job["release_id"]) for job in ended.values()}
    assert len(releases) == len(ended)
    for release_id in sorted(releases)[:3]:
        release = http.get(f"/v1/releases/{release_id}").raise_for_status().json()
        data = http.get(f"/v1/releases/{release_id}/data", params={"format": "csv"}).raise_for_status().content
        assert hashlib.sha256(data).hexdigest() == release["files"]["csv"]["sha256"]
        assert data.count(b"\n") == release["rows"] + 1


def assert_ended_once(server: PostgresServer, jobs: set[str]) -> None:
    """No job ended twice, none of another client's making, no release without its job."""
    with psycopg.connect(server.url()) as connection:
        ends = connection.execute(
            "SELECT job_id, count(*) FROM job_event JOIN job ON job.id = job_id"
            " WHERE job_event.state = 'succeeded' AND job.listed GROUP BY job_id"
        ).fetchall()
        assert dict(ends) == dict.fromkeys(jobs, 1)
        released = connection.execute("SELECT job_id FROM release").fetchall()
        assert sorted(job for (job,) in released) == sorted(jobs)
