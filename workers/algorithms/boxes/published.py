"""Cells as they are published: drawn in where bounds are on a grid, whole where values are, numbered, with means.

Notation as in boxes.bounds.
"""

from dataclasses import replace

import numpy as np

from surebox_core.types import FloatArray, IndexArray
from workers.algorithms.boxes.content import Drawn, mean_intervals
from workers.algorithms.boxes.grid_bounds import draw_to_grid, grid_step
from workers.algorithms.boxes.partition.places import KeyArray
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import Boxes, NumericColumn
from workers.algorithms.boxes.tiles import numbered, on_grid, outer


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
        boxes = draw_to_grid(boxes, x, columns, request.nominal, request.min_records_at_bound)
    return numbered(on_grid(boxes, [column.step for column in columns], high))


def bounds_of_records(request: BoxesRequest, n: int) -> bool:
    """Whether bounds follow the records, not only cuts, declared domains and codebooks.

    Parameters
    ----------
    request : `bounds` and `domains`.
    n : numeric columns.
    """
    return request.bounds != "cells" or any(domain is None for domain in request.every_domain(n))


def with_content(boxes: Boxes, x: FloatArray, request: BoxesRequest, keys: KeyArray) -> Boxes:
    """The boxes with what is published of their records' means; ranks have none.

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
        drawn = Drawn(tuple(grid_step(column) for column in columns), request.min_records_at_bound)
    intervals = mean_intervals(
        x,
        boxes,
        keys,
        box_means=request.box_means,
        steps=tuple(column.step for column in columns),
        attained=request.bounds == "tight",
        rounding=request.mean_interval_in_boxes,
        p_percent=request.p_percent,
        rows_of_person=_rows_of_person(request.demands.persons),
        drawn=drawn,
    )
    ranks = np.array([column.ranks is not None for column in columns], dtype=np.bool_)
    return replace(boxes, means=(np.where(ranks, np.nan, intervals.lower), np.where(ranks, np.nan, intervals.upper)))


def _rows_of_person(persons: IndexArray) -> int:
    """Rows that a person has at most."""
    return int(np.unique(persons, return_counts=True)[1].max()) if len(persons) else 1
