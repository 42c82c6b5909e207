"""What everybody else notices of clients that send slowly, or too much: sequential probes of /healthz meanwhile.

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
        yield int(ready[1]), next(child for child in children if "--listen-fd" in child.cmdline())
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
    taken = []
    while not until() or len(taken) < PROBES:
        started = time.perf_counter()
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/healthz")
        if connection.getresponse().status != 200:
            raise SystemExit("a probe was refused")
        connection.close()
        taken.append(time.perf_counter() - started)
    return taken


def report(name: str, taken: list[float]) -> bool:
    """Print one row; whether it is within what is needed."""
    p99 = statistics.quantiles(taken, n=100)[98]
    median, longest = statistics.median(taken), max(taken)
    figures = " ".join(f"{1000 * each:8.1f}" for each in (median, p99, longest))
    print(f"{name:42}{figures}   ({len(taken)} probes)")
    return p99 < NEEDED_SECONDS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=25.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sbx-") as folder, serving(Path(folder)) as (port, process):
        print(f"{'ms of a probe':42}{'median':>8} {'99 %':>8} {'longest':>8}")
        report("nothing else", probe(port, lambda: True))
        again, full = multiprocessing.Value("l", 0), multiprocessing.Event()
        slow = multiprocessing.Process(target=trickle, args=(port, options.connections, again, full), daemon=True)
        slow.start()
        full.wait()
        end, used = time.monotonic() + options.seconds, sum(process.cpu_times()[:2])
        held = report(f"{options.connections} slow connections", probe(port, lambda: time.monotonic() > end))
        used = sum(process.cpu_times()[:2]) - used
        slow.terminate()
        slow.join()
        print(f"  {again.value} of them were hung up on and came again; {used:.1f} CPU s of the API process")
        sent, status = multiprocessing.Value("l", 0), multiprocessing.Value("i", 0)
        huge = multiprocessing.Process(target=pour, args=(port, sent, status), daemon=True)
        huge.start()
        held &= report("one header of 128 MB", probe(port, lambda: not huge.is_alive()))
        print(f"  {sent.value / 1e6:.1f} MB of it were sent, then it was answered {status.value}")
    return 0 if held and status.value == 431 else 1


if __name__ == "__main__":
    sys.exit(main())
