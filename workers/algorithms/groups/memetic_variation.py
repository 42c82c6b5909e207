"""Kernels of the memetic algorithm: where individuals come from (science.md section 2; TC, *Outline of the algorithm*).

Notation as in `memetic_search`; mu individuals are the population, two places per pair of parents stand behind them.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from workers.algorithms.core.types import FloatArray, IndexArray, IntArray
from workers.algorithms.groups.memetic_search import Board, Stamps, free_record, local_search, product_fitness
from workers.algorithms.groups.memetic_stream import below, uniform


@njit(cache=True, nogil=True)
def found(
    board: Board,
    stream: NDArray[np.uint32],
    share: float,
    roaming: float,
    s: IndexArray,
    p: IndexArray,
    d: FloatArray,
    rows: IntArray,
    fitness: FloatArray,
    stamps: Stamps,
) -> None:
    """The initial population: Q uniform on [1, 2 Q_need], sources proportional to q, targets to their size."""
    parts = len(board.weight_of_part)
    for i in range(len(rows)):
        stamps.now[0] += 1
        now = stamps.now[0]
        wanted = min(1 + below(stream, 2 * board.needed), s.shape[1])
        for row in range(wanted):
            one = free_record(stream, 0, len(stamps.source), stamps.source, now)
            aim = uniform(stream) * board.weight_of_part[parts - 1]
            part = min(np.searchsorted(board.weight_of_part, aim, side="right"), parts - 1)
            start, stop = board.partner_start[part], board.partner_start[part + 1]
            other = free_record(stream, start, stop, stamps.partner, now)
            if other < 0:
                other = free_record(stream, 0, len(stamps.partner), stamps.partner, now)
            s[i, row], p[i, row] = one, other
            stamps.source[one] = now
            stamps.partner[other] = now
        rows[i] = wanted
        local_search(board, stream, share, roaming, s[i, :wanted], p[i, :wanted], d[i, :wanted], stamps)
        fitness[i] = product_fitness(board, s[i, :wanted], p[i, :wanted], d[i, :wanted])


@njit(cache=True, nogil=True)
def _repaired(
    board: Board, stream: NDArray[np.uint32], s: IndexArray, p: IndexArray, count: int, stamps: Stamps
) -> int:
    """Rows left after duplicates are drawn again within their submicrofile; a row is dropped where that is used up."""
    now = stamps.now[0]
    kept = 0
    for i in range(count):
        one, other = s[i], p[i]
        if stamps.source[one] == now:
            part = board.source_part[one]
            one = free_record(stream, board.source_start[part], board.source_start[part + 1], stamps.source, now)
        if stamps.partner[other] == now:
            part = board.partner_part[other]
            other = free_record(stream, board.partner_start[part], board.partner_start[part + 1], stamps.partner, now)
        if one >= 0 and other >= 0:
            s[kept], p[kept] = one, other
            stamps.source[one] = now
            stamps.partner[other] = now
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _next(stream: NDArray[np.uint32], rate: float) -> int:
    """Rows to go to the next one that mutates: geometric, so that one draw serves many rows."""
    if rate <= 0.0:
        return 1 << 40
    if rate >= 1.0:
        return 1
    return 1 + int(math.log(uniform(stream)) / math.log1p(-rate))


@njit(cache=True, nogil=True)
def _mutate(
    board: Board, stream: NDArray[np.uint32], rate: float, s: IndexArray, p: IndexArray, stamps: Stamps
) -> None:
    """M4 after M3 after M2 after M1, each row of each with probability `rate`."""
    now = stamps.now[0]
    count = len(s)
    for column in range(4):
        i = _next(stream, rate) - 1
        while i < count:
            if column == 0:  # (source, record) pairs of two rows change places
                j = below(stream, count)
                s[i], s[j] = s[j], s[i]
            elif column == 1:  # (target, partner) pairs
                j = below(stream, count)
                p[i], p[j] = p[j], p[i]
            elif column == 2:  # another record of the same source
                part = board.source_part[s[i]]
                one = free_record(stream, board.source_start[part], board.source_start[part + 1], stamps.source, now)
                if one >= 0:
                    stamps.source[s[i]] = 0
                    stamps.source[one] = now
                    s[i] = one
            else:  # another partner in the same target
                part = board.partner_part[p[i]]
                one = free_record(stream, board.partner_start[part], board.partner_start[part + 1], stamps.partner, now)
                if one >= 0:
                    stamps.partner[p[i]] = 0
                    stamps.partner[one] = now
                    p[i] = one
            i += _next(stream, rate)


@njit(cache=True, nogil=True)
def _tournament(stream: NDArray[np.uint32], scaled: FloatArray, size: int) -> int:
    best = below(stream, len(scaled))
    for _ in range(size - 1):
        other = below(stream, len(scaled))
        if scaled[other] > scaled[best]:
            best = other
    return best


@njit(cache=True, nogil=True)
def _cut(stream: NDArray[np.uint32], first: int, second: int) -> tuple[int, int]:
    """Crossover points on [0, Q1] x [0, Q2] that leave neither child empty."""
    one = below(stream, first + 1)
    if one == 0:
        return one, below(stream, second)
    if one == first:
        return one, 1 + below(stream, second)
    return one, below(stream, second + 1)


@njit(cache=True, nogil=True)
def breed(
    board: Board,
    stream: NDArray[np.uint32],
    scaled: FloatArray,
    tournament: int,
    rate: float,
    share: float,
    roaming: float,
    s: IndexArray,
    p: IndexArray,
    d: FloatArray,
    rows: IntArray,
    fitness: FloatArray,
    stamps: Stamps,
) -> None:
    """Fill the places behind the population with children: two per pair, one cut per parent, tails exchanged.

    `scaled` holds the scaled fitness of the population, (mu,); s, p, d, rows, fitness have mu + 2 pairs places.
    """
    population, most = len(scaled), s.shape[1]
    for pair in range((len(rows) - population) // 2):
        a, b = _tournament(stream, scaled, tournament), _tournament(stream, scaled, tournament)
        one, two = _cut(stream, rows[a], rows[b])
        for child in range(2):
            c = population + 2 * pair + child
            head, at = (a, one) if child == 0 else (b, two)
            tail, rest = (b, two) if child == 0 else (a, one)
            count = min(at + rows[tail] - rest, most)
            s[c, :at] = s[head, :at]
            p[c, :at] = p[head, :at]
            s[c, at:count] = s[tail, rest : rest + count - at]
            p[c, at:count] = p[tail, rest : rest + count - at]
            stamps.now[0] += 1
            count = _repaired(board, stream, s[c], p[c], count, stamps)
            _mutate(board, stream, rate, s[c, :count], p[c, :count], stamps)
            local_search(board, stream, share, roaming, s[c, :count], p[c, :count], d[c, :count], stamps)
            rows[c] = count
            fitness[c] = product_fitness(board, s[c, :count], p[c, :count], d[c, :count])
