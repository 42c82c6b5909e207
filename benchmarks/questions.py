"""Questions to releases, end to end on the service of one machine: HTTP in, HTTP out.

    python benchmarks/questions.py [--rows 100000] [--requests 50] [--queries 10000] [--methods boxes uncertain]

For each method: the first answer (the release is read), a repeated one, and all queries in one request, or a tenth as
many points. Times are what a client sees; CPU seconds are those of everything that was started: API, worker, Postgres,
broker.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.recorded import as_table, printed, record  # noqa: E402
from tests.methods.asking import succeed, upload  # noqa: E402
from tests.servers import short_folder  # noqa: E402
from tests.service import serving  # noqa: E402

COMMAND = "python benchmarks/questions.py"
COLUMNS = ["x0", "x1", "x2", "x3", "x4"]
ROWS, REQUESTS, QUERIES = 100_000, 50, 10_000
METHODS = ["boxes", "uncertain", "condensation"]
HEADS = [
    *("release", "first count, s", "repeated count, ms (p50, p95)", "the same, CPU ms", "all queries, s (CPU s)"),
    *("first classify, s", "repeated classify, ms (p50)", "all points, s (CPU s)"),
]


def cpu_seconds() -> float:
    """Of all that this process has started."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            used = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += used.user + used.system
    return total


def timed(ask: Callable[[], httpx.Response]) -> tuple[float, float]:
    """Seconds and CPU seconds of one answer."""
    cpu, began = cpu_seconds(), time.perf_counter()
    answer = ask()
    seconds = time.perf_counter() - began
    assert answer.status_code == httpx.codes.OK, answer.text
    return seconds, cpu_seconds() - cpu


def counted(client: httpx.Client, path: str, boxes: list[dict[str, Any]], requests: int) -> list[str]:
    """Cells about `count`: the first answer, repeated ones, and many queries in one request."""
    one = {"queries": boxes[:1]}
    first, _ = timed(lambda: client.post(path, json=one))
    cpu = cpu_seconds()
    repeated = [timed(lambda: client.post(path, json=one))[0] * 1000 for _ in range(requests)]
    each = (cpu_seconds() - cpu) / requests * 1000
    many, used = timed(lambda: client.post(path, json={"queries": boxes}))
    middle, late = statistics.median(repeated), np.quantile(repeated, 0.95)
    return [f"{first:.2f}", f"{middle:.0f}, {late:.0f}", f"{each:.0f}", f"{many:.2f} ({used:.2f})"]


def classified(client: httpx.Client, path: str, points: list[dict[str, float]]) -> list[str]:
    """Cells about `classify`, likewise."""
    one = {"target": "label", "points": points[:1]}
    first, _ = timed(lambda: client.post(path, json=one))
    repeated = [timed(lambda: client.post(path, json=one))[0] * 1000 for _ in range(9)]
    many, used = timed(lambda: client.post(path, json={"target": "label", "points": points}))
    return [f"{first:.2f}", f"{statistics.median(repeated):.0f}", f"{many:.2f} ({used:.2f})"]


def measure(client: httpx.Client, release_id: str, values: np.ndarray, requests: int, queries: int) -> list[str]:
    rng = np.random.default_rng(3)
    centres = values[rng.integers(0, len(values), queries)]
    ends = np.stack([centres - 0.5, centres + 0.5], axis=2).tolist()
    boxes: list[dict[str, Any]] = [dict(zip(COLUMNS, box, strict=True)) for box in ends]
    points = [dict(zip(COLUMNS, row, strict=True)) for row in centres[: queries // 10].tolist()]
    release = f"/v1/releases/{release_id}"
    counts = counted(client, f"{release}/count", boxes, requests)
    return [*counts, *classified(client, f"{release}/classify", points)]


def mixture(rows: int) -> tuple[np.ndarray, str]:
    """Twenty gaussian clusters with a label, and the same as CSV."""
    rng = np.random.default_rng(1)
    places = rng.normal(scale=3, size=(20, len(COLUMNS)))
    cluster = rng.integers(0, 20, rows)
    values = places[cluster] + rng.normal(size=(rows, len(COLUMNS)))
    lines = (",".join(f"{x:.4f}" for x in row) + f",c{label % 4}" for row, label in zip(values, cluster, strict=True))
    return values, ",".join([*COLUMNS, "label"]) + "\n" + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    args = parser.parse_args()
    values, body = mixture(args.rows)
    with (
        short_folder() as folder,
        serving(folder / "data", SUREBOX_REQUESTS_PER_MINUTE="100000") as service,
        service.client() as client,
    ):
        dataset = upload(client, body)
        rows = [printed(*HEADS)]
        for method in args.methods:
            spec = {"method": method, "dataset_id": dataset["id"], "quasi_identifiers": COLUMNS, "k": 10,
                    "keep": ["label"]}  # fmt: skip
            release_id = succeed(client, spec)["release_id"]
            rows.append(printed(method, *measure(client, release_id, values, args.requests, args.queries)))
    if (args.rows, args.requests, args.queries, args.methods) == (ROWS, REQUESTS, QUERIES, METHODS):
        record("questions", COMMAND, {"table": as_table(rows)})


if __name__ == "__main__":
    main()
