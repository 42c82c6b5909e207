"""Units of columns, and the shape of densities: global, by the neighbours' spread, along their principal axes.

Notation
--------
x : (N, n), records in the columns' units.  U : (n,), units.  y = (x - origin) / U, scaled records.
gamma : standard deviations among neighbours in scaled units (divisor their number), at least FLOOR.
T : (n, n), metric: v = T (y' - y) has unit spread. local: diag(1 / gamma); rotated: rows axis_a / gamma_a.

AG section II.C, eq. 16; science.md section 3, "Local and rotated scales". Departures: units are winsorized and rounded
to two significant digits, because they are published and must not be a function of one value; gamma has a floor of 0.05
of the global unit, without which a tied axis would be published exactly (with k <= n the covariance of neighbours is
singular).
"""

import math

import numpy as np

from surebox_core.errors import InvalidColumnError
from surebox_core.extremes import extremes
from surebox_core.moments import LARGEST, moments
from surebox_core.types import FloatArray
from workers.algorithms.core.winsorized import tail, winsorized

FLOOR = 0.05
_SMALLEST = float(np.finfo(np.float64).tiny)


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


def units(x: FloatArray, k: float | FloatArray) -> FloatArray:
    """Winsorized standard deviations of the columns, to two significant digits; 1 for a constant column.

    Parameters
    ----------
    x : (N, n) records, finite.
    k : wanted anonymity, one for all or (N,).

    Returns
    -------
    (n,) float64, positive.

    Notes
    -----
    Units are published, and a plain standard deviation can be one person's doing: of 1,000 records with one far off it
    is that distance over sqrt(1000). So values beyond the m-th smallest and the m-th largest count as these, with m at
    least k and 0.5 % of the records. Of a column that this leaves constant m is k; where that does too, fewer than k
    records differ, and the unit is 1: even the magnitude of a deviation would be theirs.
    """
    size = len(x)
    m = min(tail(math.ceil(np.max(k)), size), size)
    ordered = np.partition(x, (m - 1, size - m), axis=0)
    clipped = _deviation(np.clip(x, ordered[m - 1], ordered[size - m]))  # constant where the ends overlap
    if not clipped.all():
        clipped = np.where(clipped > 0.0, clipped, _deviation(winsorized(x, math.ceil(np.max(k)))))
    return np.where(clipped > 0.0, rounded(np.maximum(clipped, 1e-300), 2), 1.0)


def _deviation(x: FloatArray) -> FloatArray:
    """Standard deviations; 0 for a constant column. By width first: squares neither over- nor underflow."""
    low, high = extremes(x)
    width = np.where(high > low, np.maximum(0.5 * high - 0.5 * low, _SMALLEST), 1.0)
    return np.asarray(np.where(high > low, moments((x - low) / width).deviation * width, 0.0))


def scaled(x: FloatArray, unit: FloatArray) -> FloatArray:
    """Records in scaled units, about an origin that keeps their differences.

    Parameters
    ----------
    x : (N, n) records.
    unit : (n,) U.

    Notes
    -----
    InvalidColumnError is raised of a column in which some values are so far off that sums of fourth powers overflow.
    Where all values have one sign the one nearest to 0 is the origin: differences far below the values survive the
    division. Values within two units in the last place may become equal.
    """
    low, high = extremes(x)
    origin = np.where(low > 0.0, low, np.where(high < 0.0, high, 0.0))
    with np.errstate(over="ignore"):
        y = np.ascontiguousarray((x - origin) / unit)
    far = np.maximum(np.abs(y.min(axis=0)), np.abs(y.max(axis=0)))
    if (far > LARGEST).any():
        detail = (
            f"some values are {LARGEST:g} times as far from the others as most are from one another; leave them out"
        )
        raise InvalidColumnError(int(np.argmax(far)), detail)
    return y


def local_spread(y: FloatArray) -> FloatArray:
    """Spread gamma of groups of neighbours.

    Parameters
    ----------
    y : (..., m, n) groups of m neighbours, scaled units.

    Returns
    -------
    (..., n) float64, at least FLOOR.
    """
    return np.asarray(np.maximum(y.std(axis=-2), FLOOR))


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
    The published part of a cell is then no function of one record to full precision. Whatever the rounded rows are, the
    QR decomposition (that of Gram and Schmidt, signs restored) gives orthonormal ones.
    """
    q, r = np.linalg.qr(np.round(axes, 2).T)
    signs = np.where(np.diag(r) < 0.0, -1.0, 1.0)
    return np.ascontiguousarray((q * signs).T)
