"""Classes of new points by the densities that fit them best; by nearest pseudo-records where there are none.

Notation
--------
M : released records, label (M,) the class code of each, C classes.
T : (Q, n), points to classify, in the columns' units.
fit : log f_p(T), eqs. 1, 6, 16 with the squares that the print lost (densities.log_normaliser).
q : number of best fits that vote; equal fits are taken by the distance of their centres, in published units.

A class gets the sum of exp(fit) over the best fits that bear it, as a share of the sum over all of them (log-sum-exp).
Where no density covers the point (uniform, point masses) the nearest centre decides alone. A point mass counts as a
density of a width below all others (densities.NARROWEST): where it covers the point, it decides.

Kernels
-------
Densities are block by block (core.blocks); s = 0 along an axis is a point mass.
top : (M,), logarithm of each density's largest value; highest (2 L,) its maximum over a node.
widest : (2 L, n), largest reach over a node, in the columns' units; unit (n,).
fit : logarithm of a density at the point, minus infinity where it is 0.
away : squared distance of the centre, in units.
best : the q best, by fit downwards and then by away upwards.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.core.blocks import Blocks, blocks
from workers.algorithms.uncertain.density.densities import Densities, check_densities, log_normaliser

_PARTS = 16


@inner_kernel
def _fit(
    t: FloatArray,
    z: FloatArray,
    scale: FloatArray,
    axes: FloatArray,
    unit: FloatArray,
    top: float,
    turned: bool,
    gaussian: bool,
) -> float:
    n = len(t)
    total = 0.0
    for i in range(n):
        e = t[i] - z[i]
        if turned:
            e = 0.0
            for j in range(n):
                e += axes[i, j] * (t[j] - z[j]) / unit[j]
        if scale[i] == 0.0:
            if e != 0.0:
                return -np.inf
        elif gaussian:
            total += (e / scale[i]) ** 2
        elif abs(e) > 0.5 * scale[i]:
            return -np.inf
    return top - 0.5 * total


@inner_kernel
def _offer(fit: float, away: float, place: int, best_fit: FloatArray, best_away: FloatArray, best: IntArray) -> None:
    """Enter a density among the best, if it belongs there."""
    last = len(best) - 1
    if fit < best_fit[last] or (fit == best_fit[last] and away >= best_away[last]):
        return
    i = last
    while i > 0 and (fit > best_fit[i - 1] or (fit == best_fit[i - 1] and away < best_away[i - 1])):
        best_fit[i] = best_fit[i - 1]
        best_away[i] = best_away[i - 1]
        best[i] = best[i - 1]
        i -= 1
    best_fit[i] = fit
    best_away[i] = away
    best[i] = place


@inner_kernel
def _bound(
    t: FloatArray,
    low: FloatArray,
    high: FloatArray,
    widest: FloatArray,
    highest: float,
    unit: FloatArray,
    turned: bool,
    gaussian: bool,
) -> tuple[float, float]:
    """Largest fit and least squared distance that a node may hold."""
    total = 0.0
    near = 0.0
    for j in range(len(t)):
        gap = max(low[j] - t[j], t[j] - high[j], 0.0)
        if gap == 0.0:
            continue
        near += (gap / unit[j]) ** 2
        if widest[j] == 0.0:
            total = np.inf
        elif turned:  # |G e|_j <= widest_j |e|, and |e| is at most sqrt(n) / 2 within a cube
            total = max(total, (gap / widest[j]) ** 2 / (1.0 if gaussian else float(len(t))))
        elif gaussian:
            total += (gap / widest[j]) ** 2
        else:
            total = max(total, (gap / widest[j]) ** 2)
    if gaussian:
        return highest - 0.5 * total * (1.0 - 1e-12), near
    return (highest if total <= 0.25 * (1.0 + 1e-12) else -np.inf), near


@kernel
def best_fits(
    points: FloatArray,
    start: IntArray,
    low: FloatArray,
    high: FloatArray,
    highest: FloatArray,
    widest: FloatArray,
    z: FloatArray,
    scale: FloatArray,
    axes: FloatArray,
    unit: FloatArray,
    top: FloatArray,
    gaussian: bool,
    fits: FloatArray,
    aways: FloatArray,
    places: IntArray,
) -> None:
    """Fill (Q, q) fits, squared distances and places of the best; they come as -inf, inf, -1."""
    turned = axes.shape[0] > 0
    leaves = len(start) - 1
    stack = np.empty(128, np.int64)
    for q in range(len(points)):
        t = points[q]
        stack[0] = 1
        size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            fit, near = _bound(t, low[node], high[node], widest[node], highest[node], unit, turned, gaussian)
            if fit < fits[q, -1] or (fit == fits[q, -1] and near * (1.0 - 1e-12) >= aways[q, -1]):
                continue
            if node >= leaves:
                for r in range(start[node - leaves], start[node - leaves + 1]):
                    away = 0.0
                    for j in range(len(t)):
                        away += ((t[j] - z[r, j]) / unit[j]) ** 2
                    one = _fit(t, z[r], scale[r], axes[r] if turned else z, unit, top[r], turned, gaussian)
                    _offer(one, away, r, fits[q], aways[q], places[q])
                continue
            left, right = 2 * node, 2 * node + 1
            one, near_one = _bound(t, low[left], high[left], widest[left], highest[left], unit, turned, gaussian)
            two, near_two = _bound(t, low[right], high[right], widest[right], highest[right], unit, turned, gaussian)
            if one > two or (one == two and near_one < near_two):
                left, right = right, left
            stack[size] = left
            stack[size + 1] = right
            size += 2


@dataclass(frozen=True)
class Classified:
    """Answers for Q points.

    Attributes
    ----------
    label : (Q,), code of the most probable class; of equally probable ones the lowest code.
    probabilities : (Q, C), rows sum to one.
    """

    label: IntArray
    probabilities: FloatArray


@dataclass(frozen=True)
class DensityClassIndex:
    """Densities sorted into spatial blocks; may be kept and used by several threads.

    Attributes
    ----------
    densities : block by block.
    tree : their blocks; `tree.order` gives their places as they were.
    top, highest, widest : as the kernels take them.
    """

    densities: Densities
    tree: Blocks
    top: FloatArray
    highest: FloatArray
    widest: FloatArray


def index(densities: Densities) -> DensityClassIndex:
    """Make a release ready for classification.

    Parameters
    ----------
    densities : what it contains.

    Raises
    ------
    ValueError
        Invalid densities.
    """
    check_densities(densities)
    tree = blocks(densities.z, densities.unit, 32)
    top, order = log_normaliser(densities), tree.order
    axes = None if densities.axes is None else np.ascontiguousarray(densities.axes[order])
    ordered = Densities(densities.model, densities.z[order], densities.scale[order], axes, densities.unit)
    return DensityClassIndex(ordered, tree, top[order], tree.largest(top), tree.largest(densities.reach))


def classify(
    densities: Densities | DensityClassIndex, labels: IntArray, points: FloatArray, neighbours: int, threads: int = 1
) -> Classified:
    """Classify points by the densities that fit them best.

    Parameters
    ----------
    densities : what the release contains, or `index` of it.
    labels : (M,) class codes from 0, in the densities' own order.
    points : (Q, n), finite.
    neighbours : q; all densities where there are fewer.
    threads : used; the result does not depend on them.

    Returns
    -------
    Classified

    Raises
    ------
    ValueError
        Shapes disagree, a code is negative, a point is not finite, q is below 1.

    Notes
    -----
    AG section II.E.
    """
    ready = densities if isinstance(densities, DensityClassIndex) else index(densities)
    _check(ready, labels, points, neighbours)
    fits, aways, places = _best(ready, points, min(neighbours, len(labels)), threads)
    neighbour_labels = labels[ready.tree.order][places]
    covered = np.isfinite(fits[:, :1])
    share = np.exp(fits - np.where(covered, fits[:, :1], 0.0))  # log-sum-exp: the best fit is 0
    nearest = aways <= aways[:, :1]
    share = np.where(covered, share, nearest)
    return _voted(neighbour_labels, share, int(labels.max()) + 1)


def nearest_index(z: FloatArray, unit: FloatArray) -> DensityClassIndex:
    """Make records ready for `classify_by_nearest`.

    Parameters
    ----------
    z : (M, n) records.
    unit : (n,) by which columns are divided before distances are taken, positive.
    """
    scale = np.broadcast_to(unit, z.shape).copy()
    return index(Densities("gaussian", np.ascontiguousarray(z), scale, None, unit))


def classify_by_nearest(
    ready: DensityClassIndex, labels: IntArray, points: FloatArray, neighbours: int, threads: int = 1
) -> Classified:
    """Classify points by their nearest records, one vote each: for condensation, and as the exact baseline.

    Parameters
    ----------
    ready : from `nearest_index`.
    labels, points, neighbours, threads : as in `classify`.

    Returns
    -------
    Classified

    Notes
    -----
    AG section III.C, the nearest-neighbour baseline. Of equal distances the ones first found count.
    """
    _check(ready, labels, points, neighbours)
    places = _best(ready, points, min(neighbours, len(labels)), threads)[2]
    return _voted(labels[ready.tree.order][places], np.ones(places.shape), int(labels.max()) + 1)


def _check(ready: DensityClassIndex, labels: IntArray, points: FloatArray, neighbours: int) -> None:
    rows, columns = ready.densities.z.shape
    if labels.shape != (rows,) or (labels < 0).any():
        msg = f"{rows} records need as many class codes from 0 on, got shape {labels.shape}"
        raise ValueError(msg)
    if points.ndim != 2 or points.shape[1] != columns or not np.isfinite(points).all():
        msg = f"points need {columns} finite coordinates each, got shape {points.shape}"
        raise ValueError(msg)
    if neighbours < 1:
        msg = f"neighbours = {neighbours}: at least 1 must vote"
        raise ValueError(msg)


def _best(
    ready: DensityClassIndex, points: FloatArray, q: int, threads: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    held = ready.densities
    queries = np.ascontiguousarray(points, dtype=np.float64)
    fits, aways = np.full((len(queries), q), -np.inf), np.full((len(queries), q), np.inf)
    places = np.full((len(queries), q), -1, dtype=np.int64)
    axes = np.empty((0, 0, 0)) if held.axes is None else held.axes
    tree, gaussian = ready.tree, held.model == "gaussian"

    def part(span: slice) -> None:
        best_fits(
            queries[span],
            tree.start,
            tree.low,
            tree.high,
            ready.highest,
            ready.widest,
            held.z,
            held.scale,
            axes,
            held.unit,
            ready.top,
            gaussian,
            fits[span],
            aways[span],
            places[span],
        )

    edges = np.arange(_PARTS + 1) * len(queries) // _PARTS
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        list(pool.map(part, [slice(int(a), int(b)) for a, b in pairwise(edges) if a < b]))
    return fits, aways, places


def _voted(labels: IntArray, share: FloatArray, classes: int) -> Classified:
    votes = np.zeros((len(labels), classes))
    np.add.at(votes, (np.arange(len(labels))[:, None], labels), share)
    votes /= votes.sum(axis=1, keepdims=True)
    return Classified(np.argmax(votes, axis=1).astype(np.int64), votes)
