"""Boxes from records to certificates: init, step, done, result. What a runner calls.

Notation
--------
x : (N, n), records, in the columns' units; only the columns asked for.
k : least records per box.

Every step takes at most about half a second, so that a job can beat, report and be cancelled between two.
"""

from typing import Literal

import numpy as np

from surebox_verify.core.moments import check_records
from surebox_verify.core.statistics import check_statistics
from surebox_verify.core.types import FloatArray
from workers.algorithms.boxes import stages
from workers.algorithms.boxes.bounds import check_domains
from workers.algorithms.boxes.partition import partition as cutting
from workers.algorithms.boxes.partition.diversity import check_demands
from workers.algorithms.boxes.state import (
    Anticipating,
    Averaging,
    Bounding,
    BoxesOutcome,
    BoxesRequest,
    BoxesState,
    Certifying,
    Checked,
    Choosing,
    Comparing,
    Cutting,
    Finished,
    Measuring,
)
from workers.algorithms.core.errors import InfeasibleKError

Stage = Literal["influence", "partition", "bounds", "uncertainty", "ranges", "done"]


def init(x: FloatArray, request: BoxesRequest) -> BoxesState:
    """Check what is asked.

    Parameters
    ----------
    x : (N, n) float64, finite; copied once where it is not C-contiguous.
    request : what is asked.

    Raises
    ------
    InvalidColumnError
        NaN, infinities, magnitudes above 1e70; values outside a declared domain (OutsideDomainError).
    InfeasibleKError
        k above N, or above the records of a kept class.
    InfeasibleDiversityError
        l above the values of a column.
    UndefinedStatisticError
        A statistic whose wording is wrong. (One that these records leave undefined is found by the
        first step, of many records by one of the first.)
    ValueError
        k below 1, confidence outside (0, 1), domains that are none, ddof neither 0 nor 1, or of weighed records.
    """
    check_records(x)
    check_statistics(request.statistics, x.shape[1])
    if request.k < 1 or not 0.0 < request.confidence < 1.0:
        msg = f"k must be at least 1 and confidence in (0, 1), got {request.k} and {request.confidence}"
        raise ValueError(msg)
    if request.ddof not in ((0,) if request.rare_records == "weigh" else (0, 1)):
        msg = f"ddof must be 0 or 1, and 0 where records are weighed (they have no sample size), got {request.ddof}"
        raise ValueError(msg)
    check_demands(request.demands, request.k)
    if request.k > len(x):
        raise InfeasibleKError(request.k, len(x))
    if request.domains:
        check_domains(x, request.domains)
    return Checked(x=np.ascontiguousarray(x), request=request)


def step(state: BoxesState, *, rng: np.random.Generator) -> BoxesState:
    """Go on by about half a second at most.

    Parameters
    ----------
    state : from `init` or `step`; used up.
    rng : places cuts and draws samples. Seeded by the operating system in production.

    Raises
    ------
    UndefinedStatisticError
        These records, or those that are kept, leave a statistic or its default scale undefined.
    """
    match state:
        case Checked() | Averaging():
            return stages.average(state)
        case Measuring():
            return stages.measure(state)
        case Cutting():
            return stages.cut(state)
        case Bounding():
            return stages.bound(state, rng)
        case Choosing():
            return stages.choose(state)
        case Anticipating():
            return stages.anticipate(state, rng)
        case Comparing():
            return stages.compare(state)
        case Certifying():
            return stages.certify(state)
        case Finished():
            return state


def done(state: BoxesState) -> bool:
    """Whether the result is there."""
    return isinstance(state, Finished)


def progress(state: BoxesState) -> tuple[Stage, float]:
    """Stage and share of the whole work done, for people."""
    match state:
        case Checked() | Averaging() | Measuring():
            return "influence", _measured(state)
        case Cutting():
            return "partition", 0.15 + 0.4 * cutting.fraction(state.cuts)
        case Bounding():
            return "bounds", 0.55
        case Choosing():
            return "uncertainty", 0.57
        case Anticipating():
            return "uncertainty", 0.59
        case Comparing():
            return "uncertainty", 0.6 + 0.1 * state.row / len(state.x)
        case Certifying():
            return "ranges", 0.7 + 0.3 * len(state.certificates) / len(state.request.statistics)
        case Finished():
            return "done", 1.0


def _measured(state: Checked | Averaging | Measuring) -> float:
    if isinstance(state, Checked):
        return 0.0
    rows = len(state.x)
    return 0.05 * state.sums.row / rows if isinstance(state, Averaging) else 0.05 + 0.1 * state.row / rows


def result(state: BoxesState) -> BoxesOutcome:
    """Boxes and certificates.

    Raises
    ------
    ValueError
        The work is not done.
    """
    match state:
        case Finished(outcome=outcome):
            return outcome
    msg = "the boxes are not finished: step until done"
    raise ValueError(msg)
