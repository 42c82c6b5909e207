"""Drawing the published data from the densities about the records.

Notation
--------
x : (M, n), kept records.  Z : (M, n), drawn.  s : scales.  e : standard draw along each axis.
g : grid of a record's column, a power of ten: 1e-7 of its scale at most, and well above the resolution of floats.

AG Definition 2.1: Z = x + s e, e normal (eq. 2) or uniform on [-1/2, 1/2] (section II.B). Where a domain is declared, Z
is left where it falls: clipping would pile records up at the bounds with a density that is not f, and drawing again
until Z is inside would make the fit depend on the distance from the bound, so that AG's probabilities no longer hold.

Departure: Z is rounded to the grid g. In floating point x + s e takes values only some x can reach (of a record at 0
all bits of the draw survive, of one at 39 only the upper ones): the last bits would reveal (Mironov 2012).
"""

import numpy as np

from surebox_core.types import FloatArray
from workers.algorithms.uncertain.calibration.state import Calibrated

_BELOW = 7  # decimal places of the grid below the leading one of the scale
_ULPS = 64.0
_BLOCK = 65536


def draw(x: FloatArray, calibrated: Calibrated, rng: np.random.Generator) -> FloatArray:
    """One draw of every kept record.

    Parameters
    ----------
    x : (N, n) the records that were calibrated.
    calibrated : their scales.
    rng : seeded by the operating system in production: whoever has the seed has every record.

    Returns
    -------
    (M, n) float64, in the order of `calibrated.rows`: to be published in another order. A record whose scale is 0 is
    itself.
    """
    out = np.empty_like(calibrated.scale)
    largest = np.abs(x[calibrated.rows]).max(axis=0)
    for first in range(0, len(out), _BLOCK):
        part = slice(first, min(first + _BLOCK, len(out)))
        out[part] = _drawn(x[calibrated.rows[part]], calibrated, part, largest, rng)
    return out


def _drawn(
    x: FloatArray, calibrated: Calibrated, part: slice, largest: FloatArray, rng: np.random.Generator
) -> FloatArray:
    scale, axes, unit = calibrated.scale[part], calibrated.axes, calibrated.unit
    along = scale if axes is None else np.sqrt((scale[:, :, None] ** 2 * axes[part] ** 2).sum(axis=1)) * unit
    grid = _grid(along, largest)
    if calibrated.model == "gaussian":
        e = rng.standard_normal(scale.shape)
    else:
        moved = grid if axes is None else (grid / unit).sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(scale > 0.0, np.maximum(1.0 - moved / scale, 0.0), 0.0)
        e = (rng.random(scale.shape) - 0.5) * room  # rounding to the grid must not leave the cube
    offset = scale * e
    if axes is not None:
        offset = np.einsum("pa,paj->pj", offset, axes[part]) * unit
    z = x + offset
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(grid > 0.0, _on_grid(z, grid), x)


def _grid(scale: FloatArray, largest: FloatArray) -> FloatArray:
    """Powers of ten; 0 where the scale is."""
    with np.errstate(divide="ignore"):
        fine = np.floor(np.log10(scale)) - _BELOW
    coarse = np.ceil(np.log10(np.maximum(np.spacing(largest) * _ULPS, 1e-300)))
    return np.where(scale > 0.0, 10.0 ** np.maximum(fine, coarse), 0.0)


def _on_grid(z: FloatArray, grid: FloatArray) -> FloatArray:
    """The float nearest to a multiple of the grid."""
    places = np.rint(-np.log10(grid))
    fine = 10.0 ** np.maximum(places, 0.0)
    coarse = 10.0 ** np.maximum(-places, 0.0)
    return np.asarray(np.rint(z / coarse * fine) / fine * coarse)
