"""Columns as they are, and boxes with one side per column: what partition, bounds, ranges and releases share.

Notation
--------
n : numeric columns, numbered 0 to n - 1: real and whole numbers, dates as days, ordinal columns as what their values
    count as.
d : nominal columns, numbered n to n + d - 1 wherever columns are counted together (`Statistic.of`, costs, patterns).
m_j : values in the codebook of nominal column j, coded 0 to m_j - 1.
S_j(b) : set of values that box b leaves of nominal column j, a row of booleans.

science.md section 5, "Nominal columns", "Whole numbers and dates" and "Grid bounds".
"""

from dataclasses import dataclass, replace

import numpy as np

from surebox_core.ends import are_multiples
from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from surebox_verify.boxes import PublishedBoxes, even_step

_LEAST_STEPS = 2.0  # whole multiples in a step of a grid


@dataclass(frozen=True)
class NumericColumn:
    """What the values of a numeric column are, beyond numbers.

    Attributes
    ----------
    step : values are whole multiples of it (1 for whole numbers and days); None for real numbers and orders. Bounds are
        then published as the least and the greatest multiple that a box holds, both included.
    value_step : step of the grid to whose cells `grid` bounds are moved outward; None where a column has none and
        keeps the cell's bounds.
    min_width : least distance between the published bounds of a box; 0 for none.
    spike : a value that all records of a box may have, whatever its width; None for none.
    labels : what the values of an ordinal column count as, ascending (its domain is from the first to the last): bounds
        are two of them, both included; None for other columns.
    has_means : whether boxes may have the means of its records: not of ranks, which have none, nor of numbers unevenly
        apart, whose sums can state every value.
    limits : least and greatest value that there is at all (of days the first of year 1 and the last of year 9999): no
        outer bound is rounded beyond these; None where there are none.
    """

    step: float | None = None
    value_step: float | None = None
    min_width: float = 0.0
    spike: float | None = None
    labels: tuple[float, ...] | None = None
    has_means: bool = True
    limits: tuple[float, float] | None = None

    @property
    def grid_step(self) -> float | None:
        """Step h of the grid of `grid` bounds; None where the column has none."""
        return None if self.value_step is None else max(self.value_step, _LEAST_STEPS * (self.step or 0.0))

    def strays(self, values: FloatArray) -> int:
        """Count the present values that are no multiples of the step, or none of the labels."""
        known = values[~np.isnan(values)]
        if self.labels is not None:
            return int(np.count_nonzero(~np.isin(known, self.labels)))
        if self.step is None:
            return 0
        return int(np.count_nonzero(~are_multiples(known, self.step)))

    @property
    def sum_step(self) -> float | None:
        """Number whose multiples the sums of values of a box, less its lower bound each, are; None for any numbers."""
        return self.step if self.labels is None else even_step(self.labels)


@dataclass(frozen=True)
class Hierarchy:
    """A tree over the values of a nominal column: cuts divide the children of the lowest node that covers a set.

    Attributes
    ----------
    parent : (nodes,) int32; nodes 0 to m_j - 1 are the values, a parent has a larger number than its children, the
        root is the last node and its own parent.
    """

    parent: IndexArray

    def covering(self, sets: BoolArray) -> IntArray:
        """Lowest node that covers each set.

        Parameters
        ----------
        sets : (B, m_j); none is empty.

        Returns
        -------
        (B,) int64
        """
        nodes, values = len(self.parent), sets.shape[1]
        inside = np.zeros((len(sets), nodes), dtype=np.int64)
        inside[:, :values] = sets
        for node in range(nodes - 1):
            inside[:, self.parent[node]] += inside[:, node]
        covers = inside == sets.sum(axis=1)[:, None]  # of the nodes that do, the first is the lowest
        return np.asarray(np.argmax(covers, axis=1), dtype=np.int64)


@dataclass(frozen=True)
class NominalColumn:
    """A column of values without order.

    Attributes
    ----------
    codes : (N,) int32, 0 to values - 1 of each record; -1 where missing (only with `BoxesRequest.patterns`: a missing
        value that was declared a value has a code of its own).
    values : m_j, the codebook's size; values of it may occur in no record.
    hierarchy : restricts cuts to its nodes; None for any set.
    from_data : whether the codebook was taken from the data, none being declared.
    """

    codes: IndexArray
    values: int
    hierarchy: Hierarchy | None = None
    from_data: bool = False


@dataclass(frozen=True)
class Boxes(PublishedBoxes):
    """Boxes as published, with the restricted link from records to boxes.

    Attributes
    ----------
    box : (N,) int32, box of each record. Restricted in itself: rows are published in random order.
    outer_from_data : (n,), columns whose outer bounds are the data's rounded extremes, none being declared.
    """

    box: IndexArray
    outer_from_data: BoolArray

    def taking(self, boxes: IntArray, box: IndexArray) -> "Boxes":
        """Some of the boxes, in the order given.

        Parameters
        ----------
        boxes : which.
        box : their records' new boxes.
        """
        ends = self.survey_ends
        return replace(
            self,
            lower=np.take(self.lower, boxes, axis=0),
            upper=np.take(self.upper, boxes, axis=0),
            counts=self.counts[boxes],
            box=box,
            sets=tuple(np.take(each, boxes, axis=0) for each in self.sets),
            survey=None if self.survey is None else self.survey[boxes],
            means=None if self.means is None else (self.means[0][boxes], self.means[1][boxes]),
            survey_ends=None if ends is None else (ends[0][boxes], ends[1][boxes]),
        )


def numbered_like(boxes: Boxes, others: Boxes) -> Boxes:
    """The same boxes in the order of others that have the same records.

    Parameters
    ----------
    boxes, others : of the same records, which they divide alike.

    Notes
    -----
    Numbers by published bounds would change with the bounds of one box, and state about all others where it is.
    """
    of = np.empty(len(boxes.counts), dtype=np.int64)
    of[others.box] = boxes.box
    return boxes.taking(of, others.box)
