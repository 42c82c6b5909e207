"""Questions to releases, end to end on the service of one machine: HTTP in, HTTP out.

    python benchmarks/questions.py [--rows 100000] [--requests 50] [--queries 10000] [--methods boxes uncertain]

For each method: the first answer (the release is read), a repeated one, and many queries in one request. Times are what
a client sees; CPU seconds are those of everything that was started: API, worker, Postgres, broker.
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

from tests.methods.asking import succeed, upload  # noqa: E402
from tests.servers import short_folder  # noqa: E402
from tests.service import serving  # noqa: E402

COLUMNS = ["x0", "x1", "x2", "x3", "x4"]


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


def measure(client: httpx.Client, release_id: str, values: np.ndarray, requests: int, queries: int) -> str:
    rng = np.random.default_rng(3)
    centres = values[rng.integers(0, len(values), queries)]
    ends = np.stack([centres - 0.5, centres + 0.5], axis=2).tolist()
    boxes: list[dict[str, Any]] = [dict(zip(COLUMNS, box, strict=True)) for box in ends]
    path = f"/v1/releases/{release_id}/count"
    first, _ = timed(lambda: client.post(path, json={"queries": boxes[:1]}))
    cpu = cpu_seconds()
    repeated = [timed(lambda: client.post(path, json={"queries": boxes[:1]}))[0] * 1000 for _ in range(requests)]
    each = (cpu_seconds() - cpu) / requests * 1000
    many, used = timed(lambda: client.post(path, json={"queries": boxes}))
    points = [dict(zip(COLUMNS, row, strict=True)) for row in centres[: queries // 10].tolist()]
    body = {"target": "label", "points": points}
    path = f"/v1/releases/{release_id}/classify"
    classified_first, _ = timed(lambda: client.post(path, json=body | {"points": points[:1]}))
    one = [timed(lambda: client.post(path, json=body | {"points": points[:1]}))[0] * 1000 for _ in range(9)]
    classified, classified_cpu = timed(lambda: client.post(path, json=body))
    return (
        f"count: first {first:.2f} s, repeated p50 {statistics.median(repeated):.1f} ms, "
        f"p95 {np.quantile(repeated, 0.95):.1f} ms ({each:.1f} ms CPU); {queries:,} queries {many:.2f} s "
        f"({used:.2f} CPU s)\n    "
        f"classify: first {classified_first:.2f} s, repeated p50 {statistics.median(one):.1f} ms; "
        f"{len(points):,} points {classified:.2f} s ({classified_cpu:.2f} CPU s)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=50)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--methods", nargs="+", default=["boxes", "uncertain", "condensation"])
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    places = rng.normal(scale=3, size=(20, len(COLUMNS)))
    cluster = rng.integers(0, 20, args.rows)
    values = places[cluster] + rng.normal(size=(args.rows, len(COLUMNS)))
    lines = (",".join(f"{x:.4f}" for x in row) + f",c{label % 4}" for row, label in zip(values, cluster, strict=True))
    body = ",".join([*COLUMNS, "label"]) + "\n" + "\n".join(lines) + "\n"
    with (
        short_folder() as folder,
        serving(folder / "data", SUREBOX_REQUESTS_PER_MINUTE="100000") as service,
        service.client() as client,
    ):
        dataset = upload(client, body)
        for method in args.methods:
            spec = {"method": method, "dataset_id": dataset["id"], "quasi_identifiers": COLUMNS, "k": 10,
                    "keep": ["label"]}  # fmt: skip
            release_id = succeed(client, spec)["release_id"]
            print(method, measure(client, release_id, values, args.requests, args.queries), sep="\n    ", flush=True)


if __name__ == "__main__":
    main()
