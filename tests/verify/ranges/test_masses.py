"""Ranges where of each box's weight an interval is known: they hold every admissible law, and hardly more."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from surebox_core.statistics import Statistic
from surebox_verify.boxes import Meaning, PublishedBoxes
from surebox_verify.estimates import reading_steps
from surebox_verify.ranges.column import box_column
from surebox_verify.ranges.mass import mass_of
from surebox_verify.ranges.masses import with_masses
from surebox_verify.readings import Readings
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.weights import weight_intervals

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


def boxes(
    draw: np.random.Generator, count: int, *, heavy: float = 0.3
) -> tuple[FloatArray, FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
    """Bounds of one column, records, and intervals of weights from a thousandth to a million."""
    lower = draw.choice([draw.normal(0, 2, count), np.rint(draw.normal(0, 3, count))])
    upper = lower + draw.choice([0.0, 1.0, 3.0], count)
    low = np.exp(draw.uniform(-7, 14, count) if draw.random() < heavy else draw.uniform(0, 1, count))
    return lower, upper, draw.integers(2, 6, count).astype(np.float64), (low, low * draw.uniform(1.0, 2.0, count))


def column_of(lower: FloatArray, upper: FloatArray, counts: FloatArray, ends: tuple[FloatArray, FloatArray]) -> Any:
    middle = 0.5 * (ends[0] + ends[1])
    return with_masses(box_column(lower, upper, counts, middle), lower, upper, mass_of(counts, middle, ends))


def test_mean_and_upper_variance_are_what_brute_force_reaches() -> None:
    """All masses at ends of their intervals, all values at ends of their boxes."""
    draw = np.random.default_rng(1)
    for _ in range(60):
        lower, upper, counts, ends = boxes(draw, 4, heavy=0.0)
        column = column_of(lower, upper, counts, ends)
        masses = np.array(list(product(*zip(*ends, strict=True)))) * counts
        shares = masses / masses.sum(axis=1, keepdims=True)
        values = np.array(list(product(*zip(lower, upper, strict=True))))
        means = shares @ values.T
        scale = max(1.0, float(np.abs(values).max()))
        assert column.mean.outer.lower == pytest.approx(means.min(), abs=1e-12 * scale)
        assert column.mean.outer.upper == pytest.approx(means.max(), abs=1e-12 * scale)
        far = [np.maximum((lower - mu) ** 2, (upper - mu) ** 2) for mu in np.linspace(lower.min(), upper.max(), 2001)]
        assert column.variance.outer.upper == pytest.approx((shares @ np.array(far).T).max(axis=0).min(), rel=1e-3)
        reached = (shares @ (values**2).T - means**2).max()  # of boxes that are not divided
        assert column.variance.outer.upper >= reached * (1 - 1e-12)


def test_the_least_variance_is_that_of_a_fine_search() -> None:
    draw = np.random.default_rng(2)
    for _ in range(40):
        lower, upper, counts, ends = boxes(draw, 5, heavy=0.0)
        column = column_of(lower, upper, counts, ends)
        masses = np.array(list(product(*zip(*ends, strict=True)))) * counts
        shares = masses / masses.sum(axis=1, keepdims=True)
        least = np.inf
        for mu in np.linspace(lower.min(), upper.max(), 2001):
            distance = mu - np.clip(mu, lower, upper)
            least = min(least, float((shares @ distance**2).min()))
        assert column.variance.outer.lower <= least * (1 + 1e-12)
        assert column.variance.outer.lower >= least - 2e-3 * max(column.variance.outer.upper, 1e-12)


def law(draw: np.random.Generator, published: PublishedBoxes) -> tuple[FloatArray, FloatArray, Any, FloatArray]:
    """Records of some data that fit the boxes and the intervals: x, y, a set's values, weights."""
    box = np.repeat(np.arange(len(published.counts)), published.counts)
    near = draw.random()
    part = np.where(draw.random((2, len(box))) < near, draw.integers(0, 2, (2, len(box))), draw.random((2, len(box))))
    columns = [low[box] + each * (high[box] - low[box])
               for low, high, each in zip(published.lower.T, published.upper.T, part, strict=True)]  # fmt: skip
    codes = np.array([draw.choice(np.flatnonzero(published.sets[0][b])) for b in box])
    assert published.survey_ends is not None
    low, high = published.survey_ends
    total = np.where(draw.random(len(low)) < near, draw.integers(0, 2, len(low)), draw.random(len(low)))
    sums = (low + total * (high - low)) * published.counts
    drawn = draw.gamma(draw.choice([0.05, 1.0, 30.0]), 1.0, len(box)) + 1e-12
    return columns[0], columns[1], codes, drawn / np.bincount(box, weights=drawn)[box] * sums[box]


