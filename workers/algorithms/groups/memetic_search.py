"""Kernels of the memetic algorithm: local search and fitness (science.md section 2, TC equations 25 to 28).

Notation
--------
=========  ============  ==============================================================================
symbol     shape         meaning
=========  ============  ==============================================================================
S, R       scalars       source records, partners
E, T       scalars       source and target submicrofiles, here called parts
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
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from workers.algorithms.core.types import FloatArray, IndexArray, IntArray
from workers.algorithms.groups.influence import pair_distance
from workers.algorithms.groups.memetic_stream import below, uniform

#: Random tries to find a record that is free before they are looked through one by one.
_TRIES = 8


class Board(NamedTuple):
    """A problem as kernels take it.

    Attributes
    ----------
    source_values, partner_values : (S, A), (R, A).
    weights, categorical : (A,) and how many of them come first.
    source_part, partner_part : (S,), (R,) int64.
    source_start, partner_start : (E + 1,), (T + 1,) int64.
    weight_of_part : (T,), cumulated sizes of the target submicrofiles.
    near, near_distance : (S, T, K), the nearest partners in each target, -1 and infinity where there are fewer.
    nearest : (S,), distance of the nearest partner of all.
    source_signal, source_bound, source_zero : (E,), q, at_most and zero_at; a bound of -1 where nothing is asked.
    target_signal, target_bound, target_zero : (T,), q, at_least and zero_below likewise.
    needed : Q_need.
    most : C_max = Q_need * largest InfM of one swap.
    """

    source_values: FloatArray
    partner_values: FloatArray
    weights: FloatArray
    categorical: int
    source_part: IntArray
    partner_part: IntArray
    source_start: IntArray
    partner_start: IntArray
    weight_of_part: FloatArray
    near: IndexArray
    near_distance: FloatArray
    nearest: FloatArray
    source_signal: IntArray
    source_bound: IntArray
    source_zero: IntArray
    target_signal: IntArray
    target_bound: IntArray
    target_zero: IntArray
    needed: int
    most: float


class Stamps(NamedTuple):
    """Who is used by the individual at work: (S,), (R,), by which of its rows (R,), and its number (1,); int64."""

    source: IntArray
    partner: IntArray
    row: IntArray
    now: IntArray


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _in_target(board: Board, one: int, part: int, used: IntArray, now: int) -> tuple[int, float]:
    """The nearest free partner of a source record in one target: from its list, else looked for."""
    for k in range(board.near.shape[2]):
        other = board.near[one, part, k]
        if other >= 0 and used[other] != now:
            return other, board.near_distance[one, part, k]
    best, chosen = np.inf, -1
    for r in range(board.partner_start[part], board.partner_start[part + 1]):
        if used[r] != now:
            x, y = board.source_values[one], board.partner_values[r]
            distance = pair_distance(x, y, board.weights, board.categorical, best)
            if distance < best:
                best, chosen = distance, r
    return chosen, best


@njit(cache=True, nogil=True)
def _anywhere(board: Board, one: int, first: int, enough: float, used: IntArray, now: int) -> tuple[int, float]:
    """The nearest free partner of all lists, if nearer than `enough`; of equals that of the first target on."""
    best, chosen = enough, -1
    parts = board.near.shape[1]
    for t in range(parts):
        part = (first + t) % parts
        for k in range(board.near.shape[2]):
            other = board.near[one, part, k]
            if other < 0 or board.near_distance[one, part, k] >= best:
                break
            if used[other] != now:
                best, chosen = board.near_distance[one, part, k], other
                break
    return chosen, best


@njit(cache=True, nogil=True)
def _roam(  # noqa: C901 - one kernel
    board: Board, i: int, first: int, s: IndexArray, p: IndexArray, d: FloatArray, stamps: Stamps
) -> None:
    """Give row i the partner in any target that lowers the cost most; a row that it takes one from finds another.

    No list is looked at beyond what could still gain more: a row j gives up at most d_j less its nearest of all.
    """
    now, used, parts = stamps.now[0], stamps.partner, board.near.shape[1]
    gain, mine, other_row, other_partner, other_distance = 1e-12, -1, -1, -1, 0.0
    distance = 0.0
    for t in range(parts):
        part = (first + t) % parts
        for k in range(board.near.shape[2]):
            r = board.near[s[i], part, k]
            saved = d[i] - board.near_distance[s[i], part, k]
            if r < 0 or saved <= 0.0:
                break
            if used[r] != now:
                if saved > gain:
                    gain, mine, other_row, distance = saved, r, -1, board.near_distance[s[i], part, k]
                break
            j = stamps.row[r]
            if j == i or saved + d[j] - board.nearest[s[j]] <= gain:
                continue
            x, y = board.source_values[s[j]], board.partner_values[p[i]]
            enough = d[j] + saved - gain
            back = pair_distance(x, y, board.weights, board.categorical, enough)
            instead, far = _anywhere(board, s[j], first, min(back, enough), used, now)
            if instead < 0:
                instead, far = p[i], back
            if saved + d[j] - far > gain:
                gain, mine, distance = saved + d[j] - far, r, board.near_distance[s[i], part, k]
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


@njit(cache=True, nogil=True)
def _in_source(board: Board, other: int, part: int, used: IntArray, now: int) -> tuple[int, float]:
    """The nearest free record of a source to a partner."""
    best, chosen = np.inf, -1
    for r in range(board.source_start[part], board.source_start[part + 1]):
        if used[r] != now:
            x, y = board.source_values[r], board.partner_values[other]
            distance = pair_distance(x, y, board.weights, board.categorical, best)
            if distance < best:
                best, chosen = distance, r
    return chosen, best


@njit(cache=True, nogil=True)
def local_search(
    board: Board,
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
    parts = board.near.shape[1]
    for i in range(len(s)):
        x, y = board.source_values[s[i]], board.partner_values[p[i]]
        d[i] = pair_distance(x, y, board.weights, board.categorical, np.inf)
        stamps.row[p[i]] = i
    for i in range(len(s)):
        if roaming > 0.0 and uniform(stream) < roaming:
            _roam(board, i, below(stream, parts), s, p, d, stamps)
        if uniform(stream) <= share:
            stamps.partner[p[i]] = 0
            chosen, best = _in_target(board, s[i], board.partner_part[p[i]], stamps.partner, now)
            p[i], d[i] = chosen, best
            stamps.partner[chosen] = now
            stamps.row[chosen] = i
        else:
            stamps.source[s[i]] = 0
            chosen, best = _in_source(board, p[i], board.source_part[s[i]], stamps.source, now)
            s[i], d[i] = chosen, best
            stamps.source[chosen] = now


@njit(cache=True, nogil=True)
def product_fitness(board: Board, s: IndexArray, p: IndexArray, d: FloatArray) -> float:
    """Y * Phi * Psi of one individual (TC 26 to 28 with generalised constants)."""
    leaving = np.zeros(len(board.source_signal), dtype=np.int64)
    entering = np.zeros(len(board.target_signal), dtype=np.int64)
    cost = 0.0
    for i in range(len(s)):
        leaving[board.source_part[s[i]]] += 1
        entering[board.partner_part[p[i]]] += 1
        cost += d[i]
    out = max(0.0, (board.most - cost) / board.most)  # TC 27, clamped
    for e in range(len(leaving)):
        if board.source_bound[e] >= 0:
            q = board.source_signal[e] - leaving[e]
            out *= shaped(float(q), float(board.source_bound[e]), float(board.source_zero[e]))
    for t in range(len(entering)):
        if board.target_bound[t] >= 0:
            q = board.target_signal[t] + entering[t]
            out *= shaped(float(q), float(board.target_bound[t]), float(board.target_zero[t]))
    return out / (1.0 + math.exp(min(700.0, 0.5 * (len(s) - board.needed - 10))))  # TC 28
