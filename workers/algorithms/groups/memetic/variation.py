"""Kernels of the memetic algorithm: where individuals come from.

Source: science.md section 2, "Memetic search"; TC, *Outline of the algorithm*.

Notation as in memetic.search; mu individuals are the population, two places per pair of parents are behind them.
"""

import math

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray
from workers.algorithms.groups.memetic.board import Board, Odds, Parts, Places, Stamps
from workers.algorithms.groups.memetic.kernels import free_record, local_search, product_fitness
from workers.algorithms.groups.memetic.stream import below, uniform


@inner_kernel
def _part_at(cumulated: FloatArray, aim: float) -> int:
    """The first part whose cumulated weight exceeds `aim`, the last one at most."""
    low, high = 0, len(cumulated) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulated[middle] <= aim:
            low = middle + 1
        else:
            high = middle
    return low


@inner_kernel
def _founded(
    parts: Parts, needed: int, stream: NDArray[np.uint32], s: IndexArray, p: IndexArray, stamps: Stamps
) -> int:
    """Rows of an individual from nothing: Q uniform on [1, 2 Q_need], sources as q, targets as their size."""
    now = stamps.now[0]
    sources, targets = len(parts.source_start) - 1, len(parts.partner_start) - 1
    wanted = min(1 + below(stream, 2 * needed), len(s))
    for row in range(wanted):
        one = free_record(stream, parts.source_start[0], parts.source_start[sources], stamps.source, now)
        part = _part_at(parts.weight_of_part, uniform(stream) * parts.weight_of_part[targets - 1])
        other = free_record(stream, parts.partner_start[part], parts.partner_start[part + 1], stamps.partner, now)
        if other < 0:
            other = free_record(stream, parts.partner_start[0], parts.partner_start[targets], stamps.partner, now)
        s[row], p[row] = one, other
        stamps.source[one] = now
        stamps.partner[other] = now
    return wanted


@inner_kernel
def _repaired(
    parts: Parts, stream: NDArray[np.uint32], s: IndexArray, p: IndexArray, count: int, stamps: Stamps
) -> int:
    """Rows left after duplicates are drawn again within their submicrofile; a row is dropped where that is used up."""
    now = stamps.now[0]
    kept = 0
    for i in range(count):
        one, other = s[i], p[i]
        if stamps.source[one] == now:
            part = parts.source_part[one]
            one = free_record(stream, parts.source_start[part], parts.source_start[part + 1], stamps.source, now)
        if stamps.partner[other] == now:
            part = parts.partner_part[other]
            other = free_record(stream, parts.partner_start[part], parts.partner_start[part + 1], stamps.partner, now)
        if one >= 0 and other >= 0:
            s[kept], p[kept] = one, other
            stamps.source[one] = now
            stamps.partner[other] = now
            kept += 1
    return kept


@inner_kernel
def _next(stream: NDArray[np.uint32], rate: float) -> int:
    """Rows to go to the next one that mutates: geometric, so that one draw serves many rows."""
    if rate <= 0.0:
        return 1 << 40
    if rate >= 1.0:
        return 1
    return 1 + int(min(math.log(uniform(stream)) / math.log1p(-rate), 2.0**40))


@inner_kernel
def _mutate(
    parts: Parts, stream: NDArray[np.uint32], rates: FloatArray, s: IndexArray, p: IndexArray, stamps: Stamps
) -> None:
    """M4 after M3 after M2 after M1, each row of each with its probability, `rates` (4,)."""
    now = stamps.now[0]
    count = len(s)
    for column in range(4):
        i = _next(stream, rates[column]) - 1
        while i < count:
            if column == 0:  # (source, record) pairs of two rows change places
                j = below(stream, count)
                s[i], s[j] = s[j], s[i]
            elif column == 1:  # (target, partner) pairs
                j = below(stream, count)
                p[i], p[j] = p[j], p[i]
            elif column == 2:  # another record of the same source
                part = parts.source_part[s[i]]
                one = free_record(stream, parts.source_start[part], parts.source_start[part + 1], stamps.source, now)
                if one >= 0:
                    stamps.source[s[i]] = 0
                    stamps.source[one] = now
                    s[i] = one
            else:  # another partner in the same target
                part = parts.partner_part[p[i]]
                one = free_record(stream, parts.partner_start[part], parts.partner_start[part + 1], stamps.partner, now)
                if one >= 0:
                    stamps.partner[p[i]] = 0
                    stamps.partner[one] = now
                    p[i] = one
            i += _next(stream, rates[column])


@inner_kernel
def _tournament(stream: NDArray[np.uint32], scaled: FloatArray, size: int) -> int:
    best = below(stream, len(scaled))
    for _ in range(size - 1):
        other = below(stream, len(scaled))
        if scaled[other] > scaled[best]:
            best = other
    return best


@inner_kernel
def _cut(stream: NDArray[np.uint32], first: int, second: int) -> tuple[int, int]:
    """Crossover points on [0, Q1] x [0, Q2] that leave neither child empty."""
    one = below(stream, first + 1)
    if one == 0:
        return one, below(stream, second)
    if one == first:
        return one, 1 + below(stream, second)
    return one, below(stream, second + 1)


@kernel
def fill(
    board: Board, stream: NDArray[np.uint32], scaled: FloatArray, odds: Odds, places: Places, stamps: Stamps
) -> None:
    """Fill the places behind the population with children: two per pair, with p_c one cut per parent, tails exchanged.

    `scaled` contains the scaled fitness of the population, (mu,), whose places come first; where it is empty, all
    places are founded. One kernel for both: the code below it is compiled and linked but once.
    """
    parts = board.parts
    s, p, d, rows = places.source, places.partner, places.influence, places.rows
    population, most = len(scaled), s.shape[1]
    head, tail, at, rest = 0, 0, 0, 0
    for c in range(population, len(rows)):
        stamps.now[0] += 1
        mine, theirs = s[c], p[c]
        if population == 0:
            count = _founded(parts, board.goal.needed, stream, mine, theirs, stamps)
        else:
            if (c - population) % 2 == 0:
                head = _tournament(stream, scaled, odds.tournament)
                tail = _tournament(stream, scaled, odds.tournament)
                at, rest = rows[head], rows[tail]
                if odds.crossover >= 1.0 or uniform(stream) < odds.crossover:
                    at, rest = _cut(stream, rows[head], rows[tail])
            else:
                head, tail, at, rest = tail, head, rest, at
            count = min(at + rows[tail] - rest, most)
            for row in range(count):
                parent, place = (head, row) if row < at else (tail, rest + row - at)
                mine[row], theirs[row] = s[parent, place], p[parent, place]
            count = _repaired(parts, stream, mine, theirs, count, stamps)
            _mutate(parts, stream, odds.mutation, mine[:count], theirs[:count], stamps)
        mine, theirs, far = mine[:count], theirs[:count], d[c][:count]
        local_search(parts, board.nearby, stream, odds.local_search, odds.roaming, mine, theirs, far, stamps)
        rows[c] = count
        places.fitness[c] = product_fitness(parts, board.goal, mine, theirs, far)
