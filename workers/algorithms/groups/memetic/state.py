"""State of a memetic search: parameters, runs, and the problem as kernels take it.

Source: science.md section 2, "Memetic search".

Notation as in memetic.kernels and memetic.search.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import FloatArray, IndexArray, IntArray
from workers.algorithms.groups.memetic.board import Board, Goal, Nearby, Parts
from workers.algorithms.groups.swaps.problem import Problem, without

#: Entries of the lists of nearest partners, and how long one list is at most.
_ENTRIES, _LONGEST = 1 << 22, 16
_SLACK = 10  # least distance from a bound on a nested set to where membership is 0 (the paper's 2 and 12)
_ROW_BYTES = 4 + 4 + 8  # source, partner, influence


@dataclass(frozen=True)
class MemeticRequest:
    """Parameters of the algorithm; the defaults are the paper's, but for `roaming`, which it does not have.

    Attributes
    ----------
    population : mu, at least 2.
    pairs : lambda, pairs of parents per generation.
    tournament : individuals that a parent is the best of.
    generations : how many follow the first population.
    crossover : p_c of a pair of parents; without it the children begin as their parents.
    mutations : p_m1 to p_m4 of the four operators, per row.
    local_search : p_mem, share of rows whose partner is searched; the others' source record is.
    roaming : share of rows that look for their partner in every target, and may take one from another row that finds
        a new one, whichever saves most. 0 is the paper's letter, where a row keeps its target for good; that ends at
        1.3 to 2.1 times the least distortion (benchmarks/group_swaps.py).
    runs : independent runs, the best of which is reported.
    threads : runs computed at once.
    """

    population: int = 100
    pairs: int = 40
    tournament: int = 5
    generations: int = 1000
    crossover: float = 1.0
    mutations: tuple[float, float, float, float] = (0.001, 0.001, 0.001, 0.001)
    local_search: float = 0.75
    roaming: float = 0.3
    runs: int = 1
    threads: int = 1


@dataclass(frozen=True)
class Run:
    """One run: its population in the first mu places, changed in place by the next step.

    Attributes
    ----------
    stream : (33,) uint32, where its random numbers come from. Secret.
    generation : how many were bred; -1 before the first population.
    source, partner : (mu + 2 lambda, L) int32, second and fourth column; influence likewise float64.
    rows, fitness : (mu + 2 lambda,).
    """

    stream: NDArray[np.uint32]
    generation: int
    source: IndexArray
    partner: IndexArray
    influence: FloatArray
    rows: IntArray
    fitness: FloatArray


@dataclass(frozen=True)
class MemeticState:
    """State of the search.

    Attributes
    ----------
    problem : records in the search's own random order.
    order : (S,) and (R,), which of the caller's problem's records those are.
    listed : source records whose nearest partners are known.
    history : (runs, generations + 1, 3), best, mean and standard deviation of the fitness.
    """

    problem: Problem
    request: MemeticRequest
    order: tuple[IntArray, IntArray]
    board: Board
    listed: int
    runs: tuple[Run, ...]
    history: FloatArray


def longest(problem: Problem) -> int:
    """L, rows that an individual has at most."""
    return min(len(problem.source_rows), len(problem.partner_rows), 4 * problem.needed + 64)


def individuals_bytes(problem: Problem, request: MemeticRequest) -> int:
    """Memory that the individuals of all runs take."""
    return request.runs * (request.population + 2 * request.pairs) * longest(problem) * _ROW_BYTES


def arranged(
    problem: Problem, request: MemeticRequest, order: tuple[IntArray, IntArray], streams: list[NDArray[np.uint32]]
) -> MemeticState:
    """A search at its beginning, records in a given order, one stream per run."""
    problem = without(problem, *order)
    most = longest(problem)
    places = request.population + 2 * request.pairs
    runs = tuple(
        Run(
            stream=stream.copy(),
            generation=-1,
            source=np.zeros((places, most), dtype=np.int32),
            partner=np.zeros((places, most), dtype=np.int32),
            influence=np.zeros((places, most)),
            rows=np.zeros(places, dtype=np.int64),
            fitness=np.zeros(places),
        )
        for stream in streams
    )
    history = np.full((request.runs, request.generations + 1, 3), np.nan)
    return MemeticState(problem, request, order, _board(problem), 0, runs, history)


def _board(problem: Problem) -> Board:
    sources, source_part = np.unique(problem.source_code, return_inverse=True)
    targets, partner_part = np.unique(problem.partner_code, return_inverse=True)
    entries = len(problem.source_rows) * len(targets)
    shape = (len(problem.source_rows), len(targets), int(np.clip(_ENTRIES // entries, 1, _LONGEST)))
    sizes = np.bincount(partner_part) + problem.crisp[targets]
    return Board(
        Parts(
            source_part=source_part.astype(np.int64),
            partner_part=partner_part.astype(np.int64),
            source_band=problem.source_band,
            source_start=np.searchsorted(source_part, np.arange(len(sources) + 1)).astype(np.int64),
            partner_start=np.searchsorted(partner_part, np.arange(len(targets) + 1)).astype(np.int64),
            weight_of_part=np.cumsum(sizes).astype(np.float64),
        ),
        Nearby(
            source_values=problem.source_values,
            partner_values=problem.partner_values,
            weights=problem.metric.weights,
            categorical=len(problem.metric.categorical),
            near=np.full(shape, -1, dtype=np.int32),
            near_distance=np.full(shape, np.inf),
            nearest=np.full(shape[0], np.inf),
        ),
        _goal(problem, sources, targets),
    )


def _goal(problem: Problem, sources: IntArray, targets: IntArray) -> Goal:
    lowered = problem.bounds[:, sources]
    zeros = np.maximum(problem.counts[:, sources], lowered + _SLACK)
    raised = np.full((2, len(problem.crisp)), -1, dtype=np.int64)
    for one in problem.restrictions:
        if one.raises:
            raised[:, one.element] = one.bound, one.zero
        elif one.element in sources:
            zeros[problem.at, np.searchsorted(sources, one.element)] = one.zero
    return Goal(
        source_signal=np.ascontiguousarray(problem.counts[:, sources]),
        source_bound=np.ascontiguousarray(lowered),
        source_zero=np.ascontiguousarray(zeros),
        source_floor=np.ascontiguousarray(problem.floors[:, sources]),
        at=problem.at,
        target_signal=problem.crisp[targets],
        target_bound=raised[0, targets],
        target_zero=raised[1, targets],
        needed=problem.needed,
        most=problem.needed * problem.metric.largest,
    )
