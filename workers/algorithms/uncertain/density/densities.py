"""Densities as a release publishes them, and their logarithm at a point.

Notation
--------
Z : (M, n), centres, in the columns' units.
s : (M, n), scales: gaussian standard deviations, uniform sides; in the columns' units, or with axes in scaled units.
U : (n,), published unit of each column: scaled = value / U.
A : (M, n, n), rotated densities only: A[p, i] is the i-th axis of density p, a unit vector in scaled space.
e : (n,), a standard draw along the axes: normal, or uniform on [-1/2, 1/2].
G : (M, n, n), loadings: X - Z = G e. Without axes G = diag(s); with them G[p, j, i] = U_j s[p, i] A[p, i, j].
f_p(x) : density of p at x (eqs. 1, 6, 16; uniform: 1 / prod s inside, 0 outside, ends included).

Sources: AG (Aggarwal 2008) and science.md section 3, "Densities and k in expectation". A scale of 0 is a point mass
along its axis.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from surebox_core.types import FloatArray

Model: TypeAlias = Literal["gaussian", "uniform"]

NARROWEST = 1e-300  # a point mass counts as a density this narrow, in units of U, where densities are compared


@dataclass(frozen=True)
class Densities:
    """What an uncertain release contains; see the module's Notation.

    Attributes
    ----------
    model : family of all densities.
    z : (M, n) float64, Z.
    scale : (M, n) float64, s.
    axes : (M, n, n) float64, A, or None where densities are parallel to the axes.
    unit : (n,) float64, U.
    """

    model: Model
    z: FloatArray
    scale: FloatArray
    axes: FloatArray | None
    unit: FloatArray

    @property
    def reach(self) -> FloatArray:
        """(M, n), what a scale amounts to at most along each column, in the columns' units.

        No |G e|_j exceeds it times the length of e.
        """
        if self.axes is None:
            return self.scale
        return np.asarray(self.scale.max(axis=1, keepdims=True) * self.unit)


def check_densities(densities: Densities) -> None:
    """Refuse anything but a set of densities.

    Raises
    ------
    ValueError
        Shapes disagree, a number is not finite, a scale is negative, a unit is not positive.
    """
    z, scale, axes, unit = densities.z, densities.scale, densities.axes, densities.unit
    if z.ndim != 2 or 0 in z.shape or z.dtype != np.float64:
        msg = f"centres must be a float64 matrix (M >= 1, n >= 1), got shape {z.shape} of {z.dtype}"
        raise ValueError(msg)
    n = z.shape[1]
    if scale.shape != z.shape or unit.shape != (n,) or (axes is not None and axes.shape != (*z.shape, n)):
        msg = f"centres of shape {z.shape} need scales alike, {n} units, and axes {(*z.shape, n)} or none"
        raise ValueError(msg)
    if not all(np.isfinite(part).all() for part in (z, scale, unit, 0.0 if axes is None else axes)):
        msg = "centres, scales, units and axes must be finite"
        raise ValueError(msg)
    if (scale < 0.0).any() or (unit <= 0.0).any():
        msg = "scales must not be negative, units must be positive"
        raise ValueError(msg)


def loadings(densities: Densities, first: int, last: int) -> FloatArray:
    """Loadings G of some densities.

    Parameters
    ----------
    densities : M densities.
    first, last : the ones requested.

    Returns
    -------
    (last - first, n, n) float64, [p, j, i]: how far column j moves with the i-th standard draw.
    """
    scale = densities.scale[first:last]
    if densities.axes is None:
        return np.asarray(scale[:, :, None] * np.eye(scale.shape[1]))
    along = densities.axes[first:last].transpose(0, 2, 1)
    return np.ascontiguousarray(densities.unit[None, :, None] * along * scale[:, None, :])


def standardised(densities: Densities, first: int, last: int, points: FloatArray) -> FloatArray:
    """Standard draws e that would have led from the centres to points.

    Parameters
    ----------
    densities : M densities.
    first, last : the ones requested.
    points : (m, n), one per density; several where one density is requested.

    Returns
    -------
    (m, n) float64. Along an axis of scale 0: 0 where the point is on it, else infinite.
    """
    offset = points - densities.z[first:last]
    if densities.axes is not None:
        offset = np.einsum("pij,pj->pi", densities.axes[first:last], offset / densities.unit)
    scale = densities.scale[first:last]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(scale > 0.0, offset / scale, np.where(offset == 0.0, 0.0, np.inf * np.sign(offset)))


def log_normaliser(densities: Densities) -> FloatArray:
    """Logarithm of each density's largest value, in scaled space.

    Parameters
    ----------
    densities : M densities.

    Returns
    -------
    (M,) float64; densities in the columns' units have sum log U less, which is the same for all.

    Notes
    -----
    AG eqs. 1, 2, 16 with the squares that the print lost: prod_j (2 pi s_j^2)^(-1/2); uniform: prod_j 1 / s_j. A point
    mass counts as a density of scale `NARROWEST`, so that what it covers it covers better than all others.
    """
    scale = densities.scale if densities.axes is not None else densities.scale / densities.unit
    widths = np.log(np.maximum(scale, NARROWEST)).sum(axis=1)
    constant = 0.5 * np.log(2.0 * np.pi) * scale.shape[1] if densities.model == "gaussian" else 0.0  # eqs. 1, 16
    return np.asarray(-widths - constant)


def log_density(densities: Densities, points: FloatArray) -> FloatArray:
    """Logarithm of f_p at points, in scaled space: the plain way, all pairs.

    Parameters
    ----------
    densities : M densities.
    points : (Q, n).

    Returns
    -------
    (Q, M) float64, minus infinity where a density is 0.

    Notes
    -----
    AG eqs. 1, 6, 16 and Definition 2.3 (the potential fit). O(M Q n).
    """
    top = log_normaliser(densities)
    out = np.empty((len(points), len(top)))
    for p in range(len(top)):
        e = standardised(densities, p, p + 1, points)
        if densities.model == "gaussian":
            out[:, p] = top[p] - 0.5 * (e * e).sum(axis=1)
        else:
            out[:, p] = np.where((np.abs(e) <= 0.5).all(axis=1), top[p], -np.inf)
    return out
