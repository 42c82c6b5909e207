"""Certain intervals of the values in boxes: against all records that there may be, listed one by one."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from random import Random

import numpy as np
import pytest

from surebox_verify.boxes import Lattice, Meaning, PublishedBoxes
from surebox_verify.disclosure import natural_scale, value_disclosure, value_intervals
from tests.drawing import seeds


def a_box(low: float, high: float, records: int, mean: tuple[float, float] | None) -> PublishedBoxes:
    means = None if mean is None else (np.array([[mean[0]]]), np.array([[mean[1]]]))
    return PublishedBoxes(np.array([[low]]), np.array([[high]]), np.array([records]), means=means)


def possible(
    values: Sequence[Fraction], records: int, least: Fraction | None, most: Fraction | None
) -> tuple[float, float]:
    """The least and the greatest value that a record has in any box whose sum lies between two numbers."""
    boxes = [
        one
        for one in combinations_with_replacement(values, records)
        if (least is None or sum(one) >= least) and (most is None or sum(one) <= most)
    ]
    return float(min(map(min, boxes))), float(max(map(max, boxes)))


@pytest.mark.parametrize("seed", seeds(40))
def test_intervals_contain_what_records_can_have_and_no_more(seed: int) -> None:
    draw = Random(seed)
    for _ in range(10):
        step = Fraction(draw.choice(["1", "0.1", "0.7", "5"]))
        first, width, records = draw.randint(-8, 8), draw.randint(0, 5), draw.randint(1, 4)
        values = [step * number for number in range(first, first + width + 1)]
        members = [draw.choice(values) for _ in range(records)]
        total = sum(members)
        spare = draw.choice([Fraction(0), step / 3, step * 2])
        ends = draw.choice([None, (total - spare, total + spare)])
        mean = None if ends is None else (float(ends[0] / records), float(ends[1] / records))
        box = a_box(float(values[0]), float(values[-1]), records, mean)
        low, high = value_intervals(box, 0, float(step))
        assert (low[0], high[0]) == possible(values, records, *(ends or (None, None)))


@pytest.mark.parametrize("seed", seeds(20))
def test_intervals_of_orders_end_at_values_of_the_order(seed: int) -> None:
    draw = Random(seed)
    labels = tuple(sorted(draw.sample(range(-50, 50), draw.randint(2, 8))))
    first = draw.randrange(len(labels))
    last = draw.randrange(first, len(labels))
    lattice: Lattice = tuple(map(float, labels))
    low, high = value_intervals(a_box(labels[first], labels[last], 3, None), 0, lattice)
    assert (low[0], high[0]) == (labels[first], labels[last])


@pytest.mark.parametrize("seed", seeds(20))
def test_records_that_span_a_width_leave_that_width_whatever_sum_is_published(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for _ in range(50):
        members = draw.normal(size=draw.integers(2, 9)) * 10.0 ** draw.integers(-3, 4)
        wider = draw.exponential(size=2) * np.ptp(members) * draw.integers(0, 2)
        mean = members.mean()
        off = draw.exponential(size=2) * np.ptp(members) * draw.integers(0, 2)
        box = a_box(members.min() - wider[0], members.max() + wider[1], len(members), (mean - off[0], mean + off[1]))
        low, high = value_intervals(box, 0)
        assert high[0] - low[0] >= np.ptp(members) * (1 - 1e-12)
        assert low[0] <= members.min() + 1e-9 * np.ptp(members)
        assert high[0] >= members.max() - 1e-9 * np.ptp(members)


@pytest.mark.parametrize("seed", seeds(20))
def test_shares_are_those_of_rows_counted_one_by_one(seed: int) -> None:
    draw = Random(seed)
    boxes = draw.randint(1, 12)
    counts = np.array([draw.randint(1, 9) for _ in range(boxes)])
    lower = np.array([[draw.randint(0, 40), draw.random(), draw.randint(-9, 9)] for _ in range(boxes)], dtype=float)
    upper = lower + np.array([[draw.choice([0, 0, 3, 9]), draw.choice([0.0, 0.01, 0.5]), 1] for _ in range(boxes)])
    for box in range(boxes):
        if draw.random() < 0.2:
            lower[box, 0] = upper[box, 0] = np.nan
    sets = np.array([[draw.random() < 0.4 for _ in range(3)] for _ in range(boxes)])
    made = PublishedBoxes(lower, upper, counts, sets=(sets,))
    shown = value_disclosure(made, Meaning(steps=(1.0, None, 1.0)), ("age", "wage", "day"), ("town",), {"day"})

    def share(chosen: Sequence[bool], there: Sequence[bool]) -> float:
        rows = [(one, known) for one, known, count in zip(chosen, there, counts, strict=True) for _ in range(count)]
        having = [one for one, known in rows if known]
        return sum(having) / len(having) if having else 0.0

    for column, name in enumerate(("age", "wage", "day")):
        there = [value == value for value in lower[:, column]]
        width = (upper - lower)[:, column]
        assert shown[name].exact == pytest.approx(share([each == 0 for each in width], there))
        assert shown[name].tolerance == pytest.approx(natural_scale(made, column) / 10)
        assert shown[name].within == pytest.approx(share([each <= shown[name].tolerance for each in width], there))
    near = [high - low <= high / 10 for low, high in zip(lower[:, 0], upper[:, 0], strict=True)]
    assert shown["age"].estimable == pytest.approx(share(near, [value == value for value in lower[:, 0]]))
    assert shown["day"].estimable is None
    size = sets.sum(axis=1)
    assert shown["town"].exact == pytest.approx(share([each == 1 for each in size], [each > 0 for each in size]))
    assert (shown["town"].within, shown["town"].tolerance, shown["town"].estimable) == (None, None, None)


@pytest.mark.parametrize("seed", seeds(10))
def test_a_natural_scale_is_the_next_rung_above_the_deviation_of_evenly_spread_records(seed: int) -> None:
    draw = np.random.default_rng(seed)
    lower = draw.normal(size=(20, 1)) * 10.0 ** draw.integers(-9, 9)
    upper = lower + draw.exponential(size=(20, 1)) * np.abs(lower).mean()
    counts = draw.integers(1, 6, size=20)
    places = (np.arange(2_000) + 0.5) / 2_000
    spread = np.concatenate([np.tile(lower[box] + places * (upper - lower)[box], counts[box]) for box in range(20)])
    scale = natural_scale(PublishedBoxes(lower, upper, counts), 0)
    assert scale * 0.79 * (1 - 1e-6) <= spread.std() <= scale * (1 + 1e-6)


def test_columns_that_give_nothing_to_measure() -> None:
    nothing = PublishedBoxes(np.full((2, 1), np.nan), np.full((2, 1), np.nan), np.array([3, 4]))
    (shown,) = value_disclosure(nothing, Meaning(), ("a",), (), set()).values()
    assert (shown.exact, shown.within, shown.tolerance, shown.estimable) == (0.0, 0.0, 0.0, None)
    same = PublishedBoxes(np.full((2, 1), 7.0), np.full((2, 1), 7.0), np.array([3, 4]))
    (shown,) = value_disclosure(same, Meaning(), ("a",), (), set()).values()
    assert (shown.exact, shown.within, shown.tolerance, shown.estimable) == (1.0, 1.0, 0.0, 1.0)
    for huge in product((-1e300, 1e-300), (1e300, 1.7e308)):
        wide = PublishedBoxes(np.array([[huge[0]]]), np.array([[huge[1]]]), np.array([5]))
        assert np.isfinite(natural_scale(wide, 0))
