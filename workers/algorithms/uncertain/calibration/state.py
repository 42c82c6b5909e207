"""The request about a calibration, what comes out of it, and what cannot be had.

Notation
--------
x : (N, n), records in the columns' units.  U : (n,), `unit`: a column's value of 1 in scaled units.
k : expected anonymity wanted, >= 1, fractional allowed; one for all records or one each.
sigma : scale of a density in scaled units (gaussian: standard deviation, uniform: side).

Source: AG (Aggarwal 2008), science.md section 3, "Calibration".
"""

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from surebox_core.moments import check_records
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.uncertain.calibration.journal import Journal
from workers.algorithms.uncertain.density.densities import Model

Scales: TypeAlias = Literal["common", "levels", "shared", "per_record"]
Scaling: TypeAlias = Literal["global", "local", "rotated"]

SMALLEST_TOLERANCE = 1e-6


class UnreachableKError(ValueError):
    """No scale gives as much expected anonymity as is required; `largest` is a k that can be had."""

    def __init__(self, required: float, largest: float, records: int) -> None:
        super().__init__(
            f"k = {required:g} required, {records} records: the expected anonymity stays below it at every scale, "
            f"the largest k is {largest:.10g}"
        )
        self.required = required
        self.largest = largest
        self.records = records


@dataclass(frozen=True)
class CalibrationRequest:
    """The request.

    Attributes
    ----------
    k : one for all records, or (N,) one for each; finite, at least 1.
    model : family of the densities.
    scales : who shares a scale (and a shape, where scaling is not global): `common` all records; `levels` those of one
        level of a fixed ladder; `shared` those of a spatial cell; `per_record` no one.
    scaling : shape of the densities: `global` the columns' units; `local` standard deviations among neighbours (of a
        record, or of a cell); `rotated` along the principal axes there. Not with `common` and `levels`.
    suppress_share : share of the records left out, those that would need the largest scales; not with `per_record`.
    cell_size : least records of a cell (`shared`); 8 k by default.
    min_scale : scales are at least this, in scaled units (multiples of `unit`).
    tolerance : what the computed anonymity of a record may lack of the true one, in parts of it.
    threads : threads that a step may use.
    piece : rows whose answers are remembered at a time.
    journal : the memory of the search, made by `calibration.init`.
    """

    k: float | FloatArray
    model: Model = "gaussian"
    scales: Scales = "common"
    scaling: Scaling = "global"
    suppress_share: float = 0.01
    cell_size: int | None = None
    min_scale: float = 0.0
    tolerance: float = 1e-3
    threads: int = 1
    piece: int = 1 << 16
    journal: Journal = field(default_factory=Journal, compare=False, repr=False)


@dataclass(frozen=True)
class Expected:
    """Expected anonymity over the kept records, in records.

    Attributes
    ----------
    least : certain lower bound for every kept record.
    mean, largest : over the records evaluated to the tolerance.
    evaluated : how many these are; all, or an even sample where that would take longer than the calibration.
    """

    least: float
    mean: float
    largest: float
    evaluated: int


@dataclass(frozen=True)
class Calibrated:
    """Scales for the records that are kept.

    Attributes
    ----------
    model : family of the densities.
    rows : (M,) int64, kept records, ascending places in x. Restricted.
    unit : (n,), U, rounded to two significant digits; 1 for a constant column. Published.
    scale : (M, n), in the columns' units; with axes along each axis, in scaled units. Published.
    axes : (M, n, n), [p, a] is the unit vector of axis a in scaled space, or None. Published.
    anonymity : (M,), certain lower bound of each record's expected anonymity: among the kept records, or where scales
        are shared among those who share its own. Restricted.
    certified_error : bound of what the computed anonymity that decided a scale may lack of the true one, in records.
    expected : least, mean and largest anonymity.
    zero_scale : kept records whose density is a point: their values are published.
    cells : number of different densities' shapes and scales that are shared; None with `per_record`.
    few : whether fewer than k records decide the scale of all (`common` where no record may be suppressed). Restricted.
    """

    model: Model
    rows: IntArray
    unit: FloatArray
    scale: FloatArray
    axes: FloatArray | None
    anonymity: FloatArray
    certified_error: float
    expected: Expected
    zero_scale: int
    cells: int | None
    few: bool = False


def supremum(records: int, model: Model = "gaussian") -> float:
    """Expected anonymity that a record without duplicates stays below: gaussian 1 + (N - 1)/2, uniform N."""
    return 1.0 + 0.5 * (records - 1) if model == "gaussian" else float(records)


def largest_below(bound: float) -> float:
    """A k that can be had where anything below `bound` can: three decimals, and a little less."""
    return max(1.0, math.floor(bound * (1.0 - 1e-5) * 1000.0) / 1000.0)


def check_request(x: FloatArray, request: CalibrationRequest) -> None:
    """Refuse what no calibration can be.

    Raises
    ------
    ValueError
        Numbers outside their range, k not one or one per record, shapes that `scales` excludes.
    InvalidColumnError
        NaN, infinities, magnitudes above 1e70.
    """
    check_records(x)
    k = np.asarray(request.k, dtype=np.float64)
    if k.shape not in ((), (len(x),)) or not np.isfinite(k).all() or (k < 1.0).any():
        msg = "k must be one finite number of at least 1, or one for each record"
        raise ValueError(msg)
    if request.scales in ("common", "levels") and request.scaling != "global":
        msg = f"{request.scaling} scaling gives every place its own shape: it goes with scales shared or per_record"
        raise ValueError(msg)
    if not 0.0 <= request.suppress_share < 1.0:
        msg = f"the share to suppress must be in [0, 1), got {request.suppress_share}"
        raise ValueError(msg)
    if not (math.isfinite(request.min_scale) and request.min_scale >= 0.0):
        msg = f"the minimum scale must be a finite number, 0 or more, got {request.min_scale}"
        raise ValueError(msg)
    if not SMALLEST_TOLERANCE <= request.tolerance <= 0.1 or request.threads < 1:
        msg = f"the tolerance must be in [{SMALLEST_TOLERANCE}, 0.1] and threads be at least 1"
        raise ValueError(msg)
    if request.cell_size is not None and request.cell_size < 1:
        msg = f"a cell contains at least one record, got {request.cell_size}"
        raise ValueError(msg)
