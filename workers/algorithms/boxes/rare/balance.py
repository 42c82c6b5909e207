"""Fuzzy weights of records, and such that also count how far they shift the statistics.

Source: science.md section 1, "Fuzzy weights", and section 5, "Rare records".

Notation
--------
g : (B,), privacy uncertainty that a record of the box adds (= n c), from published quantities.
counts : (B,), records in the box.
A : statistical uncertainty of one record.
w : (B,), weight of each record of the box; sum counts w = 1.
lambda : the optimal objective, and the g at which weights reach 0.
M : records of positive weight.
IF : (B, m), influence functions of the statistics' m components at the boxes' centres, less their means over all
    records.
omega : (m,), weights of the components.
u : (m,), price of a unit of shift, from -omega to omega.

J(w) = sum w g + A sqrt(sum w^2) + sum_c omega_c |sum w IF_c|.

The last term is how far the statistics of the weighed records are from those of all, to first order: of means exactly.
omega |t| is the most that u t is for u from -omega to omega. So the least J is min_w max_u, and this is max_u min_w
(Sion 1958): the function is convex in w and linear in u, and both are from compact convex sets. The inner minimum
is that of weights by g, with g + IF u in the place of g: its lambda(u) is concave and has the gradient sum w IF. Its
maximum over u is found by a quasi-Newton search within bounds and, where J and lambda do not meet then, by truncated
Newton searches. The weights are again max(K (lambda - g - IF u), 0).

Privacy: what weights follow from is published, boxes and u, A and the rounded moments of rare.rarity. In the means over
all records boxes are points not beyond the k-th values, as they are there: where a price is inside its bounds, a shift
is 0, and the centres of the weighed boxes reveal these means.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.boxes.rare.dismissal import validate

#: Searches for prices, one after the other: method, most evaluations, least step of lambda that goes on. The first is
#: fast, and now and then ends too early.
_SEARCHES = (("L-BFGS-B", 200, 1e-12), *[("TNC", 1000, 1e-14)] * 5)
_WORK, _FEWEST = 20_000_000_000, 200  # of one search: evaluations of B m each within this work, but so many at least
_GAP = 1e-5  # between J of the weights and lambda, as a share of it, at which the searches end
_GAIN = 1e-6  # of lambda, as a share of it: a search that gains less is the last
_HALVINGS = 6  # of the factor within which A is found
_INACTIVE = 4.0  # times A: no box so far above the least g has a weight, and no prefix with one has a root


@dataclass(frozen=True, slots=True)
class Weights:
    """The fuzzy optimum.

    Attributes
    ----------
    weights
        Shape (B,): the weight of each *record* of the box; 0 for boxes to be left out.
    optimum
        lambda, which equals the optimal objective ``sum w g + A sqrt(sum w^2)``.
    """

    weights: FloatArray
    optimum: float

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Boxes that are published."""
        return self.weights > 0


def weigh_any(g: FloatArray, counts: IntArray, *, statistical: float) -> Weights:
    """The fuzzy optimum for g that may be below 0: it moves with g, and the weights do not change."""
    least = float(g.min())
    solution = weigh(g - least, counts, statistical=statistical)
    return Weights(solution.weights, solution.optimum + least)


