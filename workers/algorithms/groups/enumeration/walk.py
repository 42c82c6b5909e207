"""The ground of the exhaustive search, and those who walk it: one walker per thread, one subtree per rule of one term.

Notation as in rules.patterns and enumeration.kernels.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import ByteArray, FloatArray, IndexArray, IntArray
from workers.algorithms.groups.enumeration.kernels import begin, walk
from workers.algorithms.groups.rules.patterns import WORD, Patterns
from workers.algorithms.groups.rules.rules import Rules, judged

_ROOM = 4096  # rules found in one call of the kernel
_SLACK = 1e-9


@dataclass(frozen=True)
class Ground:
    """What all walkers read.

    Attributes
    ----------
    patterns : what rules are judged on.
    hits : `hit_from`, `hit_term`, `hit_mu` of the kernel.
    thresholds : alpha, gamma, kappa, rho, rho_v.
    single : (Q, V), all rules of one term, in the order of the bit sets.
    work : (Q,), what the subtree of each costs at most, in pairs; 0 where its support is at most kappa.
    arena : slots that one walker's lists take at most.
    """

    patterns: Patterns
    hits: tuple[IntArray, IntArray, FloatArray]
    thresholds: FloatArray
    single: Rules
    work: FloatArray
    arena: int


@dataclass(frozen=True)
class Walker:
    """One thread's place in one subtree; all arrays change in place. `task` holds the subtree at hand, -1 for none."""

    task: IntArray
    ids: IndexArray
    product: FloatArray
    frames: IntArray
    lists: IntArray
    alive: ByteArray
    path: NDArray[np.int8]
    rules: Rules
    counters: IntArray
    collected: list[Rules]


@dataclass(frozen=True)
class Subtrees:
    """What is left to do and what has been found, by place of the subtree's term; changes in place.

    Attributes
    ----------
    pending : subtrees that nobody has begun, costly ones first.
    rules : those found in each finished subtree; perhaps a few that rounding keeps from the thresholds.
    evaluations : rules whose support was computed there.
    work : (Q,), as in `Ground`.
    """

    pending: deque[int] = field(default_factory=deque)
    rules: dict[int, Rules] = field(default_factory=dict)
    evaluations: dict[int, int] = field(default_factory=dict)
    work: FloatArray = field(default_factory=lambda: np.zeros(0))


def ground(patterns: Patterns, *, gamma: float, kappa: float) -> Ground:
    """What walkers need, from the patterns. O(Q D / 64)."""
    codes, places = np.nonzero(patterns.table[1:].T)
    hit_from = np.searchsorted(codes, np.arange(patterns.table.shape[1] + 1))
    hits = (hit_from.astype(np.int64), places + 1, patterns.table[places + 1, codes])
    variable = np.repeat(np.arange(len(patterns.terms)), patterns.terms)
    single = np.zeros((len(variable), len(patterns.terms)), dtype=np.int8)
    single[np.arange(len(variable)), variable] = np.arange(len(variable)) - patterns.first[variable] + 1
    support = judged(patterns, single)[:, 0] / patterns.vital
    reached = np.add.reduceat(patterns.reach[:, 0], patterns.first)  # slots that a variable's terms have together
    ways = 1.0 + reached / max(1, patterns.distinct)
    later = np.append(np.cumprod(ways[:0:-1])[::-1], 1.0)
    vital_slots = WORD * patterns.vital_words
    return Ground(
        patterns=patterns,
        hits=hits,
        thresholds=np.array([patterns.alpha, gamma, kappa, patterns.records, patterns.vital], dtype=np.float64),
        single=single,
        work=np.where(support > (1.0 - _SLACK) * kappa, patterns.reach[:, 0] * later[variable], 0.0),
        arena=int(patterns.codes.shape[1] + reached.sum() + vital_slots * patterns.terms.sum()),
    )


def plan(land: Ground, earlier: Subtrees) -> Subtrees:
    """Subtrees to be walked, beyond those finished earlier."""
    order = np.argsort(-land.work, kind="stable").tolist()
    pending = deque(place for place in order if land.work[place] > 0.0 and place not in earlier.rules)
    return Subtrees(pending, dict(earlier.rules), dict(earlier.evaluations), land.work)


