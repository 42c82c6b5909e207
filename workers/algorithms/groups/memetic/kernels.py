"""Kernels of the memetic algorithm: local search and fitness.

Source: science.md section 2, "Memetic search", TC equations 25 to 28.

Notation
--------
=========  ============  ==============================================================================
symbol     shape         meaning
=========  ============  ==============================================================================
S, R       scalars       source records, partners
E, T       scalars       source and target submicrofiles, here called parts
K          scalar        nested sets of records, the smallest first; one in the paper
L          scalar        most rows of an individual
s, p       (n, L)        int32, second and fourth column of each individual: source record and partner
d          (n, L)        float64, InfM of each row
rows       (n,)          Q of each individual
stamps     (S,), (R,)    number of the individual that uses a record: nothing has to be cleared
=========  ============  ==============================================================================

The first and third column of the paper's Q x 4 matrix (source, record, target, partner) are the parts of the records in
the other two, which fix them: individuals hold s and p only.
"""

import math

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray, IntArray
from workers.algorithms.groups.memetic.board import Goal, Nearby, Parts, Stamps
from workers.algorithms.groups.memetic.stream import below, uniform
from workers.algorithms.groups.swaps.metric import pair_distance

#: Random tries to find a record that is free before they are looked through one by one.
_TRIES = 8
#: Below a floor by so many records, a nested set's membership is 0.
_FLOOR_SLACK = 4


@kernel
def shaped(x: float, one: float, zero: float) -> float:
    """Membership 1 up to `one`, 0 from `zero` on: z-shaped where zero > one (ZMF of TC 28), else s-shaped."""
    u = (x - one) / (zero - one)
    if u <= 0.0:
        return 1.0
    if u <= 0.5:
        return 1.0 - 2.0 * u * u
    if u < 1.0:
        return 2.0 * (1.0 - u) * (1.0 - u)
    return 0.0


@inner_kernel
def free_record(stream: NDArray[np.uint32], start: int, stop: int, used: IntArray, now: int) -> int:
    """A record of [start, stop) that is free, at random (some tries, then the next one around), -1 where none is."""
    count = stop - start
    if count <= 0:
        return -1
    at = 0
    for _ in range(_TRIES):
        at = below(stream, count)
        if used[start + at] != now:
            return start + at
    for i in range(count):
        index = start + (at + i) % count
        if used[index] != now:
            return index
    return -1


@inner_kernel
def _in_target(
    nearby: Nearby, one: int, part: int, start: int, stop: int, used: IntArray, now: int
) -> tuple[int, float]:
    """The nearest free partner of a source record in one target, [start, stop): from its list, else looked for."""
    for k in range(nearby.near.shape[2]):
        other = nearby.near[one, part, k]
        if other >= 0 and used[other] != now:
            return other, nearby.near_distance[one, part, k]
    best, chosen = np.inf, -1
    for r in range(start, stop):
        if used[r] != now:
            x, y = nearby.source_values[one], nearby.partner_values[r]
            distance = pair_distance(x, y, nearby.weights, nearby.categorical, best)
            if distance < best:
                best, chosen = distance, r
    return chosen, best


@inner_kernel
def _anywhere(nearby: Nearby, one: int, first: int, enough: float, used: IntArray, now: int) -> tuple[int, float]:
    """The nearest free partner of all lists, if nearer than `enough`; of equals that of the first target on."""
    best, chosen = enough, -1
    parts = nearby.near.shape[1]
    for t in range(parts):
        part = (first + t) % parts
        for k in range(nearby.near.shape[2]):
            other = nearby.near[one, part, k]
            if other < 0 or nearby.near_distance[one, part, k] >= best:
                break
            if used[other] != now:
                best, chosen = nearby.near_distance[one, part, k], other
                break
    return chosen, best


@inner_kernel
def _roam(  # noqa: C901 - one kernel
    nearby: Nearby, i: int, first: int, s: IndexArray, p: IndexArray, d: FloatArray, stamps: Stamps
) -> None:
    """Give row i the partner in any target that lowers the cost most; a row that it takes one from finds another.

    No list is looked at beyond what could still gain more: a row j gives up at most d_j less its nearest of all.
    """
    now, used, parts = stamps.now[0], stamps.partner, nearby.near.shape[1]
    gain, mine, other_row, other_partner, other_distance = 1e-12, -1, -1, -1, 0.0
    distance = 0.0
    for t in range(parts):
        part = (first + t) % parts
        for k in range(nearby.near.shape[2]):
            r = nearby.near[s[i], part, k]
            saved = d[i] - nearby.near_distance[s[i], part, k]
            if r < 0 or saved <= 0.0:
                break
            if used[r] != now:
                if saved > gain:
                    gain, mine, other_row, distance = saved, r, -1, nearby.near_distance[s[i], part, k]
                break
            j = stamps.row[r]
            if j == i or saved + d[j] - nearby.nearest[s[j]] <= gain:
                continue
            x, y = nearby.source_values[s[j]], nearby.partner_values[p[i]]
            enough = d[j] + saved - gain
            back = pair_distance(x, y, nearby.weights, nearby.categorical, enough)
            instead, far = _anywhere(nearby, s[j], first, min(back, enough), used, now)
            if instead < 0:
                instead, far = p[i], back
            if saved + d[j] - far > gain:
                gain, mine, distance = saved + d[j] - far, r, nearby.near_distance[s[i], part, k]
                other_row, other_partner, other_distance = j, instead, far
    if mine < 0:
        return
    used[p[i]] = 0
    if other_row >= 0:
        p[other_row], d[other_row] = other_partner, other_distance
        used[other_partner] = now
        stamps.row[other_partner] = other_row
    p[i], d[i] = mine, distance
    used[mine] = now
    stamps.row[mine] = i


