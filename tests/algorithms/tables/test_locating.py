"""Records are found in the boxes that hold them, as by looking at every box."""

import numpy as np
import pytest

from workers.algorithms.tables.locating import locate, near


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
    indices = locate(x, np.empty((3000, 0), np.int64), lower, upper, ())
    inside = ((x[:, None] >= lower) & (x[:, None] <= upper)).all(axis=2)
    assert ((indices == -1) == ~inside.any(axis=1)).all()
    there = indices >= 0
    assert inside[np.flatnonzero(there), indices[there]].all()


def test_a_record_on_a_common_bound_is_in_the_upper_cell_and_missing_values_are_a_place() -> None:
    lower, upper = np.array([[0.0], [5.0], [-np.inf]]), np.array([[5.0], [10.0], [-np.inf]])
    x = np.array([[0.0], [5.0], [10.0], [-np.inf], [11.0]])
    assert locate(x, np.empty((5, 0), np.int64), lower, upper, ()).tolist() == [0, 1, 1, 2, -1]


def test_sets_of_values_tell_boxes_apart() -> None:
    draw = np.random.default_rng(9)
    members = (np.arange(20)[:, None] % 5 == np.arange(5)[None]), (np.arange(20)[:, None] // 5 == np.arange(4)[None])
    codes = np.column_stack([draw.integers(0, 6, 500), draw.integers(0, 5, 500)])
    flat = np.zeros((20, 1)), np.ones((20, 1))
    indices = locate(np.full((500, 1), 0.5), codes, *flat, members)
    expected = np.where((codes < [5, 4]).all(axis=1), codes[:, 1] * 5 + codes[:, 0], -1)
    assert (indices == expected).all()


def test_records_are_found_among_cells_of_columns_of_both_kinds_as_by_looking_at_every_box() -> None:
    draw = np.random.default_rng(17)
    lower, upper = cells(draw, 120, 3)
    lower[:, 1], upper[:, 1] = np.floor(lower[:, 1]), np.floor(upper[:, 1])  # many bounds are one
    sets = (draw.random((121, 4)) < 0.6, draw.random((121, 3)) < 0.7)
    x = np.column_stack([draw.uniform(0, 10, (2000, 2)), draw.integers(0, 11, 2000)])
    codes = np.column_stack([draw.integers(0, 6, 2000), draw.integers(0, 5, 2000)])
    indices = locate(x, codes, lower, upper, sets)
    for i in range(2000):
        inside = (x[i] >= lower).all(axis=1) & (x[i] <= upper).all(axis=1)
        for j, one in enumerate(sets):
            inside &= one[:, codes[i, j]] if codes[i, j] < one.shape[1] else False
        touching = ((x[i] == upper) & (lower < upper)).sum(axis=1)
        least = touching[inside].min(initial=9)
        assert (indices[i] == -1) == ~inside.any()
        assert indices[i] == -1 or (inside[indices[i]] and touching[indices[i]] == least)


def by_looking_at_every_box(
    x: np.ndarray, codes: np.ndarray, lower: np.ndarray, upper: np.ndarray, sets: tuple[np.ndarray, ...]
) -> list[int]:
    """Of the boxes that hold a record the one on whose upper bounds it lies least, then the first."""
    indices = []
    for i in range(len(x)):
        inside = (x[i] >= lower).all(axis=1) & (x[i] <= upper).all(axis=1)
        for j, one in enumerate(sets):
            inside &= one[:, codes[i, j]] if codes[i, j] < one.shape[1] else False
        touching = ((x[i] == upper) & (lower < upper)).sum(axis=1)
        indices.append(int(np.where(inside, touching, 99).argmin()) if inside.any() else -1)
    return indices


@pytest.mark.parametrize("seed", range(6))
def test_boxes_that_overlap_touch_and_lack_values_are_found_as_by_looking_at_every_one(seed: int) -> None:
    draw = np.random.default_rng(100 + seed)
    ends = np.sort(draw.integers(0, 12, (2, 150, 2)).astype(float), axis=0)  # many ties, points among them
    ends[:, draw.random((150, 2)) < 0.1] = -np.inf
    sets = (draw.random((150, 90)) < 0.3, draw.random((150, 3)) < 0.6)  # more values than a word has bits
    x = draw.integers(-1, 14, (800, 2)).astype(float)
    x[draw.random((800, 2)) < 0.1] = -np.inf
    codes = np.column_stack([draw.integers(0, 93, 800), draw.integers(0, 5, 800)])
    for columns, nominal in ((2, 2), (1, 0), (2, 0), (0, 2), (0, 1)):
        lower, upper, held = ends[0][:, :columns], ends[1][:, :columns], sets[:nominal]
        args = x[:, :columns], codes[:, :nominal], lower, upper, held
        assert locate(*args).tolist() == by_looking_at_every_box(*args)


def test_many_copies_of_one_box_are_no_reason_to_divide_for_ever() -> None:
    lower, upper = np.zeros((500, 2)), np.ones((500, 2))
    lower[:, 0] -= np.arange(500)  # each in the next one
    upper[:, 0] += np.arange(500)
    x = np.array([[0.5, 0.5], [1.0, 0.5], [-3.0, 0.0], [5.5, 0.5], [700.0, 0.5]])
    nothing = np.empty((5, 0), np.int64)
    assert locate(x, nothing, lower, upper, ()).tolist() == [0, 1, 3, 5, -1]
    assert locate(x, nothing, lower[:0], upper[:0], ()).tolist() == [-1] * 5
    assert locate(x[:0], nothing[:0], lower, upper, ()).tolist() == []


@pytest.mark.parametrize("columns", [1, 2, 5, 7])
def test_an_order_of_near_records_has_each_once_and_neighbours_closer_than_by_chance(columns: int) -> None:
    draw = np.random.default_rng(columns)
    x = draw.lognormal(size=(20_000, columns))
    x[:50] = -np.inf  # missing
    order = near(list(x.T))
    assert (np.sort(order) == np.arange(len(x))).all()
    rank = np.argsort(np.argsort(x, axis=0), axis=0)[:, :5]
    apart = np.abs(np.diff(rank[order], axis=0)).mean()
    assert apart < 0.6 * np.abs(np.diff(rank, axis=0)).mean()
    assert near([np.empty(0)]).tolist() == []
    assert sorted(near([np.full(3, 1.0)]).tolist()) == [0, 1, 2]