def walker(land: Ground) -> Walker:
    """One more thread's workplace."""
    variables, width = len(land.patterns.terms), len(land.patterns.table)
    return Walker(
        task=np.full(1, -1, dtype=np.int64),
        ids=np.empty(land.arena, dtype=np.int32),
        product=np.empty(land.arena),
        frames=np.zeros((variables, 7), dtype=np.int64),
        lists=np.zeros((variables, width, 4), dtype=np.int64),
        alive=np.zeros((variables, width), dtype=np.uint8),
        path=np.zeros(variables, dtype=np.int8),
        rules=np.zeros((_ROOM + width, variables), dtype=np.int8),
        counters=np.zeros(4, dtype=np.int64),
        collected=[],
    )


def advance(land: Ground, one: Walker, subtrees: Subtrees, allowance: int) -> None:
    """Walk on until the allowance, in visited slots, is used up or nothing is left to begin."""
    counters = one.counters
    counters[3] = allowance
    while counters[3] > 0:
        if one.task[0] < 0 and not _begin(land, one, subtrees):
            return
        _go(land, one)
        if counters[2] > 0:
            one.collected.append(one.rules[: counters[2]].copy())
            counters[2] = 0
        if counters[0] < 0:
            task = int(one.task[0])
            empty = np.zeros((0, one.rules.shape[1]), dtype=np.int8)
            subtrees.evaluations[task] = int(counters[1])
            subtrees.rules[task] = np.concatenate([empty, *one.collected])
            one.task[0] = -1
            one.collected.clear()


def _begin(land: Ground, one: Walker, subtrees: Subtrees) -> bool:
    """Take the next subtree, if there is one."""
    try:
        task = subtrees.pending.popleft()
    except IndexError:
        return False
    patterns = land.patterns
    variable = int(np.flatnonzero(land.single[task])[0])
    term = land.single[task, variable]
    slots = patterns.codes.shape[1]
    mu = patterns.table[term]
    row = patterns.some[task]
    vital, end = begin(row, WORD * patterns.vital_words, patterns.codes[variable], mu, one.ids, one.product)
    one.task[0] = task
    one.path[:] = land.single[task]
    one.frames[0] = (0, vital, vital, end, variable, patterns.terms[variable] + 1, end)
    one.counters[0], one.counters[1] = 0, 0
    one.counters[3] -= slots
    return True


def _go(land: Ground, one: Walker) -> None:
    patterns = land.patterns
    walk(
        patterns.codes,
        patterns.count,
        patterns.terms,
        patterns.first,
        patterns.reach,
        *land.hits,
        land.thresholds,
        one.ids,
        one.product,
        one.frames,
        one.lists,
        one.alive,
        one.path,
        one.rules,
        one.counters,
    )


def fraction(subtrees: Subtrees) -> float:
    """Share of the possible work that is finished."""
    total = float(subtrees.work.sum())
    return float(subtrees.work[list(subtrees.rules)].sum()) / total if total > 0.0 else 1.0


def packed(subtrees: Subtrees) -> dict[str, NDArray[np.generic]]:
    """Finished subtrees as arrays."""
    tasks = list(subtrees.rules)
    arrays: dict[str, NDArray[np.generic]] = {
        "tasks": np.array(tasks, dtype=np.int64),
        "lengths": np.array([len(subtrees.rules[task]) for task in tasks], dtype=np.int64),
        "evaluations": np.array([subtrees.evaluations[task] for task in tasks], dtype=np.int64),
    }
    if tasks:
        arrays["rules"] = np.concatenate([subtrees.rules[task] for task in tasks])
    return arrays


def unpacked(arrays: Mapping[str, NDArray[np.generic]], variables: int) -> Subtrees:
    """Finished subtrees from arrays."""
    rules = np.asarray(arrays.get("rules", np.zeros((0, variables))), dtype=np.int8)
    ends = np.cumsum(arrays["lengths"], dtype=np.int64)
    tasks = [int(task) for task in np.asarray(arrays["tasks"], dtype=np.int64)]
    parts = np.split(rules, ends[:-1]) if tasks else []
    counts = np.asarray(arrays["evaluations"], dtype=np.int64).tolist()
    return Subtrees(rules=dict(zip(tasks, parts, strict=True)), evaluations=dict(zip(tasks, counts, strict=True)))
