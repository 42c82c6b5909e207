"""t-closeness of boxes: the distribution of a sensitive column in a box is within t of that of all records (kernel).

Definition. A class is t-close if the earth mover's distance between the distribution of a sensitive column in it and
in the whole table is at most t (Li, Li, Venkatasubramanian 2007).

Derivation. With P the shares of a box and Q those of all records, over m values:
- values without order, ground distance 1 between any two: the work is the mass that moves, D = 1/2 sum_v |p_v - q_v|. A
  missing value is one more value.
- ranks, ground distance |u - v| / (m - 1): what moves from the first v values to the others is the difference of the
  cumulated shares, D = 1/(m - 1) sum_v |sum_{u <= v} (p_u - q_u)|, over the records with a value.
t is not closed downward: a larger side may be farther. Candidates are counted one by one.

Notation
--------
tally : (m + 1,), records of the set with each value, those where it is missing first.  size, known : all of them, and
    those with a value.  overall : (m + 1,), shares of all records (of ranks: of those with a value).
ranks : values of a column of ranks, 0 of another one.

science.md section 5, "Cuts". N. Li, T. Li, S. Venkatasubramanian, t-closeness: privacy beyond k-anonymity and
l-diversity, ICDE 2007.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import FloatArray, IndexArray, IntArray

_ROUNDING = 1e-12


@inner_kernel
def is_close(tally: IntArray, size: int, known: int, overall: FloatArray, ranks: int, t: float) -> bool:
    """Whether a set of records is within t of all of them."""
    distance, cumulated = 0.0, 0.0
    ordered = ranks > 0
    of = known if ordered else size
    last = ranks + 1 if ordered else len(overall)
    for v in range(1 if ordered else 0, last):
        difference = tally[v] / of - overall[v] if of > 0 else 0.0
        cumulated += difference
        distance += abs(cumulated) if ordered else 0.5 * abs(difference)
    if ordered:
        distance /= max(last - 2, 1)
    return bool(distance <= t + _ROUNDING)


def overall_shares(columns: list[IndexArray], ranked: list[bool]) -> FloatArray:
    """(c, m + 1), shares of the values of each column over all records; of ranks over those with a value."""
    overall = np.zeros((len(columns), max((int(c.max(initial=-1)) + 2 for c in columns), default=1)))
    for row, (column, ranks) in enumerate(zip(columns, ranked, strict=True)):
        taken = column[column >= 0] if ranks else column
        overall[row] = np.bincount(taken + 1, minlength=overall.shape[1]) / max(len(taken), 1)
    return overall
