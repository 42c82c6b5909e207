"""Bytes and values that jobs are expected to write, compared with those that they write: figures, not seconds.

How long a job takes differs by the machine; `benchmarks/estimates.py` measures that. What the time and the memory
follow from can be counted: values in the sets of a release, and bytes of its files.
"""

from typing import Any, Final

import numpy as np
import polars as pl
import pytest

from app.jobs import estimates
from app.jobs.estimates import estimated
from app.jobs.needs import Estimate
from app.methods.boxes.spec import BoxesSpec
from tests.drawing import seeds
from tests.methods.in_process import Bench

#: An estimate is meant to be right within that.
FACTOR: Final = 3.0
NAMES: Final = ["n0", "n1", "n2"]
#: Records, values of each text, texts, k.
TEXTS: Final = [
    (2_000, 20, 3, 5), (2_000, 200, 3, 5), (3_000, 400, 3, 5), (3_000, 400, 2, 5), (3_000, 60, 2, 20),
    (4_000, 300, 3, 10), (4_000, 300, 3, 40), (4_000, 300, 1, 5), (2_000, 900, 2, 5), (1_000, 50, 3, 10),
    (3_000, 30, 3, 3), (4_000, 99, 2, 8),
]  # fmt: skip
#: By method, its records and columns, and what else is asked.
WRITTEN: Final = [
    ("boxes", 3_000, 4, {"k": 5, "partition": "fast"}),
    ("boxes", 3_000, 12, {"k": 20, "partition": "fast", "formats": ["csv"]}),
    ("boxes", 2_000, 4, {"k": 5, "partition": "fast", "formats": ["parquet"]}),
    ("uncertain", 2_000, 4, {"k": 5.0}),
    ("uncertain", 2_000, 10, {"k": 5.0, "formats": ["ndjson"]}),
    ("uncertain", 500, 12, {"k": 5.0, "axes": "rotated", "scales": "per_record"}),
    ("condensation", 2_000, 4, {"k": 5}),
    ("condensation", 1_000, 20, {"k": 50}),
]


def texts(rows: int, values: int, columns: int, seed: int) -> pl.DataFrame:
    """Texts at random, and shares of them that are not alike."""
    draw = np.random.default_rng(seed)
    weight = draw.random(values) + 0.3
    return pl.DataFrame(
        {name: [f"{name}-{value}" for value in draw.choice(values, rows, p=weight / weight.sum()).tolist()]
         for name in NAMES[:columns]}
    )  # fmt: skip


def need(bench: Bench, body: dict[str, Any]) -> Estimate:
    named = bench.named(body)
    assert named is not None
    return estimated(*named)


def within(expected: float, counted: float) -> None:
    assert counted / FACTOR <= expected <= counted * FACTOR, f"{expected:,.0f} expected, {counted:,.0f} counted"


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize(("rows", "values", "columns", "k"), TEXTS)
def test_values_in_the_sets_of_a_release_are_as_many_as_expected(
    bench: Bench, rows: int, values: int, columns: int, k: int, seed: int
) -> None:
    bench.dataset("d", texts(rows, values, columns, seed))
    body = {"method": "boxes", "dataset_id": "d", "quasi_identifiers": NAMES[:columns], "k": k, "formats": ["parquet"]}
    done = bench.run(body)
    counted = sum(done.rows()[f"{name}_set"].list.len().sum() for name in NAMES[:columns])
    spec = done.spec
    assert isinstance(spec, BoxesSpec)
    distinct = [float(bench.datasets["d"].profile.columns[at].distinct) for at in range(columns)]
    within(estimates.members(spec, rows, distinct), counted)


@pytest.mark.parametrize(("rows", "values", "columns", "k"), TEXTS[:6])
def test_files_of_sets_are_as_large_as_expected(bench: Bench, rows: int, values: int, columns: int, k: int) -> None:
    bench.dataset("d", texts(rows, values, columns, 1))
    body = {"method": "boxes", "dataset_id": "d", "quasi_identifiers": NAMES[:columns], "k": k}
    done = bench.run(body)
    assert done.release is not None
    within(need(bench, body).written, sum(file.bytes for file in done.release.files.values()))


