"""An integer program: who leaves a masked place.

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
==========  =========  ====================================================================================

A place: minimise sum c_i x_i + pull * sum (d+ + d-) subject to n - W x = t + d+ - d- and the rows. Families of sets are
nested each but not in each other, so this is no flow. Places meet in their partners only, of whom there are many more
than are needed: the flow pairs those who leave afterwards (`swaps.assignment`).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_array, csr_array, eye_array, hstack

from surebox_core.types import BoolArray, FloatArray

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
