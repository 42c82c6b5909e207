"""What boxes are made by, and what comes out."""

from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from surebox_core.influence import Influences
from surebox_core.statistics import OF_MOMENTS, Statistic
from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.estimates import Estimate
from surebox_verify.ranges.pairs import EFFORT
from workers.algorithms.boxes.bounds import Domain
from workers.algorithms.boxes.content import BoxMeans
from workers.algorithms.boxes.deciding import mean_shares
from workers.algorithms.boxes.partition.arrays import Effort
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.partition.partition import Method
from workers.algorithms.boxes.partition.places import KeyArray
from workers.algorithms.boxes.rare.rarity import Criterion, RareRecords
from workers.algorithms.boxes.sides import Boxes, NominalColumn, NumericColumn

#: In least widths: what `optimal` predicts that boxes have, and what the records beside a cut span.
_PREDICTED: Final = 1.5
_SEARCHED: Final = 1.2


@dataclass(frozen=True)
class BoxesRequest:
    """What boxes are made by.

    Attributes
    ----------
    k : least records per box, at least 1.
    statistics : those to keep narrow, `of` of columns of x; by default `surebox_core.statistics.all_moments(n)`.
    partition : `optimal`, `fast` or `mondrian`.
    bounds : `cells`, `tight` or `grid`.
    domains : declared bounds per numeric column, None where none; empty for none at all.
    demands : what a box must contain besides k records (l-diversity, t-closeness, alpha, kept classes, persons).
    confidence : of the statistical uncertainty, in (0, 1).
    rare_records : whether rare boxes are kept, kept and marked, suppressed or left with a smaller weight.
    objective : what decides which boxes are suppressed: `bias_aware` also counts how that shifts the statistics
        (rare.shifted; always for those that are marked), `paper` does not. Weights are the paper's.
    max_suppressed : largest share of the records that `mark` and `suppress` leave aside, with the shift.
    keys : (n + d, 8), the secrets of the columns, which place cuts, and the unused values of `cells` and `grid` in
        sets; with `survey` one more, that of its column, which places the ends of intervals. None for new ones, drawn.
    unlisted_column_weight : of every column that no statistic names, as a share of the least one named.
    ddof : 0, or 1 for variances, standard deviations and covariances of the sample form, divisor N - 1, N the published
        records; not with weights, which have no sample size.
    columns : what the numeric columns' values are; empty where nothing is known of any.
    nominal : the nominal columns.
    patterns : whether records may lack values (NaN in x, -1 in codes): boxes are then cut within patterns of missing
        values, and patterns too rare give up values or are left out.
    min_records_at_bound : records of a box that must share the grid cell to whose end a `grid` bound moves, and of all
        boxes that must be in it or beyond; None for 2 and k.
    max_suppressed_classes : largest share of the records that are left out for a class of kept columns too rare for
        any box.
    survey : (N,) positive design weights of the records; None for equal ones.
    weights_apart : whether a box has records of one design weight only, which is then each row's own; kept classes
        distinguish these weights.
    box_means : whether boxes also have their records' means, or intervals for them (boxes.content); not with weights,
        nor where rare records are not kept.
    mean_interval_in_boxes : rho of rounded means.
    p_percent : p of the p %-rule, for exact means.
    separation : of each numeric column how far apart its l values are, 0 where that is not demanded; empty for none.
    effort : how much the partition of columns of all kinds tries; None for the usual number for so many records.
    range_passes : passes over the boxes that a range of two or more columns costs at most; fewer than are affordable
        only where the ranges are not published, for those who verify them make as many as are affordable.
    """

    k: int
    statistics: tuple[Statistic, ...]
    partition: Method = "optimal"
    bounds: Literal["cells", "tight", "grid"] = "cells"
    domains: tuple[Domain | None, ...] = ()
    confidence: float = 0.95
    demands: BoxConstraints = field(default_factory=BoxConstraints)
    rare_records: RareRecords = "keep"
    keys: KeyArray | None = None
    unlisted_column_weight: float = 0.0
    ddof: int = 0
    columns: tuple[NumericColumn, ...] = ()
    nominal: tuple[NominalColumn, ...] = ()
    patterns: bool = False
    min_records_at_bound: int | None = None
    max_suppressed_classes: float = 0.02
    survey: FloatArray | None = None
    weights_apart: bool = False
    objective: Literal["bias_aware", "paper"] = "paper"
    max_suppressed: float = 0.05
    box_means: BoxMeans = "none"
    mean_interval_in_boxes: float = 1.0
    p_percent: float = 10.0
    effort: Effort | None = None
    range_passes: int = EFFORT
    separation: tuple[float, ...] = ()

    @property
    def labels(self) -> tuple[tuple[float, ...] | None, ...]:
        """Numbers that the values of each ordinal column count as; None of the other numeric columns."""
        return tuple(column.labels for column in self.columns)

    def every_domain(self, columns: int) -> tuple[Domain | None, ...]:
        """The domain of each of so many numeric columns, None where none is declared."""
        return self.domains or (None,) * columns

    @property
    def mean_shares(self) -> FloatArray | None:
        """Of each statistic the share of its weight that cuts count (deciding.mean_shares); None for all of it."""
        rounding = 0.0 if self.box_means == "none" else self.mean_interval_in_boxes
        return mean_shares(self.statistics, self.k, rounding, [column.sum_step for column in self.columns])

    @property
    def least_half_widths(self) -> FloatArray | None:
        """The larger of L eps_i / 2 (XF slide 11) and half the least width, of each numeric column; None for none."""
        return _larger(0.5 * self.demands.l * np.array(self.separation), 0.5 * self._min_widths)

    @property
    def least_widths(self) -> FloatArray | None:
        """Widths that `optimal` predicts for boxes at least, of each numeric column; None where there are none.

        (l - 1) eps_i, which l values span, and half as much again as the least width, which boxes that just have it are
        as wide as where cuts lie in gaps.
        """
        return _larger((self.demands.l - 1) * np.array(self.separation), _PREDICTED * self._min_widths)

    @property
    def searched_widths(self) -> FloatArray | None:
        """Widths that the records on both sides of a cut span, of its column; None where there is no least width.

        A fifth more than the least width, of whole steps the nearest number of them: bounds at the least width would
        have a record near each end. No more of orders, whose values may be few.
        """
        width = self._min_widths
        if not width.any():
            return None
        for index, column in enumerate(self.columns):
            least, wider = width[index], _SEARCHED * width[index]
            if column.step is not None:
                width[index] = max(np.ceil(least / column.step), np.round(wider / column.step)) * column.step
            elif column.labels is None:
                width[index] = wider
        return width

    @property
    def spikes(self) -> FloatArray | None:
        """The value of each numeric column whose boxes need no width, NaN for none; None where no column has one."""
        spikes = [np.nan if column.spike is None else column.spike for column in self.columns]
        return None if np.isnan(spikes).all() else np.array(spikes)

    @property
    def _min_widths(self) -> FloatArray:
        return np.array([column.min_width for column in self.columns])

    @property
    def widths_by_cut(self) -> bool:
        """True where a least width is one of sides, which a cut of their own column alone narrows.

        Bounds that follow the records shrink with any cut. Exact means of records that lie near one end give them away,
        however wide the side is, unless the records span the width (surebox_verify.disclosure); rounded ones leave half
        of the side at least.
        """
        return self.bounds == "cells" and self.box_means != "exact"

    @property
    def plain(self) -> bool:
        """Whether the columns are numbers, complete and of equal weight, and boxes contain k records, or l values."""
        demands = self.demands
        return (
            not self.nominal
            and not self.patterns
            and demands.t is None
            and demands.alpha is None
            and self.survey is None
            and len(demands.persons) == len(demands.kept) == 0
            and (self.widths_by_cut or all(column.min_width == 0.0 for column in self.columns))
            and all(statistic.kind in OF_MOMENTS for statistic in self.statistics)
        )


