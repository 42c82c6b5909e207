"""How many records of an overlay group fit the noisy rows of one of them. Notation as in tables.composition."""

import math

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import BoolArray, FloatArray, IntArray


@kernel
def expected_fitting(  # noqa: C901
    values: FloatArray,
    scale: FloatArray,
    uniform: BoolArray,
    sample: IntArray,
    order: IntArray,
    start: IntArray,
    end: IntArray,
) -> FloatArray:
    """A(i) of the records asked for (AG eqs. 8 and 15, several releases multiplied).

    Parameters
    ----------
    values, scale : (N, m), the columns of all uncertain releases side by side; NaN: not in that release.
    uniform : (m,), whether a column's densities are uniform.
    sample : (q,) records.
    order : (N,) records sorted by group.
    start, end : (q,) where the group of each such record lies in `order`.

    Returns
    -------
    (q,) expected numbers, each at least 1; O(sum of the groups' sizes times m).
    """
    expected = np.zeros(len(sample))
    for q in range(len(sample)):
        i = sample[q]
        for position in range(start[q], end[q]):
            j = order[position]
            square, overlap = 0.0, 1.0
            for c in range(values.shape[1]):
                if math.isnan(scale[i, c]):
                    continue
                away = abs(values[i, c] - values[j, c])
                if math.isnan(away):
                    overlap = 0.0
                elif away == 0.0:
                    continue
                elif scale[i, c] == 0.0:
                    overlap = 0.0
                elif uniform[c]:
                    overlap *= max(1.0 - away / scale[i, c], 0.0)
                else:
                    square += (away / scale[i, c]) ** 2
                if overlap == 0.0:
                    break
            if i == j:
                expected[q] += 1.0
            elif square == 0.0:  # equal in all gaussian columns: it fits them as well
                expected[q] += overlap
            else:
                expected[q] += overlap * 0.5 * math.erfc(math.sqrt(square) / (2.0 * math.sqrt(2.0)))
    return expected
