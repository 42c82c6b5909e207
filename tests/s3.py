"""A local S3 service as a real process, for tests."""

import subprocess
import sys
import time
from pathlib import Path

import httpx

from app.embedded.broker import free_port
from tests import patient


class S3Server:
    """moto's server on a port of its own, with one bucket."""

    bucket = "surebox-test"

    def __init__(self, log: Path) -> None:
        self._log = log
        self.endpoint = f"http://127.0.0.1:{free_port()}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs, beside its settings, to be let in."""
        return {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}

    def start(self) -> None:
        port = self.endpoint.rsplit(":", 1)[1]
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 120
        while True:
            try:
                patient.put(f"{self.endpoint}/{self.bucket}").raise_for_status()
            except httpx.TransportError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def unfinished_uploads(self) -> int:
        """Multipart uploads that were neither completed nor aborted."""
        return patient.get(f"{self.endpoint}/{self.bucket}?uploads").text.count("<Upload>")
