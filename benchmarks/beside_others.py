"""Waits of one owner beside another: small counts beside heavy questions, short jobs beside long ones.

    PYTHONPATH=. python benchmarks/beside_others.py [--rows 100000] [--counts 200] [--quantiles 10000] [--jobs 10]

One `surebox serve` with its defaults. Counts of one row each to a release of 500 rows: alone, then beside ten questions
of another owner (100 and 8 regressions by turns) to a release of 100,000 rows. Then jobs of 2,000 rows: alone, then
beside two jobs of another owner that compute 10,000 quantiles each.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np
import polars as pl

from benchmarks.recorded import record
from tests.methods.asking import succeed, upload
from tests.methods.queries.test_beside_others import NAMES, beside, counted, released
from tests.servers import short_folder, wait_until
from tests.service import Service, serving

COMMAND = "PYTHONPATH=. python benchmarks/beside_others.py"
ROWS, COUNTS, QUANTILES, JOBS = 100_000, 200, 10_000, 10
WARMING = 60
#: Processes for jobs, as `surebox serve` has by default on two cores.
WORKERS = 2


def table(rows: int, seed: int) -> bytes:
    """A table of numbers as CSV."""
    values = np.random.default_rng(seed).normal(size=(rows, len(NAMES))).round(3)
    return pl.DataFrame(values, schema=NAMES).write_csv().encode()


def short_jobs(client: httpx.Client, dataset_id: str, many: int) -> list[float]:
    """Seconds of jobs of few rows, one after the other."""
    seconds = []
    for number in range(many):
        body = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": NAMES, "k": 5 + number}
        began = time.monotonic()
        succeed(client, body | {"statistics": [{"kind": "mean", "of": [NAMES[0]]}], "publish": "draft"})
        seconds.append(time.monotonic() - began)
    return seconds


def long_jobs(client: httpx.Client, rows: int, quantiles: int) -> list[str]:
    """Begin two jobs with so many quantiles; their ids once one runs."""
    dataset = upload(client, table(rows, 1))
    of = [{"kind": "quantile", "of": [NAMES[0]], "p": (at + 1) / (quantiles + 1)} for at in range(quantiles)]
    ids = []
    for k in (5, 6):
        body: dict[str, Any] = {"method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": NAMES, "k": k}
        answer = client.post("/v1/anonymizations", json=body | {"statistics": of}, headers={"Prefer": "respond-async"})
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text
        ids.append(answer.json()["id"])
    wait_until(lambda: "running" in states(client, ids))
    return ids


def states(client: httpx.Client, ids: Sequence[str]) -> list[str]:
    """The states of jobs."""
    return [client.get(f"/v1/jobs/{each}").json()["state"] for each in ids]


def jobs(service: Service, given: argparse.Namespace) -> tuple[list[float], list[float]]:
    """Seconds of the short jobs alone and beside the long ones."""
    with service.client(owner="long") as many, service.client(owner="short") as other:
        dataset = upload(other, table(2_000, 2))
        short_jobs(other, dataset["id"], 2)
        alone = short_jobs(other, dataset["id"], given.jobs)
        ids = long_jobs(many, given.rows, given.quantiles)
        beside_long = short_jobs(other, dataset["id"], given.jobs)
        assert "succeeded" not in states(many, ids), "a long job had ended: nothing was beside the short ones"
        for each in ids:
            many.post(f"/v1/jobs/{each}/cancel")
    return alone, beside_long


def counts(service: Service, given: argparse.Namespace) -> tuple[list[float], list[float]]:
    """Seconds of the counts alone and beside the heavy questions."""
    with service.client(owner="alone") as client:
        release_id = released(client, 500, 3)
        counted(client, release_id, WARMING)
        alone = counted(client, release_id, given.counts)
    return alone, beside(service, rows=given.rows, counts=given.counts, warming=WARMING, seed=7)


def shown(name: str, seconds: Sequence[float]) -> dict[str, float]:
    """Print and return the middle, the 99th of a hundred, and the worst."""
    figures = {
        "p50": statistics.median(seconds), "p99": float(np.quantile(seconds, 0.99, method="higher")),
        "worst": max(seconds),
    }  # fmt: skip
    print(
        f"{name}, {len(seconds)}: " + ", ".join(f"{each} {value:.3f} s" for each, value in figures.items()), flush=True
    )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--counts", type=int, default=COUNTS)
    parser.add_argument("--quantiles", type=int, default=QUANTILES)
    parser.add_argument("--jobs", type=int, default=JOBS)
    given = parser.parse_args()
    figures: dict[str, Any] = {}
    with (
        short_folder() as folder,
        serving(
            folder / "data", workers=WORKERS, SUREBOX_REQUESTS_PER_MINUTE="1000000", SUREBOX_WARM_KERNELS="true"
        ) as service,
    ):
        for what, measure in (("counts", counts), ("jobs", jobs)):
            alone, beside_others = measure(service, given)
            figures[what] = {
                "alone": shown(f"{what} alone", alone), "beside": shown(f"{what} beside others", beside_others)
            }  # fmt: skip
    if (given.rows, given.counts, given.quantiles, given.jobs) == (ROWS, COUNTS, QUANTILES, JOBS):
        record("beside_others", COMMAND, figures)


if __name__ == "__main__":
    main()
