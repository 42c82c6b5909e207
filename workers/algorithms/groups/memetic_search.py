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
    source_signal: IntArray
    source_bound: IntArray
    source_zero: IntArray
    target_signal: IntArray
    target_bound: IntArray
    target_zero: IntArray
    needed: int
    most: float


class Stamps(NamedTuple):
    """Who is used by the individual at work: (S,), (R,) and (1,) int64, its number."""

    source: IntArray
    partner: IntArray
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
def local_search(  # noqa: C901 - one kernel, both directions
    board: Board, stream: NDArray[np.uint32], share: float, s: IndexArray, p: IndexArray, d: FloatArray, stamps: Stamps
) -> None:
    """Each row: with p_mem the nearest free partner of its target, else the nearest free record of its source.

    A row's own partner (record) counts as free. Equal ones: the lower index, the records having been shuffled.
    """
    now = stamps.now[0]
    infinity = np.inf
    for i in range(len(s)):
        best = infinity
        chosen = -1
        if uniform(stream) <= share:
            part = board.partner_part[p[i]]
            stamps.partner[p[i]] = 0
            near = board.near[s[i], part]
            for k in range(len(near)):
                if near[k] >= 0 and stamps.partner[near[k]] != now:
                    chosen = near[k]
                    best = board.near_distance[s[i], part, k]
                    break
            if chosen < 0:
                for r in range(board.partner_start[part], board.partner_start[part + 1]):
                    if stamps.partner[r] != now:
                        x, y = board.source_values[s[i]], board.partner_values[r]
                        distance = pair_distance(x, y, board.weights, board.categorical, best)
                        if distance < best:
                            best, chosen = distance, r
            p[i] = chosen
            stamps.partner[chosen] = now
        else:
            part = board.source_part[s[i]]
            stamps.source[s[i]] = 0
            for r in range(board.source_start[part], board.source_start[part + 1]):
                if stamps.source[r] != now:
                    x, y = board.source_values[r], board.partner_values[p[i]]
                    distance = pair_distance(x, y, board.weights, board.categorical, best)
                    if distance < best:
                        best, chosen = distance, r
            s[i] = chosen
            stamps.source[chosen] = now
        d[i] = best


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
