"""The exhaustive search: its ground, those who walk it (one per thread, a subtree per rule of one term), their kernel.

Notation as in rules.patterns, and
--------
node : a rule; its children have one more term, at a variable after its last one, so that every rule is reached once.
list : slots that fit a node and the product of their grades so far, at or above alpha; a run of the arena.
hits : of every code (column of the table) the terms with mu > 0: places `hit_from[c]` to `hit_from[c + 1]` of
    `hit_term` and `hit_mu`.
frames : (V, 7) int64, per depth: begin and end of the vital list, of the list of others; variable at hand; next term of
    it; arena used by the values above.
lists : (V, 1 + max L_v, 4) int64, per depth and term of the variable at hand: the lists of that child.
alive : (V, 1 + max L_v), whether the child has support above kappa.
path : (V,) int8, terms of the node at hand.
counters : (4,), depth (-1: done), rules whose support was computed, rules found, slots that may still be visited.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import kernel
from surebox_core.types import ByteArray, FloatArray, IndexArray, IntArray
from workers.algorithms.groups.rules.patterns import WORD, Patterns
from workers.algorithms.groups.rules.rules import Rules, judged

_ROOM = 4096  # rules found in one call of the kernel
_SLACK = 1e-9  # sums here may be rounded another way than in rules.judge, which has the last word
_EXPANSION = 20  # what it costs to look at a node at all, in slots


@kernel
def begin(
    some: NDArray[np.uint64],
    vital_slots: int,
    codes: IndexArray,
    mu: FloatArray,
    ids: IndexArray,
    product: FloatArray,
) -> tuple[int, int]:
    """Lists of a node of one term, whose bit set is `some` (D / 64,), grades `mu` and whose variable's codes are given.

    Returns
    -------
    End of the vital list, and of the list of others.
    """
    at = 0
    vital = 0
    for slot in range(64 * len(some)):
        if slot == vital_slots:
            vital = at
        if (some[slot >> 6] >> np.uint64(slot & 63)) & np.uint64(1):
            ids[at] = slot
            product[at] = mu[codes[slot]]
            at += 1
    return (at if vital_slots >= 64 * len(some) else vital), at


@kernel
def walk(  # noqa: C901
    codes: IndexArray,
    count: FloatArray,
    terms: IntArray,
    first: IntArray,
    reach: IntArray,
    hit_from: IntArray,
    hit_term: IntArray,
    hit_mu: FloatArray,
    thresholds: FloatArray,
    ids: IndexArray,
    product: FloatArray,
    frames: IntArray,
    lists: IntArray,
    alive: ByteArray,
    path: NDArray[np.int8],
    rules: Rules,
    counters: IntArray,
) -> None:
    """Walk until the allowance `counters[3]` is used up, `rules` might overflow, or all is seen.

    `thresholds` : alpha, gamma, kappa, rho, rho_v.
    """
    alpha, gamma, kappa, records, vital = thresholds
    variables = len(terms)
    inside = np.empty(alive.shape[1])
    outside = np.empty(alive.shape[1])
    depth = counters[0]
    while depth >= 0 and counters[3] > 0 and counters[2] + alive.shape[1] <= len(rules):
        frame = frames[depth]
        place = frame[4]
        if place >= 0 and frame[5] <= terms[place]:
            t = frame[5]
            frame[5] += 1
            if alive[depth, t] and place < variables - 1:
                path[place] = t
                top = frame[6]
                for s in range(1, terms[place] + 1):
                    if alive[depth, s]:
                        top = max(top, lists[depth, s, 3])
                depth += 1
                for end in range(4):
                    frames[depth, end] = lists[depth - 1, t, end]
                frames[depth, 4] = place
                frames[depth, 5] = terms[place] + 1
                frames[depth, 6] = top
            continue
        place += 1
        if place == variables:
            depth -= 1
            if depth >= 0:
                path[frames[depth, 4]] = 0
            continue
        frame[4] = place
        frame[5] = 1
        leaf = place == variables - 1
        top = frame[6]
        for t in range(1, terms[place] + 1):
            inside[t] = 0.0
            outside[t] = 0.0
            lists[depth, t, 0] = top
            lists[depth, t, 1] = top
            if not leaf:
                top += frame[1] - frame[0]
        for i in range(frame[0], frame[1]):
            slot = ids[i]
            code = codes[place, slot]
            for h in range(hit_from[code], hit_from[code + 1]):
                p = product[i] * hit_mu[h]
                if p >= alpha:
                    t = hit_term[h]
                    inside[t] += count[slot] * p
                    if not leaf:
                        at = lists[depth, t, 1]
                        ids[at] = slot
                        product[at] = p
                        lists[depth, t, 1] = at + 1
        some = False
        for t in range(1, terms[place] + 1):
            alive[depth, t] = inside[t] / vital > (1.0 - _SLACK) * kappa
            lists[depth, t, 2] = top
            lists[depth, t, 3] = top
            if alive[depth, t]:
                some = True
                if not leaf:
                    top += min(frame[3] - frame[2], reach[first[place] + t - 1, 0])
        counters[1] += terms[place]
        counters[3] -= _EXPANSION + frame[1] - frame[0]
        if not some:
            continue
        for i in range(frame[2], frame[3]):
            slot = ids[i]
            code = codes[place, slot]
            for h in range(hit_from[code], hit_from[code + 1]):
                t = hit_term[h]
                p = product[i] * hit_mu[h]
                if alive[depth, t] and p >= alpha:
                    outside[t] += count[slot] * p
                    if not leaf:
                        at = lists[depth, t, 3]
                        ids[at] = slot
                        product[at] = p
                        lists[depth, t, 3] = at + 1
        counters[3] -= frame[3] - frame[2]
        for t in range(1, terms[place] + 1):
            if alive[depth, t]:
                difference = inside[t] / vital - (inside[t] + outside[t]) / records
                if difference > -_SLACK and inside[t] >= (1.0 - _SLACK) * gamma * outside[t]:
                    path[place] = t
                    for variable in range(variables):
                        rules[counters[2], variable] = path[variable]
                    path[place] = 0
                    counters[2] += 1
    counters[0] = depth


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
    """One thread's place in one subtree; all arrays change in place. `task` is the subtree at hand, -1 for none."""

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
    """Work left and rules collected, by place of the subtree's term; changes in place.

    Attributes
    ----------
    pending : subtrees that no one has begun, costly ones first.
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
