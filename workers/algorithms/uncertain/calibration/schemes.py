"""Who shares a scale: no one, everyone, or the records of a spatial cell.

Notation
--------
y : (N, n), records in scaled units.  k : (N,), expected anonymity wanted.
sigma : scale of a record, of a cell, or of all.  m : least records of a cell.

AG section II (per record), and science.md section 3, "Published scales identify records" (common, shared): whoever
knows the original recomputes all scales and matches them with the published ones, so that anonymity must be counted
among those who share a scale.
"""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.uncertain.calibration.common_scale import Agreed, needed_by_many
from workers.algorithms.uncertain.calibration.levels import rungs
from workers.algorithms.uncertain.calibration.rare import (
    answers,
    grown,
    identity,
    largest_scales,
    refuse_unreached,
    smallest_common,
    suppressed_number,
    suppressed_rows,
)
from workers.algorithms.uncertain.calibration.solver import Question, Solved, answered
from workers.algorithms.uncertain.calibration.state import CalibrationRequest
from workers.algorithms.uncertain.density.scaling import local_spread, principal_axes, rounded, rounded_axes, rounded_up
from workers.algorithms.uncertain.neighbours.tree import Tree, nearest_others, tree_of

_DIGITS = 2  # of a cell's scale: the equation it is for the record that decides it has as few
_VISITS = 20_000_000  # pairs of records between two pauses, where each cell is its own small problem


@dataclass(frozen=True)
class Scheme:
    """Scales in scaled units.

    Attributes
    ----------
    rows : (M,), kept records, ascending places in y.
    scale : (M, n), along columns, or along axes.
    axes : (M, n, n) or None.
    anonymity : (M,), certain lower bounds.
    missing : what the computed anonymity of a deciding record may lack.
    group : (M,), who shares a scale; None where no one does.
    few : whether fewer than k records decide the scale of all.
    """

    rows: IntArray
    scale: FloatArray
    axes: FloatArray | None
    anonymity: FloatArray
    missing: float
    group: IntArray | None
    few: bool = False


Work = Generator[float, None, Scheme]


def common(x: FloatArray, y: FloatArray, k: FloatArray, request: CalibrationRequest) -> Work:
    """One scale for all kept records.

    Notes
    -----
    Left out are the records that need the largest scales when all are there (no second look after they have gone); the
    common scale is the lowest rung on which every kept record has k among the kept ones. Where fewer than k records
    need that rung, they are left out too, and the rung below is tried: it must not be one record's doing.
    """
    kept, hint = yield from keeping(x, y, k, request)
    tree = yield from grown(y[kept])
    lowest = yield from smallest_common(
        tree,
        k[kept][tree.order],
        hint[kept][tree.order],
        request,
        suppressed=len(y) - len(kept),
        share=request.suppress_share,
    )
    anonymity = np.empty(len(kept))
    anonymity[tree.order] = lowest.anonymity
    agreed = yield from needed_by_many(y, k, Agreed(kept, lowest.scale, anonymity), request)
    return Scheme(
        rows=agreed.members,
        scale=np.full((len(agreed.members), y.shape[1]), agreed.scale),
        axes=None,
        anonymity=agreed.anonymity,
        missing=lowest.missing,
        group=np.zeros(len(agreed.members), dtype=np.int64),
        few=agreed.few,
    )


def keeping(
    x: FloatArray, y: FloatArray, k: FloatArray, request: CalibrationRequest
) -> Generator[float, None, tuple[IntArray, FloatArray]]:
    """Places of the records that are not suppressed, and scales of all records that show which ones need most."""
    number = suppressed_number(len(y), request.suppress_share, float(k.max()))
    if not number:
        return np.arange(len(y)), np.linspace(0.0, 1.0, len(y))
    tree = yield from grown(y)
    rare = yield from largest_scales(tree, k[tree.order], request, number)
    out = tree.order[suppressed_rows(x[tree.order], rare, number)]
    hint = np.empty(len(y))
    hint[tree.order] = rare.scale
    return np.delete(np.arange(len(y)), out), hint


def levels(y: FloatArray, k: FloatArray, request: CalibrationRequest) -> Work:
    """A scale for each rung of a fixed ladder, anonymity counted among the records of the same rung."""
    ladder = yield from rungs(y, k, request)
    members = np.concatenate([rung.members for rung in ladder])
    order = np.argsort(members)
    sizes = [len(rung.members) for rung in ladder]
    scale = np.repeat([rung.scale for rung in ladder], sizes)[order]
    return Scheme(
        rows=members[order],
        scale=np.ascontiguousarray(np.broadcast_to(scale[:, None], (len(members), y.shape[1]))),
        axes=None,
        anonymity=np.concatenate([rung.anonymity for rung in ladder])[order],
        missing=0.0,  # `expectation` looks at each level
        group=np.repeat(np.arange(len(ladder)), sizes)[order],
    )


def per_record(y: FloatArray, k: FloatArray, request: CalibrationRequest) -> Work:
    """A scale for each record: the paper's letter, which the scale itself undoes."""
    tree = yield from grown(y)
    need = k[tree.order]
    shape, axes, spread = yield from shapes(tree, need, request)
    question = Question(np.arange(len(y)), need)
    solved = yield from answers(tree, shape, question, request)
    refuse_unreached(solved, need, len(y))
    back = np.empty(len(y), dtype=np.int64)
    back[tree.order] = np.arange(len(y))
    scale = np.maximum(solved.scale[:, None] * spread, request.min_scale)
    return Scheme(
        rows=np.arange(len(y)),
        scale=np.ascontiguousarray(np.broadcast_to(scale, y.shape)[back]),
        axes=None if axes is None else axes[back],
        anonymity=solved.anonymity[back],
        missing=float(solved.missing.max()),
        group=None,
    )


