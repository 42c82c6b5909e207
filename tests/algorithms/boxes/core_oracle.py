"""J of a set of boxes, box by box and from the definitions: the slow oracle of cores.

Source: science.md section 5, "Rare records".

A box is a mapping: `c` records, `v` the weight of each, and of each column that it has two ends, or a set of values. A
statistic is about the boxes that have its columns, each counting c v. Nothing of workers.algorithms is used.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from math import inf, sqrt
from typing import Any

Box = Mapping[str, Any]
Z = 1.959963984540054  # of a confidence of 0.95


def centre(side: Any, value: Any = None) -> float:
    """Middle of an interval; how much of a set one value is."""
    if isinstance(side, frozenset):
        return float(value in side) / len(side)
    return 0.5 * (side[0] + side[1])


def half(side: Any, value: Any = None) -> float:
    if isinstance(side, frozenset):
        return 0.5 if value in side and len(side) > 1 else 0.0
    return 0.5 * (side[1] - side[0])


class Number:
    """One number of a statistic: its kind, its columns (with the value of those that are sets) and omega."""

    def __init__(self, kind: str, of: Sequence[tuple[str, Any]], omega: float) -> None:
        self.kind, self.of, self.omega = kind, tuple(of), omega

    def has(self, boxes: Sequence[Box]) -> list[Box]:
        return [box for box in boxes if all(name in box for name, _ in self.of)]

    def moments(self, boxes: Sequence[Box]) -> tuple[float, list[float], list[list[float]]]:
        """Mass, means and covariances of the centres."""
        mass = sum(box["c"] * box["v"] for box in boxes)
        rows = [(box["c"] * box["v"] / mass, [centre(box[n], v) for n, v in self.of]) for box in boxes]
        size = range(len(self.of))
        mean = [sum(w * z[i] for w, z in rows) for i in size]
        both = [[sum(w * (z[i] - mean[i]) * (z[j] - mean[j]) for w, z in rows) for j in size] for i in size]
        return mass, mean, both

    def value(self, boxes: Sequence[Box]) -> float:
        """At the centres of those of some boxes that have the columns; NaN where undefined."""
        boxes = self.has(boxes)
        if not boxes:
            return float("nan")
        _, mean, both = self.moments(boxes)
        if self.kind in ("mean", "share"):
            return mean[0]
        if self.kind == "variance":
            return both[0][0]
        if self.kind == "covariance":
            return both[0][1]
        if self.kind == "correlation":
            if min(both[0][0], both[1][1]) <= 1e-9:
                return float("nan")
            return both[0][1] / sqrt(both[0][0] * both[1][1])
        if self.kind == "crosstab":
            return mean[0] * mean[1] + both[0][1]
        assert self.kind == "domain_mean"  # y, then the value
        if not any(centre(box[self.of[1][0]], self.of[1][1]) > 0.0 for box in boxes):
            return float("nan")
        return mean[0] + both[0][1] / mean[1]

    def slopes(self, boxes: Sequence[Box], box: Box) -> tuple[list[float], float]:
        """|N dC/dx| by each axis at a box, and how far IF is from 0 there, squared: of records that count alike."""
        _, mean, both = self.moments(boxes)
        z = [centre(box[n], v) for n, v in self.of]
        u = [a - b for a, b in zip(z, mean, strict=True)]
        if self.kind == "mean":
            return [1.0], u[0] ** 2
        if self.kind == "share":  # a record has the value or not, with chance z
            return [1.0], z[0] * (1.0 - mean[0]) ** 2 + (1.0 - z[0]) * mean[0] ** 2
        if self.kind == "variance":
            return [2.0 * abs(u[0])], (u[0] ** 2 - both[0][0]) ** 2
        if self.kind == "covariance":
            return [abs(u[1]), abs(u[0])], (u[0] * u[1] - both[0][1]) ** 2
        if self.kind == "correlation":
            s, t = sqrt(both[0][0]), sqrt(both[1][1])
            rho = both[0][1] / (s * t)
            a, b = u[0] / s, u[1] / t
            return [abs(b - rho * a) / s, abs(a - rho * b) / t], (a * b - 0.5 * rho * (a * a + b * b)) ** 2
        if self.kind == "crosstab":
            p, q = z[0] * z[1], mean[0] * mean[1] + both[0][1]
            return [mean[1], mean[0]], p * (1.0 - q) ** 2 + (1.0 - p) * q**2
        middle = mean[0] + both[0][1] / mean[1]
        mass = sum(one["c"] * one["v"] for one in boxes)
        y = self.of[0][0]
        away = sum(one["c"] * one["v"] / mass * abs(centre(one[y]) - middle) for one in boxes)
        return [z[1] / mean[1], away / mean[1]], z[1] * (z[0] - middle) ** 2 / mean[1] ** 2


def added(numbers: Sequence[Number], boxes: Sequence[Box]) -> list[float]:
    """g of each box."""
    records = sum(box["c"] for box in boxes)
    g_values = []
    for box in boxes:
        g = 0.0
        for one in numbers:
            there = one.has(boxes)
            if box in there:
                mass = sum(other["c"] * other["v"] for other in there)
                slopes, _ = one.slopes(there, box)
                by_axis = sum(s * half(box[n], v) for s, (n, v) in zip(slopes, one.of, strict=True))
                g += one.omega * records * box["v"] / mass * by_axis
        g_values.append(g)
    return g_values


def uncertainty(numbers: Sequence[Number], boxes: Sequence[Box]) -> float:
    """A."""
    records, total = sum(box["c"] for box in boxes), 0.0
    for one in numbers:
        there = one.has(boxes)
        mass = sum(box["c"] * box["v"] for box in there)
        squares = sum(
            box["c"] / records * (records * box["v"] / mass) ** 2 * one.slopes(there, box)[1] for box in there
        )
        total += one.omega * sqrt(squares)
    return Z * total


class Oracle:
    """J over the subsets of a table."""

    def __init__(self, numbers: Sequence[Number], boxes: Sequence[Box], needed: Sequence[str] = ()) -> None:
        self.numbers, self.boxes, self.needed = numbers, boxes, needed
        self.g, self.a = added(numbers, boxes), uncertainty(numbers, boxes)
        self.whole = [one.value(boxes) for one in numbers]

    def objective(self, kept: Sequence[int]) -> float:
        boxes = [self.boxes[b] for b in kept]
        if any(not any(name in box for box in boxes) for name in self.needed):
            return inf
        records = sum(box["c"] for box in boxes)
        total = sum(self.boxes[b]["c"] * self.g[b] for b in kept) / records + self.a / sqrt(records)
        for one, before in zip(self.numbers, self.whole, strict=True):
            total += one.omega * abs(before - one.value(boxes))
        return total if total == total else inf

    def subsets(self, at_most: float) -> Iterator[tuple[int, ...]]:
        """Sets of boxes that leave no more aside than is allowed."""
        records, every = sum(box["c"] for box in self.boxes), range(len(self.boxes))
        for size in range(1, len(self.boxes) + 1):
            for kept in combinations(every, size):
                if records - sum(self.boxes[b]["c"] for b in kept) <= at_most * records:
                    yield kept

    def least(self, at_most: float) -> float:
        return min(map(self.objective, self.subsets(at_most)))


def every_value(kind: str, of: Sequence[tuple[str, Sequence[Any] | None]], omega: float) -> list[Number]:
    """The numbers of a statistic of columns and, where they are sets, their codebooks."""
    choices = [[(name, value) for value in values or (None,)] for name, values in of]
    return [Number(kind, chosen, omega) for chosen in product(*choices)]