@pytest.mark.parametrize(("method", "rows", "columns", "more"), WRITTEN)
def test_files_of_numbers_are_as_large_as_expected(
    bench: Bench, method: str, rows: int, columns: int, more: dict[str, Any]
) -> None:
    names = [f"x{at}" for at in range(columns)]
    values = np.random.default_rng(2).normal(size=(rows, columns)).round(3)
    bench.dataset("d", pl.DataFrame(values, schema=names))
    body = {"method": method, "dataset_id": "d", "quasi_identifiers": names} | more
    if method == "boxes":
        body["statistics"] = [{"kind": "mean", "of": ["x0"]}]
    done = bench.run(body)
    assert done.release is not None
    within(need(bench, body).written, sum(file.bytes for file in done.release.files.values()))


@pytest.fixture
def bench(tmp_path: Any) -> Bench:
    return Bench(tmp_path)


def sized(bench: Bench, frame: pl.DataFrame, body: dict[str, Any]) -> Estimate:
    bench.dataset("d", frame)
    return need(bench, {"dataset_id": "d", **body})


def test_what_took_the_machine_is_expected_to(bench: Bench) -> None:
    """Specifications of a hundred bytes that were expected to take a second, and took minutes or gigabytes."""
    draw = np.random.default_rng(5)
    large = pl.DataFrame({name: draw.integers(0, 1_000, 100_000).astype(str) for name in NAMES})
    boxes = {"method": "boxes", "quasi_identifiers": NAMES, "k": 5}
    three = sized(bench, large, boxes)
    assert 12 < three.seconds < 111  # it took 37 s
    assert 1.3e9 < three.bytes < 11.6e9  # and 3.85 GB
    assert 0.35e9 < three.written < 3.1e9  # for files of 1.04 GB
    one = sized(
        bench, large, boxes | {"quasi_identifiers": NAMES[:1]}
    )  # a thousand boxes, not 20,000: less than a second
    assert one.seconds < 3
    assert 29e6 < one.bytes < 261e6  # 87 MB
    table = {"quasi_identifiers": NAMES[:2], "statistics": [{"kind": "crosstab", "of": NAMES[:2]}]}
    assert sized(bench, large, boxes | table).bytes > 5.5e9
    few = pl.DataFrame({name: draw.integers(0, 100, 20_000).astype(str) for name in NAMES})
    assert 2.8 < sized(bench, few, boxes | table | {"partition": "fast"}).seconds < 25  # 8.4 s
    ids = pl.DataFrame({"a": draw.integers(0, 1_000, 100_000), "b": draw.integers(0, 1_000, 100_000),
                        "id": np.arange(100_000)})  # fmt: skip
    ordered = {"quasi_identifiers": ["a", "b"], "sensitive": ["id"], "t": 0.3, "t_distance": {"id": "ordered"}}
    assert 30 < sized(bench, ids, boxes | ordered | {"least_widths": "none"}).seconds < 267  # 89 s
    names = [f"g{at}" for at in range(8)]
    cells = pl.DataFrame(draw.random((100_000, 8)).round(4), schema=names).with_columns(
        region=pl.Series(draw.integers(0, 20_000, 100_000).astype(str)),
        job=pl.Series((np.arange(100_000) % 30).astype(str)),
    )
    terms = [{"name": f"t{at}", "shape": "range", "points": [at / 20, (at + 1) / 20]} for at in range(20)]
    bench.dataset("d", cells)
    every = need(
        bench,
        {
            "method": "group", "auxiliary_dataset_id": "d", "region_columns": ["region"], "min_support": 0,
            "hidden_group": {"column": "job", "values": ["3"]}, "search": {"method": "exhaustive"},
            "min_relative_confidence": 0,
            "variables": [{"column": name, "range": [0, 1], "terms": terms} for name in names],
        },
    )  # fmt: skip
    assert 25 < every.seconds < 222  # 74 s
