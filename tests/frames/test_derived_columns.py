"""Columns made from others by cases: the first case that fits decides, however many there are."""

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from app.methods.microfile.spec import DerivedColumn
from tests.drawing import seeds
from workers.frames.digests import column_digests
from workers.frames.harmonised import harmonised


def by_hand(rows: list[dict[str, Any]], derived: dict[str, Any]) -> list[str | None]:
    """Each record alone: the cases one after the other, as their description states."""
    made = []
    for row in rows:
        to = derived.get("otherwise")
        for case in derived["cases"]:
            if all(row[column] in values for column, values in case["when"].items()):
                to = case["to"]
                break
        made.append(to)
    return made


@pytest.mark.parametrize("seed", seeds(20))
def test_the_first_case_that_fits_decides(seed: int) -> None:
    draw = np.random.default_rng(seed)
    many = int(draw.integers(1, 200))
    a = [None if value == 5 else int(value) for value in draw.integers(0, 6, many)]
    b = [None if value == "z" else str(value) for value in draw.choice(list("pqrsz"), many)]
    c = [bool(value) for value in draw.integers(0, 2, many)]
    domain: dict[str, list[Any]] = {"a": [0, 1, 2, 3, 4], "b": list("pqrs"), "c": [True, False]}
    cases = []
    for number in range(int(draw.integers(1, 30))):
        named = [name for name in domain if draw.random() < 0.6] or ["a"]
        when = {name: [one for one in domain[name] if draw.random() < 0.4] for name in named}
        cases.append({"when": when, "to": None if draw.random() < 0.1 else f"case {number}"})
    derived: dict[str, Any] = {"columns": list(domain), "cases": cases}
    if draw.random() < 0.7:
        derived["otherwise"] = "none"
    raw = {"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.string()), "c": pa.array(c, pa.bool_())}
    rows = [dict(zip(domain, row, strict=True)) for row in zip(a, b, c, strict=True)]
    made = harmonised("made", raw, {"made": DerivedColumn.model_validate(derived)})
    assert made.to_pylist() == by_hand(rows, derived)


@pytest.mark.parametrize("seed", seeds(6))
def test_columns_digested_together_are_digested_as_each_alone(seed: int, tmp_path: Any) -> None:
    """Files of thousands of columns are read some columns at once."""
    draw = np.random.default_rng(seed)
    rows, columns = int(draw.integers(1, 40)), int(draw.integers(60, 200))
    made: dict[str, pl.Series] = {}
    for at in range(columns):
        kind = draw.integers(0, 4)
        numbers = draw.integers(-3, 4, rows)
        texts = [f"t{value}" for value in numbers.tolist()]
        days = [date(2020, 1, 5 + int(value)) for value in numbers]
        made[f"c{at}"] = pl.Series([numbers / 2, numbers, texts, days][kind])
    path = tmp_path / "some.parquet"
    pl.DataFrame(made).write_parquet(path)
    names = draw.permutation(list(made)).tolist()
    together = column_digests(path, names)
    assert together == [column_digests(path, [name])[0] for name in names]
    half = columns // 2
    pl.DataFrame(made).reverse().write_parquet(path)
    assert column_digests(path, names[:half]) == together[:half], "the order of the rows does not matter"
