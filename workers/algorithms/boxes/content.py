"""Means inside boxes: the interval that contains the sum of a box's records, published as an interval of their mean.

Notation
--------
m, M, w = M - m : bounds of a column in a box of c records, and its width; h : the column's step, None for real numbers.
s : sum over the records of x - m; between 0 and c w, or between w and (c - 1) w where both ends are attained.
rho : width of the interval of a sum, in widths of the box; f : rows that a person has at most.
omega : rho w f, or ceil(rho max(2 w/h, w/h + 1) f) whole numbers of steps.
u : in [0, 1), a function of the column's secret and the box.
A : r (w/h - g + 1), least sum in steps where r records are among the g greatest multiples of a box.

`rounded`: the possible sums are divided by the points low + (u + i) omega into cells, and the cell that contains s
is published. The division follows from the box and the secret alone, so an omission reveals nothing of the
records: a box whose sums are all in one cell has no mean. The first and the last cell are joined to their neighbour
where they are shorter than omega / 2 or contain one multiset only: else a sum at an end would state every value. The
same box has the same cells in every release. A `grid` bound that moved states that records share the last step of its
grid, so that no sum of whole numbers is below A, or above c w - A: no cell of whole numbers ends next to these two
sums, for either would, alone in it, state every value. `exact`: every sum is a cell of its own. Of whole numbers the
three sums at either end are one cell, for sums 0 and 1 state all values; width 1 states all values by any sum, and such
boxes have no mean. Where the p %-rule fails there is none either: the largest value could be determined within p % by
whoever has the second largest.

The information left to whoever knows all but one record of a box: science.md section 5, "Means inside boxes", and
docs/reference/boxes-options.md.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, TypeAlias

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF
from surebox_core.types import BoolArray, FloatArray
from workers.algorithms.boxes.partition.places import KeyArray
from workers.algorithms.boxes.sides import Boxes

BoxMeans: TypeAlias = Literal["none", "rounded", "exact"]

_LEAST_K = 4  # of exact means: with fewer, who knows two has the rest
_ENDS = 3  # sums of whole numbers at either end that are one cell of exact means
_BITS = 2.0**-64
_NEAR = 1e-9  # of a step, within which a multiple is one


@dataclass(frozen=True)
class Drawn:
    """How `grid` bounds moved, where they did.

    Attributes
    ----------
    grids : of each column the step of its grid; None where it has none.
    sharing : r, numbers of records that may share the last step.
    """

    grids: tuple[float | None, ...]
    sharing: tuple[int, ...]


@dataclass(frozen=True)
class MeanIntervals:
    """The published part of each box's mean.

    Attributes
    ----------
    lower, upper : (B, n), within the bounds; NaN, both, where nothing is published.
    """

    lower: FloatArray
    upper: FloatArray


def box_means_fault(box_means: BoxMeans, k: int, bounds: str, steps: tuple[float | None, ...]) -> str | None:
    """Why a release may not have these means; None if it may."""
    if box_means != "exact":
        return None
    if k < _LEAST_K:
        return f"exact means need k of {_LEAST_K} or more, got {k}: who knows the others has the last one's values"
    if bounds != "cells" and any(step is not None for step in steps):
        return f"exact means of whole numbers within {bounds} bounds reveal single values; take cells or rounded means"
    return None


def mean_intervals(
    x: FloatArray,
    boxes: Boxes,
    keys: KeyArray,
    *,
    box_means: BoxMeans,
    steps: tuple[float | None, ...],
    attained: bool,
    rounding: float = 1.0,
    p_percent: float = 10.0,
    rows_of_person: int = 1,
    drawn: Drawn | None = None,
) -> MeanIntervals:
    """Intervals of the means of all boxes.

    Parameters
    ----------
    x : (N, n) records, NaN where missing.
    boxes : theirs, as published.
    keys : (n, 8) at least, the secret of each column.
    box_means : `rounded` or `exact`.
    steps : of each column, or empty.
    attained : whether the bounds are tight.
    rounding : rho.
    p_percent : p of the p %-rule, for `exact`.
    rows_of_person : f.
    drawn : how bounds were drawn in; None where they are not `grid`.

    Notes
    -----
    science.md section 5, "Means inside boxes". O(N n).
    """
    lower, upper = np.full_like(boxes.lower, np.nan), np.full_like(boxes.upper, np.nan)
    identities = digests(boxes)
    order = np.argsort(boxes.box, kind="stable")
    starts = np.concatenate([[0], np.cumsum(boxes.counts)[:-1]])
    for j in range(x.shape[1]):
        low, high = boxes.lower[:, j], boxes.upper[:, j]
        there = low < high
        step = steps[j] if j < len(steps) else None
        values = np.where(np.isnan(x[order, j]), 0.0, x[order, j])
        base = np.nan_to_num(low)
        rise = np.add.reduceat(values - np.repeat(base, boxes.counts), starts)
        if box_means == "rounded":
            share = offsets(keys[j], identities)
            rho, least = rounding * rows_of_person, _least_sums(high - low, step, drawn, j)
            cells = _rounded(rise, boxes.counts, high - low, step, share, rho, least, attained=attained)
        else:
            cells = _exact(rise, boxes.counts, high - low, step)
            there &= ~_dominated(values, boxes, order, starts, p_percent)
        there &= ~np.isnan(cells[0])
        # roundings of values, differences, their sum (none of multiples), the quotient and the mean: a sum is under c w
        each = 8.0 if step is not None else boxes.counts + 8.0
        error = UNIT_ROUNDOFF * boxes.counts * each * (np.abs(base) + np.abs(np.nan_to_num(high)))
        least = base + (cells[0] - error) / boxes.counts
        most = base + (cells[1] + error) / boxes.counts
        lower[there, j] = np.maximum(np.nextafter(least, -np.inf), low)[there]
        upper[there, j] = np.minimum(np.nextafter(most, np.inf), high)[there]
    return MeanIntervals(lower, upper)


def digests(boxes: Boxes) -> list[bytes]:
    """What the offsets of a box depend on: its bounds, sets and count.

    Parameters
    ----------
    boxes : as published.
    """
    table = np.column_stack([boxes.lower, boxes.upper, boxes.counts.astype(np.float64)])
    rows = np.ascontiguousarray(table + 0.0)
    sets = np.packbits(np.hstack(boxes.sets), axis=1) if boxes.sets else np.empty((len(rows), 0), dtype=np.uint8)
    return [
        blake2b(row.tobytes() + held.tobytes(), digest_size=32).digest() for row, held in zip(rows, sets, strict=True)
    ]


def offsets(key: np.ndarray, identities: list[bytes]) -> FloatArray:
    """(B,), u of each box: uniform for an adversary without the key.

    Parameters
    ----------
    key : (8,), the secret of a column.
    identities : of `digests`.
    """
    secret = np.asarray(key, dtype="<u4").tobytes()
    drawn = (blake2b(d, digest_size=8, key=secret, person=b"surebox means").digest() for d in identities)
    return np.array([min(int.from_bytes(each, "little") * _BITS, 1.0 - 2.0**-53) for each in drawn])


def _least_sums(width: FloatArray, step: float | None, drawn: Drawn | None, column: int) -> tuple[FloatArray, ...]:
    """A of each box, for each g that a step of the grid may hold."""
    grid = None if drawn is None else drawn.grids[column]
    if drawn is None or grid is None or step is None:
        return ()
    multiples = grid / step
    held = {float(np.floor(multiples + _NEAR)), float(np.ceil(multiples - _NEAR))}
    beyond = [np.rint(width / step) - g + 1.0 for g in sorted(held)]
    return tuple(np.maximum(r * each, 0.0) for r in sorted({*drawn.sharing}) for each in beyond)


def _rounded(
    rise: FloatArray,
    counts: np.ndarray,
    width: FloatArray,
    step: float | None,
    share: FloatArray,
    rho: float,
    least_sums: tuple[FloatArray, ...],
    *,
    attained: bool,
) -> tuple[FloatArray, FloatArray]:
    """Ends of the cell of each sum; NaN where there is one cell only."""
    first = width if attained else np.zeros_like(width)
    last = width * (counts - 1.0 if attained else counts)
    if step is None:
        omega = np.where(width > 0.0, rho * width, 1.0)
        return _cell(rise, first, last, first + share * omega, omega, 0.5 * omega, 0.0, [])
    whole = np.rint(width / step)
    number = np.maximum(np.ceil(rho * np.maximum(2.0 * whole, whole + 1.0)), 2.0)
    offset = np.floor(share * number)
    least = np.maximum(np.ceil(0.5 * number), 2.0)
    unit = np.rint(first / step), np.rint(last / step)
    # a boundary before the whole number t is at t - 1/2
    start, barred = unit[0] - 0.5 + offset, [end for a in least_sums for end in (a + 0.5, unit[1] - a - 0.5)]
    low, high = _cell(np.rint(rise / step), unit[0] - 0.5, unit[1] + 0.5, start, number, least, 0.5, barred)
    return (low + 0.5) * step, (high - 0.5) * step


def _cell(
    value: FloatArray,
    low: FloatArray,
    high: FloatArray,
    start: FloatArray,
    omega: FloatArray,
    least: FloatArray,
    play: float,
    barred: list[FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Ends of the cell that contains each value, of [low, high] divided at start + i omega but where that is barred."""
    first = np.where(start - low >= least, 0.0, 1.0)
    last = np.floor((high - least - start) / omega)
    index = np.clip(np.floor((value - start + 0.25 * play) / omega), -1.0, None)
    below = np.minimum(index, last)
    after = np.maximum(index + 1.0, first)
    for ends in barred * len(barred):  # the next one may be barred too
        below -= start + below * omega == ends
        after += start + after * omega == ends
    none = (below < first) & (after > last)
    lower = np.where(below >= first, start + below * omega, low)
    upper = np.where(after <= last, start + after * omega, high)
    return np.where(none, np.nan, lower), np.where(none, np.nan, upper)


