"""The kernel of the exhaustive search: a depth-first walk over rules with the lists of the patterns that fit them.

Notation as in rules.patterns, and
--------
node : a rule; its children have one more term, at a variable after its last one, so that every rule is reached once.
list : slots that fit a node and the product of their grades so far, at or above alpha; a run of the arena.
hits : of every code (column of the table) the terms with mu > 0: places `hit_from[c]` to `hit_from[c + 1]` of
    `hit_term` and `hit_mu`.
frames : (V, 7) int64, per depth: begin and end of the vital list, of the list of others; variable at hand; next term of
    it; arena used by what is above.
lists : (V, 1 + max L_v, 4) int64, per depth and term of the variable at hand: the lists of that child.
alive : (V, 1 + max L_v), whether the child has support above kappa.
path : (V,) int8, terms of the node at hand.
counters : (4,), depth (-1: done), rules whose support was computed, rules found, slots that may still be visited.
"""

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import kernel
from surebox_core.types import ByteArray, FloatArray, IndexArray, IntArray

Rules = NDArray[np.int8]

_SLACK = 1e-9  # sums here may be rounded another way than in rules_kernels.judge, which has the last word
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
