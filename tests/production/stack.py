"""docker-compose.yml as processes: its commands and its environment, with host names replaced by addresses here."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from app.certificates.signing import new_pem
from app.embedded.broker import BrokerServer, free_port
from app.embedded.postgres import PostgresServer
from tests import patient
from tests.meta import compose
from tests.s3 import S3Server
from tests.service import bare_environment

READY_SECONDS = 180.0


@dataclass(slots=True)
class Container:
    """One container of a service, as a process."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path
    grace: float
    address: str | None = None
    process: subprocess.Popen[bytes] | None = None
    codes: list[int] = field(default_factory=list)

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdout=output, stderr=output, start_new_session=True
            )

    def stop(self) -> None:
        """SIGTERM, and no patience beyond what compose has; note the exit code."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.codes.append(self.process.wait(self.grace))
        finally:
            self.kill()

    def kill(self) -> None:
        """End whatever is left of its session."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def wait_ready(self) -> None:
        """Wait until an API process says that every part is there."""
        deadline = time.monotonic() + READY_SECONDS
        while self.address is not None:
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < deadline, self.log.read_text()[-3000:]
            try:
                operations = self.environment["SUREBOX_OPERATIONS_LISTEN"]
                if patient.get(f"http://{operations}/readyz", timeout=5).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)


class Stack:
    """Every service of ours, twice where compose can scale it."""

    def __init__(self, folder: Path, *, postgres: PostgresServer, broker: BrokerServer, s3: S3Server) -> None:
        self.folder = folder
        self.hosts = {"@postgres:5432": f"@127.0.0.1:{postgres.port}", "@redis:6379": f"@127.0.0.1:{broker.port}"}
        self.variables = {"STORAGE_URL": f"s3://{s3.bucket}/production"}
        self.handed_on = {
            "SUREBOX_S3_ENDPOINT": s3.endpoint,
            "SUREBOX_S3_ALLOW_HTTP": "true",
            "AWS_REGION": s3.environment["AWS_REGION"],
        }
        self.secrets = folder / "secrets"
        self._write_secrets(
            database_url=f"postgresql://surebox:{postgres.password}@postgres:5432/surebox",
            redis_url=f"redis://:{broker.password}@redis:6379/0",
            server_secret="0123456789abcdef" * 3,
            storage_key="fedcba9876543210" * 3,
            s3_access_key_id=s3.environment["AWS_ACCESS_KEY_ID"],
            s3_secret_access_key=s3.environment["AWS_SECRET_ACCESS_KEY"],
            signing_key=new_pem(),
        )
        self.services = compose.ours(self.variables)
        self.containers: list[Container] = []

    def _write_secrets(self, **known: str) -> None:
        """A file for each secret of the file, host names replaced by addresses here; empty where there is none."""
        self.secrets.mkdir(mode=0o700)
        for name in compose.whole()["secrets"]:
            content = known.get(name, "")
            for host, here in self.hosts.items():
                content = content.replace(host, here)
            (self.secrets / name).write_text(content and content + "\n")

    def environment(self, service: str) -> dict[str, str]:
        """What compose gives a service, here."""
        scratch = self.folder / "scratch"
        scratch.mkdir(mode=0o700, exist_ok=True)
        given = compose.environment(self.services[service], self.handed_on)
        for name, value in given.items():
            given[name] = value.replace(compose.SECRETS_FOLDER, f"{self.secrets}/")
        return bare_environment(**given, SUREBOX_STAGING_DIR=str(scratch))

    def once(self, service: str, *arguments: str) -> str:
        """Run a command of a service to its end (its own, or other arguments of `surebox`)."""
        done = subprocess.run(
            surebox(arguments or self.services[service]["command"]),
            env=self.environment(service),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, service: str, *, copies: int) -> list[Container]:
        """Start some containers of a service."""
        made = []
        for number in range(1, copies + 1):
            command, address, more = self.services[service]["command"], None, {}
            if service == "api":
                port = str(free_port())
                address = f"http://127.0.0.1:{port}"
                more["SUREBOX_OPERATIONS_LISTEN"] = f"127.0.0.1:{free_port()}"
                command = [{"0.0.0.0": "127.0.0.1", "8000": port}.get(word, word) for word in command]
            name = f"{service}-{number}"
            container = Container(
                name=name,
                command=surebox(command),
                environment=self.environment(service) | more,
                log=self.folder / f"{name}.log",
                grace=float(str(self.services[service]["stop_grace_period"]).removesuffix("s")),
                address=address,
            )
            container.start()
            made.append(container)
        self.containers += made
        return made

    def stop(self) -> None:
        """End everything, whatever state it is in."""
        for container in self.containers:
            container.kill()


def surebox(arguments: Sequence[str]) -> list[str]:
    """The entry point of the images, from this environment."""
    return [str(Path(sys.executable).with_name("surebox")), *arguments]
