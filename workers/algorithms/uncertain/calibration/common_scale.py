"""A common scale that is no one's doing: the rung of all is one that k or more records need.

Notation
--------
c : the common scale, a rung of the ladder; c- the rung below.  k : the largest that is wanted.
Who needs c : the kept records that are not in the core of all kept ones at c-.

An adversary who knows all records but one computes what the others need. A higher rung is that one's, and
states how far it is (science.md section 3, "Published scales identify records"). Of k or more who need the rung each
could be missing.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from surebox_core.ladder import number_from, rung
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.uncertain.calibration.cores import core
from workers.algorithms.uncertain.calibration.rare import grown
from workers.algorithms.uncertain.calibration.state import CalibrationRequest

_MOST = 0.5  # of the records are left out for this at most


@dataclass(frozen=True)
class Agreed:
    """Records, and a rung on which all of them have k among themselves.

    Attributes
    ----------
    members : places of the records, ascending.
    scale : s, scaled units.
    anonymity : certain lower bounds, in the order of `members`.
    few : whether fewer than k of them need the rung.
    """

    members: IntArray
    scale: float
    anonymity: FloatArray
    few: bool = False


def needed_by_many(
    y: FloatArray, k: FloatArray, lowest: Agreed, request: CalibrationRequest
) -> Generator[float, None, Agreed]:
    """Go down the ladder as long as fewer than k records need the rung, and leave these out.

    Parameters
    ----------
    y : (N, n) all records; some may be left out already.
    k : (N,) wanted.
    lowest : the lowest rung for the members.
    request : where no record may be suppressed none is, and `few` states it; nor are more than half of all.

    Notes
    -----
    None or at least k are left out in the end: where a step leaves out fewer, the next one follows.
    """
    fewest, agreed = int(np.ceil(k.max())), lowest
    while True:
        gone = len(y) - len(agreed.members)
        complete = gone == 0 or gone >= fewest
        agreed = _of_equals(y, k, agreed, request)
        if agreed.scale == 0.0 or (below := rung(number_from(agreed.scale) - 1)) < request.min_scale:
            return agreed if complete else replace(lowest, few=True)
        least = len(agreed.members) - fewest + 1 if complete else int(np.ceil(_MOST * len(y)))
        following = yield from _down(y, k, agreed.members, below, least, request)
        if not len(following.members):
            return agreed if complete else replace(lowest, few=True)
        if request.suppress_share == 0.0 or len(following.members) < _MOST * len(y):
            return replace(lowest, few=True)
        agreed = following


def _of_equals(y: FloatArray, k: FloatArray, agreed: Agreed, request: CalibrationRequest) -> Agreed:
    """Scale 0 where every member has k equals among them: no one needs a rung, and the ladder has no lowest."""
    if request.min_scale > 0.0 or agreed.scale == 0.0:
        return agreed
    members = y[agreed.members]
    place = np.zeros(len(members), dtype=np.int64)
    for column in members.T:  # equal in all columns is equal in the first ones: most tables end here
        values, code = np.unique(column, return_inverse=True)
        _, place, number = np.unique(place * len(values) + code, return_inverse=True, return_counts=True)
        equals = number[place].astype(np.float64)
        if (equals < k[agreed.members]).any():
            return agreed
    return replace(agreed, scale=0.0, anonymity=equals)


def _down(
    y: FloatArray, k: FloatArray, members: IntArray, scale: float, least: int, request: CalibrationRequest
) -> Generator[float, None, Agreed]:
    """The core of some records at a scale; empty where it has fewer than `least`."""
    tree = yield from grown(y[members])
    subset = yield from core(tree, k[members][tree.order], scale, least, request)
    places = members[tree.order[subset.rows]]
    order = np.argsort(places)
    return Agreed(places[order], scale, subset.anonymity[order])
