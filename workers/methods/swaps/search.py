"""A search for swaps, memetic or the cheapest assignment, behind one face."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from app.contracts.swaps import MemeticSearch, SwapsSpec
from app.errors import FieldError, InfeasibleError
from surebox_verify.core.types import FloatArray, IntArray
from workers.algorithms.groups.memetic import search as memetic
from workers.algorithms.groups.memetic.state import MemeticRequest, MemeticState, individuals_bytes
from workers.algorithms.groups.signals.outliers import Outliers
from workers.algorithms.groups.swaps.assignment import cheapest, finding, moves_made, moves_needed
from workers.algorithms.groups.swaps.metric import Metric, encode
from workers.algorithms.groups.swaps.problem import Problem, Swaps, build, without
from workers.algorithms.groups.swaps.restrictions import Restriction, UnreachableError
from workers.methods.microfile.attack import stand_out
from workers.methods.protocol import Arrays
from workers.methods.swaps.mask import Masking, unreachable

_MOST_BYTES: Final = 2_000_000_000  # of the individuals of a search
_NO_HISTORY: Final[FloatArray] = np.empty((0, 3))


@dataclass(frozen=True, slots=True)
class Run:
    """What one run came to.

    Attributes
    ----------
    swaps : its cheapest swaps that meet every bound.
    fitness : theirs; None where nothing was evolved.
    valid_share : individuals of the last population that leave no outlier of before; None likewise.
    completed : swaps that were added to meet the bounds.
    history : (generations + 1, 3), best, mean and standard deviation of the fitness.
    """

    swaps: Swaps
    fitness: float | None
    valid_share: float | None
    completed: int
    history: FloatArray


@dataclass(frozen=True, slots=True)
class Ran:
    """What all runs came to, and the one that is taken."""

    runs: tuple[Run, ...]
    chosen: Run


@dataclass(frozen=True, slots=True)
class SwapSearch:
    """A search under way or ended.

    Attributes
    ----------
    state : of `memetic`; None where the assignment is asked for.
    assigning : the assignment being found, used up by its steps; None where it has not been begun, or is there.
    ran : the result, once it is there.
    """

    spec: SwapsSpec
    problem: Problem
    asked: Masking
    state: MemeticState | None
    assigning: Generator[None, None, Swaps] | None = None
    ran: Ran | None = None

    @property
    def done(self) -> bool:
        """Whether the swaps are there."""
        return self.ran is not None

    @property
    def progress(self) -> tuple[str, float]:
        """Stage with the figures of the newest generation, and share of the search that is done."""
        if self.state is None:
            return "assignment", 1.0 if self.done else 0.0
        stage, share = memetic.progress(self.state)
        newest = max(range(len(self.state.runs)), key=lambda run: self.state.runs[run].generation if self.state else 0)
        generation = self.state.runs[newest].generation
        if generation < 0:
            return stage, share
        best, mean, spread = self.state.history[newest, generation].tolist()
        return f"generation {generation}: best {best:.4f}, mean {mean:.4f}, spread {spread:.4f}", share

    def step(self) -> "SwapSearch":
        """Advance; the result is taken as soon as it is there.

        Raises
        ------
        InfeasibleError
            A bound cannot be met; says how far it can go.
        """
        try:
            if self.state is None:
                return self._assign()
            state = memetic.step(self.state)
            return replace(self, state=state, ran=self._evolved(state) if memetic.done(state) else None)
        except UnreachableError as error:
            raise unreachable(self.spec, self.asked.restrictions, error) from None

    def result(self) -> Ran:
        """The swaps of every run.

        Raises
        ------
        ValueError
            The search is not done.
        """
        if self.ran is None:
            msg = "the search has not ended"
            raise ValueError(msg)
        return self.ran

    def pack(self) -> Arrays:
        """The state; an assignment is found anew."""
        return {} if self.state is None else memetic.pack(self.state)

    def bound(self) -> Swaps:
        """The cheapest way to move the same numbers: no search can do better."""
        chosen = self.result().chosen.swaps
        if self.state is None and not self.asked.ceilings:
            return chosen
        return cheapest(self.problem, moves_made(self.problem, chosen))

    def _assign(self) -> "SwapSearch":
        """Go on with the assignment."""
        work = self.assigning
        if work is None:
            capacities = _capacities(self.problem, self.asked.ceilings)
            work = finding(self.problem, moves_needed(self.problem), capacities)
        try:
            next(work)
        except StopIteration as end:
            run = Run(end.value, None, None, 0, _NO_HISTORY)
            return replace(self, assigning=None, ran=Ran((run,), run))
        return replace(self, assigning=work)

    def _evolved(self, state: MemeticState) -> Ran:
        def judge(signal: IntArray) -> bool:
            return is_valid(self.asked, stand_out(signal, self.spec.outliers, self.asked.excluded))

        found = memetic.result(self.problem, state, judge)
        runs = tuple(
            Run(one.swaps, one.fitness, one.valid_share, one.completed, history)
            for one, history in zip(found.runs, found.history, strict=True)
        )
        return Ran(runs, next(run for run, one in zip(runs, found.runs, strict=True) if one is found.best))


def is_valid(asked: Masking, now: Outliers) -> bool:
    """Whether no outlier that was to be hidden is one now; new ones elsewhere are accepted (TC: OUT_e and OUT(q*)).

    Which outliers matter is the expert's choice: all that are not excluded, or those of the given list.
    """
    return asked.hidden.isdisjoint(now.order)


def _capacities(problem: Problem, ceilings: dict[int, int]) -> IntArray | None:
    """Members that may still enter each target; None without ceilings."""
    if not ceilings:
        return None
    room = np.full(len(problem.crisp), len(problem.partner_rows), dtype=np.int64)
    for place, most in ceilings.items():
        room[place] = max(0, most - int(problem.crisp[place]))
    return room


def swap_search(
    spec: SwapsSpec,
    problem: Problem,
    asked: Masking,
    *,
    threads: int,
    rng: np.random.Generator | None = None,
    arrays: Arrays | None = None,
) -> SwapSearch:
    """Begin a search, or go on with one.

    Parameters
    ----------
    spec, asked
        What is asked.
    problem
        The same, checked; its records in an order that does not follow the file's.
    threads
        Runs computed at once.
    rng
        For a new one.
    arrays
        What `SwapSearch.pack` gave, to go on.
    """
    if not isinstance(spec.search, MemeticSearch):
        return SwapSearch(spec, problem, asked, None)
    request = _request(spec.search, threads)
    _refuse_too_large(problem, request)
    if arrays is not None:
        state = memetic.unpack(problem, request, arrays)
        going_on = SwapSearch(spec, problem, asked, state)
        return replace(going_on, ran=going_on._evolved(state)) if memetic.done(state) else going_on  # noqa: SLF001
    if rng is None:
        msg = "a new search needs a generator"
        raise ValueError(msg)
    return SwapSearch(spec, problem, asked, memetic.init(problem, request, rng))


def _refuse_too_large(problem: Problem, request: MemeticRequest) -> None:
    needed = individuals_bytes(problem, request)
    if needed > _MOST_BYTES:
        detail = (
            f"{problem.needed:,} swaps are needed: {request.runs} runs of {request.population} individuals and "
            f"{2 * request.pairs} children take {needed / 1e9:.0f} GB, at most {_MOST_BYTES / 1e9:.0f} are given; ask "
            "for fewer runs, a smaller population or fewer pairs"
        )
        raise InfeasibleError(detail, errors=[FieldError("/search", detail)])


def _request(asked: MemeticSearch, threads: int) -> MemeticRequest:
    return MemeticRequest(
        population=asked.population,
        pairs=asked.pairs,
        tournament=asked.tournament,
        generations=asked.generations,
        mutation=asked.mutation,
        local_search=asked.local_search,
        runs=asked.runs,
        threads=threads,
    )


def reordered(problem: Problem, source_rows: IntArray, partner_rows: IntArray) -> Problem:
    """The problem with its records in a given order."""
    return without(problem, _places(problem.source_rows, source_rows), _places(problem.partner_rows, partner_rows))


def _places(rows: IntArray, wanted: IntArray) -> IntArray:
    order = np.argsort(rows)
    return np.asarray(order[np.searchsorted(rows, wanted, sorter=order)], dtype=np.int64)


def warm_swaps() -> None:
    """Swap a few made-up records by both searches."""
    rng = np.random.default_rng(0)
    metric = Metric((1.0,), (1.0,))
    parameter, member = np.repeat(np.arange(4), 20), np.arange(80) < 12
    values = encode(metric, rng.random((80, 1)), rng.integers(0, 3, (80, 1)))
    problem = build(parameter, 4, member, values, metric, (Restriction(0, 6, 12),))
    state = memetic.init(problem, MemeticRequest(population=6, pairs=2, generations=2), rng)
    while not memetic.done(state):
        state = memetic.step(state)
    best = memetic.result(problem, state, lambda signal: bool(signal[0] < 9)).best
    cheapest(problem, moves_made(problem, best.swaps))
