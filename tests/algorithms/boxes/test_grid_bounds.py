"""Snug bounds: what they are, and what an adversary learns who knows all records but one."""

from dataclasses import replace

import numpy as np
import pytest

from surebox_core.statistics import Statistic
from tests.algorithms.boxes.mixed_tables import Case, anonymized
from workers.algorithms.boxes.published import Sharing, draw_to_grid
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import Boxes, NominalColumn, NumericColumn
from workers.algorithms.boxes.tiles import on_grid

SHIFT = 0.37


def drawn_in(values: np.ndarray, cell: tuple[float, float], h: float, sharing: int) -> tuple[float, float]:
    """The rule for one box and column, by its words."""
    low, high = cell
    steps = np.floor(values / h - SHIFT)
    if (steps == steps.min()).sum() >= sharing:
        low = max(low, (steps.min() + SHIFT) * h)
    if (steps == steps.max()).sum() >= sharing:
        high = min(high, (steps.max() + 1 + SHIFT) * h)
    return low, high


def consistent(
    others: np.ndarray, cell: tuple[float, float], h: float, sharing: int, said: tuple[float, float]
) -> np.ndarray:
    """Values (middles of steps in the cell) that the unknown record may have, given the others and the bounds."""
    steps = np.arange(np.floor(cell[0] / h - SHIFT), np.floor(cell[1] / h - SHIFT) + 1)
    tried = np.clip((steps + SHIFT + 0.5) * h, cell[0], np.nextafter(cell[1], cell[0]))
    return tried[[drawn_in(np.append(others, v), cell, h, sharing) == said for v in tried]]


def left_over(values: np.ndarray, h: float, sharing: int, k: int) -> tuple[float, float, float]:
    """Share of records known to a step, mean share of the box's steps left, mean width over the cell's."""
    domain = (float(values.min()) - 50 * h, float(values.max()) + 50 * h)
    base = BoxesRequest(k, (Statistic("mean", (0,)),), domains=(domain,), columns=(NumericColumn(value_step=h),))
    keys = np.arange(8, dtype=np.uint32).reshape(1, 8)
    cells, boxes = (  # no end is shared by more than all records: bounds that do not move are the cells'
        anonymized(Case(values[:, None], replace(base, keys=keys, bounds="grid", min_records_at_bound=least))).boxes
        for least in (len(values) + 1, sharing)
    )
    assert (boxes.box == cells.box).all()
    determined, left, narrower = [], [], []
    for b in range(len(boxes.counts)):
        inside = values[boxes.box == b]
        cell, said = (cells.lower[b, 0], cells.upper[b, 0]), (boxes.lower[b, 0], boxes.upper[b, 0])
        narrower.append((said[1] - said[0]) / (cell[1] - cell[0]))
        for place in range(len(inside)):
            may_be = consistent(np.delete(inside, place), cell, h, sharing, said)
            assert len(may_be) > 0
            assert np.abs(may_be - inside[place]).min() <= h  # the truth is among what is left
            determined.append(len(may_be) == 1)
            left.append(len(may_be) * h / max(said[1] - said[0], h))
    return float(np.mean(determined)), float(np.mean(left)), float(np.mean(narrower))


