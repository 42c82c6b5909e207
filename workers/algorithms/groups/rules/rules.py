"""Fuzzy rules and how well each tells a group's records from the others.

Notation
--------
rule : (V,) int8, term of every variable, counted from 1; 0 for any.
APC_alpha : product of the grades of a rule's terms, 0 where below alpha.
rho, rho_v : records, vital ones.  G : vital records.
support = sum_G APC_alpha / rho_v.  coverage = sum APC_alpha / rho (TC 13).
DF = support - coverage, discriminative factor (TC 14).  RCF = sum_G / sum_notG, relative confidence factor (TC 16).
f = DF * RCF where DF > 0, else 0 (TC 24).

Departure (science.md section 2, "Fuzzy model"): f divides by max(sum_notG, guard), 1 by default, because rules that no
outsider fits have infinite RCF and take over every search; the RCF that is reported is the true one. `guard` 0 is the
paper's letter.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import BoolArray, FloatArray
from workers.algorithms.groups.rules import patterns as pattern
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.kernels import highest, judge
from workers.algorithms.groups.rules.patterns import Patterns

Rules = NDArray[np.int8]

_BLOCK = 1 << 16  # records whose memberships are computed at a time


@dataclass(frozen=True)
class Metrics:
    """How good rules are; every array (R,).

    Attributes
    ----------
    support, coverage, discriminative_factor : shares.
    inside, outside : sum_G and sum_notG of APC_alpha, in records.
    relative_confidence_factor : inside / outside; inf where no outsider fits, 0 where nobody does.
    fitness : with the guard.
    """

    support: FloatArray
    coverage: FloatArray
    discriminative_factor: FloatArray
    inside: FloatArray
    outside: FloatArray
    relative_confidence_factor: FloatArray
    fitness: FloatArray

    def over(self, gamma: float, kappa: float) -> BoolArray:
        """Whether DF > 0, RCF >= gamma and support > kappa (TC, step 3 of the outline)."""
        reliable = self.relative_confidence_factor >= gamma
        return (self.discriminative_factor > 0.0) & reliable & (self.support > kappa)

    def at(self, places: NDArray[np.integer] | BoolArray) -> "Metrics":
        """Those of some of the rules."""
        return Metrics(**{name: values[places] for name, values in vars(self).items()})


def check_thresholds(gamma: float, kappa: float, guard: float) -> None:
    """Whether thresholds are some.

    Raises
    ------
    ValueError
        gamma or guard below 0 or not finite, kappa outside [0, 1).
    """
    if not (0.0 <= gamma < np.inf and 0.0 <= guard < np.inf and 0.0 <= kappa < 1.0):
        raise ValueError(f"gamma and guard must be at least 0, kappa in [0, 1), got {gamma}, {guard} and {kappa}")


def metrics(sums: FloatArray, *, records: int, vital: int, guard: float) -> Metrics:
    """Every measure from the sums of APC_alpha.

    Parameters
    ----------
    sums : (R, 2), over vital records, over the others.
    records, vital : rho, rho_v.
    guard : least denominator of the RCF in the fitness, in records; at least 0.
    """
    inside, outside = np.ascontiguousarray(sums[:, 0]), np.ascontiguousarray(sums[:, 1])
    support = inside / vital  # TC 13, left
    coverage = (inside + outside) / records  # TC 13, right
    difference = support - coverage  # TC 14
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(inside > 0.0, inside / outside, 0.0)  # TC 16
        guarded = np.where(inside > 0.0, inside / np.maximum(outside, guard), 0.0)
    with np.errstate(invalid="ignore"):
        fitness = np.where(difference > 0.0, difference * guarded, 0.0)  # TC 24
    return Metrics(support, coverage, difference, inside, outside, factor, fitness)


def check_rules(rules: Rules, data: Fuzzified) -> Rules:
    """Rules as the kernels take them.

    Raises
    ------
    ValueError
        Not (R, V), or a term that its variable does not have.
    """
    terms = data.terms
    given = np.asarray(rules)
    if given.ndim != 2 or given.shape[1] != len(terms):
        raise ValueError(f"rules must have one term for each of the {len(terms)} variables, got shape {given.shape}")
    if ((given < 0) | (given > terms)).any():
        raise ValueError("a rule names a term that its variable does not have: terms count from 1, 0 is any")
    return np.ascontiguousarray(given, dtype=np.int8)


def judged(patterns: Patterns, rules: Rules, *, threads: int = 1) -> FloatArray:
    """(R, 2), sums of APC_alpha over vital records and over the others; the same however many threads."""
    sums = np.empty((len(rules), 2))

    def part(begin: int, end: int) -> None:
        judge(
            rules[begin:end],
            patterns.codes,
            patterns.table,
            patterns.first,
            patterns.some,
            patterns.full,
            patterns.reach,
            patterns.count,
            patterns.vital_words,
            patterns.several_words,
            patterns.alpha,
            sums[begin:end],
        )

    if threads <= 1 or len(rules) < 2:
        part(0, len(rules))
        return sums
    ends = np.linspace(0, len(rules), min(4 * threads, len(rules)) + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(part, ends[:-1], ends[1:]))
    return sums


def evaluate(
    data: Fuzzified, vital: BoolArray, rules: Rules, alpha: float, guard: float = 1.0, threads: int = 1
) -> Metrics:
    """How good rules are.

    Parameters
    ----------
    data : N records.
    vital : (N,), which of them belong to the group.
    rules : (R, V) int8.
    alpha : threshold of APC, in [0, 1]; 0 for none.
    guard : least denominator of the RCF in the fitness, in records.
    threads : rules are shared among them.

    Raises
    ------
    ValueError
        Rules or alpha that are none; no or only vital records.

    Notes
    -----
    O(N V) to collect patterns, then about R D / 64 words at worst.
    """
    checked = check_rules(rules, data)
    patterns = pattern.collect(data, vital, alpha)
    sums = judged(patterns, checked, threads=threads)
    return metrics(sums, records=patterns.records, vital=patterns.vital, guard=guard)


def memberships(data: Fuzzified, rules: Rules, alpha: float, *, start: int = 0, stop: int | None = None) -> FloatArray:
    """Membership of every record in the group: the highest APC_alpha of any rule (TC: fuzzy union).

    Parameters
    ----------
    data : N records.
    rules : (R, V) int8.
    alpha : in [0, 1].
    start, stop : records asked for, all by default: one call over all of a large file takes seconds.

    Returns
    -------
    (stop - start,), in [0, 1]; 0 where there is no rule. O(N R), little memory beside the result.

    Raises
    ------
    ValueError
        Rules or alpha that are none.
    """
    checked = check_rules(rules, data)
    pattern.check_alpha(alpha)
    stop = data.records if stop is None else stop
    best = np.zeros(max(0, stop - start))
    for begin, end, codes, table in coded(data, alpha, start, stop):
        highest(checked, codes, table, alpha, best[begin - start : end - start])
    return best


def coded(
    data: Fuzzified, alpha: float, start: int, stop: int
) -> Iterator[tuple[int, int, NDArray[np.int32], FloatArray]]:
    """Records as kernels take them, some at a time: from where to where, (V, n) codes, and the grades that they mean.

    Grades below alpha are 0: no product with one of them reaches alpha.
    """
    tables = [pattern.reduced(variable, alpha) for variable in data.variables]
    starts = np.cumsum([0, *(len(grades) for grades, _ in tables)])
    table = np.zeros((1 + int(data.terms.max()), starts[-1]))
    for at, (grades, _) in zip(starts, tables, strict=False):
        table[: grades.shape[1], at : at + len(grades)] = grades.T
    for begin in range(start, stop, _BLOCK):
        end = min(begin + _BLOCK, stop)
        codes = np.empty((len(tables), end - begin), dtype=np.int32)
        for place, (variable, (_, code)) in enumerate(zip(data.variables, tables, strict=True)):
            codes[place] = code[variable.codes[begin:end]] + starts[place]
        yield begin, end, codes, table
