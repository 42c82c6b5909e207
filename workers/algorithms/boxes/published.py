"""Cells as they are published: drawn in where bounds are on a grid, whole where values are, numbered, with means.

Notation as in boxes.bounds, and of grid bounds, cells drawn in to the grid cells of the outermost records of a box,
--------
h : step of a column's grid.  c_z = [(z + 0.37) h, (z + 1.37) h) : its cells, z whole.
m, M : least and greatest value of a box's records in a column.

The lower bound of a box moves up to the start of the cell of the grid that contains m, the upper one down to the end of
that which contains M, where that is narrower: where these are beyond the column's outer bounds, these stay. A column
that no cut of a box goes through is drawn in likewise, or it would be published whole. The shift of 0.37 of a step is
public: round values are inside cells of the grid (on an unshifted one 91 % of Adult's capital gains were published as
[0, 0]). In a column of whole multiples a step contains two of them at least.

Privacy (science.md section 5, "Grid bounds"): a bound that moved states that `in_box` records of the box are within a
step of it. Besides, `beyond` records of all boxes (k, unless `min_records_at_bound` is another number) are within this
step or beyond it: else the greatest value of the column, or one next to it, would be known to a step. With `in_box` = 1
an adversary who knows all records but the outermost has
that one to a step; with 2 a bound moves only where two records share the step, so that an adversary who knows all
records but one could have put it there by the other, unless these two are the outermost ones and they know that one is
there.
Sets of nominal columns are drawn in likewise: to the values that records have, where each of them is had by `in_box`
records; else the set stays the cell's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from workers.algorithms.boxes.content import Drawn, mean_intervals
from workers.algorithms.boxes.partition.places import KeyArray
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import Boxes, NominalColumn, NumericColumn
from workers.algorithms.boxes.tiles import numbered, on_grid, outer

_SHIFT = 0.37


def published(boxes: Boxes, x: FloatArray, request: BoxesRequest) -> Boxes:
    """Bounds as they are published.

    Parameters
    ----------
    boxes : half-open cells, or tight bounds, which stay.
    x : (N, n) their records, NaN where missing.
    request : `bounds`, `columns`, `nominal` of these records, `domains`, `min_records_at_bound`.
    """
    if request.bounds == "tight":
        return numbered(boxes)
    n = x.shape[1]
    columns = request.columns or (NumericColumn(),) * n
    least = np.array([-np.inf if column.limits is None else column.limits[0] for column in columns])
    most = np.array([np.inf if column.limits is None else column.limits[1] for column in columns])
    boxes = replace(boxes, lower=np.maximum(boxes.lower, least), upper=np.minimum(boxes.upper, most))
    high = np.minimum(outer(x, request.domains or (None,) * n)[1], most)
    if request.bounds == "grid":
        boxes = draw_to_grid(boxes, x, columns, request.nominal, sharing_of(request), request.demands.persons)
    return numbered(on_grid(boxes, columns, high))


def bounds_of_records(request: BoxesRequest, n: int) -> bool:
    """Whether bounds follow the records, not only cuts, declared domains and codebooks.

    Parameters
    ----------
    request : `bounds` and `domains`.
    n : numeric columns.
    """
    return request.bounds != "cells" or any(domain is None for domain in request.every_domain(n))


def with_content(boxes: Boxes, x: FloatArray, request: BoxesRequest, keys: KeyArray) -> Boxes:
    """The boxes with the published part of their records' means, of the columns that may have it.

    Parameters
    ----------
    boxes : as published.
    x : (N, n) their records, NaN where missing.
    request : `box_means` and what belongs to it; `demands` of these records.
    keys : the secrets of the columns, which place the ends of intervals.
    """
    if request.box_means == "none":
        return boxes
    columns = request.columns or (NumericColumn(),) * x.shape[1]
    drawn = None
    if request.bounds == "grid":
        sharing = sharing_of(request)
        drawn = Drawn(tuple(column.grid_step for column in columns), (sharing.in_box, sharing.beyond))
    intervals = mean_intervals(
        x,
        boxes,
        keys,
        box_means=request.box_means,
        steps=tuple(column.sum_step for column in columns),
        attained=request.bounds == "tight",
        rounding=request.mean_interval_in_boxes,
        p_percent=request.p_percent,
        rows_of_person=_rows_of_person(request.demands.persons),
        drawn=drawn,
    )
    some = np.array([column.has_means for column in columns], dtype=np.bool_)
    return replace(boxes, means=(np.where(some, intervals.lower, np.nan), np.where(some, intervals.upper, np.nan)))


def _rows_of_person(persons: IndexArray) -> int:
    """Rows that a person has at most."""
    return int(np.unique(persons, return_counts=True)[1].max()) if len(persons) else 1


@dataclass(frozen=True)
class Sharing:
    """Demands on a bound that moves, in records, or in persons where k counts these.

    Attributes
    ----------
    in_box : that share the last step in the box; of a set, that have each of its values.
    beyond : of all boxes, that are in this step or beyond it.
    """

    in_box: int
    beyond: int


def sharing_of(request: BoxesRequest) -> Sharing:
    """Return what a request demands at bounds; by default two records of the box, and k of all."""
    if request.min_records_at_bound is None:
        return Sharing(min(2, request.k), request.k)
    return Sharing(request.min_records_at_bound, request.min_records_at_bound)


def draw_to_grid(
    boxes: Boxes,
    x: FloatArray,
    columns: Sequence[NumericColumn],
    nominal: Sequence[NominalColumn],
    sharing: Sharing,
    persons: IndexArray | None = None,
) -> Boxes:
    """Draw cells in.

    Parameters
    ----------
    boxes : half-open cells.
    x : (N, n) records, NaN where missing.
    columns : n, with the step of each one's grid; a column without one keeps its cells.
    nominal : d columns.
    sharing : how many share the last step.
    persons : (N,), whose record each is; empty or None where records are counted.

    Returns
    -------
    Boxes
        Within the cells. Real columns: half-open as the cells are.
    """
    order = np.argsort(boxes.box, kind="stable")
    starts = np.concatenate([[0], np.cumsum(boxes.counts)[:-1]]).astype(np.int64)
    named = persons is not None and len(persons) > 0
    whose = np.asarray(persons)[order].astype(np.int64) if named else None
    owner = np.repeat(np.arange(len(boxes.counts)), boxes.counts)
    lower, upper = boxes.lower.copy(), boxes.upper.copy()
    for i, column in enumerate(columns):
        h = column.grid_step
        if h is None:
            continue
        cell = _cells(x[order, i], h)
        first, last = np.minimum.reduceat(cell, starts), np.maximum.reduceat(cell, starts)
        at_start = (_shared(cell == first[owner], owner, whose) >= sharing.in_box) & _crowded(
            -cell, -first, whose, sharing.beyond
        )
        at_end = (_shared(cell == last[owner], owner, whose) >= sharing.in_box) & _crowded(
            cell, last, whose, sharing.beyond
        )
        below = np.where(at_start, _start(first, h), -np.inf)
        above = np.where(at_end, _start(last + 1.0, h), np.inf)
        lower[:, i], upper[:, i] = np.maximum(lower[:, i], below), np.minimum(upper[:, i], above)
    sets = tuple(
        _drawn_in(cells, column.codes[order], owner, whose, sharing.in_box)
        for cells, column in zip(boxes.sets, nominal, strict=True)
    )
    return replace(boxes, lower=lower, upper=upper, sets=sets)


def _start(cell: FloatArray, h: float) -> FloatArray:
    """Where a cell of the grid starts, as it is published."""
    return (cell + _SHIFT) * h


def _cells(values: FloatArray, h: float) -> FloatArray:
    """The cell of the grid that contains each value, its ends as they are published: 137 = 1.37 * 100 is below one."""
    cell = np.floor(values / h - _SHIFT)
    cell = np.where(_start(cell, h) > values, cell - 1.0, cell)
    return np.where(_start(cell + 1.0, h) <= values, cell + 1.0, cell)


def _shared(there: BoolArray, owner: IntArray, whose: IntArray | None) -> IntArray:
    """Persons of each box, by its number of each record, who have a record that is there."""
    return _persons(owner[there], None if whose is None else whose[there], int(owner[-1]) + 1)


def _crowded(cell: FloatArray, last: FloatArray, whose: IntArray | None, enough: int) -> BoolArray:
    """(B,), whether so many persons have a record in the last cell of a box or beyond it, in whatever box."""
    known = ~np.isnan(cell)
    farthest = cell[known]
    if whose is not None and len(farthest):
        order = np.lexsort((-farthest, whose[known]))
        persons = whose[known][order]
        farthest = farthest[order][np.append(True, persons[1:] != persons[:-1])]
    farthest = np.sort(farthest)
    return np.asarray(len(farthest) - np.searchsorted(farthest, last, side="left") >= enough)


def _persons(place: IntArray, whose: IntArray | None, places: int) -> IntArray:
    """Different persons of each place; None: each record is one."""
    if whose is None:
        return np.bincount(place, minlength=places)
    pairs = np.unique(np.column_stack([place, whose]), axis=0)
    return np.bincount(pairs[:, 0], minlength=places)


def _drawn_in(cells: BoolArray, codes: IndexArray, owner: IntArray, whose: IntArray | None, sharing: int) -> BoolArray:
    """Sets of the values that records have, where each is had by so many."""
    values = cells.shape[1]
    known = codes >= 0
    persons = None if whose is None else whose[known]
    had = _persons(owner[known] * values + codes[known], persons, cells.size).reshape(cells.shape)
    enough = ((had == 0) | (had >= sharing)).all(axis=1)
    return np.where(enough[:, None], had > 0, cells)
