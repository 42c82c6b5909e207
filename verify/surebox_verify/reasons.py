"""Why a statistic of published boxes has no range, or no estimate: in words, as a part of the answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.statistics import BY_INDICATORS, OF_LINES, Statistic
from surebox_verify.readings import Reading

NO_RECORD: Final = "no released record has a value in every column of it"
_BINARY = 2


@dataclass(frozen=True)
class Reason:
    """A reason in words.

    Attributes
    ----------
    text : with `{columns}` where names of columns belong.
    places : of these columns, counted in the statistic's `of`.
    """

    text: str
    places: tuple[int, ...] = ()

    def in_words(self, of: Sequence[str]) -> str:
        """The reason with the names that a caller has for the columns."""
        return self.text.replace("{columns}", " and ".join(repr(of[place]) for place in self.places))


def no_range(statistic: Statistic, reading: Reading) -> Reason:
    """Why a statistic has no certain range.

    Parameters
    ----------
    statistic : the statistic.
    reading : the boxes that have its columns.
    """
    if not len(reading.boxes.counts):
        return Reason(NO_RECORD)
    if few := with_too_few_values(statistic, reading):
        return Reason("the release has fewer than two values of {columns}", few)
    if statistic.kind == "domain_mean":
        return Reason("no released record can have the values that it is within")
    if statistic.kind not in OF_LINES:
        return Reason("its numbers are too large to be computed")
    constant = tuple(place for place in range(1, len(statistic.of)) if _may_be_constant(reading, statistic.of[place]))
    if constant:
        return Reason(
            "as far as the boxes show, {columns} may be constant: some data within the boxes leave the regression "
            "undefined or without bounds. Smaller boxes (a smaller k, fewer columns) or fewer predictors give ranges",
            constant,
        )
    if len(statistic.of) > 2:
        return Reason(
            "as far as the boxes show, {columns} may follow from one another: some data within the boxes leave the "
            "regression without bounds. Fewer predictors give ranges",
            tuple(range(1, len(statistic.of))),
        )
    return Reason("no bound could be proven")


def with_too_few_values(statistic: Statistic, reading: Reading) -> tuple[int, ...]:
    """Return the places of nominal columns whose values, fewer than two, leave a statistic without a number.

    Parameters
    ----------
    statistic : the statistic; only those of moments take indicators of values.
    reading : the boxes that have its columns.
    """
    if statistic.kind not in BY_INDICATORS:
        return ()
    few = tuple(place for place, c in enumerate(statistic.of) if c >= reading.numeric and reading.size(c) < _BINARY)
    if statistic.kind in OF_LINES and 0 not in few and len(few) < len(statistic.of) - 1:
        return ()  # a predictor of one value adds no term to those of the others
    return few


def _may_be_constant(reading: Reading, column: int) -> bool:
    """Whether some data within the boxes have one value in a column; of several values, in the indicator of one."""
    axes = reading.axes(Statistic("mean", (column,)))
    variances = [reading.column(axis).variance.outer for axis in axes]
    return any(one is None or one.lower <= 0.0 for one in variances)


def no_estimate(statistic: Statistic, reading: Reading) -> Reason:
    """Why a statistic has a certain range and no estimate.

    Parameters
    ----------
    statistic : the statistic.
    reading : the boxes that have its columns.
    """
    if statistic.kind in ("crosstab", "domain_mean"):
        least = max(reading.meaning.least, 1)
        return Reason(f"no estimate is made of what fewer than {least} records may be, or one of them may dominate")
    if statistic.kind in ("correlation", *OF_LINES) and not np.isfinite(reading.share).all():
        return Reason("its numbers are too large to be computed")
    return Reason("no estimate: by the boxes a column of it has one value, or columns follow from one another")