@inner_kernel
def _in_source(nearby: Nearby, other: int, start: int, stop: int, used: IntArray, now: int) -> tuple[int, float]:
    """The nearest free record of a source, [start, stop), to a partner."""
    best, chosen = np.inf, -1
    for r in range(start, stop):
        if used[r] != now:
            x, y = nearby.source_values[r], nearby.partner_values[other]
            distance = pair_distance(x, y, nearby.weights, nearby.categorical, best)
            if distance < best:
                best, chosen = distance, r
    return chosen, best


@inner_kernel
def local_search(
    parts: Parts,
    nearby: Nearby,
    stream: NDArray[np.uint32],
    share: float,
    roaming: float,
    s: IndexArray,
    p: IndexArray,
    d: FloatArray,
    stamps: Stamps,
) -> None:
    """Each row: with p_mem the nearest free partner of its target, else the nearest free record of its source.

    A row's own partner (record) counts as free. Equal ones: the lower index, the records having been shuffled. Beyond
    the paper, with probability `roaming` a row's partner is taken from any target.
    """
    now = stamps.now[0]
    for i in range(len(s)):
        x, y = nearby.source_values[s[i]], nearby.partner_values[p[i]]
        d[i] = pair_distance(x, y, nearby.weights, nearby.categorical, np.inf)
        stamps.row[p[i]] = i
    for i in range(len(s)):
        if roaming > 0.0 and uniform(stream) < roaming:
            _roam(nearby, i, below(stream, nearby.near.shape[1]), s, p, d, stamps)
        if uniform(stream) <= share:
            stamps.partner[p[i]] = 0
            part = parts.partner_part[p[i]]
            start, stop = parts.partner_start[part], parts.partner_start[part + 1]
            chosen, best = _in_target(nearby, s[i], part, start, stop, stamps.partner, now)
            p[i], d[i] = chosen, best
            stamps.partner[chosen] = now
            stamps.row[chosen] = i
        else:
            stamps.source[s[i]] = 0
            part = parts.source_part[s[i]]
            start, stop = parts.source_start[part], parts.source_start[part + 1]
            chosen, best = _in_source(nearby, p[i], start, stop, stamps.source, now)
            s[i], d[i] = chosen, best
            stamps.source[chosen] = now


@kernel
def product_fitness(parts: Parts, goal: Goal, s: IndexArray, p: IndexArray, d: FloatArray) -> float:
    """Y * Phi * Psi of one individual (TC 26 to 28 with generalised constants).

    Phi over several nested sets: the geometric mean of what each set alone would give, so that more sets do not weigh
    more against Y and Psi; with one set it is the paper's product.
    """
    sets, sources = goal.source_signal.shape
    leaving = np.zeros((sets, sources), dtype=np.int64)
    entering = np.zeros(len(goal.target_signal), dtype=np.int64)
    cost = 0.0
    for i in range(len(s)):
        band = parts.source_band[s[i]]
        leaving[band, parts.source_part[s[i]]] += 1
        if band <= goal.at:
            entering[parts.partner_part[p[i]]] += 1
        cost += d[i]
    out = max(0.0, (goal.most - cost) / goal.most) if goal.most > 0.0 else 1.0  # TC 27, clamped; 1: all are alike
    hidden = 1.0
    for e in range(sources):
        gone = 0
        for k in range(sets):
            gone += leaving[k, e]
            if goal.source_bound[k, e] >= 0:
                q = goal.source_signal[k, e] - gone
                hidden *= shaped(float(q), float(goal.source_bound[k, e]), float(goal.source_zero[k, e]))
                floor = goal.source_floor[k, e]
                if q < floor:
                    hidden *= shaped(float(q), float(floor), float(floor - _FLOOR_SLACK))
    out *= hidden if sets == 1 else hidden ** (1.0 / sets)
    for t in range(len(entering)):
        if goal.target_bound[t] >= 0:
            q = goal.target_signal[t] + entering[t]
            out *= shaped(float(q), float(goal.target_bound[t]), float(goal.target_zero[t]))
    return out / (1.0 + math.exp(min(700.0, 0.5 * (len(s) - goal.needed - 10))))  # TC 28
