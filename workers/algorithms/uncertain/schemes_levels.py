"""Scales on a fixed ladder, anonymity counted among the records of the same rung.

Notation
--------
s_l : rungs of the ladder, ten to a decade, the same for all data.
sigma_i : scale that record i would need among all records, see `calibration_kernels`.
core of a set at s : its largest part in which every record has k in expectation at scale s, counted inside the part.

What a scale tells whoever knows the original is the rung, and on it k records fit in expectation: the guarantee of one
scale in each spatial cell, but records of like density share a rung wherever they lie, and neighbours mostly do.

The union of two parts that satisfy each other's definition satisfies it, so a core is unique, and leaving out who has
too little until nobody has finds it. From the lowest rung upward each takes the core of what is left, if that is at
least half of it (many thin rungs leave each other hollow). Of what stays above the last rung the rarest are dismissed,
where that is allowed; the others share the smallest scale that does.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from workers.algorithms.core.types import FloatArray, IntArray
from workers.algorithms.uncertain.calibration_journal import Found, remembered
from workers.algorithms.uncertain.calibration_kernels import SAFE
from workers.algorithms.uncertain.calibration_solver import Question
from workers.algorithms.uncertain.calibration_state import Request
from workers.algorithms.uncertain.schemes_rare import (
    asking,
    dismissed_number,
    grown,
    refuse_unreached,
    smallest_common,
)

_RUNGS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)
_SHARE = 0.5


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


def ladder(least: float, largest: float) -> list[float]:
    """Rungs from the last one below `least` to the first one above `largest`; both positive."""
    first, last = int(np.floor(np.log10(least))) - 1, int(np.ceil(np.log10(largest))) + 1
    rungs = [float(f"{rung}e{decade}") for decade in range(first, last + 1) for rung in _RUNGS]
    lower = max((i for i, rung in enumerate(rungs) if rung < least), default=0)
    upper = min((i for i, rung in enumerate(rungs) if rung >= largest), default=len(rungs) - 1)
    return rungs[lower : upper + 1]


def core(
    y: FloatArray, k: FloatArray, members: IntArray, scale: float, least: float, request: Request
) -> Generator[float, None, Rung]:
    """The core of some records at a scale; given up (empty) when fewer than `least` are left."""
    found = yield from remembered(request.journal, "core", _core(y, k, members, scale, least, request))
    return Rung(found["members"], scale, found["anonymity"])


def _core(
    y: FloatArray, k: FloatArray, members: IntArray, scale: float, least: float, request: Request
) -> Generator[float, None, Found]:
    while len(members) >= max(least, 1.0):
        tree = yield from grown(y[members])
        need = k[members][tree.order]
        rows = np.arange(len(members))
        tried = yield from asking(tree, Question(rows, need, np.full(len(members), scale), early=True), request)
        fits = np.empty(len(members), dtype=np.bool_)
        fits[tree.order] = tried.anonymity >= need * SAFE
        if fits.all():
            anonymity = np.empty(len(members))
            anonymity[tree.order] = tried.anonymity
            return {"members": members, "anonymity": anonymity}
        members = members[fits]
    return {"members": members[:0], "anonymity": np.empty(0)}


def rungs(y: FloatArray, k: FloatArray, request: Request) -> Generator[float, None, tuple[list[Rung], float]]:
    """Assign records to rungs; who is on none is dismissed. Also what the computed anonymity may lack.

    Raises
    ------
    UnreachableKError
        A record reaches k at no scale.
    """
    tree = yield from grown(y)
    solved = yield from asking(tree, Question(np.arange(len(y)), k[tree.order]), request)
    refuse_unreached(solved, k[tree.order], len(y))
    sigma = np.empty(len(y))
    sigma[tree.order] = solved.scale
    allowed = dismissed_number(len(y), request.dismiss, float(k.max()))
    fewest = int(np.ceil(k.max()))
    found: list[Rung] = []
    left = np.arange(len(y))
    positive = sigma[sigma > 0.0]
    steps = (
        ladder(max(float(np.quantile(positive, 0.1)), request.minimum_scale), float(positive.max()))
        if len(positive)
        else []
    )
    for scale in steps:
        if scale < request.minimum_scale or _over(len(left), allowed, fewest):
            continue
        inside = left[sigma[left] <= scale]
        rung = yield from core(y, k, inside, scale, _SHARE * len(left), request)
        if len(rung.members):
            found.append(rung)
            left = np.setdiff1d(left, rung.members, assume_unique=True)
    missing = float(solved.missing.max())
    if not _over(len(left), allowed, fewest):
        left = _without_rarest(y, left, sigma, allowed)
        last = yield from _last(y, k, found, left, sigma, request)
        found.append(last)
    return found, missing


def _over(left: int, allowed: int, fewest: int) -> bool:
    """Whether what is left may be dismissed: nobody, or at least k and no more than asked."""
    return left == 0 or fewest <= left <= allowed


def _without_rarest(y: FloatArray, left: IntArray, sigma: FloatArray, allowed: int) -> IntArray:
    """Who stays when those that need most are dismissed; among equal ones those with the larger values go first."""
    if not 0 < allowed < len(left):
        return left
    order = np.lexsort((*y[left].T[::-1], sigma[left]))
    return np.sort(left[order[: len(left) - allowed]])


def _last(
    y: FloatArray, k: FloatArray, found: list[Rung], left: IntArray, sigma: FloatArray, request: Request
) -> Generator[float, None, Rung]:
    """The rung of those who are left, with as many rungs below it as they need to reach k at a scale like theirs."""
    members = left
    while found and len(members) < 8 * k.max():
        members = np.sort(np.concatenate([members, found.pop().members]))
    tree = yield from grown(y[members])
    shared = yield from smallest_common(tree, k[members][tree.order], sigma[members][tree.order], request)
    anonymity = np.empty(len(members))
    anonymity[tree.order] = shared.anonymity
    return Rung(members, shared.scale, anonymity)
