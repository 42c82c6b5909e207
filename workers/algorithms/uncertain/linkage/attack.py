"""The linkage attack: where the true record is among those an adversary knows, for each released row.

Notation
--------
M : released rows (Z_r, f_r); t_r the true record of row r: the auditor has it, the release does not.
N : candidates, the records that the adversary knows, in the columns' units.
fit : log f_r(x), x a candidate: all are judged by the same f_r (AG Definition 2.3), so that normalisers cancel.
rank : number of candidates whose fit is at least that of t_r (Definition 2.4): ties count, t_r itself counts 1. Where
    t_r is not among the candidates, 1 is added for it: where it would be if they came to know it.
posterior : exp(fit of t_r) / sum over candidates of exp(fit) (AG eq. 3).

Scale matching: an adversary who knows the original computes the scale of every candidate again (the calibration is no
secret; science.md section 3, "Published scales identify records" and "Linkage audit") and compares it with the scale
published on the row. How far recomputed scales miss depends on what they know; they can find it out by leaving out
some of that. Here the typical miss tau of log scales is taken from the true pairs, robustly, as if they knew it
exactly. A candidate's fit gains
    -1/2 sum_h ((log s_h(candidate) - log s_h(row)) / tau_h)^2,
over the axes h, or over one where all axes' scales are proportional. With tau near 0 (the whole original is known) only
candidates of the very scale of the row remain.

Which row belongs to which record no release states; an audit needs it from the job that drew the release.

Kernels
-------
x : (N, n + h), candidates block by block (core.blocks), `columns` their transpose: n columns, then h features compared
    as gaussian whatever the model (logarithms of recomputed scales); low, high (2 L, n + h) extremes, size (2 L,)
    candidates of each node.
z, s : (m, n + h), centres and scales; axes (m, n, n) or empty; unit (n,).
D(x) : -2 (fit of x - largest possible fit): squared standard distance (gaussian), 0 in the cube and infinite outside
    (uniform), plus squared standard distances of the features.
D_t : D of the true record t (m, n + h).
rank : number of candidates with D <= D_t.  weight : sum over candidates of exp(-(D - D_t) / 2); passed : the part left
    out of it. Where neglect is infinite nothing is weighed: no candidate farther than t is looked at, and a node whose
    corners are all nearer is counted as one.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.core.blocks import Blocks, blocks
from workers.algorithms.uncertain.density.densities import NARROWEST, Densities, check_densities

STEP_ROWS: Final = 512  # of a step, each thread's part a sixteenth
_PARTS = 16
_BLOCK = 64
_NEGLECT = 1e-4  # share of a posterior's denominator that may be passed over
_EXACT = 1e-9  # least tau, in log scales
_FAINT = 60.0  # a candidate that much further than the true record weighs less than _FAINTEST
_FAINTEST = 1e-13
_ROUNDING = 1e-9  # of a cube's side: the true record is never outside


@inner_kernel
def _distance(
    x: FloatArray, z: FloatArray, s: FloatArray, axes: FloatArray, unit: FloatArray, gaussian: bool, limit: float
) -> float:
    """D(x); `limit` is the largest |e| inside a cube."""
    n = len(unit)
    total = 0.0
    for i in range(len(x)):
        e = x[i] - z[i]
        if i < n and axes.shape[0] > 0:
            e = 0.0
            for j in range(n):
                e += axes[i, j] * (x[j] - z[j]) / unit[j]
        if e == 0.0:
            continue
        if s[i] == 0.0:
            return np.inf
        e /= s[i]
        if gaussian or i >= n:
            total += e * e
        elif abs(e) > limit:
            return np.inf
    return total


@inner_kernel
def _least(
    low: FloatArray,
    high: FloatArray,
    z: FloatArray,
    s: FloatArray,
    turned: bool,
    unit: FloatArray,
    gaussian: bool,
    limit: float,
) -> float:
    """No candidate of a node has a smaller D."""
    n = len(unit)
    total = 0.0
    widest = 0.0
    if turned:
        for i in range(n):
            widest = max(widest, s[i])
    for i in range(len(z)):
        gap = max(low[i] - z[i], z[i] - high[i], 0.0)
        if gap == 0.0:
            continue
        scale = s[i]
        if i < n and turned:
            scale = widest * unit[i] * (1.0 if gaussian else math.sqrt(n))
        if scale == 0.0:
            return np.inf
        if gaussian or i >= n:
            total += (gap / scale) ** 2
        elif gap / scale > limit * (1.0 + 1e-12):
            return np.inf
    return total * (1.0 - 1e-12)


@inner_kernel(error_model="numpy")
def _most(low: FloatArray, high: FloatArray, z: FloatArray, inverse: FloatArray) -> float:
    """No candidate of a node has a larger D, gaussian and parallel to the axes."""
    total = 0.0
    for i in range(len(z)):
        e = max(z[i] - low[i], high[i] - z[i]) * inverse[i]
        total += e * e
    return total * (1.0 + 1e-12)


@inner_kernel(error_model="numpy")
def _ellipse(x: FloatArray, z: FloatArray, inverse: FloatArray, away: FloatArray) -> None:
    """D of candidates (n + h, m), gaussian and parallel to the axes: one vector loop an axis, rounded as one by one."""
    away[:] = 0.0
    for j in range(len(z)):
        row = x[j]
        centre = z[j]
        factor = inverse[j]
        for c in range(len(row)):
            e = (row[c] - centre) * factor
            away[c] += e * e


@kernel
def rank_rows(  # noqa: C901 (a kernel)
    t: FloatArray,
    z: FloatArray,
    s: FloatArray,
    axes: FloatArray,
    unit: FloatArray,
    gaussian: bool,
    neglect: float,
    x: FloatArray,
    columns: FloatArray,
    start: IntArray,
    size: IntArray,
    low: FloatArray,
    high: FloatArray,
    rank: IntArray,
    weight: FloatArray,
    passed: FloatArray,
) -> None:
    """Fill rank, weight and passed of m rows; at most the share `neglect` of a row's weight is passed over."""
    weighed = neglect < np.inf
    turned = axes.shape[0] > 0
    leaves = len(start) - 1
    stack = np.empty(128, np.int64)
    n = len(unit)
    inverse = np.empty(z.shape[1])
    one_by_one = np.empty((z.shape[1], 1))
    store = np.empty(64)
    for r in range(len(t)):
        swift = gaussian and not turned and s[r].min() > 0.0
        own = axes[r] if turned else np.empty((0, 0))
        limit = 0.5 * (1.0 + _ROUNDING)
        true = _distance(t[r], z[r], s[r], own, unit, gaussian, np.inf)
        if not gaussian:
            for i in range(n):
                e = t[r, i] - z[r, i]
                if turned:
                    e = 0.0
                    for j in range(n):
                        e += own[i, j] * (t[r, j] - z[r, j]) / unit[j]
                if s[r, i] > 0.0:
                    limit = max(limit, abs(e) / s[r, i])
        if swift:
            for i in range(len(inverse)):
                inverse[i] = 1.0 / s[r, i]
                one_by_one[i, 0] = t[r, i]
            _ellipse(one_by_one, z[r], inverse, store[:1])
            true = store[0]
        share = neglect / len(x)
        stack[0] = 1
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            least = _least(low[node], high[node], z[r], s[r], turned, unit, gaussian, limit)
            if least > true:
                most = math.exp(-0.5 * (least - true))
                if most <= share * max(weight[r], 1.0):
                    passed[r] += most * size[node]
                    continue
            elif swift and not weighed and _most(low[node], high[node], z[r], inverse) <= true:
                rank[r] += size[node]
                continue
            if node < leaves:
                one, two = 2 * node, 2 * node + 1
                nearer = _least(low[one], high[one], z[r], s[r], turned, unit, gaussian, limit)
                if nearer < _least(low[two], high[two], z[r], s[r], turned, unit, gaussian, limit):
                    one, two = two, one
                stack[top] = one
                stack[top + 1] = two
                top += 2
                continue
            if swift:
                head = start[node - leaves]
                away_all = store[: start[node - leaves + 1] - head]
                _ellipse(columns[:, head : head + len(away_all)], z[r], inverse, away_all)
                if not weighed:
                    rank[r] += (away_all <= true).sum()
                    continue
                for away in away_all:
                    if away <= true:
                        rank[r] += 1
                    if away - true < _FAINT:
                        weight[r] += math.exp(-0.5 * (away - true))
                    else:
                        passed[r] += _FAINTEST
                continue
            for c in range(start[node - leaves], start[node - leaves + 1]):
                away = _distance(x[c], z[r], s[r], own, unit, gaussian, limit)
                rank[r] += away <= true
                if away < np.inf:
                    weight[r] += math.exp(-0.5 * (away - true))


