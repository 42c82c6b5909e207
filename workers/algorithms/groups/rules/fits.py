"""How many rules each record fits, and how confident the most confident of them is.

Source: science.md section 7, "Many rules fit the core".

Notation
--------
==========  ======  ======================================================================================
symbol      shape   meaning
==========  ======  ======================================================================================
rules       (R, V)  in order of confidence, the most confident first
APC_r       (N,)    product of the grades of rule r's terms
grade       (N,)    max over r of APC_r, 0 below `lowest`
number      (N,)    how many rules have APC_r >= alpha
first       (N,)    the least r with APC_r >= alpha; R where there is none
==========  ======  ======================================================================================

A group's core fits many rules and the most confident ones. Sets by `number` and by `first` are nested, like those by
`grade`, but not in each other.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray, IndexArray, IntArray
from workers.algorithms.groups.rules import patterns as pattern
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.rules import Rules, check_rules, coded


@dataclass(frozen=True)
class Fits:
    """What some rules state about N records; see the notation.

    Attributes
    ----------
    grade : (N,) float64.
    number, first : (N,) int64.
    rules : R.
    """

    grade: FloatArray
    number: IntArray
    first: IntArray
    rules: int


def confidence_order(factors: FloatArray) -> IntArray:
    """Places of rules by falling relative confidence factor, infinite ones first; equals as they are."""
    return np.argsort(-factors, kind="stable").astype(np.int64)


def fits(
    data: Fuzzified, rules: Rules, alpha: float, lowest: float, *, start: int = 0, stop: int | None = None
) -> Fits:
    """How records fit rules.

    Parameters
    ----------
    data : N records.
    rules : (R, V) int8, the most confident first.
    alpha : least product with which a rule counts, in (0, 1].
    lowest : grades below are 0; at most alpha.
    start, stop : records requested, all by default.

    Raises
    ------
    ValueError
        Rules or alphas that are none, or `lowest` above alpha.

    Notes
    -----
    O(N R V), most products abandoned early.
    """
    checked = check_rules(rules, data)
    pattern.check_alpha(alpha)
    pattern.check_alpha(lowest)
    if lowest > alpha:
        raise ValueError(f"lowest must not exceed alpha, got {lowest} and {alpha}")
    stop = data.records if stop is None else stop
    length = max(0, stop - start)
    out = Fits(np.zeros(length), np.zeros(length, np.int64), np.full(length, len(checked), np.int64), len(checked))
    for begin, end, codes, table in coded(data, lowest, start, stop):
        part = slice(begin - start, end - start)
        _count(checked, codes, table, alpha, lowest, out.grade[part], out.number[part], out.first[part])
    return out


@kernel
def _count(
    rules: Rules,
    codes: IndexArray,
    table: FloatArray,
    alpha: float,
    lowest: float,
    grade: FloatArray,
    number: IntArray,
    first: IntArray,
) -> None:
    """Every rule of every record; a product is abandoned once it neither counts nor raises the grade."""
    for p in range(len(grade)):
        best = 0.0
        count = 0
        for r in range(len(rules)):
            product = 1.0
            for v in range(rules.shape[1]):
                if rules[r, v] != 0:
                    product *= table[rules[r, v], codes[v, p]]
                    if product < lowest or (product < alpha and product <= best):
                        product = 0.0
                        break
            best = max(best, product)
            if product >= alpha and product > 0.0:
                if count == 0:
                    first[p] = r
                count += 1
        grade[p] = best
        number[p] = count