def _larger(one: FloatArray, other: FloatArray) -> FloatArray | None:
    """The larger of two widths of each column; either may be empty, None where there is no width."""
    width = np.maximum(one, other) if len(one) and len(other) else one if len(one) else other
    return width if width.any() else None


@dataclass(frozen=True)
class Certificate:
    """One statistic: what may be published, and the part restricted to the job's result.

    Attributes
    ----------
    statistic : as requested.
    published : one per component (regression: intercept first), from the boxes and counts alone.
    omega : weights used; restricted where they are default ones, being computed from the records.
    true_value, shift : value over the kept (weighted) records, and over all records less that; restricted. None where
        the kept records leave the statistic undefined, like the next.
    delta : linear uncertainty with derivatives at the true records; restricted.
    core : as `published`, about the records of marked boxes only; None where none are marked.
    """

    statistic: Statistic
    published: tuple[Estimate, ...]
    omega: tuple[float, ...]
    true_value: tuple[float | None, ...]
    shift: tuple[float | None, ...]
    delta: tuple[float | None, ...]
    core: tuple[Estimate, ...] | None = None


@dataclass(frozen=True)
class Chosen:
    """The published part of all boxes, and how much each counts.

    Attributes
    ----------
    rows : places of the kept records among all; None where all are kept. Restricted.
    field : derivatives at the kept records' (weighted) moments. Restricted.
    weights : (B,), of each record of a kept box, summing to 1 over the records; None where not weighed.
    optimum : lambda; None likewise.
    criterion : what boxes were judged by; None where all are kept unasked, or their core is that of rare.shifted.
    core : (B,), boxes of the core, where the others are marked; None where they are not.
    """

    rows: IntArray | None
    field: Influences
    weights: FloatArray | None = None
    optimum: float | None = None
    criterion: Criterion | None = None
    core: BoolArray | None = None


@dataclass(frozen=True)
class BoxesOutcome:
    """Boxes and what they state about the statistics.

    Attributes
    ----------
    boxes : to be published (bounds, counts), and the restricted box of each kept record.
    chosen : which records are kept, and what they weigh.
    privacy_uncertainty : sum_p w_p sum_i a_i(x_p) D_i(p), w_p = 1/N where not weighed. Restricted, like the two below.
    asymptotic_uncertainty : what `privacy_uncertainty` would be with the optimal half-widths at the kept records'
        estimated density; None without one.
    statistical_uncertainty : A sqrt(sum w^2), A / sqrt(N) where not weighed.
    certificates : one per statistic, in their order.
    suppressed : records left out before the partition, their class of kept columns or their pattern of missing values
        being too rare for any box. Restricted, like the next.
    blanked : values of the published records given up so that rare patterns of missing values join others.
    """

    boxes: Boxes
    chosen: Chosen
    privacy_uncertainty: float
    asymptotic_uncertainty: float | None
    statistical_uncertainty: float
    certificates: tuple[Certificate, ...]
    suppressed: int = 0
    blanked: int = 0
