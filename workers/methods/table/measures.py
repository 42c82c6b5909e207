"""The audit `table`: its measures of one table, stage by stage."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workers.algorithms.tables.classes import Classes, classes
from workers.algorithms.tables.closeness import Closeness, closeness, recursive_c
from workers.algorithms.tables.homogeneity import Homogeneity, homogeneity
from workers.algorithms.tables.matching import (
    Histograms,
    histograms,
    neighbourhood_histograms,
    neighbours,
    summed_over_neighbours,
)
from workers.methods.table.reading import Audited, Sensitive


@dataclass(frozen=True)
class Neighbourhoods:
    """The classes of a table, and whom an adversary cannot distinguish from the records of each.

    Attributes
    ----------
    codes
        Shape (d, N).
    anything
        Whether a missing value matches anything; else it is a value.
    """

    codes: NDArray[np.int32]
    anything: bool

    @cached_property
    def classes(self) -> Classes:
        """Records that agree in all they have."""
        return classes(self.codes)

    @cached_property
    def overlapping(self) -> bool:
        """Whether neighbourhoods are more than classes."""
        return self.anything and bool((self.codes < 0).any())

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Records in the neighbourhood of each class."""
        return neighbours(self.codes, self.classes) if self.overlapping else self.classes.size

    @property
    def unique(self) -> int:
        """Records that are alone."""
        return int(self.classes.size[self.size == 1].sum())

    def summed(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the records of each neighbourhood weigh together."""
        own = np.bincount(self.classes.of_record, weights=weight, minlength=len(self.classes.size)).astype(np.float64)
        return summed_over_neighbours(self.codes, self.classes, own) if self.overlapping else own

    def histograms(self, value: NDArray[np.int64]) -> Iterable[Histograms]:
        """The values within each neighbourhood."""
        if self.overlapping:
            return neighbourhood_histograms(self.codes, self.classes, value)
        return [histograms(self.classes, value)]

    def distinct(self, value: NDArray[np.int64]) -> NDArray[np.int64]:
        """Different values within each neighbourhood."""
        counts = np.empty(len(self.classes.size), dtype=np.int64)
        for part in self.histograms(value):
            counts[part.classes] = np.diff(part.start)
        return counts


@dataclass(frozen=True, slots=True)
class SensitiveExposure:
    """What neighbourhoods show of one sensitive column.

    Attributes
    ----------
    column
        The column.
    closeness
        By class.
    recursive
        The c above which the table is recursively diverse, for the least distinct l.
    demanded
        The same for the l that is required; infinite where a class has fewer values; None where none is.
    whole
        Shares of records, over classes as they are.
    """

    column: Sensitive
    values: int
    closeness: Closeness
    recursive: float
    demanded: float | None
    whole: Homogeneity


def measure_exposure(seen: Neighbourhoods, column: Sensitive, demanded_l: int | None) -> SensitiveExposure:
    """Measure one sensitive column."""
    measures = _closeness(seen, column.codes, missing=column.missing)
    if column.texts is not None:
        as_they_are = _closeness(seen, column.texts, missing=column.missing)
        measures = replace(measures, equal=as_they_are.equal, ordered=as_they_are.ordered)
    least = int(measures.distinct.min())

    def recursive(level: int) -> float:
        return recursive_c(seen.histograms(column.codes), level, missing=column.missing)

    return SensitiveExposure(
        column=column,
        values=int(column.codes.max()) + 1,
        closeness=measures,
        recursive=recursive(max(least, 1)),
        demanded=None if demanded_l is None else recursive(demanded_l) if demanded_l <= least else float("inf"),
        whole=homogeneity(seen.classes.of_record, column.codes - int(column.missing)),
    )


def _closeness(seen: Neighbourhoods, codes: NDArray[np.int64], *, missing: bool) -> Closeness:
    shares = np.bincount(codes) / len(codes)
    return closeness(seen.histograms(codes), shares, len(seen.classes.size), missing=missing)


@dataclass(frozen=True, slots=True)
class Without:
    """The table without one quasi-identifier, and that one alone."""

    k_without: int
    unique_without: int
    classes_without: int
    unique_alone: int


def without(audited: Audited, column: int, *, anything: bool) -> Without:
    """What a quasi-identifier adds to the others."""
    others = Neighbourhoods(np.delete(audited.codes, column, axis=0), anything)
    alone = Neighbourhoods(audited.codes[column : column + 1], anything)
    return Without(int(others.size.min()), others.unique, len(others.classes.size), alone.unique)
