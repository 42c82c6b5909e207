"""The memetic algorithm that masks elements of a signal by swaps.

Source: science.md section 2, "Memetic search", TC equations 26 to 28.

Notation
--------
==========  ======  =========================================================================================
symbol      shape   meaning
==========  ======  =========================================================================================
Q           scalar  swaps of an individual; Q_need what the restrictions ask for
mu, lambda  scalar  population; pairs of parents, two children each
f           (mu,)   fitness Y * Phi * Psi in [0, 1]
Y           scalar  1 - sum InfM / C_max, clamped at 0; C_max = Q_need * largest InfM of one swap
Phi         scalar  product of the z- and s-shaped memberships of the restricted elements
Psi         scalar  1 / (1 + exp((Q - Q_need - 10) / 2))
p_c         scalar  crossover, probability of a pair of parents
p_m, p_mem  (4,), scalar  mutations M1 to M4 and local search, probabilities per row
==========  ======  =========================================================================================

Departures: the constants are generalised (those that the paper prints fit its own example only), and a share `roaming`
of the rows looks for partners in all targets, since the paper's operators never give a row a better one. An individual
has at most 4 Q_need + 64 rows (beyond that Psi is 0 many times over). Goldberg's linear scaling is applied as the paper
does; it is increasing, so that tournaments, which only compare, do not feel it. Every run draws from a cipher stream of
its own: results depend neither on the number of runs beside it nor on threads.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import FloatArray
from workers.algorithms.groups.memetic.board import Board, Odds, Places, Stamps
from workers.algorithms.groups.memetic.outcome import Judge, MemeticOutcome, outcome
from workers.algorithms.groups.memetic.state import MemeticRequest, MemeticState, Run, arranged
from workers.algorithms.groups.memetic.stream import new_stream
from workers.algorithms.groups.memetic.variation import fill
from workers.algorithms.groups.swaps.metric import nearest_lists
from workers.algorithms.groups.swaps.problem import Problem, shuffled

Stage: TypeAlias = Literal["nearest_partners", "generations"]

#: Attributes compared, or rows searched, in a step of about a tenth of a second.
STEP_COMPARED, STEP_SEARCHED = 30_000_000, 80_000

#: Deviation of fitness below which mutation is boosted, and how much (TC, *Results of protecting*).
_UNIFORM, _BOOST = 0.03, 10.0


def init(problem: Problem, request: MemeticRequest, rng: np.random.Generator) -> MemeticState:
    """A search about to begin.

    Parameters
    ----------
    problem : from `problem.build`.
    request : parameters.
    rng : where the runs' keys and the order of equals come from.

    Raises
    ------
    ValueError
        A parameter is out of range.
    """
    _check(request)
    numbered = replace(
        problem,
        source_rows=np.arange(len(problem.source_rows)),
        partner_rows=np.arange(len(problem.partner_rows)),
    )
    mixed = shuffled(numbered, rng)
    keys = rng.integers(0, 2**32, size=(request.runs, 8), dtype=np.uint32)
    return arranged(problem, request, (mixed.source_rows, mixed.partner_rows), [new_stream(key) for key in keys])


def step(state: MemeticState, *, compared: int = STEP_COMPARED, searched: int = STEP_SEARCHED) -> MemeticState:
    """Go on for a short while: some lists of nearest partners, or some generations of the runs that are furthest back.

    Lists as far as so many comparisons of attributes go, or generations as far as so many rows; one at least. The
    state that is given is used up.
    """
    if state.listed < len(state.problem.source_rows):
        return _list_more(state, compared)
    order = sorted(range(len(state.runs)), key=lambda i: state.runs[i].generation)
    behind = [i for i in order if state.runs[i].generation == state.runs[order[0]].generation]
    chosen = behind[: state.request.threads]
    if len(chosen) == 1:
        advanced = [_advance(state, chosen[0], searched)]
    else:
        with ThreadPoolExecutor(len(chosen)) as pool:
            advanced = list(pool.map(lambda i: _advance(state, i, searched), chosen))
    runs = list(state.runs)
    for i, run in zip(chosen, advanced, strict=True):
        runs[i] = run
    return replace(state, runs=tuple(runs))


def done(state: MemeticState) -> bool:
    """Whether every run has bred all its generations."""
    return all(run.generation >= state.request.generations for run in state.runs)


def progress(state: MemeticState) -> tuple[Stage, float]:
    """Stage, and share of the whole search that is done, in [0, 1]."""
    if state.listed < len(state.problem.source_rows):
        return "nearest_partners", 0.05 * state.listed / len(state.problem.source_rows)
    bred = sum(run.generation + 1 for run in state.runs)
    return "generations", 0.05 + 0.95 * bred / (len(state.runs) * (state.request.generations + 1))


def result(problem: Problem, state: MemeticState, judge: Judge) -> MemeticOutcome:
    """What a search that is done reports: see `outcome.outcome`.

    Raises
    ------
    ValueError
        It is not done.
    """
    if not done(state):
        raise ValueError("the search is not done")
    return outcome(problem, state, judge)


def pack(state: MemeticState) -> dict[str, NDArray[Any]]:
    """The state as arrays, as secret as the streams in it; lists of nearest partners are made again."""
    first = slice(0, state.request.population)
    packed: dict[str, NDArray[Any]] = {
        "source_order": state.order[0],
        "partner_order": state.order[1],
        "history": state.history,
        "generation": np.array([run.generation for run in state.runs], dtype=np.int64),
        "stream": np.array([run.stream for run in state.runs]),
    }
    for name in ("rows", "fitness"):
        packed[name] = np.array([getattr(run, name)[first] for run in state.runs])
    for name in ("source", "partner", "influence"):
        columns = np.array([getattr(run, name)[first] for run in state.runs])
        packed[name] = np.where(np.arange(columns.shape[2]) < packed["rows"][:, :, None], columns, 0)
    return packed


def unpack(problem: Problem, request: MemeticRequest, arrays: Mapping[str, NDArray[Any]]) -> MemeticState:
    """The state again, for the same problem and request: it goes on with the very individuals that would have followed.

    Raises
    ------
    ValueError
        The arrays belong to another problem or request.
    """
    order = (arrays["source_order"].astype(np.int64), arrays["partner_order"].astype(np.int64))
    if (len(order[0]), len(order[1])) != (len(problem.source_rows), len(problem.partner_rows)) or len(
        arrays["stream"]
    ) != request.runs:
        raise ValueError("the checkpoint belongs to another problem or request")
    state = arranged(problem, request, order, list(arrays["stream"].astype(np.uint32)))
    runs = []
    for i, run in enumerate(state.runs):
        for name in ("source", "partner", "influence", "rows", "fitness"):
            getattr(run, name)[: request.population] = arrays[name][i]
        runs.append(replace(run, generation=int(arrays["generation"][i])))
    return replace(state, runs=tuple(runs), history=np.array(arrays["history"], dtype=np.float64))


def linear_scaling(fitness: FloatArray) -> FloatArray:
    """Fitness with the same mean and twice the mean at its best, or as near to that as nothing below 0 allows.

    Goldberg 1989, p. 79, with C_mult = 2.
    """
    mean, best, worst = float(fitness.mean()), float(fitness.max()), float(fitness.min())
    if best <= mean:
        return fitness.copy()
    slope = mean / (best - mean)
    if mean - slope * (mean - worst) < 0.0:
        slope = mean / (mean - worst)
    return np.asarray(mean + slope * (fitness - mean))


def _check(request: MemeticRequest) -> None:
    if request.population < 2 or request.pairs < 1 or request.tournament < 1:
        raise ValueError("population must be at least 2, pairs and tournament at least 1")
    if request.generations < 0 or request.runs < 1 or request.threads < 1:
        raise ValueError("generations must not be negative, runs and threads at least 1")
    shares = (request.crossover, *request.mutations, request.local_search, request.roaming)
    if not all(0.0 <= share <= 1.0 for share in shares):
        raise ValueError("crossover, mutations, local_search and roaming must be probabilities, in [0, 1]")


def _list_more(state: MemeticState, compared: int) -> MemeticState:
    start, nearby = state.board.parts.partner_start, state.board.nearby
    pairs = compared // len(nearby.weights)
    stop = min(state.listed + max(1, pairs // len(nearby.partner_values)), len(nearby.source_values))
    part = slice(state.listed, stop)
    lists = (nearby.near_distance[part], nearby.near[part])
    near = (nearby.source_values[part], nearby.partner_values, nearby.weights, nearby.categorical, start)
    nearest_lists(*near, *lists)
    nearby.nearest[part] = nearby.near_distance[part, :, 0].min(axis=1)
    return replace(state, listed=stop)


def _advance(state: MemeticState, index: int, searched: int) -> Run:
    """The first population of a run, or as many generations as search so many rows."""
    request, run = state.request, state.runs[index]
    sources, partners = len(state.problem.source_rows), len(state.problem.partner_rows)
    stamps = Stamps(*(np.zeros(size, dtype=np.int64) for size in (sources, partners, partners, 1)))
    generation = run.generation
    if generation < 0:
        first = slice(0, request.population)
        places = _places(run, first)
        fill(state.board, run.stream, np.empty(0), _odds(request, np.zeros(4)), places, stamps)
        state.history[index, 0] = _summary(run.fitness[first])
        return replace(run, generation=0)
    effort = 2 * request.pairs * max(1, int(run.rows[: request.population].max()))
    stop = min(generation + max(1, searched // effort), request.generations)
    while generation < stop:
        _generation(state.board, request, run, stamps)
        generation += 1
        state.history[index, generation] = _summary(run.fitness[: request.population])
    return replace(run, generation=generation)


def _generation(board: Board, request: MemeticRequest, run: Run, stamps: Stamps) -> None:
    mu = request.population
    fitness = run.fitness[:mu]
    rates = np.array(request.mutations) * (_BOOST if float(fitness.std()) < _UNIFORM else 1.0)
    places = _places(run, slice(None))
    fill(board, run.stream, linear_scaling(fitness), _odds(request, np.minimum(rates, 1.0)), places, stamps)
    best = np.argsort(-run.fitness, kind="stable")[:mu]  # of equals parents survive
    for array in places:
        array[:mu] = array[best]


def _places(run: Run, part: slice) -> Places:
    return Places(run.source[part], run.partner[part], run.influence[part], run.rows[part], run.fitness[part])


def _odds(request: MemeticRequest, mutation: FloatArray) -> Odds:
    """As kernels take them: a probability given as 0 or 1 would have them compiled again, for integers."""
    shares = (float(request.local_search), float(request.roaming))
    return Odds(int(request.tournament), float(request.crossover), mutation, *shares)


def _summary(fitness: FloatArray) -> tuple[float, float, float]:
    return float(fitness.max()), float(fitness.mean()), float(fitness.std())
