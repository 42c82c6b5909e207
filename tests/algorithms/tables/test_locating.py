"""Records are found in the boxes that hold them, as by looking at every box."""

import numpy as np
import pytest

from workers.algorithms.tables.locating import locate


def cells(draw: np.random.Generator, cuts: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of cuts at random places of [0, 10)^n."""
    lower, upper = np.zeros((1, columns)), np.full((1, columns), 10.0)
    for _ in range(cuts):
        box, column = int(draw.integers(len(lower))), int(draw.integers(columns))
        at = draw.uniform(lower[box, column], upper[box, column])
        lower, upper = np.vstack([lower, lower[box]]), np.vstack([upper, upper[box]])
        upper[box, column] = lower[-1, column] = at
    return lower, upper


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_records_are_found_in_cells(columns: int) -> None:
    draw = np.random.default_rng(columns)
    lower, upper = cells(draw, 300, columns)
    x = draw.uniform(-1, 11, size=(3000, columns))
    found = locate(x, np.empty((3000, 0), np.int64), lower, upper, ())
    inside = ((x[:, None] >= lower) & (x[:, None] <= upper)).all(axis=2)
    assert ((found == -1) == ~inside.any(axis=1)).all()
    there = found >= 0
    assert inside[np.flatnonzero(there), found[there]].all()


def test_a_record_on_a_common_bound_is_in_the_upper_cell_and_missing_values_are_a_place() -> None:
    lower, upper = np.array([[0.0], [5.0], [-np.inf]]), np.array([[5.0], [10.0], [-np.inf]])
    x = np.array([[0.0], [5.0], [10.0], [-np.inf], [11.0]])
    assert locate(x, np.empty((5, 0), np.int64), lower, upper, ()).tolist() == [0, 1, 1, 2, -1]


def test_sets_of_values_tell_boxes_apart() -> None:
    draw = np.random.default_rng(9)
    members = (np.arange(20)[:, None] % 5 == np.arange(5)[None]), (np.arange(20)[:, None] // 5 == np.arange(4)[None])
    codes = np.column_stack([draw.integers(0, 6, 500), draw.integers(0, 5, 500)])
    flat = np.zeros((20, 1)), np.ones((20, 1))
    found = locate(np.full((500, 1), 0.5), codes, *flat, members)
    expected = np.where((codes < [5, 4]).all(axis=1), codes[:, 1] * 5 + codes[:, 0], -1)
    assert (found == expected).all()
