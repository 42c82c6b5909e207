"""Agreement of rows that share a value in one column, against chance: whose rows they may be.

Notation
--------
N rows; c : (N,) codes of a column from 0 on, without gaps; y : (N,) codes of another one, likewise.
s : rows of a value of c; w_s : share of the rows of values with s >= 2 rows that are of values with s of them.
p_v : share of value v of y among all rows.
constant : share of the rows (of values with s >= 2) whose value of c has one value of y;
    by chance sum_s w_s sum_v p_v^s.
different : share of them whose value of c has no value of y twice;
    by chance sum_s w_s exp(-s (s - 1)/2 sum_v p_v^2).

What is so of a person is constant: sex, the year of birth. What numbers the rows of a person is different: a visit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surebox_core.types import FloatArray, IntArray


@dataclass(frozen=True)
class Repetition:
    """Columns against one whose values have several rows each.

    Attributes
    ----------
    constant, different : (d,), as in the Notation.
    constant_by_chance, different_by_chance : (d,), what they would be.
    """

    constant: FloatArray
    constant_by_chance: FloatArray
    different: FloatArray
    different_by_chance: FloatArray


def repetition(of: IntArray, others: Sequence[IntArray]) -> Repetition:
    """Measure what rows that agree in a column have in common in others.

    Parameters
    ----------
    of : c.
    others : y of each other column.

    Returns
    -------
    Repetition
        All 0 where no value has two rows. O(d N log N).
    """
    size = np.bincount(of)
    several = size >= 2
    rows = int(size[several].sum())
    if not rows:
        return Repetition(*np.zeros((4, len(others))))
    sizes, number = np.unique(size[several], return_counts=True)
    weight = sizes * number / rows
    measured = np.empty((4, len(others)))
    for place, other in enumerate(others):
        counts = np.bincount(other)
        held = np.bincount(np.unique(of * len(counts) + other) // len(counts), minlength=len(size))
        count, values = np.unique(counts, return_counts=True)  # few: many values are equally frequent
        shares = count / len(other)
        equal = float(values @ shares**2)
        measured[:, place] = (
            size[several & (held == 1)].sum() / rows,
            weight @ (shares[None, :] ** sizes[:, None] @ values),
            size[several & (held == size)].sum() / rows,
            weight @ np.exp(-0.5 * sizes * (sizes - 1) * equal),
        )
    return Repetition(*measured)


def some_values(of: IntArray, most: int) -> IntArray:
    """Return all rows of some values of a column, about `most` in all; which ones follows from the values."""
    size = np.bincount(of)
    step = max(1, -(-len(of) // most))
    taken = np.zeros(len(size), dtype=np.bool_)
    taken[np.flatnonzero(size >= 2)[::step]] = True
    return np.flatnonzero(taken[of])
