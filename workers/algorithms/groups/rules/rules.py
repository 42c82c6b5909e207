"""Fuzzy rules and how well each distinguishes a group's records from the others.

Notation as in rules.patterns, and
--------
rule : (V,) int8, term of every variable, counted from 1; 0 for any.
APC_alpha : product of the grades of a rule's terms, in the order of the variables, 0 where below alpha (TC 11, 12).
sums : (R, 2), sum of APC over vital records and over all others.
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

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from workers.algorithms.groups.rules import patterns as pattern
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.patterns import Patterns

Words = NDArray[np.uint64]
Rules = NDArray[np.int8]

_BATCH = 1024  # survivors multiplied at a time: their products stay in the nearest cache
_LARGEST = float(np.finfo(np.float64).max)
_BLOCK = 1 << 16  # records whose memberships are computed at a time


@inner_kernel
def _ones(word: np.uint64) -> int:
    """Bits set, counted in pairs, nibbles and bytes; compilers know the form."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner_kernel
def _active(
    rule: NDArray[np.int8], first: IntArray, reach: IntArray, rows: IntArray, fuzzy: IntArray
) -> tuple[int, int]:
    """Rows of a rule's bit sets, rarest term first, and its variables whose term has grades between 0 and 1."""
    some = 0
    between = 0
    for v in range(len(rule)):
        if rule[v] == 0:
            continue
        row = first[v] + rule[v] - 1
        at = some
        while at > 0 and reach[rows[at - 1], 0] > reach[row, 0]:
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = row
        some += 1
        if reach[row, 0] != reach[row, 1]:
            fuzzy[between] = v
            between += 1
    return some, between


@inner_kernel
def _multiplied(
    rule: NDArray[np.int8],
    fuzzy: IntArray,
    codes: IndexArray,
    table: FloatArray,
    count: FloatArray,
    alpha: float,
    slots: NDArray[np.uint32],
    product: FloatArray,
) -> float:
    """Sum of APC over the slots: variable by variable, so that values fetched for one do not wait for another."""
    for p in range(len(slots)):
        product[p] = 1.0
    for v in fuzzy:
        mu = table[rule[v]]
        code = codes[v]
        for p in range(len(slots)):
            product[p] *= mu[np.uint32(code[slots[p]])]
    total = 0.0
    for p in range(len(slots)):
        if product[p] >= alpha:
            total += count[slots[p]] * product[p]
    return total


@kernel
def judge(  # noqa: C901
    rules: Rules,
    codes: IndexArray,
    table: FloatArray,
    first: IntArray,
    some: Words,
    full: Words,
    reach: IntArray,
    count: FloatArray,
    vital_words: int,
    several_words: int,
    alpha: float,
    sums: FloatArray,
) -> None:
    """Fill `sums`: words of survivors, those of full grade counted, the others multiplied (TC 13 to 16)."""
    rows = np.empty(rules.shape[1], dtype=np.int64)
    fuzzy = np.empty(rules.shape[1], dtype=np.int64)
    slots = np.empty(_BATCH + 64, dtype=np.uint32)  # unsigned: no index from the end
    product = np.empty(_BATCH + 64)
    width = some.shape[1]
    for r in range(len(rules)):
        rule = rules[r]
        terms, between = _active(rule, first, reach, rows, fuzzy)
        if terms == 0:
            sums[r, 0] = count[: 64 * vital_words].sum()
            sums[r, 1] = count[64 * vital_words :].sum()
            continue
        total = 0.0
        waiting = 0
        sums[r, 0] = 0.0
        for w in range(width):
            if w == vital_words:
                total += _multiplied(rule, fuzzy[:between], codes, table, count, alpha, slots[:waiting], product)
                waiting = 0
                sums[r, 0] = total
                total = 0.0
            word = some[rows[0], w]
            for i in range(1, terms):
                if word == 0:
                    break
                word &= some[rows[i], w]
            if word == 0:
                continue
            whole = word
            if between > 0:
                for i in range(between):
                    whole &= full[first[fuzzy[i]] + rule[fuzzy[i]] - 1, w]
                word ^= whole
            else:
                word = np.uint64(0)
            if w >= several_words:
                total += _ones(whole)
            else:
                while whole != 0:
                    low = whole & (~whole + np.uint64(1))
                    total += count[64 * w + _ones(low - np.uint64(1))]
                    whole ^= low
            while word != 0:
                low = word & (~word + np.uint64(1))
                word ^= low
                slots[waiting] = 64 * w + _ones(low - np.uint64(1))
                waiting += 1
            if waiting >= _BATCH:
                total += _multiplied(rule, fuzzy[:between], codes, table, count, alpha, slots[:waiting], product)
                waiting = 0
        total += _multiplied(rule, fuzzy[:between], codes, table, count, alpha, slots[:waiting], product)
        if width > vital_words:
            sums[r, 1] = total
        else:
            sums[r, 0] = total
            sums[r, 1] = 0.0


@kernel
def highest(rules: Rules, codes: IndexArray, table: FloatArray, alpha: float, best: FloatArray) -> None:
    """best_p = max over rules of APC_alpha of record p, from the grades of its codes (TC: union of the rules)."""
    terms = np.empty(rules.size, dtype=np.int64)
    variables = np.empty(rules.size, dtype=np.int64)
    end = np.empty(len(rules), dtype=np.int64)
    at = 0
    for r in range(len(rules)):
        for v in range(rules.shape[1]):
            if rules[r, v] != 0:
                variables[at] = v
                terms[at] = rules[r, v]
                at += 1
        end[r] = at
    for p in range(len(best)):
        top = 0.0
        i = 0
        for r in range(len(rules)):
            product = 1.0
            while i < end[r]:
                product *= table[terms[i], codes[variables[i], p]]
                i += 1
                if product <= top or product < alpha:
                    i = end[r]
                    product = 0.0
            top = max(top, product)
            if top == 1.0:
                break
        best[p] = top


@dataclass(frozen=True)
class Metrics:
    """How good rules are; every array (R,).

    Attributes
    ----------
    support, coverage, discriminative_factor : shares.
    inside, outside : sum_G and sum_notG of APC_alpha, in records.
    relative_confidence_factor : inside / outside; inf where no outsider fits, 0 where no one does.
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
    factor, guarded = relative_confidence(inside, outside), relative_confidence(inside, np.maximum(outside, guard))
    with np.errstate(invalid="ignore"):
        fitness = np.where(difference > 0.0, difference * guarded, 0.0)  # TC 24
    return Metrics(support, coverage, difference, inside, outside, factor, fitness)


def relative_confidence(inside: FloatArray, outside: FloatArray) -> FloatArray:
    """Return RCF = inside / outside (TC 16): inf where no outsider fits, 0 where no one does.

    Where outsiders fit by all but nothing it is at most the largest double: infinite means that there are none.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factor = np.where(inside > 0.0, inside / outside, 0.0)
    return np.where(outside > 0.0, np.minimum(factor, _LARGEST), factor)


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
    start, stop : records requested, all by default: one call over all of a large file takes seconds.

    Returns
    -------
    (stop - start,), in [0, 1]; 0 where there is no rule. O(N R), little memory next to the result.

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
