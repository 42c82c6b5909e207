"""Cells and tight bounds: cover, disjointness, and what a cut gives away."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.boxes.cases import parts, tables
from tests.drawing import examples
from workers.algorithms.boxes.bounds import cells, rounded_outward, tight
from workers.algorithms.boxes.partition.places import KeyArray, new_keys
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.core.errors import OutsideDomainError


def keys(columns: int, seed: int) -> KeyArray:
    return new_keys(columns, np.random.default_rng(seed))


def disjoint(boxes: Boxes, *, half_open: bool) -> bool:
    pairs = itertools.combinations(range(len(boxes.counts)), 2)
    lower, upper = boxes.lower, boxes.upper
    if half_open:
        return all((upper[a] <= lower[b]).any() or (upper[b] <= lower[a]).any() for a, b in pairs)
    return all((upper[a] < lower[b]).any() or (upper[b] < lower[a]).any() for a, b in pairs)


@settings(deadline=None, max_examples=examples(120))
@given(table=tables(), seed=st.integers(0, 2**32))
def test_cells_tile_the_domain_and_hold_their_records(table: tuple[np.ndarray, int], seed: int) -> None:
    x, k = table
    boxes = cells(x, parts(x, k), (None,) * x.shape[1], keys(x.shape[1], seed))
    own_lower, own_upper = boxes.lower[boxes.box], boxes.upper[boxes.box]
    last = own_upper == boxes.upper.max(axis=0)
    assert ((own_lower <= x) & ((x < own_upper) | last & (x <= own_upper))).all()
    assert np.bincount(boxes.box).tolist() == boxes.counts.tolist()
    assert boxes.counts.min() >= k
    assert disjoint(boxes, half_open=True)
    span = boxes.upper.max(axis=0) - boxes.lower.min(axis=0)
    wide = span > 0
    volume = ((boxes.upper - boxes.lower)[:, wide] / span[wide]).prod(axis=1).sum()
    assert volume == pytest.approx(1.0, rel=1e-9)
    assert boxes.outer_from_data.all()


@settings(deadline=None, max_examples=examples(120))
@given(table=tables())
def test_tight_boxes_are_the_extremes_of_their_records_and_disjoint(table: tuple[np.ndarray, int]) -> None:
    x, k = table
    boxes = tight(x, parts(x, k))
    for b in range(len(boxes.counts)):
        mine = x[boxes.box == b]
        assert len(mine) == boxes.counts[b] >= k
        np.testing.assert_array_equal(mine.min(axis=0), boxes.lower[b])
        np.testing.assert_array_equal(mine.max(axis=0), boxes.upper[b])
    assert disjoint(boxes, half_open=False)


def test_whoever_knows_one_neighbour_does_not_learn_the_other_from_the_cut() -> None:
    # The attacker knows the value a below a cut and the published cut c; with midpoints 2 c - a is the value above.
    a, b = 10.0, 14.0
    x = np.array([1.0, 2.0, a, b, 20.0, 21.0])[:, None]
    partition = parts(x, 3)
    assert partition.gap[0].tolist() == [a, b]
    cuts = np.array([cells(x, partition, (None,), keys(x.shape[1], seed)).upper[0, 0] for seed in range(2000)])
    assert (np.abs(2 * cuts - a - b) < 0.01 * (b - a)).mean() < 0.02
    assert (cuts.min() - a, b - cuts.max()) < (0.01 * (b - a), 0.01 * (b - a))
    # No function of (a, c) does better: the same cuts are as likely when the neighbour is another.
    other = x.copy()
    other[3] = 17.0
    shares = [cells(other, parts(other, 3), (None,), keys(1, s)).upper[0, 0] for s in range(2000)]
    below = np.array(shares)[np.array(shares) < b]
    assert len(below) / len(shares) == pytest.approx((b - a) / (17.0 - a), abs=0.04)
    assert np.quantile(below, [0.25, 0.5, 0.75]) == pytest.approx(np.quantile(cuts, [0.25, 0.5, 0.75]), abs=0.25)


def test_no_cell_bound_is_somebodys_value() -> None:
    x = np.random.default_rng(3).integers(0, 40, size=(500, 3)).astype(float)
    boxes = cells(x, parts(x, 5), ((-1.5, 45.5),) * 3, keys(x.shape[1], 4))
    for i in range(3):
        assert not np.isin(np.concatenate([boxes.lower[:, i], boxes.upper[:, i]]), x[:, i]).any()
    assert not boxes.outer_from_data.any()


def test_two_draws_place_cuts_differently() -> None:
    x = np.random.default_rng(3).normal(size=(100, 2))
    partition = parts(x, 5)
    one = cells(x, partition, (None, None), keys(x.shape[1], 1))
    two = cells(x, partition, (None, None), keys(x.shape[1], 2))
    assert not np.array_equal(np.sort(one.lower.ravel()), np.sort(two.lower.ravel()))


def test_numbers_of_boxes_follow_their_published_bounds_only() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 2))
    order = rng.permutation(300)
    here, there = tight(x, parts(x, 4)), tight(x[order], parts(x[order], 4))
    np.testing.assert_array_equal(here.lower, there.lower)
    np.testing.assert_array_equal(here.box[order], there.box)
    assert (np.diff(here.lower[:, 0]) >= 0).all()


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (17.3, 94.1, (17.0, 95.0)),
        (0.2, 99_999.0, (0.0, 100_000.0)),
        (-1.234, 1.234, (-1.3, 1.3)),
        (0.0, 4356.0, (0.0, 4400.0)),
        (5.0, 5.0, (5.0, 5.0)),
        (1000.0, 1007.77, (1000.0, 1007.8)),
    ],
)
def test_extremes_are_rounded_outward_to_two_digits_of_the_range(
    low: float, high: float, expected: tuple[float, float]
) -> None:
    assert rounded_outward(low, high) == expected


@settings(deadline=None)
@given(st.floats(-1e150, 1e150), st.floats(-1e150, 1e150))
def test_rounded_extremes_are_outside(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    below, above = rounded_outward(low, high)
    assert below <= low <= high <= above


def test_values_outside_a_declared_domain_are_refused_with_their_number() -> None:
    x = np.arange(10.0)[:, None]
    with pytest.raises(OutsideDomainError, match="2 values") as caught:
        cells(x, parts(x, 2), ((0.0, 7.5),), keys(x.shape[1], 0))
    assert (caught.value.column, caught.value.count) == (0, 2)
