"""Boxes of columns of all kinds as points, what their records add to the statistics there, and how these vary.

Notation as in rare.rarity, rare.shifted and boxes.charges, and
--------
axis : a numeric column, or the indicator of a set A of values of a nominal one.
z_b : centre of an interval; of the indicator of A |S and A| / |S|: a record of S is the unit vector of one of its
    values, and this is where the centre of these stands.
D_b : half-width of an interval; of the indicator of A 1/2 where S has values in A and others, else 0.
p_A, mu_A, p_uw : share of A, mean of y in A and share of a cell, at the centres.

What a record of a box adds (science.md section 5, *Influence*), with everything at the centres:
share of A : omega D_A.
cell (u, w) : of the first column sum_u (sum_w p_w omega_uw) D_u, and vice versa of the second.
mean of y in A : omega z_A D_y / p_A, and omega E|y - mu_A| D_A / p_A.
statistics of moments : as of numbers, with indicators as columns. Quantiles add nothing.

No record is read: all of it follows from bounds, sets and counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from surebox_verify.boxes import Meaning, PublishedBoxes
from surebox_verify.core.influence import influences
from surebox_verify.core.moments import Moments, inflation, moments
from surebox_verify.core.statistics import OF_MOMENTS, Statistic, undefined_because
from surebox_verify.core.types import FloatArray, IntArray
from surebox_verify.ranges.members import ranges_of_ranks
from surebox_verify.readings import Readings
from workers.algorithms.boxes.rare import rarity


@dataclass(frozen=True)
class Judged:
    """Boxes as the search for a core takes them.

    Attributes
    ----------
    points : (B, axes), z.
    g : (B,), what a record of each box adds.
    statistics : those that are defined, of axes, one for each number.
    omega, owner : weights of their components, and whose each is.
    deviations : standard deviations of the components' influence functions.
    at : moments of the centres.
    """

    points: FloatArray
    g: FloatArray
    statistics: tuple[Statistic, ...]
    omega: FloatArray
    owner: IntArray
    deviations: FloatArray
    at: Moments


def judged(
    boxes: PublishedBoxes,
    statistics: Sequence[Statistic],
    *,
    ddof: int,
    least: float,
    ranks: tuple[int | None, ...] = (),
) -> Judged | None:
    """What boxes add to statistics at their centres; None where the centres leave them all undefined.

    Parameters
    ----------
    boxes : bounds, sets and counts; no record lacks a column.
    statistics : what is asked; nominal columns are numbered after the numeric ones.
    ddof : as for the statistics.
    least : share below which no box could tell one, k/N.
    ranks : values of the numeric columns that are ordinal (boxes.Meaning); ranges are the sets between their ends.
    """
    axes = _Axes(Readings(boxes, Meaning(ranks=ranks)))
    plain = [
        replace(one, of=tuple(axis for column in one.of for axis in axes.of_column(column)))
        for one in statistics
        if one.kind in OF_MOMENTS
    ]
    counted = [number for one in statistics for number in _numbers(one, axes)]
    numbers = axes.as_numbers()
    at = moments(numbers.centre, boxes.counts.astype(np.float64))
    at = replace(at, inflation=inflation(int(boxes.counts.sum()), ddof))
    found = _Sum(numbers, at, least)
    found.add_moments([one for one in plain if undefined_because(one, at) is None])
    for one in counted:
        found.add(one)
    return found.judged()


@dataclass
class _Axes:
    """Axes as they are asked for: the numeric columns, and then indicators."""

    readings: Readings
    _of: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)

    @property
    def _numeric(self) -> int:
        return int(self.readings.boxes.lower.shape[1])

    def values(self, column: int) -> int:
        """Size of a nominal column's codebook, or of an order."""
        return self.readings.size(column)

    def of_column(self, column: int) -> tuple[int, ...]:
        """Axes that a column stands for in statistics of moments: of a nominal one its dummies."""
        if column < self._numeric:
            return (column,)
        return tuple(self.indicator(column, (value,)) for value in range(1, self.values(column)))

    def indicator(self, column: int, values: tuple[int, ...]) -> int:
        """Number of an indicator."""
        return self._of.setdefault((column, values), self._numeric + len(self._of))

    def as_numbers(self) -> PublishedBoxes:
        """The boxes with one interval for each axis, z - D to z + D."""
        boxes, ranked = self.readings.boxes, self.readings.meaning.ranked
        lower, upper = [boxes.lower], [boxes.upper]
        for column, values in self._of:
            if (ranks := ranked(column)) is None:
                sets = boxes.sets[column - self._numeric]
            else:
                ends = boxes.lower[:, column], boxes.upper[:, column]
                sets = ranges_of_ranks(*ends, ranks, attained=False).possible
            size, inside = sets.sum(axis=1), sets[:, list(values)].sum(axis=1)
            half = 0.5 * ((inside > 0) & (inside < size))
            lower.append((inside / size - half)[:, None])
            upper.append((inside / size + half)[:, None])
        return PublishedBoxes(np.hstack(lower), np.hstack(upper), boxes.counts)


