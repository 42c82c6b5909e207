"""The tree of neighbours holds every record once, in boxes that fit, and finds the nearest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.uncertain.oracle import tables
from tests.drawing import examples
from workers.algorithms.uncertain.density.scaling import rounded_up, units
from workers.algorithms.uncertain.neighbours.tree import nearest_others, tree_of


@settings(deadline=None, max_examples=examples(60))
@given(y=tables(), smallest=st.integers(1, 9))
def test_halves_hold_every_record_once_and_boxes_are_tight(y: np.ndarray, smallest: int) -> None:
    tree = tree_of(y, smallest)
    assert sorted(tree.order.tolist()) == list(range(len(y)))
    assert (tree.rows == y[tree.order]).all()
    for node, (s, e) in enumerate(zip(tree.start, tree.end, strict=True)):
        assert (tree.box[node, 0] == tree.rows[s:e].min(axis=0)).all()
        assert (tree.box[node, 1] == tree.rows[s:e].max(axis=0)).all()
    start, end = tree.leaves
    assert start.tolist() == [0, *end[:-1].tolist()]
    assert (end - start).min() >= min(smallest, len(y))
    assert (end - start).max() <= 2 * smallest
    for s, e in zip(start, end, strict=True):
        assert (tree.rows[s:e] == tree.blocked[s * y.shape[1] : e * y.shape[1]].reshape(y.shape[1], e - s).T).all()


@settings(deadline=None, max_examples=examples(60))
@given(y=tables(), count=st.integers(1, 6))
def test_nearest_others_are_those_of_the_full_search(y: np.ndarray, count: int) -> None:
    count = min(count, len(y) - 1)
    tree = tree_of(y, 3)
    nearest, visits = nearest_others(tree, 0, len(y), count)
    distance = ((tree.rows[:, None] - tree.rows[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (np.take_along_axis(distance, nearest, axis=1) == np.sort(distance, axis=1)[:, :count]).all()
    assert all(len(set(row)) == count for row in nearest.tolist())
    assert visits >= len(y)


@given(st.floats(1e-300, 1e300))
def test_rounding_up_is_upward_and_by_less_than_a_digit(value: float) -> None:
    up = rounded_up(value, 3)
    assert value <= up <= value * 1.0100001
    assert float(f"{up:.2e}") == up
    assert rounded_up(up, 3) == up


def test_units_are_winsorized_deviations_to_two_digits() -> None:
    rng = np.random.default_rng(0)
    scale = np.array([1e-200, 1.0, 3e120])
    x = np.c_[rng.normal(size=(500, 3)) * scale, np.full(500, 3.0)]
    unit = units(x, 7.5)
    assert unit[3] == 1.0
    for column in range(3):
        rising = sorted(x[:, column] / scale[column])
        rising[:8], rising[-8:] = [rising[7]] * 8, [rising[-8]] * 8  # 8 >= k, and more than 0.5 % of 500
        assert abs(unit[column] / scale[column] / np.std(rising) - 1.0) < 0.051
    assert [float(f"{u:.1e}") for u in unit] == unit.tolist()


@pytest.mark.parametrize("far", [50.0, 777.0, 1e6, -3e9])
def test_no_single_record_moves_a_unit_however_far_off_it_is(far: float) -> None:
    x = np.random.default_rng(1).normal(size=(1000, 1))
    x[3] = 20.0 if far > 0 else -20.0
    other = x.copy()
    other[3] = far
    assert units(other, 5.0).tolist() == units(x, 5.0).tolist()


@pytest.mark.parametrize("few", [777.0, 123_456.0, 2.0])
def test_of_what_fewer_than_k_have_a_unit_tells_nothing(few: float) -> None:
    x = np.zeros((1000, 1))
    x[[5, 90, 700]] = few
    assert units(x, 5.0).tolist() == [1.0]


def test_what_k_have_and_less_than_a_share_of_all_has_a_unit() -> None:
    x = np.zeros((2000, 1))
    x[:7] = 777.0  # of 2,000 ten are the share
    assert units(x, 5.0) == pytest.approx([777.0 * np.sqrt(0.0035 * 0.9965)], rel=0.05)


def test_a_few_records_have_units_too() -> None:
    assert units(np.array([[3.0]]), 1.0).tolist() == [1.0]
    assert units(np.array([[0.0], [30.0]]), 2.0).tolist() == [15.0]
    assert units(np.array([[0.0], [30.0]]), 1.0).tolist() == [15.0]
