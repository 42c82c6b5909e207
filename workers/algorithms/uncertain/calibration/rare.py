"""The records that need the largest scales: how many may be left out, which they are, what the rest needs in common.

Notation
--------
N : records.  k : (N,), expected anonymity wanted.  sigma_i : smallest scale with A_i >= k_i, see calibration.kernels.
D : records left out (suppressed).  c : common scale.

Departure from AG, science.md section 3, "Published scales identify records": a scale of one's own identifies its record
to whoever knows the original, so all records share c; the rare records that would make it large are left out first
(XF slide 9).
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from surebox_core.ladder import rung_from
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.uncertain.calibration.kernels import SAFE
from workers.algorithms.uncertain.calibration.solver import Question, Solved, solving
from workers.algorithms.uncertain.calibration.state import (
    CalibrationRequest,
    UnreachableKError,
    largest_below,
    supremum,
)
from workers.algorithms.uncertain.density.densities import Model
from workers.algorithms.uncertain.neighbours.tree import Tree, growing

_SAMPLE = 2000
_FIRST = 256


def identity(columns: int) -> FloatArray:
    """Metric that leaves scaled units as they are."""
    return np.ones((1, columns))


def grown(y: FloatArray, smallest: int | None = None) -> Generator[float, None, Tree]:
    """Build a tree some work at a time."""
    return (yield from growing(y) if smallest is None else growing(y, smallest))


def suppressed_number(records: int, share: float, k: float) -> int:
    """Number of records to leave out: none, or at least k, whichever is nearer to the share.

    A set of fewer than k suppressed records would be one that its number gives away. One record at least stays.
    """
    least = int(np.ceil(k))
    wanted = min(round(share * records), records - 1)
    if share == 0.0 or 2 * wanted < least or least >= records:
        return 0
    return max(wanted, least)


def feasible_k(records: int, share: float, k: float, model: Model = "gaussian") -> float:
    """A k below `k` that can be had (no duplicates), with the suppressed records for it."""

    def bound(candidate: float) -> float:
        return supremum(records - suppressed_number(records, share, candidate), model)

    feasible = k
    while feasible > 1.0 and feasible >= bound(feasible) * (1.0 - 9e-6):
        feasible = min(largest_below(bound(feasible)), feasible * (1.0 - 1e-5))
    return max(feasible, 1.0)


def refuse_unreached(
    solved: Solved, need: FloatArray, records: int, share: float = 0.0, model: Model = "gaussian"
) -> None:
    """Refuse k where a record has no scale for it.

    Parameters
    ----------
    solved, need : scales found, and the k that they were to reach.
    records : N.
    share, model : of the records, those that are suppressed; `largest` can be had among the others.

    Raises
    ------
    UnreachableKError
        With a k that all of these records reach.
    """
    lost = np.isnan(solved.scale)
    if lost.any():
        worst = int(np.argmin(np.where(lost, solved.anonymity, np.inf)))
        bound = largest_below(float(solved.anonymity[worst]))
        required = float(need[worst])
        largest = min(bound, feasible_k(records, share, required, model)) if share else bound
        raise UnreachableKError(required, largest, records)


def asking(tree: Tree, question: Question, request: CalibrationRequest) -> Generator[float, None, Solved]:
    """Answer a question in plain scaled units."""
    return (yield from answers(tree, identity(tree.rows.shape[1]), question, request))


def answers(
    tree: Tree, shape: FloatArray, question: Question, request: CalibrationRequest
) -> Generator[float, None, Solved]:
    """Answer a question in the metrics of `shape`."""
    return (
        yield from solving(
            tree,
            request.model,
            shape,
            question,
            tolerance=request.tolerance,
            threads=request.threads,
            journal=request.journal,
            piece=request.piece,
        )
    )


@dataclass(frozen=True)
class Rare:
    """Scales of all records as far as they matter.

    Attributes
    ----------
    scale : (N,), sigma_i exactly (to the tolerance) where `exact`; elsewhere an upper bound below all exact ones that
        decide.
    exact : (N,) bool.
    missing : (N,), bound of what the anonymity at an exact scale lacks.
    """

    scale: FloatArray
    exact: BoolArray
    missing: FloatArray


def largest_scales(
    tree: Tree, need: FloatArray, request: CalibrationRequest, number: int
) -> Generator[float, None, Rare]:
    """Find the `number` + 1 records with the largest scales, and those scales; the others are only bounded.

    Parameters
    ----------
    need : (N,) k of the rows of the tree.

    Raises
    ------
    UnreachableKError
        A record reaches k at no scale.

    Notes
    -----
    A sample reveals where the largest scales begin. Whoever reaches k there (a look at the nearest neighbours nearly
    always proves it) needs no scale of their own to be found.
    """
    records = len(need)
    scale, missing, exact = np.empty(records), np.zeros(records), np.zeros(records, dtype=np.bool_)

    def solve(rows: IntArray) -> Generator[float, None, None]:
        solved = yield from asking(tree, Question(rows, need[rows]), request)
        refuse_unreached(solved, need[rows], records, request.suppress_share, request.model)
        scale[rows], missing[rows], exact[rows] = solved.scale, solved.missing, True

    sample = np.unique(np.linspace(0, records - 1, min(records, _SAMPLE)).astype(np.int64))
    yield from solve(sample)
    if len(sample) < records:
        share = min(1.5 * (number + 1) / records + 3.0 / len(sample), 1.0)
        bound = float(np.quantile(scale[sample], 1.0 - share))
        others = np.flatnonzero(~exact)
        tried = yield from asking(tree, Question(others, need[others], np.full(len(others), bound), True), request)
        scale[others] = bound
        yield from solve(others[tried.anonymity < need[others] * SAFE])
        if int((scale > bound).sum()) <= number:
            yield from solve(np.flatnonzero(~exact))
    return Rare(scale=scale, exact=exact, missing=missing)


def suppressed_rows(x: FloatArray, rare: Rare, number: int) -> IntArray:
    """Rows that need the largest scales; among equal ones those with the larger values, so that order plays no part.

    Parameters
    ----------
    x : (N, n) records in the order of `rare`.
    """
    if not number:
        return np.empty(0, dtype=np.int64)
    least = np.partition(rare.scale, len(x) - number)[len(x) - number]
    candidates = np.flatnonzero(rare.scale >= least)
    order = np.lexsort((*x[candidates].T[::-1], rare.scale[candidates]))
    return np.sort(candidates[order[-number:]])


@dataclass(frozen=True)
class Shared:
    """A scale for all records of a set, and what it gives them.

    Attributes
    ----------
    scale : a rung of the ladder.
    anonymity : (m,), certain lower bounds.
    missing : what the computed anonymity of the deciding record may lack.
    """

    scale: float
    anonymity: FloatArray
    missing: float


def smallest_common(
    tree: Tree,
    need: FloatArray,
    hint: FloatArray,
    request: CalibrationRequest,
    *,
    suppressed: int = 0,
    share: float = 0.0,
) -> Generator[float, None, Shared]:
    """Lowest rung of the ladder on which every record of a tree reaches k.

    Parameters
    ----------
    need : (m,) k of the tree's rows.
    hint : (m,) scales that reveal who is likely to need most.
    suppressed, share : records suppressed before, and the share that may be: a refusal has a k for all of them.

    Raises
    ------
    UnreachableKError
        A record reaches k at no scale.
    """
    everything = np.arange(len(need))
    first = np.sort(np.argsort(hint, kind="stable")[-_FIRST:])
    solved = yield from asking(tree, Question(first, need[first]), request)
    refuse_unreached(solved, need[first], len(need) + suppressed, share, request.model)
    anonymity, missing = np.empty(len(need)), float(solved.missing[np.argmax(solved.scale)])
    anonymity[first] = solved.anonymity
    needed = float(solved.scale.max())
    common = rung_from(max(needed, request.min_scale))
    others = np.delete(everything, first)
    if len(others):
        tried = yield from asking(tree, Question(others, need[others], np.full(len(others), common), True), request)
        anonymity[others] = tried.anonymity
        short = others[tried.anonymity < need[others] * SAFE]
        solved = yield from asking(tree, Question(short, need[short]), request)
        refuse_unreached(solved, need[short], len(need) + suppressed, share, request.model)
        anonymity[short] = solved.anonymity
        if len(short) and float(solved.scale.max()) > needed:
            needed, missing = float(solved.scale.max()), float(solved.missing[np.argmax(solved.scale)])
            common = rung_from(max(needed, request.min_scale))
    return Shared(scale=common, anonymity=anonymity, missing=missing)
