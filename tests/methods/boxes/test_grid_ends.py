"""The least and the greatest value of a column: `grid` bounds show them only where k records share their step."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.contracts.examples import DATASET
from tests.drawing import seeds
from tests.methods.in_process import Bench

SHIFT = 0.37


def people(draw: np.random.Generator, rows: int) -> pl.DataFrame:
    """Ages and incomes, a few of which are far above the others."""
    incomes = np.rint(draw.lognormal(10, 1, rows)).astype(int)
    incomes[draw.integers(0, rows, 2)] *= int(draw.integers(2, 30))
    return pl.DataFrame({
        "age": draw.integers(18, 80, rows), "income": incomes, "person": draw.integers(0, rows // 2, rows),
    })  # fmt: skip


def step_of(value: float, h: float) -> int:
    return math.floor(value / h - SHIFT)


def inside(frame: pl.DataFrame, box: dict[str, Any]) -> pl.DataFrame:
    """The records of a box, by its bounds."""
    return frame.filter(*(pl.col(name).is_between(box[f"{name}_lo"], box[f"{name}_hi"]) for name in ("age", "income")))


def near(members: pl.DataFrame, name: str, h: float, end: int, by: str | None) -> int:
    """Count the records, or persons, that share the step of a value."""
    there = members.filter(pl.Series([step_of(value, h) == step_of(end, h) for value in members[name]]))
    return there.height if by is None else there[by].n_unique()


@pytest.mark.parametrize("seed", seeds(12, 150))
def test_the_greatest_value_shows_only_with_k_in_its_step(tmp_path: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    frame = people(draw, int(draw.integers(60, 400)))
    k, by = int(draw.integers(2, 9)), "person" if draw.random() < 0.4 else None
    domains = {"age": [0, 120], "income": [0, 20 * int(frame["income"].max())]}
    steps = {"age": 4.0, "income": float(draw.choice([100, 1000, 50_000]))}
    demanded = int(draw.integers(1, k + 1)) if draw.random() < 0.3 else None
    there = Bench(tmp_path, seed=seed)
    there.dataset(DATASET, frame)
    body = {
        "method": "boxes", "dataset_id": DATASET, "quasi_identifiers": ["age", "income"], "k": k, "bounds": "grid",
        "domains": domains, "value_step": steps, "person_column": by, "min_records_at_bound": demanded,
        "partition": str(draw.choice(["optimal", "fast", "mondrian"])),
    }  # fmt: skip
    boxes = there.run(body).rows().unique("box").to_dicts()
    for name in ("age", "income"):
        for side, end in enumerate((frame[name].min(), frame[name].max())):
            holding = [(box, members) for box in boxes if (members := inside(frame, box))[name].is_in([end]).any()]
            assert holding
            for box, members in holding:
                if box[f"{name}_{'lo' if side == 0 else 'hi'}"] != domains[name][side]:
                    assert near(frame, name, steps[name], end, by) >= (demanded or k)
                    assert near(members, name, steps[name], end, by) >= (demanded or min(2, k))


def test_more_records_than_a_box_has_are_refused(tmp_path: Path) -> None:
    there = Bench(tmp_path)
    body = {"method": "boxes", "dataset_id": DATASET, "quasi_identifiers": ["x"], "k": 3, "min_records_at_bound": 4}
    with pytest.raises(ValueError, match="at most k = 3"):
        there.spec(body)