def prices(
    g: FloatArray,
    influence: FloatArray,
    omega: FloatArray,
    counts: IntArray,
    *,
    statistical: float,
    start: FloatArray | None = None,
) -> FloatArray:
    """The prices of shifts at which weights have the least J.

    Parameters
    ----------
    g : (B,), finite, at least 0.
    influence : (B, m), IF.
    omega : (m,), at least 0.
    counts : (B,), positive.
    statistical : A, above 0.
    start : (m,), prices to begin with.

    Returns
    -------
    (m,) float64
        u. O(B (m + log B)) an evaluation of lambda, some 5,200 of them at most.
    """
    if len(omega) == 0 or not omega.any():
        return np.zeros(len(omega))
    scaled = influence * omega
    unit = max(statistical / float(np.sqrt(counts.sum())), float(counts @ np.abs(g)) / float(counts.sum()))

    def less(v: FloatArray) -> tuple[float, FloatArray]:
        solution = weigh_any(g + scaled @ v, counts, statistical=statistical)
        return -solution.optimum / unit, -((counts * solution.weights) @ scaled) / unit

    v = np.zeros(len(omega)) if start is None else np.divide(start, omega, out=np.zeros(len(omega)), where=omega > 0)
    allowed = max(_WORK // influence.size, _FEWEST)
    reached = np.inf
    for method, most, step in _SEARCHES:
        options = {"maxfun": min(most, allowed), "ftol": step, "gtol": 1e-9}
        result = minimize(less, v, jac=True, method=method, bounds=[(-1.0, 1.0)] * len(omega), options=options)
        gap = np.abs(result.jac).sum() + result.x @ result.jac  # omega |shift| - u shift; jac is less the shift
        if gap <= _GAP * abs(result.fun) or reached - result.fun < _GAIN * abs(result.fun):
            break
        v, reached = result.x, result.fun
    return np.asarray(result.x * omega)


def balanced(
    g: FloatArray, influence: FloatArray, omega: FloatArray, counts: IntArray, *, statistical: float, at_most: float
) -> tuple[FloatArray, float]:
    """Prices of shifts, and the least A, not below the given one, with which few enough records have no weight.

    Parameters
    ----------
    g, influence, omega, counts : as for `prices`.
    statistical : A, at least 0.
    at_most : largest share of the records without a weight, in [0, 1).

    Returns
    -------
    u, A
        Rounded, for they are published: u to hundredths of omega towards 0, A upward to two digits.

    Notes
    -----
    The larger A, the more alike are the weights: of all records alike in the end. A departure from the papers, whose
    objective leaves out whatever is far from the middle.
    """
    allowed = at_most * float(counts.sum())

    def tried(factor: float, start: FloatArray | None) -> tuple[FloatArray, float, bool]:
        a = upward(base * factor)
        unrounded = prices(g, influence, omega, counts, statistical=a, start=start)
        u = np.trunc(100.0 * unrounded / np.where(omega > 0.0, omega, 1.0)) / 100.0 * omega
        return u, a, without_weight(g + influence @ u, counts, a) <= allowed

    base = statistical if statistical > 0.0 else max(float(np.ptp(g)), 1e-300)
    low, high = 1.0, 1.0
    u, a, enough = tried(high, None)
    while not enough:
        low, high = high, 2.0 * high
        u, a, enough = tried(high, u)
    for _ in range(_HALVINGS if high > low else 0):
        middle = float(np.sqrt(low * high))
        narrower = tried(middle, u)
        if narrower[2]:
            (u, a, _), high = narrower, middle
        else:
            low = middle
    return u, a


def without_weight(g: FloatArray, counts: IntArray, statistical: float) -> float:
    """How many records the fuzzy optimum leaves without a weight."""
    return float(counts[~weigh_any(g, counts, statistical=statistical).positive].sum())


def upward(value: float) -> float:
    """A positive number rounded upward to two digits."""
    near = float(f"{value:.1e}")
    return near if near >= value else float(f"{value * 1.05:.1e}")


def weigh(g: FloatArray, counts: IntArray, *, statistical: float) -> Weights:
    """Minimise ``sum w g + A sqrt(sum w^2)`` over ``sum w = 1``, ``w >= 0``.

    Parameters
    ----------
    g
        Shape (B,), finite, at least 0.
    counts
        Shape (B,), positive.
    statistical
        A, finite, at least 0; with A = 0 the weights are uniform on the smallest g.

    Returns
    -------
    Weights
        Box-constant weights.

    Raises
    ------
    ValueError
        No boxes, or shapes or values out of range.

    Notes
    -----
    XF slides 15 and 16. The printed K and w drop the factor n; with g = n c they are right. One sort and prefix sums
    replace the active-set iteration: O(B log B). g is shifted by its least value, so that the root is taken of small
    numbers; lambda shifts with g, and w does not change. Both g and A are then taken in units of a power of two above
    A, so that no square overflows; lambda is at most A above the least g: whatever is far above that is as good as 4.
    """
    validate(g, counts, statistical)
    least = float(g.min())
    if statistical == 0:
        smallest = g == least
        return Weights(np.where(smallest, 1.0 / counts[smallest].sum(), 0.0), least)
    exponent = int(np.frexp(statistical)[1])
    shifted = np.ldexp(np.minimum(g - least, np.ldexp(_INACTIVE, exponent)), -exponent)
    order = np.argsort(shifted, kind="stable")
    records, first, root = _active(shifted[order], counts[order], float(np.ldexp(statistical, -exponent)))
    scale = 1.0 / (records * root - first)  # K
    weights = scale * np.maximum(root - shifted, 0.0)
    return Weights(weights / float(counts @ weights), float(np.ldexp(root, exponent)) + least)


def _active(shifted: FloatArray, counts: IntArray, statistical: float) -> tuple[float, float, float]:
    """M, sum g and lambda of the longest prefix that is its own active set."""
    records = np.cumsum(counts).astype(np.float64)
    first = np.cumsum(counts * shifted)
    second = np.cumsum(counts * shifted**2)
    # The larger root of M l^2 - 2 l sum g + sum g^2 - A^2 = 0; a prefix without a real root is too long.
    discriminant = first**2 - records * (second - statistical**2)
    root = np.where(discriminant >= 0, (first + np.sqrt(np.maximum(discriminant, 0.0))) / records, -np.inf)
    last = int(np.flatnonzero(shifted < root)[-1])
    return float(records[last]), float(first[last]), float(root[last])
