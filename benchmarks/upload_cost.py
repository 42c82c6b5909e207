"""CPU of an upload over HTTP, beside an earlier commit: alone, and where the owner has 25 other tables.

    PYTHONPATH=. python benchmarks/upload_cost.py --before CHECKOUT [--pairs 5] [--rows 3000 100000]

CHECKOUT is a worktree of the earlier commit with an environment of its own (`git worktree add`, `make install`). Each
pair measures both services, one after the other, in turns: the CPU seconds of all of a service's processes, Postgres
and Valkey among them, for uploads of CSV with ten columns, less what they use meanwhile when nothing is sent. Tables
are other people with the same columns. `alone`: each by a new owner.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import polars as pl

from benchmarks.recorded import as_table, printed, record, span
from tests.methods.asking import upload
from tests.servers import short_folder
from tests.service import STOP_SECONDS, bare_environment, wait_for_line, wait_for_workers

COMMAND = "PYTHONPATH=. python benchmarks/upload_cost.py"
ROWS, PAIRS, OTHERS = (3000, 100_000), 5, 25
#: Uploads that are measured at once, by the rows of a table; a clock of the system has ticks of 10 ms.
UPLOADS = {3000: 10, 100_000: 3}
TICK = os.sysconf("SC_CLK_TCK")
#: Keys of owners, made in a process of the service's own code.
KEYS = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from app.auth.keys import create_key
from app.cli.settings import open_database
settings, database = open_database(Path(sys.argv[1]))
for owner in sys.argv[2:]:
    given = {"owner": owner, "scopes": ["admin"], "name": "measured", "now": datetime.now(UTC)}
    print(create_key(database=database, secret=settings.server_secret, **given)[1])
database.close()
"""


def table(draw: np.random.Generator, rows: int) -> bytes:
    """People of whom ten columns are known, as CSV."""
    return pl.DataFrame({
        "age": draw.integers(0, 95, rows), "town": draw.choice(300, rows), "hours": draw.integers(0, 80, rows),
        "income": draw.lognormal(10, 0.7, rows).round(-1), "weight": draw.normal(70, 12, rows).round(1),
        "height": draw.normal(170, 10, rows).round(), "sex": draw.choice(["m", "f"], rows),
        "job": draw.choice([f"job {at}" for at in range(30)], rows), "school": draw.choice(list("abcdefgh"), rows),
        "children": draw.poisson(1.2, rows),
    }).write_csv().encode()  # fmt: skip


class Served:
    """A service of a checkout."""

    def __init__(self, checkout: Path, folder: Path, address: str, process: int) -> None:
        self._checkout, self._folder, self._address, self._process = checkout, folder, address, process

    def clients(self, owners: list[str]) -> list[httpx.Client]:
        """A client of each of some new owners."""
        command = [checkout_python(self._checkout), "-c", KEYS, str(self._folder), *owners]
        made = subprocess.run(
            command, cwd=self._checkout, check=True, stdout=subprocess.PIPE, text=True, env=bare_environment()
        )
        return [
            httpx.Client(base_url=self._address, headers={"Authorization": f"Bearer {key}"}, timeout=120)
            for key in made.stdout.split()
        ]  # fmt: skip

    def cpu(self) -> float:
        """CPU seconds of the service's processes, and of those that these have waited for."""
        children: dict[int, list[int]] = {}
        ticks = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(path.parent.name))
                ticks[int(path.parent.name)] = sum(map(int, fields[11:15]))
        mine, left = 0, [self._process]
        while left:
            one = left.pop()
            mine, left = mine + ticks.get(one, 0), left + children.get(one, [])
        return mine / TICK


def checkout_python(checkout: Path) -> str:
    return str(checkout / ".venv" / "bin" / "python")


@contextlib.contextmanager
def served(checkout: Path, folder: Path) -> Iterator[Served]:
    """Start the service of a checkout on a new folder."""
    log = folder.with_name(folder.name + ".log")
    command = [checkout_python(checkout), "-m", "app.cli", "serve", "--port", "0", "--data-dir", str(folder)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--workers", "1"], cwd=checkout, stdout=output, stderr=output, env=bare_environment()
        )
    try:
        address = wait_for_line(process, log, r"Surebox is ready at (\S+)")
        wait_for_line(process, log, "Admin key")
        wait_for_workers(address)
        yield Served(checkout, folder, address, process.pid)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def milliseconds(service: Served, send: Callable[[], None], uploads: int) -> float:
    """CPU milliseconds of an upload, less what the service uses when nothing is sent."""
    before, began = service.cpu(), time.monotonic()
    send()
    used, wall = service.cpu() - before, time.monotonic() - began
    before = service.cpu()
    time.sleep(wall)
    return 1000 * (used - (service.cpu() - before)) / uploads


def measured(service: Served, draw: np.random.Generator, name: str, rows: int) -> tuple[float, float]:
    """CPU milliseconds of an upload alone, and beside other tables."""
    uploads = UPLOADS.get(rows, 3)
    owners = [f"{name} {rows} {at}" for at in range(uploads + 1)]
    *clients, keeper = service.clients(owners)
    bodies = [table(draw, rows) for _ in range(uploads)]

    def alone() -> None:
        for client, body in zip(clients, bodies, strict=True):
            upload(client, body)

    def beside() -> None:
        for body in bodies:
            upload(keeper, body)

    first = milliseconds(service, alone, uploads)
    for _ in range(OTHERS):
        upload(keeper, table(draw, rows))
    return first, milliseconds(service, beside, uploads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    given = parser.parse_args()
    root = Path(__file__).parents[1]
    made = [printed("upload", "before, CPU ms", "now, CPU ms", "ratios of the pairs", "median")]
    with (
        short_folder() as folder,
        served(given.before.resolve(), folder / "before") as before,
        served(root, folder / "now") as now,
    ):
        for service in (before, now):
            measured(service, np.random.default_rng(0), "warming", 3000)
        for rows in given.rows:
            pairs = []
            for at in range(given.pairs):
                two = {}
                for service in ((before, now), (now, before))[at % 2]:
                    two[service] = measured(service, np.random.default_rng([rows, at]), str(at), rows)
                pairs.append((two[before], two[now]))
            for part, name in enumerate(("alone", f"beside {OTHERS} tables")):
                old, new = [one[part] for one, _ in pairs], [one[part] for _, one in pairs]
                ratios = [b / a for a, b in zip(old, new, strict=True)]
                made.append(printed(
                    f"{rows:,} x 10, {name}", f"{statistics.median(old):.0f}", f"{statistics.median(new):.0f}",
                    span(ratios, ".2f"), f"{statistics.median(ratios):.2f}",
                ))  # fmt: skip
    record("upload_cost", f"{COMMAND} --before CHECKOUT", {"table": as_table(made), "pairs": given.pairs})


if __name__ == "__main__":
    main()