def shapes(
    tree: Tree, need: FloatArray, request: CalibrationRequest
) -> Generator[float, None, tuple[FloatArray, FloatArray | None, FloatArray]]:
    """Metric, axes and spread about every row: AG eq. 16, over the ceil(k) nearest other records."""
    records, n = tree.rows.shape
    if request.scaling == "global":
        return identity(n), None, identity(n)
    numbers = np.minimum(np.ceil(need).astype(np.int64), records - 1)
    most = int(numbers.max())
    spread = np.full((records, n), local_spread(np.zeros((1, n))))
    axes = np.tile(np.eye(n), (records, 1, 1)) if request.scaling == "rotated" else None
    first, width = 0, 256
    while first < records and most > 0:
        last = min(first + width, records)
        nearest, visits = nearest_others(tree, first, last, most)
        for number in np.unique(numbers[first:last]):
            rows = np.flatnonzero(numbers[first:last] == number)
            neighbours = tree.rows[nearest[rows, :number]]
            if axes is None:
                spread[first + rows] = local_spread(neighbours)
            else:
                axes[first + rows], spread[first + rows] = principal_axes(neighbours)
        width = max(16, min(int(width * _VISITS / max(visits, 1)), 4 * width, 4_000_000 // (most * n) + 16))
        first = last
        yield 0.0
    if axes is None:
        return 1.0 / spread, None, spread
    return np.ascontiguousarray((axes / spread[:, :, None]).reshape(records, n * n)), axes, spread


@dataclass(frozen=True)
class Cell:
    """Scale and shape of a cell; arrays in the order of its records."""

    scale: FloatArray
    axes: FloatArray | None
    anonymity: FloatArray
    missing: float


def shared(x: FloatArray, y: FloatArray, k: FloatArray, request: CalibrationRequest) -> Work:
    """One scale (and shape) for the records of each spatial cell, anonymity counted among them.

    Notes
    -----
    Cells are the leaves of a tree by halves over the kept records: of m records at least, fewer than 2 m. Their bounds
    are not published; those who know the original know who is in one, and a scale reveals no more.
    """
    kept, _ = yield from keeping(x, y, k, request)
    size = request.cell_size or int(np.ceil(8.0 * k.max()))
    tree = yield from grown(y[kept], size)
    need = k[kept][tree.order]
    start, end = tree.leaves
    n = y.shape[1]
    scale, anonymity = np.empty((len(kept), n)), np.empty(len(kept))
    axes = np.empty((len(kept), n, n)) if request.scaling == "rotated" else None
    group = np.repeat(np.arange(len(start)), end - start)
    missing, cell = 0.0, 0
    batch = max(1, _VISITS * request.threads // int((end - start).max()) ** 2)
    with ThreadPoolExecutor(request.threads) as pool:
        while cell < len(start):
            spans = [
                slice(int(a), int(b)) for a, b in zip(start[cell : cell + batch], end[cell : cell + batch], strict=True)
            ]
            for span, fitted in zip(
                spans, pool.map(lambda s: one_cell(tree.rows[s], need[s], request), spans), strict=True
            ):
                scale[span], anonymity[span] = fitted.scale, fitted.anonymity
                missing = max(missing, fitted.missing)
                if axes is not None:
                    axes[span] = fitted.axes
            cell += batch
            yield min(cell / len(start), 1.0)
    back = np.empty(len(kept), dtype=np.int64)
    back[tree.order] = np.arange(len(kept))
    return Scheme(
        rows=kept,
        scale=scale[back],
        axes=None if axes is None else axes[back],
        anonymity=anonymity[back],
        missing=missing,
        group=group[back],
    )


def one_cell(y: FloatArray, need: FloatArray, request: CalibrationRequest) -> Cell:
    """Calibrate the records of a cell among themselves; shape and scale are rounded, because they are published."""
    n = y.shape[1]
    axes, spread, seen = None, np.ones(n), y
    if request.scaling == "local":
        spread = np.maximum(rounded(local_spread(y), 2), local_spread(np.zeros((1, n))))
    elif request.scaling == "rotated":
        axes = rounded_axes(principal_axes(y)[0])
        spread = rounded(local_spread(y @ axes.T), 2)
        seen = y @ axes.T
    tree = tree_of(np.ascontiguousarray(seen / spread))
    tolerance = request.tolerance
    solved = answered(
        tree, request.model, identity(n), Question(np.arange(len(y)), need[tree.order]), tolerance=tolerance
    )
    refuse_unreached(solved, need[tree.order], len(y))
    sigma = rounded_up(float(solved.scale.max()), _DIGITS)
    given = np.full(len(y), sigma)
    reached: Solved = answered(
        tree, request.model, identity(n), Question(np.arange(len(y)), need[tree.order], given), tolerance=tolerance
    )
    anonymity = np.empty(len(y))
    anonymity[tree.order] = np.maximum(reached.anonymity, solved.anonymity)
    return Cell(
        scale=np.maximum(sigma * spread, request.min_scale)[None, :],
        axes=axes,
        anonymity=anonymity,
        missing=float(solved.missing.max()),
    )
