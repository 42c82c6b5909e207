"""Rules judged record by record in plain Python: slow, obvious, and sharing nothing with what it checks."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from workers.algorithms.groups.rules.fuzzified import Fuzzified, fuzzify
from workers.algorithms.groups.rules.membership import Term

Rule = tuple[int, ...]


def rising(x: float, a: float, b: float, curved: bool) -> float:
    if x >= b:
        return 1.0
    if x <= a:
        return 0.0
    if not curved:
        return (x - a) / (b - a)
    return 2 * ((x - a) / (b - a)) ** 2 if x <= (a + b) / 2 else 1 - 2 * ((x - b) / (b - a)) ** 2


def falling(x: float, c: float, d: float, curved: bool) -> float:
    if x <= c:
        return 1.0
    if x >= d:
        return 0.0
    if not curved:
        return (d - x) / (d - c)
    return 1 - 2 * ((x - c) / (d - c)) ** 2 if x <= (c + d) / 2 else 2 * ((x - d) / (d - c)) ** 2


def grade(term: Term, x: float) -> float:
    p = term.points
    if term.shape == "gaussian":
        return math.exp(-((x - p[1]) ** 2) / (2 * p[0] ** 2))
    if term.shape == "range":
        return 1.0 if p[0] <= x <= p[1] else 0.0
    if term.shape == "s":
        return rising(x, p[0], p[1], True)
    if term.shape == "z":
        return falling(x, p[0], p[1], True)
    a, b, c, d = (p[0], p[1], p[1], p[2]) if term.shape == "triangle" else p
    return min(rising(x, a, b, term.shape == "pi"), falling(x, c, d, term.shape == "pi"))


@dataclass(frozen=True)
class Case:
    """A small microfile."""

    columns: list[list[float]]
    terms: list[list[Term]]
    vital: list[bool]
    alpha: float

    def data(self) -> Fuzzified:
        return fuzzify([np.array(column) for column in self.columns], self.terms)

    def flags(self) -> np.ndarray:
        return np.array(self.vital)

    def rules(self) -> Iterator[Rule]:
        return itertools.product(*(range(len(terms) + 1) for terms in self.terms))

    def apc(self, record: int, rule: Sequence[int]) -> float:
        product = 1.0
        for column, terms, number in zip(self.columns, self.terms, rule, strict=True):
            if number:
                product *= grade(terms[number - 1], column[record])
        return product if product >= self.alpha else 0.0

    def sums(self, rule: Sequence[int]) -> tuple[Fraction, Fraction]:
        inside, outside = Fraction(0), Fraction(0)
        for record, vital in enumerate(self.vital):
            value = Fraction(self.apc(record, rule))
            if vital:
                inside += value
            else:
                outside += value
        return inside, outside

    def measures(self, rule: Sequence[int], guard: float) -> dict[str, float]:
        inside, outside = self.sums(rule)
        support = inside / sum(self.vital)
        coverage = (inside + outside) / len(self.vital)
        difference = support - coverage
        factor = float(inside / outside) if outside else (math.inf if inside else 0.0)
        guarded = inside / max(outside, Fraction(guard))
        return {
            "support": float(support),
            "coverage": float(coverage),
            "discriminative_factor": float(difference),
            "inside": float(inside),
            "outside": float(outside),
            "relative_confidence_factor": factor,
            "fitness": float(difference * guarded) if difference > 0 else 0.0,
        }

    def over(self, rule: Sequence[int], gamma: float, kappa: float, slack: float) -> bool:
        """Over the thresholds, each lowered by slack."""
        inside, outside = self.sums(rule)
        support = inside / sum(self.vital)
        difference = support - (inside + outside) / len(self.vital)
        reliable = inside >= Fraction(gamma) * outside - Fraction(slack) and inside > 0
        return bool(difference > -Fraction(slack) and reliable and support > Fraction(kappa) - Fraction(slack))


def more_general(one: Sequence[int], other: Sequence[int]) -> bool:
    return tuple(one) != tuple(other) and all(a in {0, b} for a, b in zip(one, other, strict=True))


def most_general(rules: Sequence[Rule]) -> set[Rule]:
    return {rule for rule in rules if not any(more_general(other, rule) for other in rules)}


def as_tuples(rules: np.ndarray) -> list[Rule]:
    return [tuple(rule) for rule in rules.tolist()]


@st.composite
def terms(draw: st.DrawFn) -> Term:
    shape = draw(st.sampled_from(["gaussian", "trapezoid", "triangle", "pi", "s", "z", "range"]))
    if shape == "gaussian":
        return Term(shape, (draw(st.floats(0.3, 4.0)), draw(st.floats(0, 6))))
    size = {"trapezoid": 4, "pi": 4, "triangle": 3}.get(shape, 2)
    return Term(shape, tuple(sorted(draw(st.lists(st.integers(-1, 7).map(float), min_size=size, max_size=size)))))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    variables = draw(st.integers(1, 3))
    records = draw(st.integers(2, 25))
    whole = draw(st.booleans())
    values = st.integers(0, 6).map(float) if whole else st.floats(0, 6, allow_subnormal=False)
    columns = [draw(st.lists(values, min_size=records, max_size=records)) for _ in range(variables)]
    used = [draw(st.lists(terms(), min_size=1, max_size=3)) for _ in range(variables)]
    vital = draw(st.lists(st.booleans(), min_size=records, max_size=records).filter(lambda v: 0 < sum(v) < len(v)))
    return Case(columns, used, vital, draw(st.sampled_from([0.0, 0.2345, 0.5, 0.8, 1.0])))