def _exact(
    rise: FloatArray, counts: np.ndarray, width: FloatArray, step: float | None
) -> tuple[FloatArray, FloatArray]:
    """The sums; of whole numbers three at either end together, and none of width 1."""
    if step is None:
        return rise, rise
    t, last = np.rint(rise / step), np.rint(width / step) * counts
    low = np.where(t < _ENDS, 0.0, np.where(t > last - _ENDS, last - _ENDS + 1.0, t))
    high = np.where(t < _ENDS, _ENDS - 1.0, np.where(t > last - _ENDS, last, t))
    none = (width <= step) | (last < 2 * _ENDS)
    return np.where(none, np.nan, low * step), np.where(none, np.nan, high * step)


def _dominated(values: FloatArray, boxes: Boxes, order: np.ndarray, starts: np.ndarray, p_percent: float) -> BoolArray:
    """Boxes where the p %-rule fails: the rest of the sizes next to the two largest is under p % of the largest."""
    size = np.abs(values)
    rank = np.lexsort((-size, boxes.box[order]))
    ordered = size[rank]
    first = ordered[starts]
    second = np.where(boxes.counts > 1, ordered[np.minimum(starts + 1, len(ordered) - 1)], 0.0)
    rest = np.add.reduceat(ordered, starts) - first - second
    return np.asarray((first > 0.0) & (rest < 0.01 * p_percent * first))
