"""New versions of data in the boxes of a published release: which boxes show what changed, and which go up.

Notation
--------
B : boxes of the release before, disjoint; N : records of today, M : rows as published before.
n_b(v), m_b(v) : records of today, rows published before, of kept values v in box b.
A_b = sum_v max(n_b(v) - m_b(v), 0), R_b = sum_v max(m_b(v) - n_b(v), 0) : what has come to a box and left it.
S_b = sum_v min(n_b(v), m_b(v)) : what has stayed.

science.md section 6, "New versions of the data". A box shows today's records where A_b and R_b are each 0 or at least
k; the others show what was published before, and wait. Beyond that, S_b too is 0 or at least k: else the values that
both versions have would tell of the few who are known to have stayed. A function of what was published and of today's
records alone: what a box has shown need not be kept elsewhere, and rows that changed in nothing that is published have
not changed. So between a version and the one before every box that both have differs by nothing or by what at least k
records did.
"""

from collections.abc import Sequence

import numpy as np

from surebox_verify.boxes import PublishedBoxes
from surebox_verify.core.types import BoolArray, IntArray
from workers.algorithms.core.errors import InfeasibleKError


def renewed(before: tuple[IntArray, IntArray], today: tuple[IntArray, IntArray], *, boxes: int, k: int) -> BoolArray:
    """Boxes that show today's records.

    Parameters
    ----------
    before : (M,) each, box and number of the kept values of the rows that were published.
    today : (N,) each, the same of the records, each of which lies in a box.
    boxes : B.
    k : fewest that may be seen to come, to go, or to stay.

    Returns
    -------
    (B,); O((N + M) log(N + M)) time.
    """
    span = int(max(before[1].max(initial=0), today[1].max(initial=0))) + 1
    cells = np.concatenate([before[0] * span + before[1], today[0] * span + today[1]])
    cell, which = np.unique(cells, return_inverse=True)
    was = np.bincount(which[: len(before[0])], minlength=len(cell))
    now = np.bincount(which[len(before[0]) :], minlength=len(cell))
    box = cell // span
    added = np.bincount(box, weights=np.maximum(now - was, 0), minlength=boxes)
    gone = np.bincount(box, weights=np.maximum(was - now, 0), minlength=boxes)
    stayed = np.bincount(box, weights=np.minimum(was, now), minlength=boxes)
    shown = np.ones(boxes, dtype=np.bool_)
    for seen in (added, gone, stayed):
        shown &= (seen == 0) | (seen >= k)
    return shown


def risen(boxes: PublishedBoxes, counts: IntArray, k: int) -> IntArray:
    """Box of the new version that each box becomes a part of: one with fewer than k records goes up.

    Parameters
    ----------
    boxes : as published before, none with a missing side.
    counts : (B,), records that each shows now.
    k : least number of records.

    Returns
    -------
    (B,) int64, numbered from 0 in the order of their first boxes.

    Raises
    ------
    InfeasibleKError
        All boxes have fewer than k records together.

    Notes
    -----
    Cuts divide the space, so the boxes on both sides of each can be told apart again from their sides: halves are cut
    in two as evenly as can be. The lowest part with k records becomes one box, and covers what its boxes covered.
    """
    if int(counts.sum()) < k:
        raise InfeasibleKError(k, int(counts.sum()))
    group = np.arange(len(counts), dtype=np.int64)
    waiting = [group.copy()]
    while waiting:
        members = waiting.pop()
        if int(counts[members].min(initial=k)) >= k:
            continue
        parts = _parts(boxes, members)
        if parts is None or min(int(counts[part].sum()) for part in parts) < k:
            group[members] = members.min()
        else:
            waiting.extend(parts)
    return np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64)


def numbers(before: IntArray, group: IntArray) -> IntArray:
    """Numbers of the boxes of the new version: a box keeps its own, one that several became has one never used before.

    Parameters
    ----------
    before : (B,), numbers of the boxes.
    group : (B,), what each becomes a part of.
    """
    parts = np.bincount(group)
    found = np.zeros(len(parts), dtype=np.int64)
    found[group] = before
    united = parts > 1
    found[united] = int(before.max(initial=0)) + 1 + np.arange(int(united.sum()))
    return found


def _parts(boxes: PublishedBoxes, members: IntArray) -> tuple[IntArray, IntArray] | None:
    """The boxes on both sides of the most even cut that divides none of them; None where there is none."""
    if len(members) == 1:
        return None
    best: tuple[int, IntArray, int] | None = None
    for position, starts in (*_numeric_cuts(boxes, members), *_nominal_cuts(boxes.sets, members)):
        if not len(starts):
            continue
        at = int(starts[np.argmin(np.abs(2 * starts - len(members)))])
        fewer = min(at, len(members) - at)
        if best is None or fewer > best[0]:
            best = (fewer, position, at)
    return None if best is None else (members[best[1][: best[2]]], members[best[1][best[2] :]])


def _numeric_cuts(boxes: PublishedBoxes, members: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Of each column with two ends: the members in its order, and how many may stand before a cut."""
    found = []
    for j in range(boxes.lower.shape[1]):
        lower, upper = boxes.lower[members, j], boxes.upper[members, j]
        order = np.lexsort((upper, lower))
        reached, starts = np.maximum.accumulate(upper[order])[:-1], lower[order]
        found.append((order, np.flatnonzero((reached <= starts[1:]) & (starts[:-1] < starts[1:])) + 1))
    return found


def _nominal_cuts(sets: Sequence[BoolArray], members: IntArray) -> list[tuple[IntArray, IntArray]]:
    """The same of each nominal column: boxes that share a value, directly or through others, stay together."""
    found = []
    for one in sets:
        held = one[members]
        part = np.arange(held.shape[1])
        for row in np.unique(held, axis=0):
            values = np.flatnonzero(row)
            part[np.isin(part, part[values])] = part[values].min(initial=held.shape[1])
        of_box = part[np.argmax(held, axis=1)]
        order = np.argsort(of_box, kind="stable")
        found.append((order, np.flatnonzero(np.diff(of_box[order])) + 1))
    return found
