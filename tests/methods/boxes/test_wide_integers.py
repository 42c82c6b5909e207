"""Whole numbers beyond 2^53: the refusal of them as quasi-identifiers names what works."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.drawing import seeds
from tests.methods.in_process import Bench


def codes(seed: int) -> tuple[pl.DataFrame, list[int]]:
    """A table with a column of such numbers, and these."""
    rng = np.random.default_rng(seed)
    values = sorted({2**53 + int(each) for each in rng.integers(1, 2**61, int(rng.integers(3, 30)))})
    rows = int(rng.integers(100, 300))
    return pl.DataFrame({"age": rng.integers(18, 80, rows), "code": rng.choice(values, rows)}), values


@pytest.mark.parametrize("seed", seeds(10))
def test_each_way_out_of_the_refusal_leads_to_a_release(tmp_path: Path, seed: int) -> None:
    table, values = codes(seed)
    bench = Bench(tmp_path)
    body = {"method": "boxes", "dataset_id": bench.upload("sent", table), "quasi_identifiers": ["age", "code"], "k": 5}
    _, (error,) = bench.accepted(body)
    assert error.pointer == "/quasi_identifiers/1"
    ways = re.split("; ", error.detail.partition("2^53")[2])
    assert "Leave it out" in ways[0]
    assert "smaller numbers" in ways[1]
    assert "under `nominal`, as `values` or in a `hierarchy`" in ways[2]
    nearer = table.with_columns(pl.col("code") // 2**12)
    classes = [[str(value), f"class {place % 2}", "*"] for place, value in enumerate(values)]
    for way in (
        body | {"quasi_identifiers": ["age"]},
        body | {"dataset_id": bench.upload("nearer", nearer)},
        body | {"nominal": {"code": {"hierarchy": {"rows": classes}}}},
        body | {"nominal": {"code": {"values": values}}},
    ):
        assert bench.accepted(way)[1] == []
        rows = bench.run(way).rows()
        assert 0 < len(rows) <= len(table)
        assert rows.group_by(pl.all()).len()["len"].min() >= 5
