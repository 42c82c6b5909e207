"""The linkage attack on boxes: how many of the records that an adversary knows may be behind a released row.

Notation
--------
B : number of boxes; lo, hi (B, n) their bounds, in the columns' units.
x : (N, n), the records he knows, in the same columns; kept (N,) the code of their kept values, if published.
rows : box (M,) of each released row, and the code of its kept values.
candidates : of a row: known records inside its box that agree with its kept values.

All candidates of a row fit it equally well (the density of a box is flat), so that the rank of the true record among
the fits, ties counting, is their number, and its posterior (AG eq. 3) one in so many. With the original as x the number
is at least k; with another file it may be anything, 0 included: he then knows nobody who fits.

Cells are half-open: a record on an upper bound belongs to the next cell, except at the top of the released space.
"""

from dataclasses import dataclass

import numpy as np

from surebox_verify.core.compiled import kernel
from surebox_verify.core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.core.blocks import blocks

_BLOCK = 16


@dataclass(frozen=True)
class Candidates:
    """What the attack gives.

    Attributes
    ----------
    count : (M,), candidates of each released row.
    held : number of known records that are in some box.
    """

    count: IntArray
    held: int


@kernel
def _locate(
    x: FloatArray,
    start: IntArray,
    low: FloatArray,
    high: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    closed: BoolArray,
    out: IntArray,
) -> None:
    """Place of the box that holds each record, -1 if none does."""
    leaves = len(start) - 1
    stack = np.empty(128, np.int64)
    for r in range(len(x)):
        stack[0] = 1
        size = 1
        while size > 0 and out[r] < 0:
            size -= 1
            node = stack[size]
            inside = True
            for j in range(x.shape[1]):
                inside = inside and low[node, j] <= x[r, j] <= high[node, j]
            if not inside:
                continue
            if node < leaves:
                stack[size] = 2 * node
                stack[size + 1] = 2 * node + 1
                size += 2
                continue
            for b in range(start[node - leaves], start[node - leaves + 1]):
                inside = True
                for j in range(x.shape[1]):
                    below = x[r, j] <= upper[b, j] if closed[b, j] else x[r, j] < upper[b, j]
                    inside = inside and lower[b, j] <= x[r, j] and below
                if inside:
                    out[r] = b
                    break


def box_of(x: FloatArray, lower: FloatArray, upper: FloatArray, *, tight: bool) -> IntArray:
    """The box that holds each record.

    Parameters
    ----------
    x : (N, n) records.
    lower, upper : (B, n) bounds of disjoint boxes.
    tight : bounds are those of the records, closed on both sides; else cells, half-open.

    Returns
    -------
    (N,) int64, -1 where no box holds the record.

    Raises
    ------
    ValueError
        Shapes disagree.

    Notes
    -----
    O(N log B) for boxes that are disjoint.
    """
    if lower.ndim != 2 or lower.shape != upper.shape or x.ndim != 2 or x.shape[1] != lower.shape[1]:
        msg = f"records {x.shape} and boxes {lower.shape}, {upper.shape} must have the same columns"
        raise ValueError(msg)
    centre = 0.5 * lower + 0.5 * upper
    extent = np.ptp(centre, axis=0)
    tree = blocks(centre, np.where(extent > 0.0, extent, 1.0), _BLOCK)
    closed = np.ones(upper.shape, dtype=np.bool_) if tight else (upper == lower) | (upper == upper.max(axis=0))
    order = tree.order
    out = np.full(len(x), -1, dtype=np.int64)
    _locate(
        np.ascontiguousarray(x, dtype=np.float64),
        tree.start,
        tree.smallest(lower),
        tree.largest(upper),
        np.ascontiguousarray(lower[order]),
        np.ascontiguousarray(upper[order]),
        np.ascontiguousarray(closed[order]),
        out,
    )
    return np.where(out >= 0, order[out], -1)


def candidates(
    x: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    box: IntArray,
    *,
    tight: bool,
    kept: tuple[IntArray, IntArray] | None = None,
) -> Candidates:
    """Count the known records that may be behind each released row.

    Parameters
    ----------
    x : (N, n), what the adversary knows.
    lower, upper : (B, n), bounds of the released boxes.
    box : (M,), box of each released row.
    tight : whether bounds are those of the records.
    kept : codes of the kept values, of the known records (N,) and of the rows (M,), from 0 on, -1 for values that the
        other side does not have; None where no column is kept.

    Returns
    -------
    Candidates

    Notes
    -----
    science.md section 3, *Linkage audit* (for boxes the number of candidates per record).
    """
    of_record = box_of(x, lower, upper, tight=tight)
    known, asked = (np.zeros(len(x), np.int64), np.zeros(len(box), np.int64)) if kept is None else kept
    inside = (of_record >= 0) & (known >= 0)
    width = int(max(known.max(initial=0), asked.max(initial=0))) + 1
    groups, sizes = np.unique(of_record[inside] * width + known[inside], return_counts=True)
    wanted = np.where(asked >= 0, box * width + asked, -1)
    place = np.minimum(np.searchsorted(groups, wanted), max(len(groups) - 1, 0))
    found = groups[place] == wanted if len(groups) else np.zeros(len(box), dtype=np.bool_)
    count = np.where(found, sizes[place] if len(groups) else 0, 0)
    return Candidates(count.astype(np.int64), int((of_record >= 0).sum()))
