"""Rows of several releases that agree in what they keep, record by record. Notation as in tables.candidates."""

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import IntArray


@kernel
def rows_in_common(places: IntArray, start: IntArray, kept: IntArray, rows: IntArray) -> IntArray:
    """Sum over kept values of the least rows among the releases that a record is in.

    Parameters
    ----------
    places : (R, N), negative where a record is not in a release.
    start : (R, .), where the pairs of each place begin, and after the last one where they end.
    kept, rows : kept values, ascending within a place, and how many rows show them there.

    Returns
    -------
    (N,), the largest integer for records in no release.
    """
    sums = np.empty(places.shape[1], np.int64)
    for i in range(places.shape[1]):
        pivot, least = -1, np.iinfo(np.int64).max  # the release that shows the fewest kept values there
        for r in range(places.shape[0]):
            place = places[r, i]
            if place >= 0 and start[r, place + 1] - start[r, place] < least:
                pivot, least = r, start[r, place + 1] - start[r, place]
        if pivot < 0:
            sums[i] = least
            continue
        total = 0
        for pair in range(start[pivot, places[pivot, i]], start[pivot, places[pivot, i] + 1]):
            common = rows[pair]
            for r in range(places.shape[0]):
                place = places[r, i]
                if r == pivot or place < 0:
                    continue
                low, high = start[r, place], start[r, place + 1]
                while low < high:
                    middle = (low + high) // 2
                    if kept[middle] < kept[pair]:
                        low = middle + 1
                    else:
                        high = middle
                there = low < start[r, place + 1] and kept[low] == kept[pair]
                common = min(common, rows[low]) if there else 0
            total += common
        sums[i] = total
    return sums
