"""Two integer programs: who leaves a masked place, and which of several ways to leave each place takes.

Source: science.md section 7, "Many rules fit the core".

Notation
--------
==========  =========  ====================================================================================
symbol      shape      meaning
==========  =========  ====================================================================================
x_i         (m,)       whether record i of the place leaves
c_i         (m,)       what that costs: InfM to its nearest partners
W           (B, m)     what each record adds to each count (`signals.families`)
n, t        (B,)       counts of the place as it is, and those that an ordinary place has
a_r, b_r    (C, m)     rows of what must leave at the least: a_r x >= b_r
d+, d-      (B,)       how far counts end above and below t
y_po        0 or 1     whether place p takes option o
s_k         scalar     by how many standard deviations statistic k leaves its interval
==========  =========  ====================================================================================

A place: minimise sum c_i x_i + pull * sum (d+ + d-) subject to n - W x = t + d+ - d- and the rows. Families of sets are
nested each but not in each other, so this is no flow. Places meet in their partners only, of whom there are many more
than are needed: the flow pairs those who leave afterwards (`swaps.assignment`).

The choice: minimise sum cost_po y_po + weight * sum s_k, one option a place, every statistic sum stat_kpo y_po within
its interval up to s_k standard deviations. Rank sums are sums over places, so are AUCs.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_array, csr_array, eye_array, hstack, kron

from surebox_core.types import BoolArray, FloatArray, IntArray

#: Limits of one program: that of nodes ends it at the same place on every machine, the other one is for the worst.
_NODES: Final = 2_000
_SECONDS: Final = 10.0
_GAP: Final = 5e-3
_SLACK: Final = 1e-7


@dataclass(frozen=True)
class Leaving:
    """The demands on one place; see the notation.

    Attributes
    ----------
    weights, counts, target : W, n, t.
    rows, least : a, b, at least one. All records leaving must meet them.
    cost : c.
    """

    weights: FloatArray
    counts: FloatArray
    target: FloatArray
    rows: FloatArray
    least: FloatArray
    cost: FloatArray


def leaving(problem: Leaving, pull: float) -> BoolArray:
    """(m,), who leaves a place.

    Parameters
    ----------
    problem : the place.
    pull : what a difference of 1 from a count of the target costs, at least 0.

    Notes
    -----
    Within 0.5 % of the optimum unless a limit ends the search; where a limit leaves no solution, all leave: that meets
    every row.
    """
    same, first, of, alike = np.unique(
        problem.weights, axis=0, return_index=True, return_inverse=True, return_counts=True
    )  # counts that are one here differ elsewhere
    counts, records = same.shape
    target = np.bincount(of.ravel(), weights=problem.target) / alike
    gaps = hstack([eye_array(counts), -eye_array(counts)])
    matrix = block_array([[csr_array(problem.rows), None], [csr_array(same), gaps]])
    goal = problem.counts[first] - target  # W x + d+ - d- = n - t
    solution = milp(
        np.concatenate([problem.cost, pull * alike, pull * alike]),
        integrality=np.concatenate([np.ones(records), np.zeros(2 * counts)]),
        bounds=Bounds(0.0, np.concatenate([np.ones(records), np.full(2 * counts, np.inf)])),
        constraints=LinearConstraint(
            matrix.tocsr(),
            np.concatenate([problem.least - _SLACK, goal]),
            np.concatenate([np.full(len(problem.rows), np.inf), goal]),
        ),
        options={"mip_rel_gap": _GAP, "node_limit": _NODES, "time_limit": _SECONDS},
    )
    if solution.x is None:
        return np.ones(records, dtype=np.bool_)
    return np.asarray(solution.x[:records] > 0.5)


@dataclass(frozen=True)
class Choice:
    """Ways to leave each of M places, of which each takes one.

    Attributes
    ----------
    cost : (M, O), of every option.
    statistics : (K, M, O), what every option adds to every statistic.
    lowest, highest : (K,), the interval of each.
    scale : (K,), its standard deviation, above 0.
    """

    cost: FloatArray
    statistics: FloatArray
    lowest: FloatArray
    highest: FloatArray
    scale: FloatArray


def chosen(choice: Choice, weight: float) -> IntArray:
    """(M,), the option that each place takes; `weight` is what a standard deviation outside of an interval costs.

    Where a limit leaves no solution: the cheapest option of each.
    """
    places, options = choice.cost.shape
    statistics = len(choice.statistics)
    flat = csr_array(choice.statistics.reshape(statistics, -1) / choice.scale[:, None])
    one_each = kron(eye_array(places), np.ones((1, options)), format="csr")
    slack = eye_array(statistics, format="csr")
    matrix = block_array([[one_each, None, None], [flat, slack, None], [flat, None, -slack]])
    binary, infinite = np.ones(places * options), np.full(statistics, np.inf)
    solution = milp(
        np.concatenate([choice.cost.ravel(), np.full(2 * statistics, weight)]),
        integrality=np.concatenate([binary, np.zeros(2 * statistics)]),
        bounds=Bounds(0.0, np.concatenate([binary, infinite, infinite])),
        constraints=LinearConstraint(
            matrix.tocsr(),
            np.concatenate([np.ones(places), choice.lowest / choice.scale, -infinite]),
            np.concatenate([np.ones(places), infinite, choice.highest / choice.scale]),
        ),
        options={"mip_rel_gap": _GAP, "node_limit": _NODES, "time_limit": _SECONDS},
    )
    taken = -choice.cost if solution.x is None else solution.x[: places * options].reshape(places, options)
    return np.asarray(taken.argmax(axis=1), dtype=np.int64)
