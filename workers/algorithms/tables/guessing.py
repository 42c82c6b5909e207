"""Shares of best guesses of values that are right: from the boxes of a release, and without it.

Notation
--------
w : width; a guess g of a number x is right where |x - g| <= w / 2, so a guess is a window [a, a + w] of the column.
I : the interval that a box leaves of the values of its records.

Whoever guesses has the column's distribution, from the release or a table of that column alone. In a box they name the
window that holds most of the column among those inside I, the first of several; without the release the window that
holds most of the whole column. science.md section 1, "Value disclosure".
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from surebox_verify.boxes import Lattice, PublishedBoxes

#: Of the column's extent: values that are so much apart are one where windows end, for sums of decimals are rounded.
_ROUNDED: Final = 1e-9
#: Bits of the place of a window: a table has fewer records than that many.
_PLACES: Final = 31


@dataclass(frozen=True, slots=True)
class GuessedShares:
    """Shares of the records published with a value whose value is guessed.

    Attributes
    ----------
    share : by the release.
    baseline : by the column's distribution alone.
    """

    share: float
    baseline: float


def guessed_numbers(
    x: FloatArray,
    box: IndexArray,
    intervals: tuple[FloatArray, FloatArray],
    width: float,
    *,
    means: FloatArray | None = None,
) -> GuessedShares:
    """Guess the values of a numeric column.

    Parameters
    ----------
    x, box : (N,), value and box of each record; NaN where there is none.
    intervals : (B,) each, ends of I; NaN where the box's records are published without a value.
    width : w.
    means : (B,), what else is guessed of the records of each box, NaN where nothing; the better way of both counts.
    """
    there = ~(np.isnan(x) | np.isnan(intervals[0])[box])
    if not there.all():
        x, box = x[there], box[there]
    if not len(x):
        return GuessedShares(0.0, 0.0)
    column = np.sort(x)
    first = np.flatnonzero(np.concatenate([[True], column[1:] > column[:-1]]))
    windows = _Windows(column[first], np.append(first, len(column)), width)
    low, high = windows.best(*intervals)
    right = int(np.count_nonzero((x >= low[box]) & (x <= high[box])))
    if means is not None:
        right = max(right, int(np.count_nonzero(np.abs(x - means[box]) <= 0.5 * width + windows.spare)))
    return GuessedShares(right / len(x), windows.most / len(x))


def guesses_by_means(boxes: PublishedBoxes, column: int, lattice: Lattice | None = None) -> FloatArray | None:
    """The value next to the mean of each box's records; None where a release has no means.

    Parameters
    ----------
    boxes : as published.
    column : which, numeric.
    lattice : what its values are, as far as that is known.
    """
    if boxes.means is None:
        return None
    mean = 0.5 * boxes.means[0][:, column] + 0.5 * boxes.means[1][:, column]
    if lattice is None:
        return mean
    if not isinstance(lattice, tuple):
        return np.round(mean / lattice) * lattice
    labels = np.array(lattice)
    after = np.clip(np.searchsorted(labels, mean), 1, len(labels) - 1) if len(labels) > 1 else np.zeros(len(mean), int)
    before = np.maximum(after - 1, 0)
    near = np.where(mean - labels[before] <= labels[after] - mean, labels[before], labels[after])
    return np.where(np.isnan(mean), np.nan, near)


def guessed_codes(codes: NDArray[np.signedinteger], box: IndexArray, sets: BoolArray) -> GuessedShares:
    """Guess the values of a column without order.

    Parameters
    ----------
    codes, box : (N,), code and box of each record; a negative code where there is no value.
    sets : (B, m), the values that each box leaves.
    """
    shown = np.asarray(sets.any(axis=1))
    there = (codes >= 0) & shown[box]
    codes, box = codes[there], box[there]
    if not len(codes):
        return GuessedShares(0.0, 0.0)
    often = np.bincount(codes, minlength=sets.shape[1])
    order = np.argsort(-often, kind="stable")
    guess = order[np.argmax(sets[:, order], axis=1)]
    return GuessedShares(float(np.mean(codes == guess[box])), float(often.max() / len(codes)))


class _Windows:
    """Windows of a column that begin at its different values u, ascending; how many values each holds.

    `before` (U + 1,) are the records below each of u, then all records.
    """

    def __init__(self, u: FloatArray, before: IntArray, width: float) -> None:
        self._u, self._before = u, before
        self.spare = _ROUNDED * float(u[-1] - u[0])
        self._end = np.searchsorted(u, u + (width + self.spare), side="right")
        self._held = before[self._end] - before[:-1]
        self.most = int(self._held.max())

    def best(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and last value of the best window inside each interval; NaN where an interval holds no value.

        Windows that end inside an interval hold what they hold anywhere; of those that it cuts the first holds most.
        """
        start = np.searchsorted(self._u, low - self.spare, side="left")
        stop = np.searchsorted(self._u, high + self.spare, side="right")
        stop = np.where(np.isnan(low), start, stop)
        whole = np.clip(np.searchsorted(self._end, stop, side="right"), start, np.maximum(stop, start))
        chosen, held = self._fullest(start, whole)
        cut = np.minimum(whole, len(self._u) - 1)
        of_cut = np.where(whole < stop, self._before[stop] - self._before[cut], -1)
        chosen = np.where(of_cut > held, cut, chosen)
        last = np.maximum(np.minimum(self._end[chosen], stop) - 1, 0)
        none = stop <= start
        return np.where(none, np.nan, self._u[chosen]), np.where(none, np.nan, self._u[last])

    def _fullest(self, start: IntArray, stop: IntArray) -> tuple[IntArray, IntArray]:
        """Of the windows from `start` to `stop` the first that holds most, and how much; 0 and -1 where there is none.

        The fullest of 1, 2, 4, ... neighbours each; any run is the union of two such.
        """
        count = stop - start
        level = np.where(count > 0, np.frexp(np.maximum(count, 1).astype(np.float64))[1] - 1, -1)
        best = np.full(len(start), -1, dtype=np.int64)
        fullest = (self._held << _PLACES) + np.arange(len(self._u))[::-1]  # one number, larger for earlier windows
        for power in range(int(level.max(initial=-1)) + 1):
            these = np.flatnonzero(level == power)
            best[these] = np.maximum(fullest[start[these]], fullest[stop[these] - (1 << power)])
            fullest = np.maximum(fullest[: -(1 << power)], fullest[1 << power :])
        earlier = best & ((1 << _PLACES) - 1)
        return np.where(best < 0, 0, len(self._u) - 1 - earlier), best >> _PLACES
