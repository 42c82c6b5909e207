"""Predictions with classes and several predictors, against least squares on all small tables that fit the boxes."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from surebox_core.steps import finished
from surebox_verify.answering import answering
from surebox_verify.questions import name_of, question
from surebox_verify.released.boxes import ReleasedBoxes

TOWNS, SHIFTS = ("Bern", "Genf", "Zug"), ("day", "night")
#: A target of numbers or of two values; predictors of numbers, of values, of several of each, in boxes and beside.
PREDICTIONS: list[dict[str, Any]] = [
    {"kind": "prediction", "of": ["age", "town"], "at": ["Genf"]},
    {"kind": "prediction", "of": ["age", "shift"], "at": ["night"]},
    {"kind": "prediction", "of": ["shift", "age"], "at": [2.5]},
    {"kind": "prediction", "of": ["age", "town", "shift"], "at": ["Zug", "day"]},
    {"kind": "prediction", "of": ["shift", "town"], "at": ["Bern"]},
    {"kind": "prediction", "of": ["pay", "age", "shift"], "at": [1, "night"]},
    {"kind": "prediction", "of": ["age", "pay", "sex"], "at": [4, "f"]},
    {"kind": "prediction", "of": ["sex", "age", "pay"], "at": [3.0, 2]},
    {"kind": "prediction", "of": ["age", "sex"], "at": ["m"]},
    {"kind": "prediction", "of": ["pay", "sex", "town"], "at": ["f", "Zug"]},
]


class Small:
    """Boxes of two records each, ages and values open in some of them, pay and sex beside the boxes."""

    def __init__(self, seed: int, boxes: int = 5) -> None:
        draw = np.random.default_rng(seed)
        self.of_row = np.repeat(np.arange(boxes), 2)
        low = draw.integers(0, 6, boxes).astype(float)
        high = low + draw.choice([0.0, 0.25], boxes)
        self.sets = []
        for book in (TOWNS, SHIFTS):
            held = np.zeros((boxes, len(book)), dtype=np.bool_)
            codes = [*range(len(book)), *draw.integers(0, len(book), boxes)][:boxes]
            held[np.arange(boxes), codes] = True
            held[boxes - 1, draw.integers(0, len(book))] = True  # one box may have two values
            self.sets.append(held)
        self.pay = draw.integers(0, 5, 2 * boxes).tolist()
        self.sex = draw.choice(["f", "m"], 2 * boxes).tolist()
        self.boxes = ReleasedBoxes(
            lower=low[:, None], upper=high[:, None], counts=np.full(boxes, 2), of_row=self.of_row,
            sets=tuple(self.sets), numeric=("age",), nominal=("town", "shift"), codebooks=(TOWNS, SHIFTS),
        )  # fmt: skip
        self.kept = pa.table({"pay": pa.array(self.pay, pa.int64()), "sex": pa.array(self.sex, pa.string())})

    def possible(
        self, of: Sequence[str], draw: np.random.Generator, most: int = 3000
    ) -> Iterator[dict[str, list[Any]]]:
        """Data that fit: all with ages at an end or in the middle, or some of them where these are many."""
        low, high = self.boxes.lower[self.of_row, 0], self.boxes.upper[self.of_row, 0]
        columns: dict[str, list[list[Any]]] = {"pay": [[v] for v in self.pay], "sex": [[v] for v in self.sex]}
        columns["age"] = [sorted({a, 0.5 * (a + b), b}) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        for name, book, held in zip(("town", "shift"), (TOWNS, SHIFTS), self.sets, strict=True):
            columns[name] = [[book[code] for code in np.flatnonzero(held[box])] for box in self.of_row]
        choices = [one for name in of for one in columns[name]]
        rows = len(self.of_row)
        size = int(np.prod([float(len(one)) for one in choices]))
        every: Iterator[Sequence[Any]] = (
            itertools.product(*choices)
            if size <= most
            else ([one[draw.integers(len(one))] for one in choices] for _ in range(most))
        )
        for cells in every:
            yield {name: list(cells[place * rows : (place + 1) * rows]) for place, name in enumerate(of)}


def indicators(values: Sequence[Any], at: Any) -> tuple[list[np.ndarray], list[float]]:
    """A column as least squares takes it: a number, or an indicator for each value that it has but the first."""
    if not isinstance(values[0], str):
        return [np.array(values, dtype=float)], [float(at)]
    book = sorted(set(values))[1:]
    return [np.array([value == other for value in values], dtype=float) for other in book], [
        float(at == b) for b in book
    ]


def fitted(one: Mapping[str, Any], data: Mapping[str, Sequence[Any]]) -> float | None:
    """The line at the values; None where the data leave it undefined, or have no record with a value."""
    target, *predictors = one["of"]
    codes = {"shift": SHIFTS, "sex": ("f", "m")}
    y = np.array(data[target], dtype=float) if target not in codes else np.array(
        [codes[target].index(value) for value in data[target]], dtype=float
    )  # fmt: skip
    columns, at = [np.ones(len(y))], [1.0]
    for name, value in zip(predictors, one["at"], strict=True):
        if isinstance(value, str) and value not in data[name]:
            return None
        more, where = indicators(data[name], value)
        columns += more
        at += where
    x = np.column_stack(columns)
    if np.linalg.matrix_rank(x, tol=1e-6) < x.shape[1]:
        return None
    return float(np.linalg.lstsq(x, y, rcond=None)[0] @ at)


@pytest.mark.parametrize("seed", range(12))
def test_ranges_of_predictions_hold_all_data_that_fit(seed: int) -> None:
    table, draw = Small(seed), np.random.default_rng(seed)
    entries = finished(answering(table.boxes, table.kept, [question(one) for one in PREDICTIONS], refuse=False))
    had = 0
    for (one,) in entries:
        values = [fitted(one, data) for data in table.possible(one["of"], draw)]
        defined = [value for value in values if value is not None]
        if one["guaranteed"] is None:
            assert one["reason"], name_of(one)
            continue
        assert None not in values, (name_of(one), "some data leave it undefined")
        had += 1
        low, high = one["guaranteed"]
        slack = 1e-9 * max(1.0, abs(low), abs(high))
        assert low - slack <= min(defined), (name_of(one), one, min(defined))
        assert max(defined) <= high + slack, (name_of(one), one, max(defined))
        if one["attained"] is not None:
            assert low <= one["attained"][0] <= one["attained"][1] <= high
    assert had >= 3, "else nothing is held against data"
