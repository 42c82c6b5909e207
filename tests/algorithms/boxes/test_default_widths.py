"""Least widths that nobody named, against the definition with lists; no far value moves them."""

import math
import statistics

import numpy as np
import pytest

from tests.drawing import seeds
from workers.algorithms.boxes.default_widths import DefaultWidth, default_width, halvings, possible_width
from workers.algorithms.boxes.sides import NumericColumn

RUNGS = sorted(
    float(f"{digits}e{power}")
    for power in range(-9, 9)
    for digits in ["1", "1.25", "1.6", "2", "2.5", "3.15", "4", "5", "6.3", "8"]
)


def between(values: list[float], whose: list[int], m: int) -> tuple[float, float]:
    """The m-th value from either end, the outermost of each person counted, at most as far in as the median."""
    least, most = {}, {}
    for value, person in zip(values, whose, strict=True):
        least[person] = min(value, least.get(person, value))
        most[person] = max(value, most.get(person, value))
    low, high = sorted(least.values()), sorted(most.values(), reverse=True)
    rank = min(m, (len(low) + 1) // 2) - 1
    return low[rank], high[rank]


def clipped(values: list[float], whose: list[int], m: int) -> list[float]:
    low, high = between(values, whose, m)
    return [min(max(value, low), high) for value in values]


def expected(values: list[float], whose: list[int], k: int, step: float | None, declared: int | None) -> DefaultWidth:
    seen = clipped(values, whose, k)
    if len(set(seen)) == 1:
        return DefaultWidth(0.0, exempt="one_value")
    if (len(set(seen)) if declared is None else declared) < 8:
        return DefaultWidth(0.0, exempt="few_values")
    common = statistics.mode(seen)
    spike = common if seen.count(common) > len(seen) / 2 else None
    off = [(value, person) for value, person in zip(seen, whose, strict=True) if value != spike]
    others, people = [value for value, _ in off], [person for _, person in off]
    deviation = statistics.pstdev(clipped(others, people, max(k, math.ceil(0.005 * len(set(people))))))
    width = next((rung for rung in RUNGS if rung >= deviation), 0.0) / 4 if deviation > 0.0 else 0.0
    if step is not None:
        width = max(1, math.ceil(width / step)) * step
    return DefaultWidth(width, spike) if width > 0.0 else DefaultWidth(0.0, exempt="one_value")


def column(draw: np.random.Generator) -> tuple[np.ndarray, NumericColumn]:
    """Values of the kinds that people have, and what they are."""
    rows = int(draw.integers(2, 300))
    kind = draw.integers(6)
    if kind == 0:
        return draw.normal(size=rows) * 10.0 ** draw.integers(-4, 5), NumericColumn()
    if kind == 1:
        return np.exp(draw.normal(0.0, 2.0, rows)), NumericColumn()
    if kind == 2:
        return np.where(draw.random(rows) < 0.7, 40.0, draw.integers(1, 99, rows)), NumericColumn(step=1.0)
    if kind == 3:
        return draw.integers(0, draw.integers(1, 12), rows).astype(np.float64), NumericColumn(step=1.0)
    if kind == 4:
        return draw.choice([1.0, 2.0, 5.0, 10.0], rows), NumericColumn(labels=(1.0, 2.0, 5.0, 10.0))
    return np.where(draw.random(rows) < 0.9, 0.0, draw.normal(size=rows)), NumericColumn()


@pytest.mark.parametrize("seed", seeds(10))
def test_a_width_is_a_quarter_of_the_natural_scale_off_the_spike(seed: int) -> None:
    draw = np.random.default_rng([71, seed])
    for _ in range(60):
        values, kind = column(draw)
        k = int(draw.integers(1, 20))
        whose = draw.integers(0, max(len(values) // 2, 1), len(values)).astype(np.int32)
        persons = whose if draw.random() < 0.3 else None
        declared = None if kind.labels is None else len(kind.labels)
        gone = draw.random(len(values)) < 0.1
        gone[0] = False
        got = default_width(np.where(gone, np.nan, values), kind, k, declared=declared, persons=persons)
        there = values[~gone].tolist()
        people = list(range(len(there))) if persons is None else whose[~gone].tolist()
        want = expected(there, people, k, kind.step, declared)
        assert (got.spike, got.exempt) == (want.spike, want.exempt)
        assert got.width == pytest.approx(want.width, rel=1e-12)


@pytest.mark.parametrize("seed", seeds(6))
def test_no_far_value_moves_a_width(seed: int) -> None:
    """Of the k outermost records every value but the k-th may be anything beyond that."""
    draw = np.random.default_rng([72, seed])
    for _ in range(40):
        values, kind = column(draw)
        k = int(draw.integers(2, 20))
        low, high = between(values.tolist(), list(range(len(values))), k)
        far = values.copy()
        beyond = np.argsort(values, kind="stable")[-(k - 1) :]
        far[beyond] = np.where(
            values[beyond] >= high, high + np.round(draw.exponential(1e6, k - 1))[: len(beyond)], far[beyond]
        )
        if np.isclose(low, high):
            continue
        assert default_width(far, kind, k) == default_width(values, kind, k)


def test_a_width_that_the_values_do_not_span_is_halved_and_then_dropped() -> None:
    whole = NumericColumn(step=1.0)
    assert halvings(7.0, whole) == [7.0, 4.0, 2.0, 1.0]
    assert halvings(1.0, whole) == [1.0]
    assert halvings(0.5, NumericColumn()) == [0.5, 0.25, 0.125, 0.0625]
    values = np.arange(10.0)
    assert possible_width(7.0, values, whole, 1) == 7.0
    assert possible_width(12.0, values, whole, 1) == 6.0
    assert possible_width(100.0, values, whole, 1) == 0.0
