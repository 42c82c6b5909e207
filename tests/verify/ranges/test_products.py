"""The largest mean of a product of two combinations of columns, against all corners and places between them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_verify.ranges.column import box_column
from surebox_verify.ranges.products import Products, products
from tests.drawing import examples


def some(seed: int, boxes: int, columns: int, weighted: bool = False) -> Products:
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=(boxes, columns))
    upper = lower + rng.choice([0.0, 0.3, 2.0], size=lower.shape) * rng.random(lower.shape)
    counts = rng.integers(1, 9, boxes).astype(float)
    weights = rng.uniform(0.1, 1.0, boxes) if weighted else None
    return products(tuple(box_column(lower[:, i], upper[:, i], counts, weights) for i in range(columns)))


def by_search(boxes: Products, a: np.ndarray, c: np.ndarray) -> float:
    """Sum of the largest products: every edge of every box, 400 places on each."""
    m, total = len(boxes.lower), 0.0
    shares = np.linspace(0.0, 1.0, 401)
    for b, mass in enumerate(boxes.mass.of_box):
        ends = np.stack([boxes.lower[:, b], boxes.upper[:, b]])
        best = -np.inf
        for corner in itertools.product((0, 1), repeat=m):
            for free in range(m):
                z = np.tile(ends[list(corner), range(m)], (len(shares), 1))
                z[:, free] = ends[0, free] + shares * (ends[1, free] - ends[0, free])
                best = max(best, float(((a[0] + z @ a[1:]) * (c[0] + z @ c[1:])).max()))
        total += mass * best
    return total


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 2**32), st.integers(1, 4), st.booleans())
def test_the_largest_sum_is_that_of_all_edges(seed: int, columns: int, weighted: bool) -> None:
    boxes = some(seed, 7, columns, weighted)
    rng = np.random.default_rng(seed + 1)
    a, c = rng.normal(size=(2, columns + 1)) * rng.choice([0.0, 1.0, 1.0, 5.0], size=(2, columns + 1))
    maximum = boxes.largest(a, c, np.zeros_like(c))
    expected = by_search(boxes, a, c)
    size = float(np.abs(a) @ boxes.sizes @ np.abs(c)) + 1e-280
    assert expected <= maximum.bound <= expected + 1e-4 * size  # 400 places on an edge miss its peak by so much at most
    second = boxes.moments(maximum)
    assert boxes.mass.middle * float(a @ second @ c) == pytest.approx(maximum.bound, abs=1e-9 * size)


def test_the_moments_are_those_of_data_in_the_boxes() -> None:
    boxes = some(3, 900, 3)  # more than one chunk, the last one not full
    rng = np.random.default_rng(4)
    for _ in range(5):
        second = boxes.moments(boxes.largest(*rng.normal(size=(2, 4)), np.zeros(4)))
        share = boxes.mass.of_box / boxes.mass.middle
        assert second[0, 0] == pytest.approx(1.0)
        assert np.linalg.eigvalsh(second).min() > 0.0
        assert (boxes.lower @ share - 1e-12 <= second[0, 1:]).all()
        assert (second[0, 1:] <= boxes.upper @ share + 1e-12).all()
        assert (np.abs(second) <= boxes.sizes / boxes.mass.middle + 1e-12).all()


def test_combinations_that_are_known_less_well_have_wider_bounds() -> None:
    boxes = some(5, 40, 2)
    a, c, off = np.array([0.1, 1.0, -2.0]), np.array([0.3, -1.0, 0.5]), np.array([0.0, 1e-3, 0.0])
    loose = boxes.largest(a, c, off).bound
    for meant in (c + off, c - off):
        assert boxes.largest(a, meant, np.zeros(3)).bound < loose
    assert loose - boxes.largest(a, c, np.zeros(3)).bound == pytest.approx(np.abs(a) @ boxes.sizes @ off)
