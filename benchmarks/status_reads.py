"""Status reads per second of one API process, next to a bare SQLAlchemy Core read behind the same framework.

    python benchmarks/status_reads.py [--seconds 4] [--rounds 5] [--connections 16]

Starts a Postgres, a broker and three web processes of its own: Surebox's API (a key, a scope, all middleware, the job
with its progress), the same framework with one `SELECT … WHERE id = …` of SQLAlchemy Core, and the same framework with
an empty JSON route. They are measured in turns, so that whatever else the machine does falls on all alike. Exits with 1
when the API reaches less than 0.6 of the bare read.
"""

import argparse
import asyncio
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.recorded import as_table, printed, record  # noqa: E402

COMMAND = "python benchmarks/status_reads.py"
HEADS = ("route", "answers a second", "median answer, ms", "the process's own time, ms")
SECONDS, ROUNDS, CONNECTIONS = 4.0, 5, 16
NEEDED = 0.6
OWNER, JOB = "bench", "job_bench"
TARGETS = ("surebox", "bare read", "empty route")


def serve_bare(descriptor: int) -> None:
    """The yardstick: FastAPI, a plain route, SQLAlchemy Core, uvicorn with the same options as ours."""
    import uvicorn
    from fastapi import FastAPI
    from fastapi.responses import JSONResponse
    from sqlalchemy import create_engine, select

    from app.db.tables.jobs import job

    app = FastAPI()
    url = os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://", 1)
    engine = create_engine(url, pool_size=10, max_overflow=10)
    columns = [job.c.id, job.c.method, job.c.state, job.c.tags, job.c.spec, job.c.attempt, job.c.created_at]

    @app.get("/v1/jobs/{job_id}")
    def read(job_id: str) -> JSONResponse:
        with engine.connect() as connection:
            row = connection.execute(select(*columns).where(job.c.id == job_id)).mappings().one()
        return JSONResponse({**row, "created_at": row["created_at"].isoformat()})

    @app.get("/empty")
    def empty() -> JSONResponse:
        return JSONResponse({})

    config = uvicorn.Config(app, access_log=False, log_config=None, ws="none", server_header=False)
    with socket.socket(fileno=descriptor) as listener:
        uvicorn.Server(config).run(sockets=[listener])


def serve_ours(descriptor: int) -> None:
    from app.embedded.api import serve_api

    serve_api(descriptor)


