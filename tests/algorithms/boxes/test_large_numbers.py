"""Cuts of numbers in nodes too large for a block, of which a sample is measured."""

import numpy as np
import pytest

from workers.algorithms.boxes.partition import partition
from workers.algorithms.boxes.partition.arrays import EVERY, Effort, NumericRecords, extents, inverse_ranges, usual
from workers.algorithms.boxes.partition.large_numbers import Cut, coarse
from workers.algorithms.boxes.partition.partition import Partition

ROWS = 6_000


def tables() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(31)
    spread = np.column_stack([rng.normal(size=ROWS), np.exp(rng.normal(size=ROWS)), rng.integers(0, 9, ROWS)])
    one_point = spread.copy()
    one_point[rng.random(ROWS) < 0.6] = [0.5, 1.0, 4.0]
    far_cluster = spread.copy()
    far_cluster[1:12] += 1e6  # eleven records between those that are measured first
    return {
        "spread": spread,
        "sorted": spread[np.lexsort(spread.T)],
        "one_point": one_point,
        "far_cluster": far_cluster,
        "one_column": spread * [1.0, 0.0, 0.0],
    }


def cut_by(x: np.ndarray, sample: int, *, per_record: bool = False, block: int = 200) -> Partition:
    worth: np.ndarray = np.ones(x.shape[1])
    if per_record:
        worth = np.random.default_rng(1).uniform(0.5, 2.0, x.shape).astype(np.float32)
    effort = Effort(1, 1, x.shape[1], sample, block=block)
    state = partition.init(x, k=5, worth=worth, method="optimal", effort=effort)
    while not partition.done(state):
        state = partition.step(state, values=50_000)
    return partition.result(state)


@pytest.mark.parametrize("name", tables())
@pytest.mark.parametrize("per_record", [False, True])
def test_places_and_gaps_are_those_of_all_records(name: str, per_record: bool) -> None:
    x = tables()[name]
    cuts = cut_by(x, 256, per_record=per_record)
    assert sorted(cuts.order.tolist()) == list(range(len(x)))
    assert cuts.counts.min() >= 5
    for node in np.flatnonzero(cuts.axis >= 0):
        lower, upper = (
            x[cuts.order[slice(*cuts.span[child])], cuts.axis[node]] for child in cuts.child[node] + np.arange(2)
        )
        assert (lower.max(), upper.min()) == tuple(cuts.gap[node])
        assert lower.max() < upper.min()


def test_a_record_measured_stands_for_those_like_it() -> None:
    """Of a table that holds each record eight times in a row an eighth says what all say."""
    rng = np.random.default_rng(32)
    for _ in range(20):
        once = rng.normal(size=(400, 3)) * rng.uniform(0.1, 10.0, 3)
        assert first_cut(np.repeat(once, 8, axis=0), 400) == first_cut(np.repeat(once, 8, axis=0), EVERY)


def first_cut(x: np.ndarray, sample: int) -> Cut:
    worth = np.random.default_rng(2).uniform(0.5, 2.0, (len(x) // 8, x.shape[1])).astype(np.float32)
    records = NumericRecords(
        rows=x,
        order=np.arange(len(x), dtype=np.int32),
        worth=np.repeat(worth, 8, axis=0),
        price=np.array([np.zeros(x.shape[1]), inverse_ranges(x.min(axis=0), x.max(axis=0))]),
        scratch=np.empty(len(x)),
        least=np.empty(0),
        extent=extents(x.shape[1]),
        classes=-1,
    )
    none = np.stack([np.full(x.shape[1], np.inf), np.full(x.shape[1], -np.inf)])
    cut = coarse(records, 0, len(x), none, 300, x.shape[1], sample)  # k above what 32 records stand for
    assert cut.place > 0
    return cut


def test_a_cut_that_the_sample_does_not_show_is_looked_for_among_all() -> None:
    """Every fourth record is alike in all columns: the sample has one value, the others many."""
    x = np.random.default_rng(33).normal(size=(4_000, 2))
    x[::4] = 0.0
    cuts = cut_by(x, 1_000)
    assert len(cuts.counts) > 400


def test_samples_are_taken_from_a_fixed_number_of_records_on() -> None:
    assert [usual(rows, mixed=False).sample < rows for rows in (300_000, 300_001)] == [False, True]
