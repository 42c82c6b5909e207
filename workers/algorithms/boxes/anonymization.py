"""Boxes from records to certificates: init, step, done, result. What a runner calls.

Notation
--------
x : (N, n), records, in the columns' units; only the columns requested.
k : least records per box.

What decides (moments, influences, cuts, what a box must contain, which boxes are rare) sees the records with their
values beyond the k-th from either end winsorized, and declared domains; bounds, counts and means of boxes are the
records' own (core.winsorized, boxes.deciding).

Every step takes at most about half a second, so that a job can beat, report and be cancelled between two.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from surebox_core.types import FloatArray
from workers.algorithms.boxes import choosing, mixed_stages, stages
from workers.algorithms.boxes.checks import check
from workers.algorithms.boxes.partition import partition as cutting
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.state import (
    AnonymizationFinished,
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
    Measuring,
    MixedCertifying,
    MixedCutting,
    PlainState,
)
from workers.algorithms.core.winsorized import winsorized

Stage = Literal["influence", "partition", "bounds", "uncertainty", "ranges", "done"]


def init(x: FloatArray, request: BoxesRequest) -> BoxesState:
    """Check the request.

    Parameters
    ----------
    x : (N, n) float64, finite, NaN where missing if `request.patterns`; copied once where it is not C-contiguous, or
        where multiples of a step such as 0.1 are to be the floats that they are read as. n may be 0 where there are
        nominal columns.
    request : the request.

    Raises
    ------
    InvalidColumnError
        NaN, infinities, magnitudes above 1e70; values outside a declared domain (OutsideDomainError).
    InfeasibleKError
        k above N, or above the records of a kept class.
    InfeasibleDiversityError, InfeasibleAlphaError
        l above the values of a column; alpha below the share that a value has of the records with one.
    UndefinedStatisticError
        A statistic whose wording is wrong. (One that these records leave undefined is found by the
        first step, of many records by one of the first.)
    ValueError
        k below 1, confidence outside (0, 1), domains that are none, ddof neither 0 nor 1, or of weighed records.
    """
    request = replace(request, demands=_winsorized_demands(request))
    check(x, request)
    seen = winsorized(x, request.k, request.demands.persons)
    return Checked(x=np.ascontiguousarray(x), seen=seen, request=request)


def _winsorized_demands(request: BoxesRequest) -> BoxConstraints:
    """The demands on records as the search sees them; those of values that are coded come so."""
    demands = request.demands
    if demands.values.shape[1] == 0:
        return demands
    return replace(demands, values=winsorized(demands.values, request.k, demands.persons))


def step(state: BoxesState, *, rng: np.random.Generator, derivatives: int = stages.STEP_DERIVATIVES) -> BoxesState:
    """Go on by about half a second at most.

    Parameters
    ----------
    state : from `init` or `step`; used up.
    rng : places cuts and draws samples. Seeded by the operating system in production.
    derivatives : computed in a step of the stages that compute them; one record or box at least.

    Raises
    ------
    UndefinedStatisticError
        These records, or those that are kept, leave a statistic or its default scale undefined.
    SuppressionError, InfeasibleKError
        Too many records, or all, are in classes or patterns of missing values too rare for any box.
    InfeasibleDiversityError, InfeasibleAlphaError, InvalidColumnError
        Those that are left do not meet what all did.
    """
    match state:
        case Checked():
            return stages.average(state) if state.request.plain else mixed_stages.begin(state)
        case MixedCutting():
            return mixed_stages.cut(state, rng)
        case MixedCertifying():
            return mixed_stages.certify(state)
        case AnonymizationFinished():
            return state
        case _:
            return _plain_step(state, rng, derivatives)


def _plain_step(state: PlainState, rng: np.random.Generator, derivatives: int) -> BoxesState:
    match state:
        case Averaging():
            return stages.average(state)
        case Measuring():
            return stages.measure(state, derivatives)
        case Cutting():
            return stages.cut(state)
        case Bounding():
            return stages.bound(state, rng)
        case Choosing():
            return choosing.choose(state, derivatives)
        case Anticipating():
            return stages.anticipate(state, rng)
        case Comparing():
            return stages.compare(state, derivatives)
        case Certifying():
            return stages.certify(state)


def done(state: BoxesState) -> bool:
    """Whether the result is there."""
    return isinstance(state, AnonymizationFinished)


def progress(state: BoxesState) -> tuple[Stage, float]:
    """Stage and share of the whole work done, for people."""
    match state:
        case Checked() | Averaging() | Measuring():
            return "influence", _measured(state)
        case Cutting() | MixedCutting():
            return "partition", 0.15 + 0.4 * cutting.fraction(state.cuts)
        case Bounding():
            return "bounds", 0.55
        case Certifying():
            return "ranges", 0.7 + 0.3 * len(state.certificates) / len(state.request.statistics)
        case MixedCertifying():
            return "ranges", 0.7 + 0.3 * len(state.certificates) / len(state.mixed.request.statistics)
        case AnonymizationFinished():
            return "done", 1.0
        case _:
            return "uncertainty", _judged(state)


def _judged(state: Choosing | Anticipating | Comparing) -> float:
    if isinstance(state, Comparing):
        return 0.6 + 0.1 * state.row / len(state.x)
    return 0.57 if isinstance(state, Choosing) else 0.59


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
        case AnonymizationFinished(outcome=outcome):
            return outcome
    msg = "the boxes are not finished: step until done"
    raise ValueError(msg)