@contextmanager
def serving(role: str, environment: dict[str, str], log: Path) -> Iterator[tuple[int, int]]:
    """Serve in a process of its own; gives its port and process id."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener, log.open("w") as output:
        descriptor = listener.fileno()
        command = [sys.executable, __file__, "--role", role, "--descriptor", str(descriptor)]
        child = subprocess.Popen(command, env=environment, pass_fds=[descriptor], stdout=output, stderr=output)
        try:
            yield listener.getsockname()[1], child.pid
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait(20)


class Reader(asyncio.Protocol):
    """One connection that asks again as soon as it is answered, and counts."""

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.answered = 0
        self.latencies: list[float] = []
        self._left = 0
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.ask()

    def ask(self) -> None:
        self._sent = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        if self._left == 0:
            head, _, body = data.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"refused: {data[:300]!r}")
            lower = head.lower()
            begin = lower.index(b"content-length:") + 15
            self._left = int(lower[begin:].split(b"\r\n", 1)[0]) - len(body)
        else:
            self._left -= len(data)
        if self._left == 0:
            self.answered += 1
            self.latencies.append(time.perf_counter() - self._sent)
            self.ask()


class Round(NamedTuple):
    """What one target did in one round."""

    rate: float
    milliseconds: float
    cpu_milliseconds: float


async def load(port: int, pid: int, path: str, key: str, *, connections: int, seconds: float) -> Round:
    """Answers per second, the median of their milliseconds, and the process's own time for one."""
    request = f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
    loop = asyncio.get_running_loop()
    readers = [Reader(request) for _ in range(connections)]
    for reader in readers:
        await loop.create_connection(lambda reader=reader: reader, "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.sleep(0.5)  # warm
    before, started, cpu = sum(reader.answered for reader in readers), time.perf_counter(), cpu_seconds(pid)
    await asyncio.sleep(seconds)
    answered = sum(reader.answered for reader in readers) - before
    rate, cost = answered / (time.perf_counter() - started), 1000 * (cpu_seconds(pid) - cpu) / max(1, answered)
    for reader in readers:
        reader.transport.abort()
    return Round(rate, 1000 * median(value for reader in readers for value in reader.latencies), cost)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def prepare(database_url: str, secret: str) -> str:
    """One job and a key that may read it."""
    from pydantic import SecretStr
    from sqlalchemy import text

    from app.auth.keys import create_key
    from app.db.migrate import upgrade
    from app.db.session import Database

    upgrade(database_url)
    database = Database(database_url)
    spec = {"method": "boxes", "dataset_id": "ds_bench", "quasi_identifiers": ["age", "hours"], "k": 5, "keep": [],
            "seed": None}  # fmt: skip
    with database.unit_of_work() as unit:
        unit.connection.execute(
            text(
                "INSERT INTO job (id, owner, kind, method, queue, state, spec)"
                " VALUES (:id, :owner, 'anonymization', 'boxes', 'batch', 'running', :spec)"
            ),
            {"id": JOB, "owner": OWNER, "spec": json.dumps(spec)},
        )
        unit.connection.execute(text("INSERT INTO job_progress (job_id) VALUES (:id)"), {"id": JOB})
    _, key = create_key(
        database=database,
        secret=SecretStr(secret),
        owner=OWNER,
        scopes=["jobs:read"],
        name="bench",
        now=datetime.now(UTC),
    )
    database.close()
    return key


def started(stack: ExitStack, folder: Path) -> tuple[dict[str, str], str]:
    """A Postgres and a broker of its own; the environment of processes that use them, and a key."""
    from app.embedded.broker import BrokerServer, free_port
    from app.embedded.postgres import PostgresServer

    log, run = folder / "server.log", folder / "run"
    postgres = PostgresServer(
        folder=folder / "postgres", sockets=run, password=secrets.token_urlsafe(), log=log, durable=False
    )
    broker = BrokerServer(sockets=run, password=secrets.token_urlsafe(), log=folder / "broker.log", port=free_port())
    for server in (postgres, broker):
        server.start()
        stack.callback(server.stop)
    secret, url = secrets.token_hex(32), postgres.url("postgres")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DATABASE_URL": url,
        "REDIS_URL": broker.url(),
        "STORAGE_URL": f"file:{folder / 'storage'}",
        "SUREBOX_SERVER_SECRET": secret,
    }
    return environment, prepare(url, secret)


def measure(options: argparse.Namespace) -> dict[str, list[Round]]:
    """Rounds of each target, in turns."""
    folder = Path(tempfile.mkdtemp(prefix="sbx-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        environment, key = started(stack, folder)
        ours = stack.enter_context(serving("ours", environment, folder / "ours.log"))
        bare = stack.enter_context(serving("bare", environment, folder / "bare.log"))
        targets = dict(
            zip(TARGETS, ((*ours, f"/v1/jobs/{JOB}"), (*bare, f"/v1/jobs/{JOB}"), (*bare, "/empty")), strict=True)
        )
        for port, _, path in targets.values():  # the listener queues it until the process has started
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {key}"}
            )
            urllib.request.urlopen(request, timeout=60).read()
        by_target: dict[str, list[Round]] = {name: [] for name in targets}
        for _ in range(options.rounds):
            for name, (port, pid, path) in targets.items():
                run = load(port, pid, path, key, connections=options.connections, seconds=options.seconds)
                by_target[name].append(asyncio.run(run))
        return by_target


def row(name: str, rounds: list[Round]) -> list[str]:
    """One row: medians of one target's rounds."""
    rate, answer, own = (median(values) for values in zip(*rounds, strict=True))
    return printed(name, f"{rate:.0f}", f"{answer:.2f}", f"{own:.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--role", choices=["ours", "bare"], help=argparse.SUPPRESS)
    parser.add_argument("--descriptor", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        {"ours": serve_ours, "bare": serve_bare}[options.role](options.descriptor)
        return 0
    by_target = measure(options)
    rows = [printed(*HEADS), *(row(name, rounds) for name, rounds in by_target.items())]
    shares = [ours.rate / bare.rate for ours, bare in zip(by_target["surebox"], by_target["bare read"], strict=True)]
    share = median(shares)
    print(f"surebox / bare read = {share:.2f} ({min(shares):.2f} to {max(shares):.2f}; needed: {NEEDED})")
    if (options.seconds, options.rounds, options.connections) == (SECONDS, ROUNDS, CONNECTIONS):
        figures = {"share": share, "least": min(shares), "most": max(shares), "needed": NEEDED}
        record("status_reads", COMMAND, figures | {"table": as_table(rows)})
    return 0 if share >= NEEDED else 1


if __name__ == "__main__":
    sys.exit(main())
