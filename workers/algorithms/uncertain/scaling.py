"""Units of columns, and the shape of densities: global, by the neighbours' spread, along their principal axes.

Notation
--------
x : (N, n), records in the columns' units.  U : (n,), units.  y = x / U, scaled records.
gamma : standard deviations among neighbours in scaled units (divisor their number), at least FLOOR.
T : (n, n), metric: v = T (y' - y) has unit spread. local: diag(1 / gamma); rotated: rows axis_a / gamma_a.

AG section II.C, eq. 16; science.md section 3. Departures: units are rounded to two significant digits, because they are
published and must not be a function of one value to full precision; gamma has a floor of 0.05 of the global unit, without
which a tied axis would be published exactly (with k <= n the covariance of neighbours is singular).
"""

import numpy as np

from workers.algorithms.core.moments import moments
from workers.algorithms.core.types import FloatArray

FLOOR = 0.05


def rounded(value: FloatArray, digits: int) -> FloatArray:
    """Positive numbers to so many significant digits, to nearest; each the float nearest to its decimal."""
    return np.array([float(f"{v:.{digits - 1}e}") for v in np.ravel(value)]).reshape(np.shape(value))


def rounded_up(value: float, digits: int) -> float:
    """A number >= 0 to so many significant digits, upward."""
    near = f"{value:.{digits - 1}e}"
    if float(near) >= value:
        return float(near)
    mantissa, exponent = near.split("e")
    return float(f"{int(mantissa.replace('.', '')) + 1}e{int(exponent) - digits + 1}")


def units(x: FloatArray) -> FloatArray:
    """Standard deviations of the columns, rounded to two significant digits; 1 for a constant column.

    Parameters
    ----------
    x : (N, n) records, finite.

    Returns
    -------
    (n,) float64, positive.
    """
    low, high = x.min(axis=0), x.max(axis=0)
    width = np.where(high > low, 0.5 * high - 0.5 * low, 1.0)
    deviation = moments((x - low) / width).deviation * width  # by width first: squares neither over- nor underflow
    return np.where((high > low) & (deviation > 0.0), rounded(np.maximum(deviation, 1e-300), 2), 1.0)


def local_spread(y: FloatArray) -> FloatArray:
    """gamma of groups of neighbours.

    Parameters
    ----------
    y : (..., m, n) groups of m neighbours, scaled units.

    Returns
    -------
    (..., n) float64, at least FLOOR.
    """
    return np.maximum(y.std(axis=-2), FLOOR)


def principal_axes(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Principal axes of groups of neighbours, and the spread along each.

    Parameters
    ----------
    y : (..., m, n) groups of m neighbours, scaled units.

    Returns
    -------
    axes : (..., n, n), row a is the unit vector of axis a.
    gamma : (..., n), spread along it, at least FLOOR.
    """
    centred = y - y.mean(axis=-2, keepdims=True)
    covariance = np.swapaxes(centred, -1, -2) @ centred / y.shape[-2]
    variance, vectors = np.linalg.eigh(covariance)
    return np.ascontiguousarray(np.swapaxes(vectors, -1, -2)), np.maximum(np.sqrt(np.maximum(variance, 0.0)), FLOOR)


def rounded_axes(axes: FloatArray) -> FloatArray:
    """Orthonormal axes that are a function of the given ones to two decimals (Gram and Schmidt, in their order).

    Parameters
    ----------
    axes : (n, n), rows orthonormal.

    Notes
    -----
    What is published of a cell is then no function of one record to full precision. Rows stay independent: each
    rounded row is within 0.005 sqrt(n) of the original, far less than a right angle for n <= 30; the QR decomposition is
    that of Gram and Schmidt with signs restored.
    """
    q, r = np.linalg.qr(np.round(axes, 2).T)
    signs = np.where(np.diag(r) < 0.0, -1.0, 1.0)
    return np.ascontiguousarray((q * signs).T)
