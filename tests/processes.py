"""The service's processes as production has them: API, workers, housekeeping, each of its own, on servers of tests."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import httpx
from pydantic import SecretStr

from app.auth.keys import create_key
from app.db.session import Database
from app.embedded.broker import free_port
from app.settings import Settings
from app.storage.factory import open_storage
from app.storage.protocol import Storage
from tests import patient
from tests.service import bare_environment

SECRET = "a secret of tests with more than 32 characters"
START_SECONDS = 180.0
STOP_SECONDS = 60.0


@dataclass(slots=True)
class Processes:
    """Starts processes on one database, one broker and one storage, and ends them all."""

    folder: Path
    settings: dict[str, str]
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _database: Database | None = None

    @property
    def database(self) -> Database:
        """The database that all of them share."""
        if self._database is None:
            self._database = Database(self.settings["DATABASE_URL"], pool_size=2)
        return self._database

    def storage(self) -> Storage:
        """The storage that all of them share."""
        return open_storage(Settings(storage_url=self.settings["STORAGE_URL"]))

    def start(self, *arguments: str, log: str, **settings: str) -> subprocess.Popen[bytes]:
        """Start `surebox` with these arguments."""
        with (self.folder / f"{log}.log").open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "app.cli", *arguments],
                env=bare_environment(**{**self.settings, **settings}),
                stdout=output,
                stderr=output,
            )
        self.started.append(process)
        return process

    def api(self, **settings: str) -> tuple[str, subprocess.Popen[bytes]]:
        """Start an API process; its address once it is alive."""
        port = free_port()
        process = self.start("serve", "--port", str(port), log="api", **settings)
        address = f"http://127.0.0.1:{port}"
        self.wait(lambda: _answers(f"{address}/healthz"), process)
        return address, process

    def worker(self, queue: str) -> subprocess.Popen[bytes]:
        """Start a worker; it takes jobs once it is up."""
        return self.start("worker", "--queue", queue, log=f"worker-{queue}")

    def wait_ready(self, address: str) -> None:
        """Wait until every part of the service is there."""
        self.wait(lambda: _answers(f"{address}/readyz"))

    def wait(self, condition: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            assert process is None or process.poll() is None, self.logs()
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.05)

    def logs(self) -> str:
        """The end of every log."""
        return "\n".join(f"== {path.name}\n{path.read_text()[-2000:]}" for path in sorted(self.folder.glob("*.log")))

    def key(self, owner: str | None = None, scopes: tuple[str, ...] = ("admin",)) -> str:
        """A new key, of a new owner if none is named."""
        return create_key(
            database=self.database,
            secret=SecretStr(SECRET),
            owner=owner or f"owner-{uuid4().hex[:8]}",
            scopes=scopes,
            name="test",
            now=datetime.now(UTC),
        )[1]

    def stop(self) -> None:
        """End everything."""
        for process in self.started:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self.started:
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._database is not None:
            self._database.close()


@contextmanager
def processes(folder: Path, *, database_url: str, redis_url: str, **settings: str) -> Iterator[Processes]:
    """Processes that are ended with the block."""
    given = {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "STORAGE_URL": f"file:{folder / 'storage'}",
        "SUREBOX_SERVER_SECRET": SECRET,
        "SUREBOX_REQUESTS_PER_MINUTE": "1000000",
    }
    made = Processes(folder, given | settings)
    try:
        yield made
    finally:
        made.stop()


def _answers(url: str) -> bool:
    try:
        return patient.get(url, timeout=5).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False