STATISTICS = (
    Statistic("mean", (0,), 1.0), Statistic("variance", (0,), 1.0), Statistic("share", (2,), 1.0, (0,)),
    Statistic("share", (2,), 1.0, (0, 2)), Statistic("domain_mean", (0, 2), 1.0, (1,)),
    Statistic("quantile", (0,), 1.0, (), 0.5), Statistic("quantile", (1,), 1.0, (), 0.1),
)  # fmt: skip
PAIRS = (
    Statistic("covariance", (0, 1), 1.0),
    Statistic("correlation", (0, 1), 1.0),
    Statistic("regression", (0, 1), 1.0),
    Statistic("prediction", (0, 1), 1.0, at=(1.5,)),
)


def value(statistic: Statistic, x: FloatArray, y: FloatArray, codes: Any, weights: FloatArray) -> list[float]:
    share, column = weights / weights.sum(), (x, y)[statistic.of[0] % 2]
    if statistic.kind == "mean":
        return [float(share @ column)]
    if statistic.kind == "share":
        return [float(share[np.isin(codes, statistic.values)].sum())]
    if statistic.kind == "domain_mean":
        inside = np.isin(codes, statistic.values)
        return [float(share[inside] @ x[inside] / share[inside].sum())] if inside.any() else []
    if statistic.kind == "quantile":
        order = np.argsort(column, kind="stable")
        return [float(column[order][int(np.argmax(np.cumsum(share[order]) >= float(statistic.p or 0.5)))])]
    u, v = x - share @ x, y - share @ y
    if statistic.kind in {"variance", "covariance"}:
        return [float(share @ (u * (u if statistic.kind == "variance" else v)))]
    if min(share @ (u * u), share @ (v * v)) < 1e-9:
        return []
    if statistic.kind == "correlation":
        return [float(share @ (u * v) / np.sqrt((share @ (u * u)) * (share @ (v * v))))]
    slope = float(share @ (u * v) / (share @ (v * v)))
    line = float(share @ x + slope * ((statistic.at or (0.0,))[0] - share @ y))
    return [line] if statistic.kind == "prediction" else [line, slope]


@pytest.mark.parametrize(("statistics", "tables"), [(STATISTICS, 120), (PAIRS, 12)], ids=["single", "pairs"])
def test_no_admissible_law_lies_outside(statistics: tuple[Statistic, ...], tables: int) -> None:
    draw, proven = np.random.default_rng(3), set()
    for _ in range(tables):
        sides = [boxes(draw, 6) for _ in range(2)]
        sets = draw.random((6, 3)) < 0.5
        sets[~sets.any(axis=1), 0] = True
        published = PublishedBoxes(
            np.column_stack([sides[0][0], sides[1][0]]), np.column_stack([sides[0][1], sides[1][1]]),
            sides[0][2].astype(np.int64), sets=(sets,), survey_ends=sides[0][3],
        )  # fmt: skip
        readings = Readings(published, Meaning())
        ranges = {one: reading_steps(one, readings, 64).finish() for one in statistics}
        for _ in range(20):
            records = law(draw, published)
            for one, components in ranges.items():
                for number, part in zip(value(one, *records), components, strict=False):
                    if part.outer is not None:
                        proven.add(one)
                        play = 1e-9 * max(1.0, abs(number))
                        assert part.outer.lower - play <= number <= part.outer.upper + play, (one, number, part)
    assert proven == set(statistics), "else nothing is seen of the others"


def test_means_of_whole_weights_lie_within_their_intervals_to_the_last_place() -> None:
    """In fractions: a sum at an end of its interval, divided by three, is no float."""
    draw, records = np.random.default_rng(5), 3
    of = np.repeat(np.arange(400, dtype=np.int32), records)
    weights = draw.integers(1, 40, len(of)).astype(np.float64)
    key = np.arange(8, dtype=np.uint32)
    bounds = np.arange(400.0)[:, None]
    made = Boxes(bounds, bounds + 1.0, np.full(400, records, dtype=np.int64), of, np.array([False]))
    low, high = weight_intervals(weights, made, key, np.empty(0, dtype=np.int32))
    for box in range(400):
        mean = Fraction(int(weights[of == box].sum()), records)
        assert Fraction(low[box]) <= mean <= Fraction(high[box])
