"""Nested sets of records by how well they fit the rules, and how many of each a place may keep.

Source: science.md section 7, "Swaps that withstand the profile of the rules".

Notation
--------
==========  ======  =====================================================================================
symbol      shape   meaning
==========  ======  =====================================================================================
a_k         (K,)    alphas, falling: the sets {grade >= a_k} are nested, the first one is the smallest
band        (N,)    the smallest of these sets that a record is in; K where it is in none
n_kp        (K, P)  records of set k in submicrofile p
b_kp        (K, P)  the most that may stay; -1 where nothing is requested
f_kp        (K, P)  the least that should stay; 0 where nothing is requested
m_kp        (K, P)  records of set k that must leave: max over j <= k of max(0, n_jp - b_jp)
==========  ======  =====================================================================================

Whoever leaves from a smaller set leaves the larger ones too, so m grows with k and m_Kp records suffice: fewer would
break the bound that the maximum comes from, and of more some can stay. The sets are laminar; at least m_k of those who
leave are from set k and at most max(m_k, n_k - f_k), and the cheapest choice is a flow (`assignment`). Without f the
cheapest choice may empty a small set for the sake of a large one, and leave those who almost fit.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Levels:
    """What the records are to the rules, and the request beyond the restrictions.

    Attributes
    ----------
    band : (N,) int64.
    bounds, floors : (K, P) int64.
    at : which of the sets is the fuzzy group itself: restrictions speak of that one.
    """

    band: IntArray
    bounds: IntArray
    floors: IntArray
    at: int


def bands(grades: FloatArray, alphas: FloatArray) -> IntArray:
    """The smallest set that each record is in, (N,) int64.

    Parameters
    ----------
    grades : (N,), in [0, 1]; a grade of 0 is in no set.
    alphas : (K,), falling, above 0.

    Raises
    ------
    ValueError
        The alphas do not fall, or one is not above 0.
    """
    if not len(alphas) or np.any(np.diff(alphas) >= 0.0) or alphas[-1] <= 0.0:
        raise ValueError("alphas must fall and be above 0")
    return np.asarray(len(alphas) - np.searchsorted(alphas[::-1], grades, side="right"), dtype=np.int64)


def plain(member: BoolArray, groups: int) -> Levels:
    """One set, the fuzzy group, and nothing requested but the restrictions: the paper's letter."""
    nothing = np.zeros((1, groups), dtype=np.int64)
    return Levels(np.where(member, 0, 1).astype(np.int64), nothing - 1, nothing, 0)


def level_counts(code: IntArray, band: IntArray, sets: int, groups: int) -> IntArray:
    """n_kp of some records, (K, P) int64; records of band K are in no set. O(N + K P)."""
    cells = np.bincount(band * groups + code, minlength=(sets + 1) * groups)
    return np.cumsum(cells.reshape(sets + 1, groups)[:sets], axis=0)


def least_leaving(counts: IntArray, bounds: IntArray) -> IntArray:
    """m_kp, (K, P) int64."""
    lack = np.where(bounds >= 0, np.maximum(counts - bounds, 0), 0)
    return np.asarray(np.maximum.accumulate(lack, axis=0))


def most_leaving(counts: IntArray, floors: IntArray, least: IntArray) -> IntArray:
    """The most that should leave each set, (K, P) int64; `least` goes before."""
    return np.asarray(np.maximum(least, counts - floors))