def test_bounds_are_those_of_the_rule() -> None:
    """Ends move to the grid only where enough records share the step, and of all boxes are beyond; sets likewise."""
    rng = np.random.default_rng(1)
    for sharing, beyond in ((1, 1), (2, 2), (2, 4), (1, 9)):
        x = rng.integers(0, 12, (40, 1)).astype(float)
        codes = rng.integers(0, 4, 40).astype(np.int32)
        box = np.sort(rng.integers(0, 4, 40)).astype(np.int32)
        counts = np.bincount(box, minlength=4)
        lower, upper = np.full((4, 1), -3.3), np.full((4, 1), 14.1)
        boxes = Boxes(lower, upper, counts, box, np.zeros(1, dtype=bool), sets=(np.ones((4, 5), dtype=bool),))
        tightened = draw_to_grid(
            boxes, x, (NumericColumn(value_step=1.5),), (NominalColumn(codes, 5),), Sharing(sharing, beyond)
        )
        for b in range(4):
            low, high = drawn_in(x[box == b, 0], (-3.3, 14.1), 1.5, sharing)
            steps, own = np.floor(x[:, 0] / 1.5 - SHIFT), np.floor(x[box == b, 0] / 1.5 - SHIFT)
            low = low if (steps <= own.min()).sum() >= beyond else -3.3
            high = high if (steps >= own.max()).sum() >= beyond else 14.1
            assert (tightened.lower[b, 0], tightened.upper[b, 0]) == (low, high)
            had = np.bincount(codes[box == b], minlength=5)
            drawn = ((had == 0) | (had >= sharing)).all()
            assert (tightened.sets[0][b] == ((had > 0) if drawn else True)).all()


@pytest.mark.parametrize("h", [100.0, 1000.0, 1e4, 0.1])
def test_values_on_the_ends_of_the_grid_stay_in_their_boxes(h: float) -> None:
    """1.37 * 100 is a float above 137: the cell of the grid that starts there does not hold 137."""
    x = np.array([float(f"{z}.37e0") for z in range(400)]) * h if h < 1.0 else h * np.arange(400) + 0.37 * h
    x = np.rint(x * 1e6) / 1e6
    box = np.repeat(np.arange(100), 4).astype(np.int32)
    lower, upper = np.full((100, 1), x[0] - 9.0 * h), np.full((100, 1), x[-1] + 9.0 * h)
    boxes = Boxes(lower, upper, np.full(100, 4), box, np.zeros(1, dtype=bool))
    tightened = draw_to_grid(boxes, x[:, None], (NumericColumn(value_step=h),), (), Sharing(1, 1))
    assert (tightened.lower[box, 0] <= x).all()
    assert (x < tightened.upper[box, 0]).all()
    if h >= 100.0:
        whole = on_grid(tightened, [NumericColumn(step=1.0)], upper[0] + h)
        assert (whole.lower[box, 0] <= x).all()
        assert (x <= whole.upper[box, 0]).all()


def test_whole_numbers_have_at_least_two_in_a_step() -> None:
    """A finer grid than that would publish the extremes themselves."""
    x = 10.0 * np.arange(30)[:, None]
    column = NumericColumn(step=1.0, value_step=0.1)
    request = BoxesRequest(5, (Statistic("mean", (0,)),), bounds="grid", columns=(column,), min_records_at_bound=1)
    boxes = anonymized(Case(x, replace(request, domains=((-90.0, 990.0),)))).boxes
    inner = boxes.lower[1:, 0]
    assert set((inner % 10).tolist()) <= {9.0, 0.0}  # steps begin at 0.74, 2.74, ...; or the cut fell into the step
    assert (inner % 10 == 9).mean() > 0.5


@pytest.mark.parametrize("name", ["ties", "zeros", "far outliers", "spread"])
def test_two_sharing_records_leave_others_less_known_than_one_does(name: str) -> None:
    """Who knows all but one: with one record every lone extreme is known to a step, with two only extreme pairs."""
    rng = np.random.default_rng(len(name))
    values, h = {
        "ties": (rng.integers(0, 20_000, 600).astype(float), 2.0),
        "zeros": (np.where(rng.random(600) < 0.9, 0.0, rng.integers(1, 5000, 600)).astype(float), 2.0),
        "far outliers": (np.concatenate([rng.normal(size=590), 50.0 * rng.random(10)]), 0.01),
        "spread": (rng.uniform(0, 100, 600), 0.02),
    }[name]
    one, two = (left_over(values, h, sharing, 5) for sharing in (1, 2))
    assert two[0] < one[0]
    assert two[2] >= one[2]
