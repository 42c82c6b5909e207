"""Fuzzy weights of records, constant on each box (science.md section 1, "Fuzzy weights").

Notation
--------
========  =======  ======================================================================
symbol    shape    meaning
========  =======  ======================================================================
g         (B,)     privacy uncertainty a record of the box adds (= n c), from published quantities
counts    (B,)     records in the box
A         scalar   statistical uncertainty of one record
w         (B,)     weight of each record of the box; ``sum counts * w = 1``
lambda    scalar   the optimal objective, and the g at which weights reach 0
M         scalar   records of positive weight
========  =======  ======================================================================
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workers.algorithms.boxes.rare.dismissal import FloatArray, IntArray, validate

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
