"""The audit `linkage` of boxes of all kinds, against a count over all pairs of rows and records."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.errors import InvalidError
from tests.methods.asking import anonymization
from tests.methods.in_process import Bench, Done

ORDER = ["low", "middle", "high"]
KINDS = {
    "numbers": ["x", "y"],
    "whole numbers and days": ["n", "day"],
    "sets": ["job", "x"],
    "an order": ["grade", "y"],
    "all": ["x", "n", "day", "job", "grade"],
}


def people(seed: int, n: int = 500) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "x": rng.normal(size=n),
            "y": np.round(rng.exponential(size=n), 1),
            "n": rng.integers(0, 9, n),
            "day": [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 60, n)],
            "job": rng.choice(["smith", "baker", "teacher", "née"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "grade": rng.choice(ORDER, n),
            "town": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
        }
    )


def fits(row: dict[str, Any], record: dict[str, Any], columns: list[str], kept: list[str]) -> bool:
    """Whether a record may be behind a row, by the row's words."""
    for name in columns:
        value = record[name]
        if f"{name}_set" in row:
            if value not in row[f"{name}_set"]:
                return False
            continue
        low, high = row[f"{name}_lo"], row[f"{name}_hi"]
        if name == "grade":
            low, high, value = ORDER.index(low), ORDER.index(high), ORDER.index(value)
        if low is None or value is None:
            if low is not None or value is not None:
                return False
        elif not low <= value <= high:
            return False
    return all(row[name] == record[name] for name in kept)


def candidates(done: Done, known: pl.DataFrame, columns: list[str], kept: list[str]) -> np.ndarray:
    """Of every row, all pairs gone through."""
    rows, records = done.rows().to_dicts(), known.to_dicts()
    seen: dict[tuple[Any, ...], int] = {}
    counts = []
    for row in rows:
        key = (row["box"], *(row[name] for name in kept))
        if key not in seen:
            seen[key] = sum(fits(row, record, columns, kept) for record in records)
        counts.append(seen[key])
    return np.array(counts)


def check(result: Any, count: np.ndarray, k: int) -> None:
    there = count[count > 0]
    assert result["mean_rank"] == pytest.approx(there.mean())
    assert result["mean_posterior"] == pytest.approx((1.0 / there).mean())
    assert result["share_below_k"] == pytest.approx((there < k).mean())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bounds", ["cells", "tight"])
def test_candidates_of_a_row_are_those_in_its_box(tmp_path: Path, kind: str, bounds: str) -> None:
    """Of the original, and of a file of others who may be in no box."""
    bench, columns = Bench(tmp_path), KINDS[kind]
    bench.dataset("data", people(1))
    bench.dataset("others", people(2, 300))
    spec = {"method": "boxes", "dataset_id": "data", "quasi_identifiers": columns, "k": 6, "bounds": bounds}
    spec |= {"ordinal": {"grade": ORDER}} if "grade" in columns else {}
    done = bench.run(spec)
    bench.keep("made", done)
    own = bench.run({"method": "linkage", "release_id": "made"}).result
    assert own["share_below_k"] == 0.0
    assert own["candidates"] == 500
    check(own, candidates(done, people(1), columns, []), 6)
    others = bench.run({"method": "linkage", "release_id": "made", "knowledge_dataset_id": "others"}).result
    check(others, candidates(done, people(2, 300), columns, []), 6)


@pytest.mark.parametrize("columns", [["x", "y"], ["x", "job"]], ids=str)
@pytest.mark.parametrize("bounds", ["cells", "tight"])
def test_where_kept_columns_count_candidates_have_the_rows_kept_values(
    tmp_path: Path, bounds: str, columns: list[str]
) -> None:
    """Boxes of other classes lie over each other: a record is in one of its own class."""
    bench = Bench(tmp_path)
    bench.dataset("data", people(3))
    spec = {"method": "boxes", "dataset_id": "data", "quasi_identifiers": columns, "k": 6, "bounds": bounds}
    done = bench.run(spec | {"keep": ["town"], "k_counts_kept": True})
    bench.keep("made", done)
    own = bench.run({"method": "linkage", "release_id": "made"}).result
    check(own, candidates(done, people(3), columns, ["town"]), 6)
    assert own["share_below_k"] == 0.0
    bench.dataset("stranger", people(3).drop("town"))
    _, (wrong,) = bench.accepted({"method": "linkage", "release_id": "made", "knowledge_dataset_id": "stranger"})
    assert wrong.pointer == "/knowledge_dataset_id"
    assert "'town', whose values the release keeps" in wrong.detail


def test_records_that_lack_values_are_candidates_of_rows_that_lack_them(tmp_path: Path) -> None:
    rng, bench = np.random.default_rng(4), Bench(tmp_path)
    gaps = pl.Series(rng.random(500) < 0.3)
    frame = people(4).with_columns(pl.when(~gaps).then("x"), pl.when(gaps | (pl.col("n") > 2)).then("y"))
    bench.dataset("data", frame)
    spec = anonymization("boxes", "data", ["x", "y"], k=6, missing_policy="pattern")
    done = bench.run(spec | {"bounds": "tight"})
    assert done.result["suppressed_cells"] == 0
    bench.keep("made", done)
    own = bench.run({"method": "linkage", "release_id": "made"}).result
    check(own, candidates(done, frame, ["x", "y"], []), 6)
    assert own["share_below_k"] == 0.0


def test_who_knows_no_record_of_any_box_is_refused_at_the_dataset_that_he_knows(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.dataset("data", people(5))
    bench.dataset("far", people(6).with_columns(pl.col("x") + 1e6))
    bench.keep("made", bench.run(anonymization("boxes", "data", ["x", "y"], k=6) | {"bounds": "tight"}))
    with pytest.raises(InvalidError, match="is in any box") as caught:
        bench.run({"method": "linkage", "release_id": "made", "knowledge_dataset_id": "far"})
    assert [error.pointer for error in caught.value.errors] == ["/knowledge_dataset_id"]
