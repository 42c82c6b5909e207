"""Candidates behind a released box, against all pairs and against k."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_verify.core.statistics import Statistic
from tests.algorithms.boxes.cases import tables
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.queries.linkage import box_of, candidates
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.state import BoxesRequest


def released(x: np.ndarray, k: int, bounds: str) -> Boxes:
    request = BoxesRequest(k=k, statistics=(Statistic("mean", (0,), weight=1.0),), partition="fast", bounds=bounds)
    state = anonymization.init(x, request)
    while not anonymization.done(state):
        state = anonymization.step(state, rng=np.random.default_rng(k))
    return anonymization.result(state).boxes


@settings(max_examples=25, deadline=None)
@given(table=tables(), bounds=st.sampled_from(["cells", "tight"]))
def test_who_knows_the_original_finds_the_boxes_own_records(table: tuple[np.ndarray, int], bounds: str) -> None:
    x, k = table
    boxes = released(x, k, bounds)
    assert (box_of(x, boxes.lower, boxes.upper, tight=bounds == "tight") == boxes.box).all()
    found = candidates(x, boxes.lower, boxes.upper, boxes.box.astype(np.int64), tight=bounds == "tight")
    assert (found.count == boxes.counts[boxes.box]).all()
    assert found.count.min() >= k
    assert found.held == len(x)


@pytest.mark.parametrize("tight", [False, True])
def test_another_file_is_counted_by_where_its_records_lie(tight: bool) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(500, 2))
    boxes = released(x, 6, "tight" if tight else "cells")
    other = rng.normal(size=(700, 2))
    found = candidates(other, boxes.lower, boxes.upper, boxes.box.astype(np.int64), tight=tight)
    for r in range(0, 500, 7):
        lo, hi = boxes.lower[boxes.box[r]], boxes.upper[boxes.box[r]]
        assert found.count[r] == ((other >= lo) & (other <= hi)).all(axis=1).sum()


def test_kept_values_narrow_the_candidates() -> None:
    rng = np.random.default_rng(8)
    x, kept = rng.normal(size=(300, 2)), rng.integers(0, 3, 300)
    boxes = released(x, 10, "cells")
    box = boxes.box.astype(np.int64)
    strange = kept.copy()
    strange[:5] = -1
    found = candidates(x, boxes.lower, boxes.upper, box, tight=False, kept=(kept, strange))
    for r in range(300):
        expected = 0 if r < 5 else ((box == box[r]) & (kept == kept[r])).sum()
        assert found.count[r] == expected


def test_a_record_on_a_cut_belongs_to_the_cell_above_it() -> None:
    lower, upper = np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]])
    x = np.array([[0.0], [1.0], [2.0], [2.1], [-0.1]])
    assert box_of(x, lower, upper, tight=False).tolist() == [0, 1, 1, -1, -1]


def test_nobody_known_fits() -> None:
    found = candidates(np.array([[9.0]]), np.zeros((1, 1)), np.ones((1, 1)), np.array([0, 0]), tight=True)
    assert found.count.tolist() == [0, 0]
    assert found.held == 0
    with pytest.raises(ValueError, match="same columns"):
        box_of(np.zeros((2, 2)), np.zeros((1, 1)), np.ones((1, 1)), tight=True)
