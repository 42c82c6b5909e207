"""The ground of the exhaustive search, and those who walk it: one walker per thread, one subtree per rule of one term.

Notation as in rules.patterns and enumeration.kernels.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from surebox_verify.core.types import ByteArray, FloatArray, IndexArray, IntArray
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
    found: Rules
    counters: IntArray
    rules: list[Rules]


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


def ground(found: Patterns, *, gamma: float, kappa: float) -> Ground:
    """What walkers need, from the patterns. O(Q D / 64)."""
    codes, places = np.nonzero(found.table[1:].T)
    hit_from = np.searchsorted(codes, np.arange(found.table.shape[1] + 1))
    hits = (hit_from.astype(np.int64), places + 1, found.table[places + 1, codes])
    variable = np.repeat(np.arange(len(found.terms)), found.terms)
    single = np.zeros((len(variable), len(found.terms)), dtype=np.int8)
    single[np.arange(len(variable)), variable] = np.arange(len(variable)) - found.first[variable] + 1
    support = judged(found, single)[:, 0] / found.vital
    reached = np.add.reduceat(found.reach[:, 0], found.first)  # slots that a variable's terms have together
    ways = 1.0 + reached / max(1, found.distinct)
    later = np.append(np.cumprod(ways[:0:-1])[::-1], 1.0)
    vital_slots = WORD * found.vital_words
    return Ground(
        patterns=found,
        hits=hits,
        thresholds=np.array([found.alpha, gamma, kappa, found.records, found.vital], dtype=np.float64),
        single=single,
        work=np.where(support > (1.0 - _SLACK) * kappa, found.reach[:, 0] * later[variable], 0.0),
        arena=int(found.codes.shape[1] + reached.sum() + vital_slots * found.terms.sum()),
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
        found=np.zeros((_ROOM + width, variables), dtype=np.int8),
        counters=np.zeros(4, dtype=np.int64),
        rules=[],
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
            one.rules.append(one.found[: counters[2]].copy())
            counters[2] = 0
        if counters[0] < 0:
            task = int(one.task[0])
            empty = np.zeros((0, one.found.shape[1]), dtype=np.int8)
            subtrees.evaluations[task] = int(counters[1])
            subtrees.rules[task] = np.concatenate([empty, *one.rules])
            one.task[0] = -1
            one.rules.clear()


def _begin(land: Ground, one: Walker, subtrees: Subtrees) -> bool:
    """Take the next subtree, if there is one."""
    try:
        task = subtrees.pending.popleft()
    except IndexError:
        return False
    found = land.patterns
    variable = int(np.flatnonzero(land.single[task])[0])
    term = land.single[task, variable]
    slots = found.codes.shape[1]
    mu = found.table[term]
    row = found.some[task]
    vital, end = begin(row, WORD * found.vital_words, found.codes[variable], mu, one.ids, one.product)
    one.task[0] = task
    one.path[:] = land.single[task]
    one.frames[0] = (0, vital, vital, end, variable, found.terms[variable] + 1, end)
    one.counters[0], one.counters[1] = 0, 0
    one.counters[3] -= slots
    return True


def _go(land: Ground, one: Walker) -> None:
    found = land.patterns
    walk(
        found.codes,
        found.count,
        found.terms,
        found.first,
        found.reach,
        *land.hits,
        land.thresholds,
        one.ids,
        one.product,
        one.frames,
        one.lists,
        one.alive,
        one.path,
        one.found,
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