@dataclass(frozen=True)
class Matching:
    """Scales the adversary recomputed.

    Attributes
    ----------
    candidates : (N, n), scale of each candidate as they compute it.
    truth : (M, n), scale they compute for each row's true record; any value in rows that are not tried.
    """

    candidates: FloatArray
    truth: FloatArray


@dataclass(frozen=True)
class Linkage:
    """What the attack gives for each row tried.

    Attributes
    ----------
    rows : (R,), the rows tried, ascending.
    rank : (R,), float64 whole numbers.
    posterior : (R,), too large by less than 1e-4 of it; NaN where only ranks were wanted.
    total : rows that could have been tried; more than R where rows were drawn.
    """

    rows: IntArray
    rank: FloatArray
    posterior: FloatArray
    total: int


@dataclass(frozen=True)
class LinkageState:
    """Rows tried so far; used up by its step. In `order` near ones follow each other: they look at the same records."""

    densities: Densities
    truth: FloatArray
    included: BoolArray
    centre: FloatArray
    scale: FloatArray
    rows: IntArray
    order: IntArray
    total: int
    candidates: FloatArray
    columns: FloatArray
    tree: Blocks
    sizes: IntArray
    threads: int
    posteriors: bool = True
    tried: int = 0
    rank: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    posterior: FloatArray = field(default_factory=lambda: np.zeros(0))


