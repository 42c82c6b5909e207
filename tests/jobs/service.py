"""One API process inside the test's own, so that its queries can be counted, and what workers would do to its jobs."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from sqlalchemy import delete, event, insert, select, update

from app.auth.keys import create_key
from app.certificates.signing import new_pem
from app.contracts.base import new_id
from app.contracts.jobs import JobProgress, JobState
from app.db.repositories import claims
from app.db.repositories.job_results import StoredResult
from app.db.session import Database
from app.db.tables.datasets import dataset
from app.db.tables.jobs import job, job_result, provenance
from app.main import create_app
from app.settings import Settings
from tests import patient

SECRET = "a secret of at least thirty-two characters"
SIGNING_KEY = new_pem()
COLUMNS = [
    {"name": "age", "type": "integer", "missing": 0, "distinct": 40},
    {"name": "hours", "type": "number", "missing": 0, "distinct": 20},
    {"name": "town", "type": "string", "missing": 0, "distinct": 7},
]
NUMERIC = {name: {"finite_minimum": 0.0, "finite_maximum": 99.0, "infinite": 0} for name in ("age", "hours")}


def settings_of(database_url: str, redis_url: str, folder: Path, **more: Any) -> Settings:
    return Settings(
        database_url=database_url,
        redis_url=redis_url,
        storage_url=f"file:{folder}",
        server_secret=more.pop("server_secret", SECRET),
        requests_per_minute=more.pop("requests_per_minute", 1_000_000),
        signing_key=SIGNING_KEY,
        public_releases=more.pop("public_releases", True),
        # A test says what is answered, not how soon.
        database_timeout_seconds=more.pop("database_timeout_seconds", 60.0),
        **more,
    )


def body(dataset_id: str, **more: Any) -> dict[str, Any]:
    return {
        "method": "boxes",
        "dataset_id": dataset_id,
        "quasi_identifiers": ["age", "hours"],
        "k": 5,
        "partition": "fast",
    } | more


class Service:
    """A served API and its database."""

    def __init__(self, settings: Settings) -> None:
        self.owner = "ada"
        self.settings = settings
        self.database = Database(settings.database_url, pool_size=3)
        self.app = create_app(settings)
        self.statements: list[str] = []
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            self.app, access_log=False, log_config=None, timeout_graceful_shutdown=1, lifespan="on", ws="none"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def start(self) -> None:
        self._thread.start()
        self._socket.listen()
        with patient.Client() as client:
            client.get(f"{self.url}/v1/jobs", timeout=20)
        event.listen(self.app.state.resources.database.engine, "before_cursor_execute", self._count)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=20)
        self._socket.close()
        self.database.close()
        assert not self._thread.is_alive()

    def _count(self, _connection: object, _cursor: object, statement: str, *_: object) -> None:
        self.statements.append(statement)

    @property
    def waiting(self) -> int:
        count: int = self.app.state.resources.notifications.waiting
        return count

    def key(self, owner: str, *scopes: str) -> str:
        now = datetime.now(UTC)
        return create_key(
            database=self.database,
            secret=self.settings.server_secret,
            owner=owner,
            scopes=scopes or ("admin",),
            name="test",
            now=now,
            expires_at=now + timedelta(days=1),
            renewable_until=now + timedelta(days=2),
        )[1]

    @contextlib.contextmanager
    def client(self, owner: str | None = None, *scopes: str) -> Iterator[httpx.Client]:
        headers = {"Authorization": f"Bearer {self.key(owner or self.owner, *scopes)}"}
        with patient.Client(base_url=self.url, headers=headers, timeout=40) as client:
            yield client

    def dataset(self, owner: str | None = None, state: str = "ready") -> str:
        made = new_id("ds")
        with self.database.unit_of_work() as unit:
            unit.connection.execute(
                insert(dataset).values(
                    id=made, owner=owner or self.owner, name="d", state=state, options={"format": "csv"}, bytes=1,
                    sha256="0" * 64, rows=100, columns=COLUMNS, numeric=NUMERIC,
                )
            )  # fmt: skip
        return made

    def submit(self, client: httpx.Client, dataset_id: str, **more: Any) -> str:
        answer = client.post("/v1/anonymizations", json=body(dataset_id, **more))
        assert answer.status_code == 202, answer.text
        made: str = answer.json()["id"]
        return made

    def alter(self, job_id: str, **values: Any) -> None:
        with self.database.unit_of_work() as unit:
            unit.connection.execute(update(job).where(job.c.id == job_id).values(**values))

    def row(self, job_id: str) -> Any:
        with self.database.read() as connection:
            return connection.execute(select(job).where(job.c.id == job_id)).one()

    def claim(self, job_id: str) -> claims.Claim:
        row = self.row(job_id)
        known = {(row.method, row.spec_version)}
        with self.database.unit_of_work() as unit:
            claimed = claims.claim(unit.connection, job_id=job_id, worker="test", known=known)
        assert claimed is not None
        return claimed

    def progress(self, claimed: claims.Claim, fraction: float) -> None:
        with self.database.unit_of_work() as unit:
            progress = JobProgress(fraction=fraction, stage="partition")
            assert not claims.heartbeat(
                unit.connection, job_id=claimed.id, attempt=claimed.attempt, progress=progress
            ).fenced

    def release_claim(self, claimed: claims.Claim) -> None:
        with self.database.unit_of_work() as unit:
            claims.release_claim(unit.connection, job_id=claimed.id, attempt=claimed.attempt)

    def finish(self, claimed: claims.Claim, state: JobState = JobState.SUCCEEDED, whole: bytes | None = None) -> None:
        ending = claims.AttemptOutcome(
            state=state,
            outcome=state.value,
            result={"box_count": 3} if state is JobState.SUCCEEDED else None,
            error={"type": "/problems/x", "title": "x", "status": 422} if state is JobState.FAILED else None,
        )
        with self.database.unit_of_work() as unit:
            claims.finish(unit.connection, claimed=claimed, ending=ending)
            if whole is not None:
                stored = StoredResult(body=whole, key=None, bytes=len(whole), sha256="ab" * 32)
                claims.insert_result(unit.connection, job_id=claimed.id, result=stored)

    def store_result(self, job_id: str, *, key: str, size: int) -> None:
        with self.database.unit_of_work() as unit:
            unit.connection.execute(delete(job_result).where(job_result.c.job_id == job_id))
            unit.connection.execute(insert(job_result).values(job_id=job_id, key=key, bytes=size, sha256="cd" * 32))

    def store_provenance(self, job_id: str, whole: dict[str, Any], public: dict[str, Any] | None = None) -> None:
        now = datetime.now(UTC)
        with self.database.unit_of_work() as unit:
            unit.connection.execute(
                insert(provenance).values(
                    job_id=job_id, owner="ada", requested_at=now, finished_at=now, seconds=1.0, spec={}, versions={},
                    attempts=[], public=public or {}, restricted=whole,
                )
            )  # fmt: skip

    def run(self, job_id: str, state: JobState = JobState.SUCCEEDED) -> None:
        self.finish(self.claim(job_id), state)


class EventReader:
    """Server-sent events of one response."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines = response.iter_lines()

    def __iter__(self) -> Iterator[tuple[str, int, dict[str, Any]]]:
        fields: dict[str, str] = {}
        for line in self._lines:
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "data" in fields:
                yield fields["event"], int(fields["id"]), json.loads(fields["data"])
                fields = {}
