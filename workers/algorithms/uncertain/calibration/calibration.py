"""Scales of densities with which every record has k in expectation: init, step, done, result. What a runner calls.

Notation
--------
x : (N, n), records in the columns' units; only the columns requested.
Z_i : drawn from the density f_i about x_i (`drawing`); A_i : expected number of records whose fit to (Z_i, f_i) is at
least that of x_i, itself included (AG Definition 2.4). Every candidate is judged by the same f_i.

Sources: AG (Aggarwal 2008) eqs. 4-16; science.md section 3, "Calibration".
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import FloatArray
from workers.algorithms.uncertain.calibration import schemes
from workers.algorithms.uncertain.calibration.expected import expectation
from workers.algorithms.uncertain.calibration.journal import Journal, packed, unpacked
from workers.algorithms.uncertain.calibration.state import Calibrated, CalibrationRequest, check_request
from workers.algorithms.uncertain.density.scaling import scaled, units

Stage: TypeAlias = Literal["calibration", "done"]


@dataclass(frozen=True)
class Working:
    """The calibration is under way."""

    work: Generator[float, None, Calibrated]
    fraction: float
    journal: Journal


@dataclass(frozen=True)
class CalibrationFinished:
    """The scales are there."""

    calibrated: Calibrated
    journal: Journal


CalibrationState: TypeAlias = Working | CalibrationFinished


def init(x: FloatArray, request: CalibrationRequest) -> CalibrationState:
    """Check the request.

    Parameters
    ----------
    x : (N, n) float64, finite.
    request : the request.

    Raises
    ------
    InvalidColumnError
        NaN, infinities, magnitudes above 1e70.
    ValueError
        Numbers outside their range, see `check_request`.
    """
    return _begun(x, request, Journal())


def _begun(x: FloatArray, request: CalibrationRequest, journal: Journal) -> Working:
    check_request(x, request)
    work = _calibrating(np.ascontiguousarray(x), replace(request, journal=journal))
    return Working(work, 0.0, journal)


def step(state: CalibrationState) -> CalibrationState:
    """Go on by about a fifth of a second, on the threads that were granted.

    Parameters
    ----------
    state : from `init` or `step`; used up.

    Raises
    ------
    UnreachableKError
        A record has less than k at every scale.
    """
    match state:
        case Working():
            try:
                fraction = next(state.work)
            except StopIteration as end:
                return CalibrationFinished(end.value, state.journal)
            return replace(state, fraction=max(state.fraction, min(fraction, 1.0)))
        case CalibrationFinished():
            return state


def done(state: CalibrationState) -> bool:
    """Whether the result is there."""
    return isinstance(state, CalibrationFinished)


def progress(state: CalibrationState) -> tuple[Stage, float]:
    """Stage and share of the work done, for people."""
    match state:
        case Working(fraction=fraction):
            return "calibration", fraction
        case CalibrationFinished():
            return "done", 1.0


def result(state: CalibrationState) -> Calibrated:
    """Scales and what they give.

    Raises
    ------
    ValueError
        The work is not done.
    """
    match state:
        case CalibrationFinished(calibrated=calibrated):
            return calibrated
    msg = "the scales are not finished: step until done"
    raise ValueError(msg)


def pack(state: CalibrationState) -> dict[str, NDArray[np.generic]]:
    """Findings so far, as arrays; as secret as scales of records are."""
    return packed(state.journal)


def unpack(x: FloatArray, request: CalibrationRequest, arrays: Mapping[str, NDArray[np.generic]]) -> CalibrationState:
    """Go on where `pack` was called: what it remembers is not computed again, trees and shapes are.

    Parameters
    ----------
    x, request : the same as before; the number of threads may differ.
    arrays : from `pack`.

    Raises
    ------
    InvalidColumnError, ValueError
        As `init`.
    """
    return _begun(x, request, unpacked(arrays))


def calibrate(x: FloatArray, request: CalibrationRequest) -> Calibrated:
    """All steps at once, for benchmarks and tests."""
    state = init(x, request)
    while not done(state):
        state = step(state)
    return result(state)


def _calibrating(x: FloatArray, request: CalibrationRequest) -> Generator[float, None, Calibrated]:
    unit = units(x, request.k)
    y = scaled(x, unit)
    k = np.ascontiguousarray(np.broadcast_to(np.asarray(request.k, dtype=np.float64), len(x)))
    scheme = yield from _scheme(x, y, k, request)
    expected, missing = yield from expectation(y, scheme, request)
    scale = scheme.scale if scheme.axes is not None else scheme.scale * unit
    return Calibrated(
        model=request.model,
        rows=scheme.rows,
        unit=unit,
        scale=scale,
        axes=scheme.axes,
        anonymity=scheme.anonymity,
        certified_error=missing,
        expected=expected,
        zero_scale=int((scale == 0.0).all(axis=1).sum()),
        cells=None if scheme.group is None else int(scheme.group.max()) + 1,
        few=scheme.few,
    )


def _scheme(x: FloatArray, y: FloatArray, k: FloatArray, request: CalibrationRequest) -> schemes.Work:
    match request.scales:
        case "common":
            return schemes.common(x, y, k, request)
        case "shared":
            return schemes.shared(x, y, k, request)
        case "per_record":
            return schemes.per_record(y, k, request)
        case "levels":
            return schemes.levels(y, k, request)
