"""The published part of the design weights of a box: an interval that contains their sum, as one of their mean.

Notation
--------
v_r > 0 : design weights.  S = sum of v_r over a box of c records.  L : the largest sum of one person's in it.
u_0, u : in [0, 1), functions of the column's secret alone, and of it and the box.
omega = 2^(e + u_0), e whole, L/2 < omega <= L; of whole weights rounded up, at least 2.

An exact mean gives the last weight away to an adversary who knows the others, and two releases subtract. So the sums
are divided at (u + i) omega, and the cell that contains S is published. omega is on a ladder of factors of two whose
rungs are secret: an adversary who knows all weights of a box but one person's has that one to an interval as long as
half the largest of the box, or longer, and of the ladder no more than which factor of two the largest is in. The same
box has the same interval in every release; other boxes of the same data have others, so that intervals are published
for one of them (docs/reference/boxes-options.md).
"""

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF
from surebox_core.types import FloatArray, IndexArray
from workers.algorithms.boxes.content import digests, offsets
from workers.algorithms.boxes.partition.places import KeyArray
from workers.algorithms.boxes.sides import Boxes

_RUNGS = b"rungs"
_LEAST = 2.0**-60  # of omega: sums are above 0


def weight_intervals(
    survey: FloatArray, boxes: Boxes, key: KeyArray, persons: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Intervals of the mean weights of all boxes.

    Parameters
    ----------
    survey : (N,), v, above 0.
    boxes : theirs, as published.
    key : (8,), the secret of the column of weights.
    persons : (N,) whose record each is, numbered; empty where each is another's.

    Returns
    -------
    tuple
        Both ends, (B,), above 0.

    Notes
    -----
    science.md section 5, "Weights of a survey". O(N log N).
    """
    counts = boxes.counts.astype(np.float64)
    total = np.bincount(boxes.box, weights=survey)
    largest = _largest(survey, boxes, persons)
    (rung,) = offsets(key, [_RUNGS])
    share = offsets(key, digests(boxes))
    omega = np.exp2(np.floor(np.log2(largest) - rung) + rung)
    omega = np.where(omega > largest, 0.5 * omega, omega)  # of a logarithm that was rounded up
    if (survey == np.rint(survey)).all():
        omega = np.maximum(np.ceil(omega), 2.0)
        start = np.floor(share * omega)
        first = start + np.floor((np.rint(total) - start) / omega) * omega
        low, high = np.maximum(first, counts), first + omega - 1.0
        return _quotient(low, counts, -np.inf), _quotient(high, counts, np.inf)
    first = (share + np.floor(total / omega - share)) * omega
    error = (counts + 16.0) * UNIT_ROUNDOFF * (total + omega)
    lower = np.maximum(first - error, _LEAST * omega)
    return lower / counts, (first + omega + error) / counts


def _quotient(sums: FloatArray, counts: FloatArray, towards: float) -> FloatArray:
    """Sums by counts, rounded outward where a mean is no float."""
    mean = sums / counts
    return np.where(np.fmod(sums, counts) == 0.0, mean, np.nextafter(mean, towards))


def _largest(survey: FloatArray, boxes: Boxes, persons: IndexArray) -> FloatArray:
    """(B,), the largest sum of the weights of one person's records in each box."""
    largest = np.zeros(len(boxes.counts))
    if not len(persons):
        np.maximum.at(largest, boxes.box, survey)
        return largest
    many = int(persons.max()) + 1
    pairs, which = np.unique(boxes.box.astype(np.int64) * many + persons, return_inverse=True)
    np.maximum.at(largest, pairs // many, np.bincount(which, weights=survey))
    return largest
