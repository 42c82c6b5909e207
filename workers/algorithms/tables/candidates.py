"""Joint candidates: rows that may be one person's in all releases, by the columns kept next to the boxes.

Notation
--------
b_r(i) : place of record i in release r (its box), or ABSENT.
n_r(b, v) : published rows of release r in place b whose kept values, in the columns that all releases keep, are v.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import IntArray

ABSENT: Final = -1
#: Where a record was cannot be determined.
UNPLACED: Final = -2


@dataclass(frozen=True)
class Placed:
    """One release as it places the records of today.

    Attributes
    ----------
    places : (N,), place of each record; ABSENT where it is in none, UNPLACED where that cannot be determined.
    published_place, published_kept, published_rows : (M,) each, M the pairs of place and kept values: how many rows
        were published with it. None together: unknown.
    compared : whether the published data are compared with today's records.
    kept : (T,) and (M,), numbers of kept values that both today's records and the pairs have; None: none are compared.
    """

    places: IntArray
    published_place: IntArray | None = None
    published_kept: IntArray | None = None
    published_rows: IntArray | None = None
    kept: tuple[IntArray, IntArray] | None = None
    compared: bool = True


def joint_candidates(releases: Sequence[Placed], records: IntArray) -> IntArray | None:
    """Published rows that may be a record's in all releases: sum_v min_r n_r(b_r, v) over those that it is in.

    Parameters
    ----------
    releases : all of them.
    records : the records that are queried.

    Returns
    -------
    (number of records,), the largest integer for those in none; None where the published data are not known.

    Notes
    -----
    O(M log M + records * R * V log V), V the different kept values of a place.
    """
    if not releases or any(one.published_rows is None for one in releases):
        return None
    tables = [_sorted(one) for one in releases]
    sizes = np.array([len(kept) for _, kept, _ in tables])
    starts = np.zeros((len(releases), max(len(start) for start, _, _ in tables)), np.int64)
    for r, (start, _, _) in enumerate(tables):
        starts[r, : len(start)] = start
        starts[r, len(start) :] = start[-1]
    return rows_in_common(
        np.ascontiguousarray([np.maximum(one.places[records], ABSENT) for one in releases]),
        starts + (np.cumsum(sizes) - sizes)[:, None],
        np.concatenate([kept for _, kept, _ in tables]),
        np.concatenate([rows for _, _, rows in tables]),
    )


def _sorted(one: Placed) -> tuple[IntArray, IntArray, IntArray]:
    """Where the pairs of each place begin; kept values and rows, ascending by place, then by kept values."""
    place, kept, rows = one.published_place, one.published_kept, one.published_rows
    if place is None or kept is None or rows is None:
        raise ValueError("the published data are not known")
    order = np.lexsort((kept, place)) if len(kept) and kept.min() != kept.max() else np.argsort(place, kind="stable")
    place, kept, rows = place[order], kept[order], rows[order]
    new = np.r_[True, (np.diff(place) != 0) | (np.diff(kept) != 0)][: len(place)]
    first = np.flatnonzero(new)
    places = max(int(place.max(initial=-1)), int(one.places.max(initial=-1))) + 1
    start = np.searchsorted(place[first], np.arange(places + 1))
    return start, kept[first], np.add.reduceat(rows, first) if len(first) else rows


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
