"""Kept columns that tell persons apart: no demand that protects nothing hides them, and diagnoses are published."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.drawing import seeds
from workers.methods.released.kept import Limits, accidents

LIMITS = Limits(rare=0.01, determined=0.5)
#: Demands that every box of different values meets.
VACUOUS: tuple[dict[str, Any], ...] = (
    {"l": 1}, {"l": 2}, {"l": 3}, {"t": 1.0}, {"t": 0.95}, {"alpha": 1.0}, {"alpha": 0.5}, {"l": 2, "t": 0.9}
)  # fmt: skip


def identifiers(draw: np.random.Generator, size: int) -> dict[str, Any]:
    """Columns that are nearly unique, alone or together: numbers, texts, days, pairs; some with repeats and holes."""
    kind = draw.integers(5)
    if kind == 0:
        return {"one": draw.integers(0, 10**9, size)}
    if kind == 1:
        return {
            "one": [
                f"{letter}{number}"
                for letter, number in zip(draw.choice(["a", "b"], size), draw.permutation(size), strict=True)
            ]
        }
    if kind == 2:
        return {"one": [date(1930, 1, 1) + timedelta(int(each)) for each in draw.integers(0, 30_000, size)]}
    if kind == 3:
        each = draw.permutation(size)
        width = int(np.ceil(np.sqrt(size)))
        return {"one": each // width, "two": each % width}
    held = draw.permutation(np.arange(size) // 2)
    return {
        "one": pl.Series(held).to_frame("x").with_columns(pl.when(pl.Series(draw.random(size) < 0.8)).then("x"))["x"]
    }


def written(folder: Path, columns: dict[str, Any], boxes: int, draw: np.random.Generator) -> tuple[Path, Path]:
    frame = pl.DataFrame(columns)
    data, release = folder / "data.parquet", folder / "release.parquet"
    frame.write_parquet(data)
    order = draw.permutation(frame.height)
    frame.with_columns(pl.Series("box", draw.integers(0, boxes, frame.height)))[order].write_parquet(release)
    return release, data


@pytest.mark.parametrize("seed", seeds(40))
def test_an_identifier_is_one_whatever_is_demanded_of_it(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng([4104, seed])
    size = int(draw.integers(300, 1500))
    columns = identifiers(draw, size)
    k = int(draw.integers(1, 12))
    sensitive = list(columns) if draw.random() < 0.7 else [list(columns)[-1]]
    spec = {"method": "boxes", "k": max(k, 3), "keep": list(columns), "sensitive": sensitive}
    spec |= VACUOUS[draw.integers(len(VACUOUS))]
    release, data = written(tmp_path, columns, size // 20, draw)
    stated = accidents(release, data, spec, LIMITS)
    assert stated, "an identifier is published"
    assert {one.severity.value for one in stated} == {"high"}
    assert not any(
        str(value) in one.detail for one in stated for value in pl.read_parquet(data)["one"][:5] if len(str(value)) > 4
    )


@pytest.mark.parametrize("seed", seeds(40))
def test_a_diagnosis_with_rare_values_is_published(seed: int, tmp_path: Path) -> None:
    """Zipf's law over up to 60 illnesses, next to a town and a sex; 3 different ones or more in a box."""
    draw = np.random.default_rng([4114, seed])
    size, kinds = int(draw.integers(600, 3000)), int(draw.integers(8, 60))
    chance = 1.0 / np.arange(1, kinds + 1)
    ill = draw.choice(kinds, size, p=chance / chance.sum())
    columns: dict[str, Any] = {"ill": [f"i{one}" for one in ill]}
    columns |= {"town": draw.choice(["a", "b", "c"], size)} if draw.random() < 0.5 else {}
    demand = ({"l": 3}, {"alpha": 0.8}, {"t": 0.4})[draw.integers(3)]
    spec = {"method": "boxes", "k": int(draw.integers(3, 10)), "keep": list(columns), "sensitive": ["ill"]} | demand
    release, data = written(tmp_path, columns, size // 30, draw)
    assert accidents(release, data, spec, LIMITS) == []


@pytest.mark.parametrize("seed", seeds(20))
def test_one_value_in_most_boxes_is_told_unless_variety_is_demanded(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng([4124, seed])
    box = draw.integers(0, 10, 400)
    frame = pl.DataFrame({"old": box < draw.integers(3, 8), "box": box})
    frame.select("old").write_parquet(tmp_path / "data.parquet")
    frame.write_parquet(tmp_path / "release.parquet")
    paths = tmp_path / "release.parquet", tmp_path / "data.parquet"
    spec = {"method": "boxes", "k": 5, "keep": ["old"], "sensitive": ["old"]}
    for demand in ({"l": 1}, {"t": 1.0}, {"alpha": 1.0}, {"t": 0.9}):
        (stated,) = accidents(*paths, spec | demand, LIMITS)
        assert stated.measured == pytest.approx(1.0)
