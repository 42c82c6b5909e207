"""Half-widths, c and density of records whose values coincide: finite, and those of the values' cells."""

from collections import Counter
from itertools import pairwise
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.contracts.examples import DATASET
from tests.drawing import seeds
from tests.methods.in_process import Bench

NEIGHBOURS = 32


def column(draw: np.random.Generator, rows: int) -> list[Any]:
    """Whole numbers of few or many values, tenths, and numbers that hardly ever repeat."""
    kinds = (
        lambda: draw.integers(0, int(draw.integers(2, 9)), rows).tolist(),
        lambda: draw.binomial(80, 0.5, rows).tolist(),
        lambda: np.round(draw.uniform(0, 0.9, rows), 1).tolist(),
        lambda: np.where(draw.random(rows) < 0.8, 40, draw.integers(0, 99, rows)).tolist(),
        lambda: draw.normal(size=rows).tolist(),
    )
    values: list[Any] = kinds[int(draw.integers(0, len(kinds)))]()
    return values


def resolution(values: list[Any]) -> float:
    """1 of whole numbers, else the least distance of two values."""
    if all(isinstance(value, int) for value in values):
        return 1.0
    known = sorted(set(values))
    return min((after - before for before, after in pairwise(known)), default=1.0)


def measured(folder: Path, columns: dict[str, list[Any]], k: int) -> dict[str, Any]:
    there = Bench(folder)
    there.dataset(DATASET, pl.DataFrame(columns))
    names = list(columns)
    statistics = [{"kind": "mean", "of": [names[0]]}] + [{"kind": "variance", "of": [name]} for name in names]
    body = {
        "method": "frontier", "dataset_id": DATASET, "quasi_identifiers": names, "k": [k], "records": "all",
        "statistics": statistics,
    }  # fmt: skip
    records: dict[str, Any] = there.run(body).whole["records"]
    return records


@pytest.mark.parametrize("seed", seeds(12, 120))
def test_half_widths_on_whole_numbers_are_those_of_cells(tmp_path: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows, k = int(draw.integers(60, 300)), int(draw.integers(2, 9))
    columns = {name: column(draw, rows) for name in ("x", "y")[: int(draw.integers(1, 3))]}
    if any(len(set(values)) == 1 for values in columns.values()):
        return
    records = measured(tmp_path, columns, k)
    together = Counter(zip(*columns.values(), strict=True))
    cell = prod(resolution(values) for values in columns.values())
    assert records["measured"] == rows
    shares = 0
    for one in records["listed"]:
        same = together[tuple(values[one["row"]] for values in columns.values())]
        figures = [one["cost"], one["rare_by_density"], one["rare_by_influence"], *one["half_widths"].values()]
        assert all(isfinite(figure) and figure > 0.0 for figure in figures), one
        assert one["density"] <= same / cell * (1 + 1e-9)
        assert 2.0 ** len(columns) * prod(one["half_widths"].values()) * one["density"] == pytest.approx(k, rel=1e-6)
        product = one["rare_by_density"] * one["rare_by_influence"]
        assert product == pytest.approx(one["cost"] / records["median_cost"], rel=1e-6)
        if same > NEIGHBOURS + 1:
            assert one["at_resolution"]
        if one["at_resolution"]:
            assert one["density"] == pytest.approx(same / cell, rel=1e-6)
        shares += one["at_resolution"]
    assert records["share_at_resolution"] == pytest.approx(shares / rows)
