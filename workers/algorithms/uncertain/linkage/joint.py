"""Rows matched to records all at once: a record is behind one row only, and an adversary can use that.

Notation
--------
R, C : rows tried, candidates (records that the adversary knows). K : candidates of a row that are looked at, those that
    fit it best: nearest in units of the typical scale, twice as many, of which the K of best fit are kept.
fit : (R, K), log f_r(x) up to a constant of the row.
P : (R, K), probability that a candidate is behind a row. By the row alone: exp(fit) / sum exp(fit) (AG eq. 3).
doubly stochastic: P = diag(u) exp(fit) diag(v) with all rows' sums 1 and all candidates' sums at most 1 (1 where there
    are as many rows as candidates), reached by scaling rows and columns in turn (Sinkhorn); v at most 1 where a
    candidate need not be behind any row.
several releases of the same rows: bells multiply to a bell: precision sum 1/s_u^2, centre the mean weighted by it;
    cubes to the box that they have in common.

science.md section 7, "Joint linkage".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.spatial import cKDTree

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.core.blocks import blocks
from workers.algorithms.uncertain.density.densities import NARROWEST, Densities, standardised

NEAREST: Final = 50
_ITERATIONS: Final = 60
#: Of a step: rows whose candidates are found, or iterations.
STEP_ROWS: Final = 4_000
STEP_ITERATIONS: Final = 3
#: Largest factor of a candidate, and the inverse of the smallest.
_LARGEST: Final = 1e150


@dataclass(frozen=True)
class JointState:
    """Candidates found so far, then their probabilities; used up by its step.

    `order` is that of the search: near rows follow each other, since waiting for memory is most of it. `place` counts
    rows that have their candidates; `scaled` iterations.
    """

    densities: Densities
    candidates: FloatArray
    rows: IntArray
    order: IntArray
    tree: cKDTree
    unit: FloatArray
    of_row: IntArray
    fit: FloatArray
    candidate: IntArray
    place: int = 0
    scaled: int = 0
    column: FloatArray | None = None


@dataclass(frozen=True)
class Matched:
    """What matching states about the rows tried.

    Attributes
    ----------
    share_above_half : rows with a candidate of probability above one half.
    share_right : of these, rows whose candidate is the true record; None where there are none.
    mean_posterior : of the true record; 0 where it is not among the K.
    share_first : rows whose true record is the most probable candidate, and no other one is as probable.
    """

    share_above_half: float
    share_right: float | None
    mean_posterior: float
    share_first: float


def together(several: Sequence[Densities]) -> Densities:
    """One density a row from those of several releases of the same rows in the same columns.

    Parameters
    ----------
    several : parallel to the axes, all of one model, M rows each.

    Raises
    ------
    ValueError
        Densities of different models, or turned ones, cannot be multiplied to one of their kind.
    """
    first = several[0]
    if any(one.model != first.model or one.axes is not None for one in several):
        raise ValueError("only densities of one model that are parallel to the axes multiply to one")
    if first.model == "uniform":
        lower = np.max([one.z - one.scale / 2 for one in several], axis=0)
        upper = np.min([one.z + one.scale / 2 for one in several], axis=0)
        return replace(first, z=(lower + upper) / 2, scale=np.maximum(upper - lower, 0.0))
    narrow = np.array([np.maximum(one.scale, NARROWEST ** (1 / 4)) for one in several])
    precision = (1.0 / narrow**2).sum(axis=0)
    centre = (np.array([one.z for one in several]) / narrow**2).sum(axis=0) / precision
    return replace(first, z=centre, scale=1.0 / np.sqrt(precision))


def init(
    densities: Densities, candidates: FloatArray, of_row: IntArray, rows: IntArray, *, nearest: int = NEAREST
) -> JointState:
    """Prepare to match.

    Parameters
    ----------
    densities : M rows.
    candidates : (C, n).
    of_row : (M,) candidate that is behind each row, -1 where none is.
    rows : (R,) the rows tried.
    nearest : K.
    """
    count = min(nearest, len(candidates))
    typical = np.median(densities.reach[rows], axis=0)
    unit = np.where(typical > 0.0, typical, densities.unit)
    return JointState(
        densities=densities,
        candidates=candidates,
        rows=rows,
        order=blocks(densities.z[rows], unit).order,
        tree=cKDTree(candidates / unit),
        unit=unit,
        of_row=of_row[rows],
        fit=np.empty((len(rows), count)),
        candidate=np.empty((len(rows), count), dtype=np.int64),
    )


def step(state: JointState, *, rows: int = STEP_ROWS, iterations: int = STEP_ITERATIONS) -> JointState:
    """Find the candidates of some rows, or scale the probabilities of all a few times; `state` is used up."""
    if state.place < len(state.rows):
        return _with_candidates(state, rows)
    column = np.ones(len(state.candidates)) if state.column is None else state.column
    weight = np.exp(state.fit)
    exact = len(state.rows) == len(state.candidates)
    count = min(iterations, _ITERATIONS - state.scaled)
    for _ in range(count):
        row = 1.0 / (weight * column[state.candidate]).sum(axis=1)
        given = np.bincount(state.candidate.ravel(), weights=(weight * row[:, None]).ravel(), minlength=len(column))
        with np.errstate(over="ignore"):  # where rows and candidates cannot be matched one to one factors diverge
            full = np.divide(1.0, given, out=np.ones(len(column)), where=given > 0.0)
        column = np.clip(full, 1.0 / _LARGEST, _LARGEST if exact else 1.0)
    return replace(state, column=column, scaled=state.scaled + count)


def done(state: JointState) -> bool:
    """Whether all is scaled."""
    return state.scaled >= _ITERATIONS


def progress(state: JointState) -> float:
    """Share of the work done."""
    return 0.7 * state.place / max(len(state.rows), 1) + 0.3 * state.scaled / _ITERATIONS


def alone(state: JointState) -> Matched:
    """What each row states by itself, once its candidates are found."""
    return _matched(state, np.ones(len(state.candidates)))


def result(state: JointState) -> Matched:
    """What all rows state together.

    Raises
    ------
    ValueError
        Something is left to scale.
    """
    if not done(state) or state.column is None:
        raise ValueError("the matching is not finished: step until done")
    return _matched(state, state.column)


def matching(state: JointState) -> FloatArray:
    """(R, K) probabilities, for tests."""
    column = np.ones(len(state.candidates)) if state.column is None else state.column
    return _probabilities(state, column)


def _with_candidates(state: JointState, count: int) -> JointState:
    last = min(state.place + count, len(state.rows))
    where = state.order[state.place : last]
    rows = state.rows[where]
    held, wanted = state.densities, state.fit.shape[1]
    near = min(2 * wanted, len(state.candidates))
    at = state.tree.query(held.z[rows] / state.unit, k=near)[1].reshape(len(rows), near)
    own = Densities(
        held.model, held.z[rows], held.scale[rows], None if held.axes is None else held.axes[rows], held.unit
    )
    fit = np.column_stack([log_fit(own, state.candidates[at[:, j]]) for j in range(near)])
    best = np.argsort(-fit, axis=1, kind="stable")[:, :wanted]
    chosen = np.take_along_axis(fit, best, axis=1)
    state.fit[where] = np.maximum(chosen - chosen[:, :1], -700.0)
    state.candidate[where] = np.take_along_axis(at, best, axis=1)
    return replace(state, place=last)


def log_fit(own: Densities, points: FloatArray) -> FloatArray:
    """Logarithm of each density at its point, up to the density's constant.

    Parameters
    ----------
    own : M densities.
    points : (M, n).

    Returns
    -------
    (M,); outside of a cube below -600, so that farther points fit worse.
    """
    e = standardised(own, 0, len(points), points)
    if own.model == "gaussian":
        return np.asarray(-0.5 * np.minimum((e**2).sum(axis=1), 1e12))
    outside = np.maximum(np.abs(e) - 0.5, 0.0).sum(axis=1)  # distinguishes points outside: nothing may fit inside
    return np.asarray(np.where(outside <= 1e-9, 0.0, -600.0 - np.minimum(outside, 1e3)))


def _probabilities(state: JointState, column: FloatArray) -> FloatArray:
    weight = np.exp(state.fit) * column[state.candidate]
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _matched(state: JointState, column: FloatArray) -> Matched:
    chance = _probabilities(state, column)
    best = chance.max(axis=1)
    true: BoolArray = state.candidate == state.of_row[:, None]
    posterior = (chance * true).sum(axis=1)
    above = best > 0.5
    right = above & (posterior == best)
    alone_at_top = (posterior == best) & ((chance >= best[:, None] * (1.0 - 1e-12)).sum(axis=1) == 1)
    return Matched(
        share_above_half=float(above.mean()),
        share_right=float(right.sum() / above.sum()) if above.any() else None,
        mean_posterior=float(posterior.mean()),
        share_first=float(alone_at_top.mean()),
    )
