"""Scales on a fixed ladder, anonymity counted among the records of the same rung.

Notation
--------
s_i : rungs of the ladder, ten to a decade, the same for all data (surebox_core.ladder).
sigma_i : scale that record i would need among all records that are left, see calibration.kernels.
core of a set at s : its largest part in which every record has k in expectation at scale s, counted inside the part.

What a scale reveals to those who know the original is the rung, where k records fit in expectation: the guarantee of
one scale in each spatial cell, but records of like density share a rung wherever they are, and neighbours mostly do.

From the lowest rung upward each takes the core of the rest, if that is at least half of it (many thin rungs leave
each other hollow). Of what stays above the last rung the rarest are suppressed, up to `suppress_share`; the others
share the lowest rung on which all of them have k.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from surebox_core.ladder import number_from, rung
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.uncertain.calibration.cores import core
from workers.algorithms.uncertain.calibration.rare import (
    asking,
    grown,
    refuse_unreached,
    smallest_common,
    suppressed_number,
)
from workers.algorithms.uncertain.calibration.solver import Question
from workers.algorithms.uncertain.calibration.state import CalibrationRequest, supremum
from workers.algorithms.uncertain.neighbours.tree import Tree

_SHARE = 0.5
_SAMPLE = 1000
_DOUBT = 0.05  # a share that a sample shows may be off by this
_WIDE = 20.0  # at so many times the width of a set its records have what they can have, up to a fiftieth


@dataclass(frozen=True)
class Rung:
    """Records that share a scale.

    Attributes
    ----------
    members : places of the records.
    scale : s, scaled units.
    anonymity : certain lower bounds, in the order of `members`.
    """

    members: IntArray
    scale: float
    anonymity: FloatArray


def rungs(y: FloatArray, k: FloatArray, request: CalibrationRequest) -> Generator[float, None, list[Rung]]:
    """Assign records to rungs; those on none are suppressed.

    Raises
    ------
    UnreachableKError
        A record reaches k at no scale.
    """
    tree = yield from grown(y)
    if float(k.max()) >= supremum(len(y), request.model):
        solved = yield from asking(tree, Question(np.arange(len(y)), k[tree.order]), request)
        refuse_unreached(solved, k[tree.order], len(y))
    allowed = suppressed_number(len(y), request.suppress_share, float(k.max()))
    fewest = int(np.ceil(k.max()))
    ladder: list[Rung] = []
    left = np.arange(len(y))
    while not _over(len(left), allowed, fewest):
        among = tree if not ladder else (yield from grown(y[left]))
        least = number_from(ladder[-1].scale) + 1 if ladder else None
        taken = yield from _next(among, k[left][among.order], least, request)
        if taken is None:
            last = yield from _last(y, k, ladder, left, allowed, request)
            ladder.append(last)
            break
        ladder.append(Rung(left[taken.members], taken.scale, taken.anonymity))
        left = np.delete(left, taken.members)
        yield 1.0 - len(left) / len(y)
    return ladder


def _over(left: int, allowed: int, fewest: int) -> bool:
    """Whether the rest may be suppressed: no record, or at least k and no more than allowed."""
    return left == 0 or fewest <= left <= allowed


def _next(
    tree: Tree, need: FloatArray, above: int | None, request: CalibrationRequest
) -> Generator[float, None, Rung | None]:
    """The lowest rung with a core of at least half of a set; None where there is none.

    A core contains no one who needs a larger scale among all of the set: where an even sample states that less than
    half of it need no more than a rung, the rung is passed over.

    Parameters
    ----------
    tree, need : the set, and k of its rows.
    above : number of the lowest rung that is tried; None: whatever the records need.
    """
    size = len(need)
    sample = np.unique(np.linspace(0, size - 1, min(size, _SAMPLE)).astype(np.int64))
    solved = yield from asking(tree, Question(sample, need[sample]), request)
    sigma = np.sort(np.where(np.isnan(solved.scale), np.inf, solved.scale))
    likely = sigma[int(np.ceil((_SHARE - _DOUBT if size > _SAMPLE else _SHARE) * len(sigma))) - 1]
    widest = float(np.sqrt(((tree.box[0, 1] - tree.box[0, 0]) ** 2).sum()))
    if likely == np.inf or sigma[sigma < np.inf].max() == 0.0:
        return None
    if likely == 0.0:  # equal records: the others show where to begin
        likely = float(np.quantile(sigma[(sigma > 0.0) & (sigma < np.inf)], 0.1))
    first = number_from(max(likely, request.min_scale))
    number = first if above is None else max(first, above)
    while True:
        taken = yield from core(tree, need, rung(number), int(np.ceil(_SHARE * size)), request)
        if len(taken.rows):
            order = np.argsort(tree.order[taken.rows])
            return Rung(tree.order[taken.rows][order], rung(number), taken.anonymity[order])
        if rung(number) > _WIDE * widest:
            return None
        number += 1


def _last(
    y: FloatArray, k: FloatArray, ladder: list[Rung], left: IntArray, allowed: int, request: CalibrationRequest
) -> Generator[float, None, Rung]:
    """The rung of those who are left, with as many rungs below it as they need to reach k at a scale like theirs."""
    members = yield from _without_rarest(y, k, left, allowed, request)
    while ladder and len(members) < 8 * k.max():
        members = np.sort(np.concatenate([members, ladder.pop().members]))
    tree = yield from grown(y[members])
    shared = yield from smallest_common(tree, k[members][tree.order], _remote(tree), request)
    anonymity = np.empty(len(members))
    anonymity[tree.order] = shared.anonymity
    return Rung(members, shared.scale, anonymity)


def _remote(tree: Tree) -> FloatArray:
    """Distance from the middle, for each row: a guess at who needs most."""
    return np.asarray(((tree.rows - np.median(tree.rows, axis=0)) ** 2).sum(axis=1))


def _without_rarest(
    y: FloatArray, k: FloatArray, left: IntArray, allowed: int, request: CalibrationRequest
) -> Generator[float, None, IntArray]:
    """Who stays when those that need most are suppressed; among equal ones those with the larger values go first."""
    if not 0 < allowed < len(left):
        return left
    tree = yield from grown(y)
    rows = np.flatnonzero(np.isin(tree.order, left))
    solved = yield from asking(tree, Question(rows, k[tree.order[rows]]), request)
    refuse_unreached(solved, k[tree.order[rows]], len(y))
    places = tree.order[rows]
    order = np.lexsort((*y[places].T[::-1], solved.scale))
    return np.sort(places[order[: len(left) - allowed]])
