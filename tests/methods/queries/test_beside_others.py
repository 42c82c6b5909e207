"""Questions of one owner, expected to be long or short, do not delay those of another owner."""

import statistics
import time
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.drawing import seeds
from tests.methods.asking import succeed, upload
from tests.servers import wait_until
from tests.service import Service

ASYNC = {"Prefer": "respond-async"}
NAMES = [f"x{number}" for number in range(5)]


def released(client: httpx.Client, rows: int, seed: int) -> str:
    """A release of boxes of so many numbers."""
    values = np.random.default_rng(seed).normal(size=(rows, len(NAMES))).round(3)
    dataset = upload(client, pl.DataFrame(values, schema=NAMES).write_csv().encode())
    spec = {"method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": NAMES, "k": 5, "partition": "fast"}
    made = succeed(client, spec | {"statistics": [{"kind": "mean", "of": [NAMES[0]]}]})
    return str(made["release_id"])


def regressions(many: int, seed: int) -> dict[str, Any]:
    """Regressions on columns in another order each."""
    draw = np.random.default_rng(seed)
    return {"statistics": [{"kind": "regression", "of": draw.permutation(NAMES).tolist()} for _ in range(many)]}


def counted(client: httpx.Client, release_id: str, many: int) -> list[float]:
    """Seconds of small counts, one after the other; past the wait of 30 s the answer would be 202."""
    seconds = []
    for _ in range(many):
        began = time.monotonic()
        answer = client.post(f"/v1/releases/{release_id}/count", json={"queries": [{NAMES[0]: [0.0, 1.0]}]})
        seconds.append(time.monotonic() - began)
        assert answer.status_code == 200, answer.text
    return seconds


def states(client: httpx.Client, jobs: list[str]) -> list[str]:
    return [client.get(f"/v1/jobs/{one}").json()["state"] for one in jobs]


def beside(service: Service, *, rows: int, counts: int, warming: int, seed: int) -> list[float]:
    """Seconds of one owner's counts while another has ten heavy questions waiting, or at work."""
    with service.client(owner=f"many {seed}") as many, service.client(owner=f"other {seed}") as other:
        large, small = released(many, rows, seed), released(other, 500, seed)
        counted(other, small, warming)
        path, sent = f"/v1/releases/{large}/statistics", []
        for number, size in enumerate((100, 8) * 5):
            answer = many.post(path, json=regressions(size, number), headers=ASYNC)
            assert answer.status_code == 202, answer.text
            sent.append(answer.json()["id"])
        wait_until(lambda: "running" in states(many, sent))
        seconds = counted(other, small, counts)
        assert "queued" in states(many, sent), "all had ended: nothing was beside it"
        for one in sent:
            many.post(f"/v1/jobs/{one}/cancel")
    return seconds


@pytest.mark.parametrize("seed", seeds(1))
def test_a_small_count_does_not_wait_for_heavy_questions_of_another_owner(service: Service, seed: int) -> None:
    """Each is answered within its wait; a busy machine allows no narrower bound."""
    assert len(beside(service, rows=4_000, counts=5, warming=1, seed=seed)) == 5


@pytest.mark.long
def test_beside_ten_heavy_questions_ninety_nine_of_a_hundred_counts_take_less_than_a_second(service: Service) -> None:
    seconds = beside(service, rows=100_000, counts=100, warming=60, seed=7)
    p50, p99 = statistics.median(seconds), sorted(seconds)[98]
    assert p99 < 1.0, f"p50 {p50:.3f} s, p99 {p99:.3f} s"
