"""What published rows give away, against counting them one by one."""

from collections import Counter
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.tables.slow import Table, measures
from tests.drawing import examples
from workers.algorithms.tables.homogeneity import determined, homogeneity, points


@settings(deadline=None, max_examples=examples(60))
@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 3)), min_size=1, max_size=40))
def test_shares_told_by_classes_are_those_of_counting(rows: list[tuple[int, int]]) -> None:
    seen = sorted({v for _, v in rows if v >= 0})
    values = [seen.index(v) if v >= 0 else -1 for _, v in rows]
    boxes = [b for b, _ in rows]
    summary = homogeneity(np.array(boxes), np.array(values))
    inside = {b: Counter(v for c, v in zip(boxes, values, strict=True) if c == b) for b in boxes}
    top = [max((n for v, n in inside[b].items() if v >= 0), default=0) / inside[b].total() for b in boxes]
    assert summary.share_certain == pytest.approx(sum(one == 1 for one in top) / len(rows))
    assert summary.share_nearly_certain == pytest.approx(sum(one >= 0.9 for one in top) / len(rows))
    assert summary.least_values == min(sum(v >= 0 for v in one) for one in inside.values())
    known = {b: sum(n for v, n in one.items() if v >= 0) for b, one in inside.items()}
    assert summary.largest_share == pytest.approx(
        max(max((n for v, n in one.items() if v >= 0), default=0) / max(known[b], 1) for b, one in inside.items())
    )
    own = [inside[b][v] / inside[b].total() for b, v in zip(boxes, values, strict=True)]
    assert summary.attribution == pytest.approx(sum(own) / len(rows))
    whole = Counter(values)
    assert summary.baseline == pytest.approx(sum((n / len(rows)) ** 2 for n in whole.values()))
    table, order = Table(tuple((b,) for b in boxes), tuple(values)), sorted(whole)
    by_class = [measures(table, table.neighbourhood(at), order) for at in range(len(rows))]
    assert summary.t == pytest.approx(max(one["equal"] for one in by_class), abs=1e-12)


@settings(deadline=None, max_examples=examples(60))
@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 5)), min_size=1, max_size=40), more=st.integers(0, 2))
def test_ranks_are_moved_among_those_who_have_a_value(rows: list[tuple[int, int]], more: int) -> None:
    boxes, ranks = zip(*rows, strict=True)
    values = max(0, *ranks) + 1 + more
    known = [rank for rank in ranks if rank >= 0]
    furthest = 0.0
    for box in set(boxes):
        own = [rank for place, rank in rows if place == box and rank >= 0]
        apart = [own.count(v) / len(own) - known.count(v) / len(known) for v in range(values)] if own else [0.0]
        moved = sum(abs(one) for one in accumulate(apart)) / max(values - 1, 1)
        furthest = max(furthest, moved)
    assert homogeneity(np.array(boxes), np.array(ranks), ranks=values).t == pytest.approx(furthest, abs=1e-12)


@settings(deadline=None, max_examples=examples(100))
@given(
    ends=st.tuples(st.integers(-40, 40), st.integers(0, 40)),
    step=st.sampled_from([0.5, 1.0, 2.0]),
    closed=st.booleans(),
)
def test_points_within_bounds_are_counted(ends: tuple[int, int], step: float, closed: bool) -> None:
    lo, hi = ends[0] / 4, (ends[0] + ends[1]) / 4
    grid = np.arange(-100, 101) * step
    expected = ((grid >= lo) & ((grid <= hi) if closed else (grid < hi))).sum()
    assert points(np.array([[lo]]), np.array([[hi]]), np.array([step]), np.array([[closed]])) == expected


@pytest.mark.parametrize("first", range(-40, 40, 7))
@pytest.mark.parametrize("closed", [False, True])
def test_bounds_that_are_rounded_multiples_are_counted(first: int, closed: bool) -> None:
    """0.6 is 6 steps of 0.1, however it was computed."""
    for lo in (first / 10, 0.1 * first):
        for last in range(first, first + 12):
            for hi in (last / 10, 0.1 * last):
                if lo <= hi:
                    count = points(np.array([[lo]]), np.array([[hi]]), np.array([0.1]), np.array([[closed]]))
                    assert count == last - first + closed


def test_cells_are_determined_where_one_value_is_left_and_missing_ones_are_none() -> None:
    lower = np.array([[38.2, 1.5], [30.0, 2.0], [np.nan, 2.0]])
    upper = np.array([[39.5, 1.5], [40.0, 3.0], [np.nan, 2.0]])
    left = points(lower, upper, np.array([1.0, 0.0]), np.zeros((3, 2), dtype=bool))
    assert left[:2].tolist() == [[1.0, 1.0], [10.0, np.inf]]
    assert determined(left, np.array([5, 15, 20])).tolist() == [5 / 20, 25 / 40]
