"""Cuts of `fast` of nodes too large for a block, where nothing but k is demanded: what mixed.widths cuts, in passes.

Notation as in mixed.records and mixed.coarse. No order of a node's records is needed: the middle of a numeric column is
selected, and the values of a nominal one are counted. Of two places of a numeric column equally far from the middle the
upper one is taken.
"""

import numpy as np

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.boxes.partition.kernels import cut_at_multiple, widest
from workers.algorithms.boxes.partition.line import LESS
from workers.algorithms.boxes.partition.mixed.coarse import Cut, costs_of
from workers.algorithms.boxes.partition.mixed.parts import branches, by_frequency
from workers.algorithms.boxes.partition.mixed.records import MixedRecords


def halves(records: MixedRecords, first: int, last: int, cell: FloatArray, k: int) -> tuple[list[Cut], IntArray]:
    """The cut of `fast`: the column of largest s_i that can be cut; as mixed.coarse returns it, none where none can."""
    n = records.rows.shape[1]
    score, counts = costs_of(records, first, last, cell)
    group = np.full(len(records.omega), -1, dtype=np.int64)
    while (axis := int(widest(score))) >= 0:
        score[axis] = 0.0
        if axis < n:
            place, below, above = cut_at_multiple(records.rows[first:last, axis].copy(), last - first, k)
            cut = Cut(0.0, axis, place, below, above, ())
        else:
            cut = _between_values(records, axis - n, counts[axis - n], k, group)
        if cut.place > 0:
            return [cut], group
    return [], group


def _between_values(records: MixedRecords, j: int, count: IntArray, k: int, group: IntArray) -> Cut:
    """The prefix of the order by n_v / omega_v after which the column itself costs least; place 0 for none."""
    present, number = branches(records, j, count)
    group[present] = number
    amount = np.bincount(number, weights=count[present - records.start[j]])
    order = by_frequency(amount, np.bincount(number, weights=records.omega[present]).astype(np.float64))
    ends = np.cumsum(amount[order])
    size, least, best = float(ends[-1]), np.inf, 0
    lower = _prefix_costs(records, j, present, number, order)[:-1]
    upper = _prefix_costs(records, j, present, number, order[::-1])[:-1][::-1]
    costs = ends[:-1] * lower + (size - ends[:-1]) * upper
    for z in np.flatnonzero((ends[:-1] >= k) & (ends[:-1] <= size - k)).tolist():
        if costs[z] < least * LESS:
            least, best = costs[z], z + 1
    place = int(ends[best - 1]) if best else 0
    return Cut(0.0, records.rows.shape[1] + j, place, 0.0, 0.0, tuple(order[best:].tolist()))


def _prefix_costs(records: MixedRecords, j: int, present: IntArray, number: IntArray, order: IntArray) -> FloatArray:
    """What the sets of the first 1, 2, ... groups in an order cost a record: `set_cost` of each."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    scores = records.scores[records.score_start[j] : records.score_start[j + 1], present]
    low, high = np.full((len(order), len(scores)), np.inf), np.full((len(order), len(scores)), -np.inf)
    np.minimum.at(low, rank[number], scores.T)
    np.maximum.at(high, rank[number], scores.T)
    spread = (np.maximum.accumulate(high) - np.minimum.accumulate(low)).sum(axis=1)
    omega = np.cumsum(np.bincount(rank[number], weights=records.omega[present], minlength=len(order)))
    held = np.cumsum(np.bincount(rank[number], minlength=len(order)))
    return np.asarray(np.where(held > 1, omega + spread, 0.0))
