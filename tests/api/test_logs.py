"""Logs of a real process: one JSON object a line, ids, templates, and never what was sent."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import patient
from tests.api.conftest import SECRET

PLANTED = "planted-4711"
FOREIGN = f"""
import logging, sys
from app.observability.logs import configure_logging
from app.settings import Settings
import structlog
configure_logging(Settings(log_json=True))
configure_logging(Settings(log_json=True))
structlog.contextvars.bind_contextvars(job_id="job_1")
structlog.get_logger("x").info("ours", rows=3)
logging.getLogger("some.library").warning("could not parse %s", "{PLANTED}")
logging.getLogger("asyncio").error("never retrieved\\nfuture: {PLANTED}")
logging.getLogger("uvicorn.error").info("listens at %s:%d", "127.0.0.1", 80)
logging.getLogger("uvicorn.access").info("GET /v1/{PLANTED}")
logging.getLogger("celery.app.trace").error("Task raised: %(exc)s", {{"exc": "{PLANTED}"}})
import warnings; warnings.warn("{PLANTED}")
def parse():
    try:
        int("{PLANTED}")
    except ValueError as error:
        raise KeyError("{PLANTED}") from error
try:
    parse()
except KeyError:
    logging.getLogger("some.library").exception("failed for %s", "{PLANTED}")
    structlog.get_logger("x").exception("ours failed")
logging.getLogger("some.library").debug("not shown")
"""


def lines(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_foreign_messages_lose_their_arguments_and_exceptions_their_messages() -> None:
    done = subprocess.run([sys.executable, "-c", FOREIGN], capture_output=True, text=True, check=True, timeout=60)
    assert PLANTED not in done.stdout + done.stderr
    logged = lines(done.stderr)
    events = [line["event"] for line in logged]
    assert events == [
        "ours", "could not parse %s", "never retrieved", "listens at 127.0.0.1:80", "Task raised: %(exc)s",
        "<string>:15: UserWarning", "failed for %s", "ours failed",
    ]  # fmt: skip
    assert all(line["job_id"] == "job_1" and line["timestamp"] and line["level"] for line in logged)
    for failed in logged[-2:]:
        assert failed["error"] == "KeyError"
        assert failed["causes"] == ["ValueError"]
        assert any(frame.endswith(" parse") for frame in failed["frames"])


@pytest.fixture
def process(database_url: str, redis_url: str, tmp_path: Path) -> Any:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        environment = {
            **os.environ,
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "STORAGE_URL": f"file:{tmp_path / 'storage'}",
            "SUREBOX_SERVER_SECRET": SECRET,
            "SUREBOX_LOG_JSON": "true",
        }
        log = tmp_path / "api.log"
        with log.open("w") as output:
            serve = "import sys; from app.embedded.api import serve_api; serve_api(int(sys.argv[1]))"
            child = subprocess.Popen(
                [sys.executable, "-c", serve, str(listener.fileno())],
                env=environment,
                pass_fds=[listener.fileno()],
                stdout=output,
                stderr=output,
            )
            try:
                yield address, log, child
            finally:
                child.kill()
                child.wait()


def test_an_api_process_logs_templates_and_request_ids(process: tuple[str, Path, subprocess.Popen[bytes]]) -> None:
    address, log, child = process
    with patient.Client(base_url=address, timeout=30) as client:
        client.get("/healthz")
        client.get(f"/v1/jobs/{PLANTED}?tag={PLANTED}", headers={"x-request-id": "abc-1", "authorization": PLANTED})
        client.post(f"/v1/{PLANTED}", content=PLANTED)
    child.terminate()
    child.wait(20)
    written = log.read_text()
    assert PLANTED not in written
    requests = [line for line in lines(written) if line["event"] == "request"]
    assert [(line["method"], line["route"], line["status"]) for line in requests] == [
        ("GET", "/v1/jobs/{job_id}", 401),
        ("POST", "unmatched", 401),
    ]
    assert requests[0]["request_id"] == "abc-1"
    assert requests[0]["seconds"] < time.monotonic()