def init(
    densities: Densities,
    truth: FloatArray,
    candidates: FloatArray,
    rng: np.random.Generator,
    *,
    included: BoolArray | None = None,
    rows: IntArray | None = None,
    matching: Matching | None = None,
    most: int = 100_000,
    threads: int = 1,
    posteriors: bool = True,
) -> LinkageState:
    """Prepare an attack.

    Parameters
    ----------
    densities : what the release contains, M rows.
    truth : (M, n), t; any value in rows that are not tried.
    candidates : (N, n), what the adversary knows.
    rng : draws the rows to try where there are more than `most`.
    included : (M,), whether t_r is among the candidates, with the same values; None: all are.
    rows : rows to try (those whose record they know); None: all.
    matching : scales they recomputed, or None: by fit alone.
    most : rows tried at most.
    threads : used by a step; the result does not depend on them.
    posteriors : whether these are made; without them a row looks only at candidates that fit it as well as its own.

    Raises
    ------
    ValueError
        Shapes disagree, or there is no row to try.
    """
    check_densities(densities)
    if truth.shape != densities.z.shape or candidates.ndim != 2 or candidates.shape[1:] != truth.shape[1:]:
        msg = f"rows {densities.z.shape} need true records alike and candidates, got {truth.shape}, {candidates.shape}"
        raise ValueError(msg)
    tried = np.arange(len(truth)) if rows is None else np.unique(rows)
    if not len(tried) or not len(candidates):
        msg = "there is no row to try, or no candidate"
        raise ValueError(msg)
    total = len(tried)
    if total > most:
        tried = np.sort(rng.choice(tried, most, replace=False))
    known, own, centre, scale = candidates, truth, densities.z, densities.scale
    if matching is not None:
        tau, known_features, own_features, seen = _features(densities, matching, tried)
        known, own = np.hstack([known, known_features]), np.hstack([own, own_features])
        centre, scale = np.hstack([centre, seen]), np.hstack([scale, np.broadcast_to(tau, seen.shape)])
    typical = np.median(densities.reach[tried], axis=0)
    spread = np.concatenate([np.where(typical > 0.0, typical, densities.unit), scale[0, truth.shape[1] :]])
    tree = blocks(known, spread, _BLOCK)
    return LinkageState(
        densities=densities,
        truth=np.ascontiguousarray(own),
        included=np.ones(len(truth), dtype=np.bool_) if included is None else included,
        centre=np.ascontiguousarray(centre),
        scale=np.ascontiguousarray(scale),
        rows=tried.astype(np.int64),
        order=blocks(centre[tried], spread, _BLOCK).order,
        total=total,
        candidates=np.ascontiguousarray(known[tree.order]),
        columns=np.ascontiguousarray(known[tree.order].T),
        tree=tree,
        sizes=tree.sizes,
        threads=threads,
        posteriors=posteriors,
        rank=np.zeros(len(tried), dtype=np.int64),
        posterior=np.zeros(len(tried)),
    )


