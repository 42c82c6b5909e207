"""Counting on boxes: the certain range against the records themselves, the estimate against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_core.statistics import Statistic
from tests.algorithms.boxes.cases import tables
from tests.drawing import examples
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.queries.counting import count, index
from workers.algorithms.boxes.state import BoxesRequest


def released(x: np.ndarray, k: int, bounds: str) -> anonymization.BoxesOutcome:
    request = BoxesRequest(k=k, statistics=(Statistic("mean", (0,), weight=1.0),), partition="fast", bounds=bounds)
    state = anonymization.init(x, request)
    while not anonymization.done(state):
        state = anonymization.step(state, rng=np.random.default_rng(k))
    return anonymization.result(state)


def ranges(x: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    picked = x[rng.integers(0, len(x), (2, 20)), :]
    ends = np.sort(picked, axis=0)
    ends[0][rng.random(ends[0].shape) < 0.3] = -np.inf
    ends[1][rng.random(ends[1].shape) < 0.3] = np.inf
    return ends[0], ends[1]


@settings(max_examples=examples(25), deadline=None)
@given(table=tables(), bounds=st.sampled_from(["cells", "tight"]), seed=st.integers(0, 1000))
def test_the_true_count_is_always_in_the_certain_range(table: tuple[np.ndarray, int], bounds: str, seed: int) -> None:
    x, k = table
    boxes = released(x, k, bounds).boxes
    lower, upper = ranges(x, seed)
    answer = count(index(boxes.lower, boxes.upper, boxes.counts), lower, upper)
    true = np.array([((x >= a) & (x <= b)).all(axis=1).sum() for a, b in zip(lower, upper, strict=True)])
    assert (answer.least <= true).all()
    assert (true <= answer.most).all()
    assert (answer.least <= answer.estimate).all()
    assert (answer.estimate <= answer.most).all()


def test_every_bound_of_the_certain_range_is_reached_by_some_records() -> None:
    lo, hi = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 5.0]]), np.array([[2.0, 4.0], [4.0, 4.0], [5.0, 9.0]])
    ready = index(lo, hi, np.array([3, 4, 5]))
    answer = count(
        ready, np.array([[-np.inf, 0.0], [1.0, 1.0], [5.0, 6.0]]), np.array([[2.5, 4.0], [3.0, 2.0], [5.0, 7.0]])
    )
    assert answer.least.tolist() == [3.0, 0.0, 0.0]
    assert answer.most.tolist() == [7.0, 7.0, 5.0]
    assert answer.estimate == pytest.approx([3.0 + 4.0 / 4.0, 3.0 / 8.0 + 4.0 / 8.0, 5.0 / 4.0])


@settings(max_examples=examples(20), deadline=None)
@given(seed=st.integers(0, 10**6), boxes=st.integers(1, 200), columns=st.integers(1, 4))
def test_estimates_are_shares_of_volumes(seed: int, boxes: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.sort(np.round(rng.normal(size=(2, boxes, columns)), 1), axis=0)
    counts = rng.integers(1, 9, boxes)
    queries = np.sort(np.round(rng.normal(size=(2, 12, columns)), 1), axis=0)
    weight = rng.random(boxes)
    weight /= counts @ weight
    plain = count(index(ends[0], ends[1], counts), queries[0], queries[1])
    weighed = count(index(ends[0], ends[1], counts, weight), queries[0], queries[1], threads=2)
    for q in range(12):
        share = np.ones(boxes)
        for j in range(columns):
            lo, hi = ends[0, :, j], ends[1, :, j]
            common = np.minimum(hi, queries[1, q, j]) - np.maximum(lo, queries[0, q, j])
            width = np.where(hi > lo, hi - lo, 1.0)
            share *= np.where(hi > lo, np.maximum(common, 0.0) / width, common >= 0.0)
        assert plain.estimate[q] == pytest.approx(counts @ share, abs=1e-9)
        assert weighed.estimate[q] == pytest.approx(counts.sum() * ((counts * weight) @ share), abs=1e-9)


def test_the_whole_space_holds_all_records_and_disjoint_ranges_add_up() -> None:
    x = np.random.default_rng(2).normal(size=(3000, 3))
    boxes = released(x, 5, "cells").boxes
    ready = index(boxes.lower, boxes.upper, boxes.counts)
    open_ = np.full((1, 3), np.inf)
    whole = count(ready, -open_, open_)
    assert (whole.least[0], whole.estimate[0], whole.most[0]) == (3000.0, 3000.0, 3000.0)
    cut = np.array([[0.3, np.inf, np.inf]])
    left, right = count(ready, -open_, cut), count(ready, np.where(np.isinf(cut), -np.inf, cut), open_)
    assert left.estimate[0] + right.estimate[0] == pytest.approx(3000.0)


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (np.nan, 1.0)])
def test_what_is_no_range_is_refused(a: float, b: float) -> None:
    ready = index(np.zeros((1, 1)), np.ones((1, 1)), np.array([5]))
    with pytest.raises(ValueError, match="must not end before"):
        count(ready, np.array([[a]]), np.array([[b]]))
