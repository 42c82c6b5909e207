"""Guaranteed ranges of regressions on several predictors against the enumeration of all vertices."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.boxes.test_ranges import boxes_of, found, random_boxes, vertices
from workers.algorithms.boxes.bounds import Boxes
from workers.algorithms.boxes.ranges.regression import _enclose


def coefficients(data: np.ndarray) -> np.ndarray:
    """Intercept and coefficients of the first column on the others, (..., records, columns) -> (..., columns)."""
    u = data - data.mean(axis=-2, keepdims=True)
    second = np.einsum("...pq,...pr->...qr", u, u)
    beta = np.linalg.solve(second[..., 1:, 1:], second[..., 1:, :1])[..., 0]
    mean = data.mean(axis=-2)
    return np.concatenate([mean[..., :1] - (beta * mean[..., 1:]).sum(axis=-1, keepdims=True), beta], axis=-1)


@pytest.mark.parametrize("spread", [0.02, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_two_predictors_hold_every_vertex(seed: int, spread: float) -> None:
    boxes = random_boxes(seed, 5, 3, largest=1, spread=spread)
    reached = coefficients(vertices(boxes, (0, 1, 2)))
    ranges = found("regression", (0, 1, 2), boxes)
    for r, values in zip(ranges, reached.T, strict=True):
        if r.outer is None:
            assert spread > 0.1  # narrow boxes leave nothing open
            continue
        assert r.outer.lower <= values.min()
        assert values.max() <= r.outer.upper
        assert r.inner is not None  # reached, if not at vertices: coefficients bend both ways
        assert r.outer.lower <= r.inner.lower <= r.inner.upper <= r.outer.upper


def test_narrow_boxes_leave_a_small_gap() -> None:
    gaps = []
    for seed in range(4):
        narrow = random_boxes(seed, 60, 3, largest=4, spread=0.01)
        gaps += [r.gap for r in found("regression", (0, 1, 2), narrow)]
    assert max(gap for gap in gaps if gap is not None) < 0.75
    assert None not in gaps


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32), st.integers(2, 4), st.sampled_from([1e-3, 0.05, 0.5]), st.sampled_from([0.0, 1e4]))
def test_what_data_in_the_boxes_give_lies_inside(seed: int, predictors: int, spread: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    unit = 10.0 ** rng.integers(-3, 4, predictors + 1)
    lower = shift + rng.normal(size=(40, predictors + 1))
    lower[:, 0] += lower[:, 1]
    upper = lower + spread * rng.uniform(size=lower.shape)
    boxes: Boxes = boxes_of(lower * unit, upper * unit, rng.integers(1, 4, 40))
    low, high = (np.repeat(each, boxes.counts, axis=0) for each in (boxes.lower, boxes.upper))
    ranges = found("regression", tuple(range(predictors + 1)), boxes)
    assert spread > 0.01 or all(r.outer for r in ranges)
    for _ in range(6):
        corner = rng.random(low.shape) < rng.choice([0.0, 0.5, 1.0], size=low.shape[1])
        values = coefficients(np.where(corner, high, low + rng.random(low.shape) * (high - low)))
        for r, value, scale in zip(ranges, values, unit[0] / np.append(1.0, unit[1:]), strict=True):
            if r.outer is not None:
                slack = 1e-9 * (abs(value) + scale * (1.0 + shift))  # the rounding of the value itself
                assert r.outer.lower - slack <= value <= r.outer.upper + slack


def test_predictors_that_the_boxes_allow_to_be_collinear_have_no_certain_range() -> None:
    line = np.arange(6.0)[:, None] * np.ones(3)
    line[:, 0] = [0.0, 2.0, 1.0, 5.0, 3.0, 4.0]
    boxes = boxes_of(line, line + 0.5, np.full(6, 2))
    assert [r.outer for r in found("regression", (0, 1, 2), boxes)] == [None] * 3


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(2, 3), st.sampled_from([1e-6, 0.1, 0.3]))
def test_enclosures_hold_the_solutions_of_all_extreme_systems(seed: int, q: int, radius: float) -> None:
    rng = np.random.default_rng(seed)
    middle = np.hstack([np.eye(q) + 0.1 * rng.normal(size=(q, q)), rng.normal(size=(q, 1))])
    size = radius * rng.uniform(size=middle.shape)
    enclosed = _enclose(middle, size)
    if enclosed is None:
        assert radius > 1e-6
        return
    for signs in itertools.product([-1.0, 1.0], repeat=middle.size):
        system = middle + np.reshape(signs, middle.shape) * size
        solution = np.linalg.solve(system[:, :-1], system[:, -1])
        assert (enclosed[0] <= solution + 1e-12).all()
        assert (solution - 1e-12 <= enclosed[1]).all()
