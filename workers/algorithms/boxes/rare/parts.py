"""The statistics that go by the same boxes: what a record of each adds to them, and how their influences vary.

Notation as in rare.points.
"""

from dataclasses import dataclass, replace

import numpy as np

from surebox_core.adding import influence_values, uncertainties
from surebox_core.influence import influences
from surebox_core.moments import Moments, inflation, moments
from surebox_core.statistics import OF_MOMENTS, Statistic, undefined_because
from surebox_core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class StatisticGroup:
    """Statistics that go by the same boxes.

    Attributes
    ----------
    there : (B,), the boxes that have their columns.
    axes : those of the points that they go by, in ascending order.
    statistics : those that are defined, one for each number; `of` counts among `axes`.
    omega, owner : weights of their components, and whose each is.
    deviations : standard deviations of f IF of the components.
    at : moments of the centres of `axes`.
    """

    there: BoolArray
    axes: tuple[int, ...]
    statistics: tuple[Statistic, ...]
    omega: FloatArray
    owner: IntArray
    deviations: FloatArray
    at: Moments


@dataclass(frozen=True)
class Local:
    """The boxes of a part, and the axes that its statistics go by, numbered anew.

    Attributes
    ----------
    axes : which these are.
    points, half : (b, axes), z and D.
    counts, mass : (b,), c and c v.
    records : N, of all boxes.
    """

    axes: tuple[int, ...]
    points: FloatArray
    half: FloatArray
    counts: IntArray
    mass: FloatArray
    records: float

    @property
    def share(self) -> FloatArray:
        """(b,), c v / M."""
        return np.asarray(self.mass / self.mass.sum())

    @property
    def factor(self) -> FloatArray:
        """(b,), f."""
        return np.asarray(self.mass / self.counts * (self.records / float(self.mass.sum())))


def local(
    numbers: list[Statistic],
    there: BoolArray,
    sides: tuple[FloatArray, FloatArray],
    mass: FloatArray,
    counts: IntArray,
) -> Local:
    """The boxes of a part.

    Parameters
    ----------
    numbers : of axes.
    there : (B,), which boxes these are.
    sides : (B, axes) each, z and D.
    mass, counts : (B,), c v and c.
    """
    axes = tuple(sorted({axis for one in numbers for axis in one.of}))
    z, half = (np.asfortranarray(side[:, list(axes)][there]) for side in sides)
    return Local(axes, z, half, counts[there], mass[there], float(counts.sum()))


def summed(numbers: list[Statistic], of: Local, *, ddof: int, least: float) -> "Sum":
    """What some numbers add.

    Parameters
    ----------
    numbers : of axes as they are numbered among all.
    of : the boxes of their part.
    ddof : as for the statistics.
    least : share of all records below which no box could reveal one.
    """
    total = Sum(of, ddof, least)
    place = {axis: number for number, axis in enumerate(of.axes)}
    for one in numbers:
        total.add(replace(one, of=tuple(place[axis] for axis in one.of)))
    return total


class Sum:
    """What the numbers of a part that were seen so far add, g, and what the search must know of them.

    `held` are axes on which some box must stay above 0.
    """

    def __init__(self, of: Local, ddof: int, least: float) -> None:
        records = int(of.counts.sum())
        self.of, self.least = of, least * of.records / records
        self.at = replace(moments(of.points, of.mass), inflation=inflation(records, ddof))
        self.share, self.factor = of.share, of.factor
        self.squares = of.counts / of.records * self.factor**2
        self.g = np.zeros(len(of.points))
        self.statistics: list[Statistic] = []
        self.held: list[int] = []
        self._omega: list[float] = []
        self._owner: list[int] = []
        self._deviations: list[float] = []

    def part(self, there: BoolArray) -> StatisticGroup:
        """All of it."""
        return StatisticGroup(
            there=there,
            axes=self.of.axes,
            statistics=tuple(self.statistics),
            omega=np.array(self._omega, dtype=np.float64),
            owner=np.array(self._owner, dtype=np.int64),
            deviations=np.array(self._deviations, dtype=np.float64),
            at=self.at,
        )

    def add(self, one: Statistic) -> None:
        """A statistic of moments, a share, a cell or a mean within a set; one without a value adds nothing."""
        if one.kind in OF_MOMENTS:
            if undefined_because(one, self.at) is None:
                self._add_of_moments(one)
        elif one.kind == "domain_mean":
            self._add_mean_within(one)
        else:
            self._add_share(one)

    def _add_of_moments(self, one: Statistic) -> None:
        field = influences([one], self.at)
        u = self.of.points - self.at.mean
        self.g += self.factor * uncertainties(field, u, self.of.half)
        deviations = []
        for component in range(len(field.omega)):
            value = influence_values(field, u, component)
            away = value - float(self.share @ value)
            deviations.append(float(np.sqrt(self.squares @ (away * away))))
        self._note(one, field.omega.tolist(), deviations)

    def _add_share(self, one: Statistic) -> None:
        u, w = one.of[0], one.of[-1]
        points, half = self.of.points, self.of.half
        together = points[:, u] if one.kind == "share" else points[:, u] * points[:, w]
        p = float(self.share @ together)
        bounded = min(max(p, self.least), max(1.0 - self.least, 0.5))
        spread = float(np.sqrt(bounded * (1.0 - bounded)))
        total = 1.0 if one.kind == "share" else float(self.of.mass.sum())  # a cell is a sum of weights
        omega = _inverse(spread) if one.weight is None else one.weight * total
        if one.kind == "share":
            added = omega * half[:, u]
        else:
            added = omega * float(self.share @ points[:, w]) * half[:, u]
            added = added + omega * float(self.share @ points[:, u]) * half[:, w]
        self.g += self.factor * added
        self._note(one, [omega], [spread * np.sqrt(self._effect(together, p))])

    def _effect(self, together: FloatArray, p: float) -> float:
        """How much more a share varies than that of as many equal records as there are in all."""
        if not 0.0 < p < 1.0:
            return float(self.squares.sum())
        varies = self.squares @ (together * (1.0 - p) ** 2 + (1.0 - together) * p**2)
        return float(varies) / (p * (1.0 - p))

    def _add_mean_within(self, one: Statistic) -> None:
        y, a = one.of
        inside, values, half = self.of.points[:, a], self.of.points[:, y], self.of.half
        mass = float(self.share @ inside)
        if not mass > 0.0:
            return
        p, mean = max(mass, self.least), float(self.share @ (inside * values) / mass)
        sigma = float(self.at.deviation[y])
        omega = _inverse(sigma) if one.weight is None else one.weight
        away = np.abs(values - mean)
        self.g += self.factor * (omega / p * (inside * half[:, y] + float(self.share @ away) * half[:, a]))
        self.held.append(self.of.axes[a])
        self._note(one, [omega], [float(np.sqrt(self.squares @ (inside * away**2))) / p])

    def _note(self, one: Statistic, omega: list[float], deviations: list[float]) -> None:
        self._owner += [len(self.statistics)] * len(omega)
        self.statistics.append(one)
        self._omega += omega
        self._deviations += deviations


def _inverse(scale: float) -> float:
    return 1.0 / scale if scale > 0.0 else 0.0
