"""What means inside boxes promise, by brute force on small tables, in whole numbers and fractions.

Notation
--------
c records of a box in [m, M], w = M - m; s their sum less c m; a cell: the sums that one published interval holds.
Whole numbers have the step 1.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from surebox_verify.boxes import PublishedBoxes
from tests.algorithms.boxes.mixed_tables import Case
from workers.algorithms.boxes.content import Drawn, mean_intervals
from workers.algorithms.boxes.request import BoxesOutcome, BoxesRequest

_NEAR = 1e-9
_MOST = 2_000  # multisets that are gone through


@dataclass(frozen=True)
class Sum:
    """The sum of one box and column, and what is published of it."""

    c: int
    w: Fraction
    s: Fraction
    cell: tuple[Fraction, Fraction] | None
    attained: bool
    slack: Fraction

    @property
    def least(self) -> Fraction:
        return self.w if self.attained else Fraction(0)

    @property
    def most(self) -> Fraction:
        return self.w * (self.c - self.attained)

    def whole_cell(self) -> tuple[int, int]:
        assert self.cell is not None
        return math.ceil(self.cell[0]), math.floor(self.cell[1])


def check_content(case: Case, outcome: BoxesOutcome, rows: np.ndarray) -> None:
    """Every interval holds its mean, says no more than the rules let it, and follows from box and secret alone."""
    request, boxes = case.request, outcome.boxes
    if request.box_means == "none":
        assert boxes.means is None
        return
    assert boxes.means is not None
    x, people = case.x[rows], request.demands.persons[rows] if len(request.demands.persons) else np.arange(len(rows))
    most = max(Counter(people.tolist()).values())
    check_intervals(x, boxes, boxes.box, request, most)
    rng = np.random.default_rng(len(rows))
    for _ in range(2):
        others = elsewhere(x, outcome, rng)
        means = said(others, outcome, request, most)
        check_intervals(others, replace(boxes, means=means), boxes.box, request, most)
        if request.box_means == "rounded":
            check_same_cells(boxes.means, means)
    one = int(rng.integers(len(boxes.counts)))
    own = np.flatnonzero(boxes.box == one)
    alone = boxes.taking(np.array([one]), np.zeros(len(own), dtype=np.int32))
    means = said(x[own], replace(outcome, boxes=alone), request, most)
    assert all(np.array_equal(a[one], b[0], equal_nan=True) for a, b in zip(boxes.means, means, strict=True))


def said(x: np.ndarray, outcome: BoxesOutcome, request: BoxesRequest, most: int) -> tuple[np.ndarray, np.ndarray]:
    """What would be published of other records of the same boxes."""
    assert request.keys is not None
    grids = tuple(column.grid_step for column in request.columns)
    intervals = mean_intervals(
        x,
        outcome.boxes,
        request.keys,
        box_means=request.box_means,
        steps=tuple(column.step for column in request.columns),
        attained=request.bounds == "tight",
        rounding=request.mean_interval_in_boxes,
        p_percent=request.p_percent,
        rows_of_person=most,
        drawn=Drawn(grids, (request.min_records_at_bound,)) if request.bounds == "grid" else None,
    )
    return intervals.lower, intervals.upper


def elsewhere(x: np.ndarray, outcome: BoxesOutcome, rng: np.random.Generator) -> np.ndarray:
    """Other records of the same boxes: most of them at an end, and where two are there one at each."""
    boxes = outcome.boxes
    lower, upper = boxes.lower[boxes.box], boxes.upper[boxes.box]
    share = np.clip(rng.normal(rng.random((len(boxes.counts), x.shape[1]))[boxes.box] < 0.5, 0.4), 0.0, 1.0)
    records = np.clip(lower + share * (upper - lower), lower, upper)
    whole = (lower == np.rint(lower)) & (upper == np.rint(upper))
    records = np.where(whole, np.rint(records), records)
    for b in range(len(boxes.counts)):
        own = np.flatnonzero(boxes.box == b)
        records[own[0]] = boxes.lower[b]
        records[own[-1]] = boxes.upper[b]
    return records


def check_same_cells(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> None:
    """Absent for whatever records; cells are the same or apart."""
    assert (np.isnan(one[0]) == np.isnan(other[0])).all()
    there = ~np.isnan(one[0])
    (a, b), (c, d) = ((low[there], high[there]) for low, high in (one, other))
    near = _NEAR * np.maximum(1.0, np.abs(a))
    assert (((a == c) & (b == d)) | (b <= c + near) | (d <= a + near)).all()


def check_intervals(x: np.ndarray, boxes: PublishedBoxes, box: np.ndarray, request: BoxesRequest, most: int) -> None:
    """Each of them by the rules of docs/reference/boxes-options.md, "Means inside boxes"."""
    assert boxes.means is not None
    for b, c in enumerate(boxes.counts.tolist()):
        for j, column in enumerate(request.columns):
            low, high, least, greatest = (
                float(each[b, j]) for each in (boxes.lower, boxes.upper, boxes.means[0], boxes.means[1])
            )
            assert math.isnan(least) == math.isnan(greatest)
            if math.isnan(low) or low == high:
                assert math.isnan(least)
                continue
            values = [Fraction(value) for value in x[box == b, j].tolist()]
            m, w = Fraction(low), Fraction(high) - Fraction(low)
            cell = None
            if not math.isnan(least):
                assert low <= least <= greatest <= high
                cell = (Fraction(least) - m) * c, (Fraction(greatest) - m) * c
            slack = Fraction(_NEAR) * c * max(w, abs(m), 1)
            one = Sum(c, w, sum(values) - c * m, cell, request.bounds == "tight", slack)
            assert cell is None or cell[0] <= one.s <= cell[1]
            if request.box_means == "rounded":
                rho = Fraction(request.mean_interval_in_boxes) * most
                drawn = bool(column.step and column.value_step and request.bounds == "grid")
                if column.step:
                    check_whole(one, rho, joined=2 * drawn)
                else:
                    check_real(one, rho)
                if drawn:
                    step = max(Fraction(column.value_step), Fraction(2))
                    check_grid(one, values, m, step, request.min_records_at_bound)
            else:
                check_exact(one, values, Fraction(request.p_percent) / 100, whole=column.step is not None)


def check_real(one: Sum, rho: Fraction) -> None:
    """Cells are rho widths long, those at the ends between half and one and a half of that."""
    omega, slack = rho * one.w, one.slack
    if one.cell is None:
        assert one.most - one.least <= 2 * omega + slack, "some division parts these sums"
        return
    assert one.most - one.least >= omega - slack, "too few sums for two cells"
    length = one.cell[1] - one.cell[0]
    if one.least + slack < one.cell[0] and one.cell[1] < one.most - slack:
        assert abs(length - omega) <= slack
    else:
        assert length >= omega / 2 - slack
        assert length <= 3 * omega / 2 + slack
        assert length < one.most - one.least - slack, "one cell of all sums is none"


def check_whole(one: Sum, rho: Fraction, joined: int) -> None:
    """The same in sums, two at least; no cell tells all values, nor a value between the ends to whoever has the rest.

    So many ends of cells may be left out, where bounds that moved say what the sums next to them are.
    """
    number = max(math.ceil(rho * max(2 * one.w, one.w + 1)), 2)
    least, sums = max(math.ceil(Fraction(number, 2)), 2), int(one.most - one.least) + 1
    if one.cell is None:
        assert sums < (1 + joined) * number + 2 * least - 1, "some division parts these sums"
        return
    assert sums >= 2 * least, "too few sums for two cells"
    first, last = one.whole_cell()
    if one.least < first and last < one.most:
        assert last - first + 1 in [number * (1 + i) for i in range(1 + joined)]
    else:
        assert one.least < first or last < one.most
        assert least <= last - first + 1 < (1 + joined) * number + least
    check_left(int(one.w), one.c, first, last, attained=one.attained, others=True)


def check_grid(one: Sum, values: list[Fraction], m: Fraction, h: Fraction, sharing: int) -> None:
    """Nor to whoever knows which bounds moved, and so that records share the last steps of the grid."""
    if one.cell is None or math.comb(int(one.w) + one.c, one.c) > _MOST:
        return
    grid = [math.floor((m + z) / h - Fraction(37, 100)) for z in range(int(one.w) + 1)]
    own = [grid[int(value - m)] for value in values]
    outside = [math.floor((m + z) / h - Fraction(37, 100)) for z in (-1, int(one.w) + 1)]
    moved = [
        end
        for end, beyond in zip((grid[0], grid[-1]), outside, strict=True)
        if end != beyond and own.count(end) >= sharing
    ]
    every = [
        each
        for each in multisets(int(one.w), one.c, attained=False)
        if all(sum(grid[v] == end for v in each) >= sharing for end in moved)
    ]
    first, last = one.whole_cell()
    assert len(every) == 1 or sum(first <= sum(each) <= last for each in every) > 1


def check_exact(one: Sum, values: list[Fraction], p: Fraction, *, whole: bool) -> None:
    """The mean itself, or three sums at an end; none of width 1, of few sums, or where one value is told within p."""
    size = sorted(map(abs, values))
    disclosive = size[-1] > 0 and sum(size[:-2]) < p * size[-1]
    if one.cell is None or disclosive or (whole and (one.w == 1 or one.most < 6)):
        assert one.cell is None
        assert disclosive or (whole and (one.w == 1 or one.most < 6))
    elif whole:
        first, last = one.whole_cell()
        ends = (Fraction(0), Fraction(2)) if one.s < 3 else (one.s, one.s)
        assert (first, last) == ((one.most - 2, one.most) if one.s > one.most - 3 else ends)
        check_left(int(one.w), one.c, first, last, attained=one.attained, others=False)
    else:
        assert one.cell[1] - one.cell[0] <= one.slack


@cache
def multisets(w: int, c: int, *, attained: bool) -> tuple[tuple[int, ...], ...]:
    """All values that c records of a box may have, from 0 to w."""
    combinations = combinations_with_replacement(range(w + 1), c)
    return tuple(one for one in combinations if not attained or (one[0] == 0 and one[-1] == w))


@cache
def check_left(w: int, c: int, first: int, last: int, *, attained: bool, others: bool) -> None:
    """Two multisets fit at least; and who has the other values cannot tell one that is no end of the box."""
    if math.comb(w + c, c) > _MOST:
        return
    fitting = [one for one in multisets(w, c, attained=attained) if first <= sum(one) <= last]
    assert len(fitting) > 1
    for one in fitting if others else ():
        for value in set(one) - {0, w}:
            rest = sum(one) - value
            assert sum(first <= rest + v <= last for v in range(w + 1)) > 1