def _features(
    densities: Densities, matching: Matching, tried: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Find tau (h,), log scales of candidates (N, h), of true records (M, h) and as published (M, h)."""
    known, own, seen = (
        np.log(np.maximum(scale, NARROWEST)) for scale in (matching.candidates, matching.truth, densities.scale)
    )
    beside = [logs - logs[:, :1] for logs in (known, own[tried], seen[tried])]
    if all(np.ptp(part, axis=0).max() < _EXACT for part in beside):  # one scale a record, in several units
        known, own, seen = known[:, :1], own[:, :1], seen[:, :1]
    tau = np.median(np.abs(own[tried] - seen[tried]), axis=0) / 0.6745  # the median of |normal|
    return np.maximum(tau, _EXACT), known, own, seen


def step(state: LinkageState, *, rows: int = STEP_ROWS) -> LinkageState:
    """Try some rows.

    Parameters
    ----------
    state : from `init` or `step`; used up.
    rows : how many.
    """
    last = min(state.tried + rows, len(state.rows))
    edges = state.tried + np.arange(_PARTS + 1) * (last - state.tried) // _PARTS
    held = state.densities
    passed, weight = np.zeros(len(state.rows)), state.posterior

    def part(span: slice) -> None:
        tried = state.rows[state.order[span]]
        axes = np.empty((0, 0, 0)) if held.axes is None else np.ascontiguousarray(held.axes[tried])
        rank_rows(
            state.truth[tried],
            state.centre[tried],
            state.scale[tried],
            axes,
            held.unit,
            held.model == "gaussian",
            _NEGLECT if state.posteriors else np.inf,
            state.candidates,
            state.columns,
            state.tree.start,
            state.sizes,
            state.tree.low,
            state.tree.high,
            state.rank[span],
            weight[span],
            passed[span],
        )

    with ThreadPoolExecutor(max_workers=max(state.threads, 1)) as pool:
        list(pool.map(part, [slice(int(a), int(b)) for a, b in pairwise(edges) if a < b]))
    return replace(state, tried=last)


def done(state: LinkageState) -> bool:
    """Whether all rows were tried."""
    return state.tried == len(state.rows)


def progress(state: LinkageState) -> float:
    """Share of the rows tried."""
    return state.tried / len(state.rows)


def result(state: LinkageState) -> Linkage:
    """Ranks and posteriors.

    Raises
    ------
    ValueError
        Rows are left to try.
    """
    if not done(state):
        msg = "the attack is not finished: step until done"
        raise ValueError(msg)
    missing = ~state.included[state.rows]
    rank, weight = np.empty_like(state.rank), np.full(len(state.rows), np.nan)
    rank[state.order] = state.rank
    rank += missing
    if state.posteriors:
        weight[state.order] = state.posterior
    posterior = 1.0 / np.maximum(weight + missing, 1.0)  # eq. 3, the true record's own weight is 1
    return Linkage(state.rows, rank.astype(np.float64), posterior, state.total)


def attack(state: LinkageState) -> Linkage:
    """All steps at once, for benchmarks and tests."""
    while not done(state):
        state = step(state)
    return result(state)
