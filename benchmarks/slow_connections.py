"""What other clients notice of clients that send slowly, or too much: sequential probes of /healthz meanwhile.

    PYTHONPATH=. python benchmarks/slow_connections.py [--connections 1000]

The whole service runs, as `surebox serve` starts it. First many connections trickle a head, a byte each and twice a
second, and come again when they are hung up on; then one request sends a header of 128 MB. Both come from processes of
their own. It fails where a probe's 99th percentile reaches 50 ms.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

import psutil

from benchmarks.recorded import as_table, printed, record

COMMAND = "PYTHONPATH=. python benchmarks/slow_connections.py"
HEADS = ("meanwhile", "median, ms", "99 %, ms", "longest, ms", "probes")
CONNECTIONS, SECONDS = 1_000, 25.0
NEEDED_SECONDS = 0.050
PROBES = 1_000
HEAD = b"GET /healthz HTTP/1.1\r\nHost: bench\r\nX-Slow: "
HUGE = 128_000_000


@contextmanager
def serving(folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """The service; its port and its API process."""
    log = folder / "log"
    command = [sys.executable, "-m", "app.cli", "serve", "--port", "0", "--data-dir", str(folder / "data")]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        while (ready := re.search(r"Surebox is ready at \S+:(\d+)", log.read_text())) is None:
            if process.poll() is not None:
                raise SystemExit(log.read_text())
            time.sleep(0.1)
        children = psutil.Process(process.pid).children(recursive=True)
        yield int(ready[1]), next(child for child in children if child.name() == "surebox-api")
    finally:
        process.terminate()
        process.wait(60)


def trickle(port: int, connections: int, again: Synchronized[int], full: Event) -> None:
    """Keep so many connections open, each with a head that never ends, until this process is ended."""
    open_now = [begun(port) for _ in range(connections)]
    full.set()
    with selectors.DefaultSelector() as selector:
        for place, connection in enumerate(open_now):
            selector.register(connection, selectors.EVENT_READ, place)
        while True:
            for connection in open_now:
                with suppress(OSError):
                    connection.send(b"x")
            time.sleep(0.5)
            for key, _ in selector.select(0):
                selector.unregister(key.fileobj)
                open_now[key.data].close()
                open_now[key.data] = begun(port)
                selector.register(open_now[key.data], selectors.EVENT_READ, key.data)
                again.value += 1


def begun(port: int) -> socket.socket:
    """A connection that has sent the beginning of a head."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(HEAD)
    return connection


def pour(port: int, sent: Synchronized[int], status: Synchronized[int]) -> None:
    """Send one request with a header of 128 MB, as far as it is let."""
    with begun(port) as connection:
        connection.setblocking(False)
        answered = b""
        while sent.value < HUGE and not answered:
            with suppress(BlockingIOError):
                sent.value += connection.send(b"x" * 1_000_000)
            with suppress(BlockingIOError):
                answered = connection.recv(65_536)
        status.value = int(answered.split()[1]) if answered else 0


def probe(port: int, until: Callable[[], bool]) -> list[float]:
    """Seconds of sequential requests on one connection each."""
    taken: list[float] = []
    while not until() or len(taken) < PROBES:
        started = time.perf_counter()
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/healthz")
        if connection.getresponse().status != 200:
            raise SystemExit("a probe was refused")
        connection.close()
        taken.append(time.perf_counter() - started)
    return taken


def shown(name: str, taken: list[float]) -> list[str]:
    """One row: what other clients do, and what probes take meanwhile."""
    figures = (statistics.median(taken), late(taken), max(taken))
    return printed(name, *(f"{1000 * each:.1f}" for each in figures), f"{len(taken):,}")


def late(taken: list[float]) -> float:
    """The 99th percentile."""
    return statistics.quantiles(taken, n=100)[98]


def slow(port: int, process: psutil.Process, connections: int, seconds: float) -> tuple[list[float], int, float]:
    """Probes while connections trickle, how many of these came again, and CPU seconds of the API process."""
    again, full = multiprocessing.Value("l", 0), multiprocessing.Event()
    trickling = multiprocessing.Process(target=trickle, args=(port, connections, again, full), daemon=True)
    trickling.start()
    full.wait()
    end, used = time.monotonic() + seconds, sum(process.cpu_times()[:2])
    taken = probe(port, lambda: time.monotonic() > end)
    used = sum(process.cpu_times()[:2]) - used
    trickling.terminate()
    trickling.join()
    return taken, again.value, used


def huge(port: int) -> tuple[list[float], int, int]:
    """Probes while one request sends a header without end, the bytes of it that were sent, and its status."""
    sent, status = multiprocessing.Value("l", 0), multiprocessing.Value("i", 0)
    pouring = multiprocessing.Process(target=pour, args=(port, sent, status), daemon=True)
    pouring.start()
    return probe(port, lambda: not pouring.is_alive()), sent.value, status.value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sbx-") as folder, serving(Path(folder)) as (port, process):
        rows = [printed(*HEADS), shown("nothing else", probe(port, lambda: True))]
        trickled, again, used = slow(port, process, options.connections, options.seconds)
        rows.append(shown(f"{options.connections:,} slow connections", trickled))
        print(f"{again} of them were hung up on and came again; {used:.1f} CPU s of the API process")
        poured, sent, status = huge(port)
        rows.append(shown("one header of 128 MB", poured))
        print(f"{sent / 1e6:.1f} MB of it were sent, then it was answered {status}")
    if (options.connections, options.seconds) == (CONNECTIONS, SECONDS):
        figures = {"again": again, "api_seconds": used, "sent_megabytes": sent / 1e6, "status": status}
        record("slow_connections", COMMAND, figures | {"table": as_table(rows)})
    return 0 if max(late(trickled), late(poured)) < NEEDED_SECONDS and status == 431 else 1


if __name__ == "__main__":
    sys.exit(main())
