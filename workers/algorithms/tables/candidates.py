"""Joint candidates: rows that may be one person's in all releases, by what is kept beside the boxes.

Notation
--------
b_r(i) : place of record i in release r (its box), or ABSENT.
n_r(b, v) : published rows of release r in place b whose kept values, in the columns that all releases keep, are v.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.types import IntArray
from workers.algorithms.tables.candidates_kernels import rows_in_common

ABSENT: Final = -1
#: Where a record was cannot be told.
UNPLACED: Final = -2


@dataclass(frozen=True)
class Placed:
    """One release as it places the records of today.

    Attributes
    ----------
    places : (N,), place of each record; ABSENT where it is in none, UNPLACED where that cannot be told.
    published_place, published_kept, published_rows : (M,) each, M the pairs of place and kept values: how many rows
        were published with it. None together: unknown.
    compared : whether what was published is compared with today's records.
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
    records : the records that are asked about.

    Returns
    -------
    (number of records,), the largest integer for those in none; None where what was published is not known.

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
        raise ValueError("what was published is not known")
    order = np.lexsort((kept, place)) if len(kept) and kept.min() != kept.max() else np.argsort(place, kind="stable")
    place, kept, rows = place[order], kept[order], rows[order]
    new = np.r_[True, (np.diff(place) != 0) | (np.diff(kept) != 0)][: len(place)]
    first = np.flatnonzero(new)
    places = max(int(place.max(initial=-1)), int(one.places.max(initial=-1))) + 1
    start = np.searchsorted(place[first], np.arange(places + 1))
    return start, kept[first], np.add.reduceat(rows, first) if len(first) else rows
