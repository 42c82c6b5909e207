"""Records, codebooks and costs as the kernels take them. Notation as in partition.arrays."""

from dataclasses import dataclass

import numpy as np

from surebox_core.extremes import extremes_present
from surebox_core.types import FloatArray, IndexArray, IntArray, SingleArray
from workers.algorithms.boxes.partition.arrays import MixedRecords, inverse_ranges
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.sides import NominalColumn


@dataclass(frozen=True)
class Costs:
    """What columns are worth.

    Attributes
    ----------
    worth : (n,) or (N, n), a_i range_i, up to one factor that all of these share.
    omega : d arrays (m_j,), cost of each value in a set of more than one.
    scores : d matrices (q_j, m_j), of which a set costs the range.
    mass : (N,), design weight over its mean, or empty; contained in a `worth` per record.
    """

    worth: FloatArray | SingleArray
    omega: tuple[FloatArray, ...]
    scores: tuple[FloatArray, ...]
    mass: SingleArray


def arranged(
    x: FloatArray,
    nominal: tuple[NominalColumn, ...],
    costs: Costs,
    demands: BoxConstraints,
    order: IndexArray,
    least: FloatArray,
    extent: FloatArray,
) -> MixedRecords:
    """Records group by group."""
    size, n = x.shape
    columns = [column.codes for column in nominal]
    sizes = [column.values for column in nominal]
    classes = -1
    if len(demands.kept):
        classes = len(columns)
        columns.append(demands.kept)
        sizes.append(int(demands.kept.max()) + 1)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    codes = np.empty((size, len(columns)), dtype=np.int32)
    for j, column in enumerate(columns):
        codes[:, j] = np.where(column >= 0, column + start[j], -1)[order]
    omega, scores, score_start = _prices(costs, start)
    unit = inverse_ranges(*_extent(x))
    same = costs.worth.ndim == 1
    return MixedRecords(
        rows=np.take(x, order, axis=0),
        codes=codes,
        worth=np.empty((0, n), np.float32) if same else np.ascontiguousarray(costs.worth[order], dtype=np.float32),
        mass=costs.mass[order] if len(costs.mass) else costs.mass,
        order=order,
        price=np.array([np.asarray(costs.worth, dtype=np.float64) if same else np.zeros(n), unit]),
        omega=omega,
        scores=scores,
        score_start=score_start,
        start=start,
        ancestor=ancestors(nominal, start),
        least=least,
        extent=extent,
        classes=classes,
    )


def _prices(costs: Costs, start: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """omega, scores and score_start of all columns; kept classes cost nothing."""
    omega = np.zeros(int(start[-1]))
    rows_of_scores: list[FloatArray] = []
    score_start = [0]
    for j in range(len(start) - 1):
        if j < len(costs.omega):
            omega[start[j] : start[j + 1]] = costs.omega[j]
        for score in costs.scores[j] if j < len(costs.scores) else ():
            row = np.zeros(int(start[-1]))
            row[start[j] : start[j + 1]] = score
            rows_of_scores.append(row)
        score_start.append(len(rows_of_scores))
    scores = np.array(rows_of_scores).reshape(len(rows_of_scores), len(omega))
    return omega, scores, np.array(score_start, dtype=np.int64)


def _extent(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least and greatest value of each column, 0 where it has none."""
    low, high = extremes_present(x)
    return np.where(low <= high, low, 0.0), np.where(low <= high, high, 0.0)


def ancestors(nominal: tuple[NominalColumn, ...], start: IntArray) -> IndexArray:
    """Nodes above each value from the root down, the value itself at the end; nodes are numbered beyond all values."""
    paths: list[list[int]] = []
    beyond = int(start[-1])
    for j, column in enumerate(nominal):
        for value in range(column.values):
            path = [int(start[j]) + value]
            if column.hierarchy is not None:
                parent = column.hierarchy.parent
                node = value
                while int(parent[node]) != node:
                    node = int(parent[node])
                    path.append(beyond + node)
            paths.append(path[::-1])
        beyond += 0 if column.hierarchy is None else len(column.hierarchy.parent)
    paths += [[v] for v in range(len(paths), int(start[-1]))]
    depth = max((len(path) for path in paths), default=1)
    return np.array([path + path[-1:] * (depth - len(path)) for path in paths], dtype=np.int32).reshape(-1, depth)
