"""The whole service on one machine, as a person starts it: one `surebox serve` with all it starts."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx

from app.auth.keys import create_key
from app.cli.settings import open_database
from tests import patient
from tests.stored import stored

READY_SECONDS = 240.0
STOP_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Service:
    """A running service."""

    address: str
    key: str
    folder: Path

    def logs(self, *, lines: int = 60) -> str:
        """The last lines that its processes have logged."""
        paths = [self.folder.with_name(self.folder.name + ".log"), *stored(self.folder, ".log")]
        tails = [(path.name, path.read_text(errors="replace").splitlines()[-lines:]) for path in paths if path.exists()]
        return "\n".join(f"{name}\n" + "\n".join(f"  {line}" for line in tail) for name, tail in tails)

    def client(self, *, owner: str | None = None, scopes: tuple[str, ...] = ("admin",)) -> httpx.Client:
        """A client with the admin key, or with a new one of another owner."""
        key = self.key if owner is None else self.new_key(owner, scopes)
        headers = {"Authorization": f"Bearer {key}"}
        return patient.Client(base_url=self.address, headers=headers)

    def new_key(self, owner: str, scopes: tuple[str, ...] = ("admin",)) -> str:
        """A key of another owner."""
        settings, database = open_database(self.folder)
        params = {"owner": owner, "scopes": list(scopes), "name": "tests", "now": datetime.now(UTC)}
        try:
            return create_key(database=database, secret=settings.server_secret, **params)[1]
        finally:
            database.close()


def bare_environment(**settings: str) -> dict[str, str]:
    """The environment without settings of whoever runs the tests, and with these.

    Workers load what their jobs need and no more: to make every method ready takes a worker longer than most tests.
    """
    ours = ("SUREBOX_", "DATABASE_URL", "REDIS_URL", "STORAGE_URL", "AWS_")
    others = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return others | {"SUREBOX_WARM_KERNELS": "false"} | settings


@contextmanager
def serving(folder: Path, *, workers: int = 1, **settings: str) -> Iterator[Service]:
    """Start `surebox serve` on a data folder at a free port; stop it at the end."""
    log = folder.with_name(folder.name + ".log")
    command = [sys.executable, "-m", "app.cli", "serve", "--port", "0", "--data-dir", str(folder)]
    command += ["--workers", str(workers)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=bare_environment(**settings))
    try:
        address = wait_for_line(process, log, r"Surebox is ready at (\S+)")
        wait_for_line(process, log, "Admin key")
        wait_for_workers(address)
        yield Service(address, (folder / "admin.key").read_text().strip(), folder)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        finally:
            process.kill()


def wait_for_workers(address: str) -> None:
    """The service is announced once its API answers; tests begin when all its parts are there."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            if patient.get(f"{address}/readyz").status_code != httpx.codes.SERVICE_UNAVAILABLE:
                return
        time.sleep(0.1)
    raise AssertionError("a part of the service has not come")


def wait_for_line(process: subprocess.Popen[bytes], log: Path, pattern: str) -> str:
    """The first group (or the whole) of the first match in a process' output, as soon as there is one."""
    deadline = time.monotonic() + READY_SECONDS
    while (match := re.search(pattern, log.read_text())) is None:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    return match.group(match.re.groups and 1)
