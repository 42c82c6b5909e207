"""The whole service as a child of the demo, on a folder of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from app.embedded.broker import free_port
from app.errors import CannotStartError
from app.processes.cores import usable_cores

_START_SECONDS = 90.0


@contextmanager
def running(data_dir: Path, *, jobs: int) -> Iterator[tuple[str, str]]:
    """Start `surebox serve` on `data_dir`, with a worker for each of its jobs at once; stop it at the end.

    Yields
    ------
    tuple of str
        Its address and the admin key.
    """
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    log = data_dir / "demo.log"
    options = ["--port", str(port), "--data-dir", str(data_dir), "--workers", str(min(jobs, usable_cores()))]
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "REDIS_URL", "STORAGE_URL"} and not name.startswith("SUREBOX_")
    } | {"SUREBOX_WARM_KERNELS": "false"}  # the demo compiles what its jobs need, and the service soon stops
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "serve", *options],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        )
    try:
        _wait_ready(process, address, log)
        yield address, (data_dir / "admin.key").read_text().strip()
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_ready(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    with httpx.Client(base_url=address, timeout=2, trust_env=False) as http:  # one: each loads its authorities
        while time.monotonic() < deadline:
            if process.poll() is not None:
                lines = log.read_text(errors="replace").strip().splitlines()
                raise CannotStartError(f"The service did not start: {lines[-1] if lines else 'no message'}")
            with suppress(httpx.TransportError):
                if http.get("/readyz").status_code == httpx.codes.OK:
                    return
            time.sleep(0.1)
    raise CannotStartError(f"The service was not ready in {_START_SECONDS:g} s; see {log}.")