def _numbers(one: Statistic, axes: _Axes) -> list[Statistic]:
    """The numbers of a statistic that is no function of moments, each of its axes; none of a quantile."""
    if one.kind == "crosstab":
        first, second = ([axes.indicator(c, (v,)) for v in range(axes.values(c))] for c in one.of)
        return [replace(one, of=(u, w)) for u in first for w in second]
    if one.kind not in ("share", "domain_mean"):
        return []
    column = one.of[-1]
    sets = [one.values] if one.values else [(v,) for v in range(axes.values(column))]
    return [replace(one, of=(*one.of[:-1], axes.indicator(column, each)), values=()) for each in sets]


class _Sum:
    """What the numbers seen so far add, g, and what the search must know of them."""

    def __init__(self, numbers: PublishedBoxes, at: Moments, least: float) -> None:
        self.numbers, self.at, self.least = numbers, at, least
        self.points, self.half = numbers.centre, numbers.half_width
        self.share = numbers.counts / numbers.counts.sum()
        self.g = np.zeros(len(self.points))
        self.statistics: list[Statistic] = []
        self.omega: list[float] = []
        self.owner: list[int] = []
        self.deviations: list[float] = []

    def judged(self) -> Judged | None:
        """All of it; None where there is nothing."""
        if not self.statistics:
            return None
        return Judged(
            points=self.points,
            g=self.g,
            statistics=tuple(self.statistics),
            omega=np.array(self.omega, dtype=np.float64),
            owner=np.array(self.owner, dtype=np.int64),
            deviations=np.array(self.deviations, dtype=np.float64),
            at=self.at,
        )

    def add_moments(self, asked: list[Statistic]) -> None:
        """Statistics of moments, before all others; all of them are defined."""
        if not asked:
            return
        found, size = influences(asked, self.at), len(self.points)
        self.g += rarity.box_uncertainty(found, self.numbers, 0, size)
        sums = rarity.influence_sums(found, self.numbers, 0, size)
        self.statistics += asked
        self.omega += found.omega.tolist()
        self.owner += found.owner.tolist()
        self.deviations += np.sqrt(np.maximum(sums[:, 1] - sums[:, 0] ** 2, 0.0)).tolist()

    def add(self, one: Statistic) -> None:
        """A share, a cell or a mean within a set."""
        if one.kind == "domain_mean":
            self._add_mean_within(one)
            return
        u, w = one.of[0], one.of[-1]
        together = self.points[:, u] if one.kind == "share" else self.points[:, u] * self.points[:, w]
        p = min(max(float(self.share @ together), self.least), max(1.0 - self.least, 0.5))
        spread = float(np.sqrt(p * (1.0 - p)))
        total = 1.0 if one.kind == "share" else float(self.numbers.counts.sum())  # a cell is a count
        omega = _inverse(spread) if one.weight is None else one.weight * total
        if one.kind == "share":
            self.g += omega * self.half[:, u]
        else:
            self.g += omega * float(self.share @ self.points[:, w]) * self.half[:, u]
            self.g += omega * float(self.share @ self.points[:, u]) * self.half[:, w]
        self._note(one, omega, spread)

    def _add_mean_within(self, one: Statistic) -> None:
        y, a = one.of
        inside, values = self.points[:, a], self.points[:, y]
        mass = float(self.share @ inside)
        if not mass > 0.0:
            return
        p, mean = max(mass, self.least), float(self.share @ (inside * values) / mass)
        sigma = float(self.at.deviation[y])
        omega = _inverse(sigma) if one.weight is None else one.weight
        away = np.abs(values - mean)
        self.g += omega / p * (inside * self.half[:, y] + float(self.share @ away) * self.half[:, a])
        self._note(one, omega, float(np.sqrt(self.share @ (inside * away**2))) / p)

    def _note(self, one: Statistic, omega: float, deviation: float) -> None:
        self.owner.append(len(self.statistics))
        self.statistics.append(one)
        self.omega.append(omega)
        self.deviations.append(deviation)


def _inverse(scale: float) -> float:
    return 1.0 / scale if scale > 0.0 else 0.0
