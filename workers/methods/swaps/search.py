"""A search for swaps, memetic or the cheapest assignment, behind one face."""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from app.contracts.jobs import JobStage
from app.errors import InfeasibleError
from app.methods.swaps.spec import MemeticSearch, SwapsSpec
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.groups.memetic import search as memetic
from workers.algorithms.groups.memetic.state import MemeticRequest, MemeticState, individuals_bytes
from workers.algorithms.groups.profile.decoys import Everybody, decoys
from workers.algorithms.groups.profile.inconspicuous import Masked, View, masking
from workers.algorithms.groups.rules.fits import fits
from workers.algorithms.groups.rules.fuzzified import fuzzify
from workers.algorithms.groups.rules.membership import Term
from workers.algorithms.groups.signals.criteria import Judge
from workers.algorithms.groups.signals.families import families
from workers.algorithms.groups.signals.telling import telling
from workers.algorithms.groups.swaps.assignment import cheapest, finding, moves_made, moves_needed
from workers.algorithms.groups.swaps.effect import exactly, loosened, together
from workers.algorithms.groups.swaps.metric import Metric, encode
from workers.algorithms.groups.swaps.problem import Problem, Swaps, build
from workers.algorithms.groups.swaps.restrictions import Restriction, UnreachableError
from workers.algorithms.groups.swaps.several import SeveralGroups, SeveralSwaps, masking_several
from workers.methods.protocol import Arrays
from workers.methods.swaps.hiding import Hiding
from workers.methods.swaps.keys import Keys
from workers.methods.swaps.mask import unreachable

_MOST_BYTES: Final = 2_000_000_000  # of the individuals of a search
_DECOYS: Final = 10  # draws of decoys at most
_NO_HISTORY: Final[FloatArray] = np.empty((0, 3))


@dataclass(frozen=True, slots=True)
class Run:
    """What one run came to.

    Attributes
    ----------
    swaps : its cheapest swaps that meet every bound.
    fitness : theirs; None where nothing was evolved.
    valid_share : individuals of the last population that leave no outlier of before; None likewise.
    valid_distortion : their mean distortion; None likewise, and where there is none.
    added_swaps : swaps that were added to meet the bounds.
    history : (generations + 1, 3), best, mean and standard deviation of the fitness.
    """

    swaps: Swaps
    fitness: float | None
    valid_share: float | None
    valid_distortion: float | None
    added_swaps: int
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
    problem : as requested; once it is decided who leaves, with those as its only source records.
    whole : as requested, always.
    hiding, keys, everybody : the data that are examined, what chooses, and the records that decoys are among.
    leaving : being decided who leaves, used up by its steps; None once it is, or where the members alone are masked.
    decided : who leaves, and the cheapest swaps of them; None before, and where the members alone are masked.
    state : of `memetic`; None where the assignment is requested, or before it begins.
    several : all groups, where there are several.
    least : of several groups the value of the linear program, once it is there.
    assigning : the assignment being found, used up likewise; None where it has not been begun, or is there.
    ran : the result, once it is there.
    """

    spec: SwapsSpec
    problem: Problem
    hiding: Hiding
    keys: Keys
    everybody: Everybody
    threads: int
    whole: Problem
    leaving: Generator[None, None, Masked] | None = None
    decided: Masked | None = None
    state: MemeticState | None = None
    several: SeveralGroups | None = None
    least: float | None = None
    assigning: Generator[None, None, Swaps] | Generator[None, None, SeveralSwaps] | None = None
    ran: Ran | None = None

    @property
    def done(self) -> bool:
        """Whether the swaps are there."""
        return self.ran is not None

    @property
    def progress(self) -> tuple[JobStage, str | None, float]:
        """Stage, the figures of the newest generation, and share of the search that is done."""
        if self.leaving is not None:
            return "who_leaves", None, 0.0
        if self.state is None:
            return "assignment", None, 1.0 if self.done else 0.0
        stage, share = memetic.progress(self.state)
        newest = max(range(len(self.state.runs)), key=lambda run: self.state.runs[run].generation if self.state else 0)
        generation = self.state.runs[newest].generation
        if generation < 0:
            return stage, None, share
        best, mean, spread = self.state.history[newest, generation].tolist()
        return stage, f"generation {generation}: best {best:.4f}, mean {mean:.4f}, spread {spread:.4f}", share

    def step(self) -> "SwapSearch":
        """Advance; the result is taken as soon as it is there.

        Raises
        ------
        InfeasibleError
            A bound cannot be met, and how far it can go; or a search that the memory does not hold.
        """
        state = self.state
        try:
            if isinstance(self.spec.search, MemeticSearch) and state is None:
                _refuse_too_large(self.problem, _request(self.spec.search, self.threads))
            if self.leaving is not None:
                return self._decide()
            if not isinstance(self.spec.search, MemeticSearch):
                return self._assign()
            if state is None:
                request = _request(self.spec.search, self.threads)
                return replace(self, state=memetic.init(self.problem, request, self.keys.generator("search")))
            state = memetic.step(state)
            return replace(self, state=state, ran=self._evolved(state) if memetic.done(state) else None)
        except UnreachableError as error:
            raise unreachable(self.spec, self.problem.restrictions, error) from None

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
        """The key and the state; bounds and an assignment are computed again, the same ones."""
        arrays = {} if self.state is None else memetic.pack(self.state)
        return arrays | {"key": np.frombuffer(self.keys.key, dtype=np.uint8)}

    def bound(self) -> float:
        """What it costs at least to move as many from each place and set of grades: no search can do better."""
        chosen = self.result().chosen.swaps
        if self.least is not None:
            return min(self.least, chosen.distortion)  # the two are summed in different orders
        if self.hiding.letter and self.state is None and not self.hiding.masking.ceilings:
            return chosen.distortion
        problem = loosened(self.problem, chosen) if self.hiding.letter else exactly(self.whole, chosen)
        return cheapest(problem, moves_made(problem, chosen)).distortion

    def decoys(self) -> Swaps:
        """Swaps between unmasked places, drawn until the masked ones stand out no more than without."""
        chosen = self.result().chosen.swaps
        count = math.ceil(self.spec.decoys * len(chosen.source))
        full = self.hiding.masking.ceilings.keys() | set(self.hiding.masked)
        targets = set(self.problem.partner_code.tolist()) - full
        before = len(self.hiding.look(chosen))
        drawn = together((chosen,), 0)
        for attempt in range(_DECOYS if count else 0):
            rng = self.keys.generator(f"decoys {attempt}")
            drawn = decoys(self.problem, self.everybody, targets, chosen, count, rng)
            if len(self.hiding.look(chosen, drawn)) <= before:
                break
        return drawn

    def _decide(self) -> "SwapSearch":
        """Go on with who leaves; of an assignment the swaps come with it."""
        try:
            next(self.leaving)  # type: ignore[arg-type]
        except StopIteration as end:
            decided: Masked = end.value
            run = Run(decided.swaps, None, None, None, 0, _NO_HISTORY)
            ran = None if isinstance(self.spec.search, MemeticSearch) else Ran((run,), run)
            return replace(self, leaving=None, decided=decided, problem=decided.problem, ran=ran)
        return self

    def _assign(self) -> "SwapSearch":
        """Go on with the assignment."""
        work = self.assigning
        if work is None and self.several is not None:
            work = masking_several(self.several)
        elif work is None:
            capacities = _capacities(self.problem, self.hiding.masking.ceilings)
            work = finding(self.problem, moves_needed(self.problem), capacities)
        try:
            next(work)
        except StopIteration as end:
            ended: Swaps | SeveralSwaps = end.value
            swaps, least = (ended.swaps, ended.bound) if isinstance(ended, SeveralSwaps) else (ended, None)
            run = Run(swaps, None, None, None, 0, _NO_HISTORY)
            return replace(self, assigning=None, least=least, ran=Ran((run,), run))
        return replace(self, assigning=work)

    def _evolved(self, state: MemeticState) -> Ran:
        outcome = memetic.result(self.problem, state, lambda swaps: self.hiding.is_valid(self.problem, swaps))
        runs = tuple(
            Run(one.swaps, one.fitness, one.valid_share, one.valid_distortion, one.added_swaps, history)
            for one, history in zip(outcome.runs, outcome.history, strict=True)
        )
        best = next(run for run, one in zip(runs, outcome.runs, strict=True) if one is outcome.best)
        program = self.decided
        if program is not None and not program.failures and not self.hiding.is_valid(self.problem, best.swaps):
            best = Run(program.swaps, None, None, None, 0, _NO_HISTORY)  # its partners are elsewhere: arrivals reveal
        return Ran(runs, best)

    def resumed(self, arrays: Arrays) -> "SwapSearch":
        """The search where its checkpoint was taken."""
        search = self
        if "stream" not in arrays or not isinstance(self.spec.search, MemeticSearch):
            return search
        while search.leaving is not None:
            search = search.step()
        state = memetic.unpack(search.problem, _request(self.spec.search, self.threads), arrays)
        search = replace(search, state=state)
        return replace(search, ran=search._evolved(state)) if memetic.done(state) else search  # noqa: SLF001


def _capacities(problem: Problem, ceilings: dict[int, int]) -> IntArray | None:
    """Members that may still enter each target; None without ceilings."""
    if not ceilings:
        return None
    room = np.full(len(problem.crisp), len(problem.partner_rows), dtype=np.int64)
    for place, most in ceilings.items():
        room[place] = max(0, most - int(problem.crisp[place]))
    return room


def swap_search(
    problem: Problem,
    plain: Problem,
    hiding: Hiding,
    keys: Keys,
    everybody: Everybody,
    *,
    threads: int,
    several: SeveralGroups | None = None,
) -> SwapSearch:
    """Begin a search.

    Parameters
    ----------
    problem
        The request, checked; its records in an order that does not follow the file's.
    plain
        With the demands on the members alone: what its cheapest swaps cost is what the profile is compared with.
    hiding
        The data that are examined.
    keys
        What chooses.
    everybody
        All records, for decoys.
    threads
        Runs computed at once.
    several
        All groups, where there are several.
    """
    search = SwapSearch(hiding.spec, problem, hiding, keys, everybody, threads, problem, several=several)
    if hiding.letter:
        return search
    return replace(search, leaving=_leaving(problem, plain, hiding, keys))


def _leaving(problem: Problem, plain: Problem, hiding: Hiding, keys: Keys) -> Generator[None, None, Masked]:
    letter = yield from finding(plain, moves_needed(plain))
    view = View(hiding.families, hiding.region, hiding.judge, hiding.given, letter.distortion)
    capacities = _capacities(problem, hiding.masking.ceilings)
    return (yield from masking(problem, view, lambda turn: keys.generator(f"leaving {turn}"), capacities))


def _refuse_too_large(problem: Problem, request: MemeticRequest) -> None:
    needed = individuals_bytes(problem, request)
    if needed > _MOST_BYTES:
        detail = (
            f"{problem.needed:,} swaps are needed: {request.runs} runs of {request.population} individuals and "
            f"{2 * request.pairs} children take {needed / 1e9:.0f} GB, at most {_MOST_BYTES / 1e9:.0f} are given; ask "
            "for fewer runs, a smaller population or fewer pairs"
        )
        raise InfeasibleError.at("/search", detail)


def _request(search: MemeticSearch, threads: int) -> MemeticRequest:
    return MemeticRequest(
        population=search.population,
        pairs=search.pairs,
        tournament=search.tournament,
        generations=search.generations,
        crossover=search.crossover,
        mutations=search.mutations,
        local_search=search.local_search,
        roaming=0.0 if search.paper else MemeticRequest.roaming,
        runs=search.runs,
        threads=threads,
    )


def warm_swaps() -> None:
    """Swap a few made-up records by both searches, and see how they fit rules."""
    rng = np.random.default_rng(0)
    fits(fuzzify([rng.random(80)], [[Term("s", (0.2, 0.4))]]), np.array([[1]], dtype=np.int8), 0.5, 0.1)
    metric = Metric((1.0,), (1.0,))
    region, member = np.repeat(np.arange(4), 20), np.arange(80) < 12
    values = encode(metric, rng.random((80, 1)), rng.integers(0, 3, (80, 1)))
    problem = build(region, 4, member, values, metric, (Restriction(0, 6, 12),))
    state = memetic.init(problem, MemeticRequest(population=6, pairs=2, generations=2), rng)
    while not memetic.done(state):
        state = memetic.step(state)
    best = memetic.result(problem, state, lambda swaps: len(swaps.source) < 9).best
    cheapest(problem, moves_made(problem, best.swaps))
    number = member.astype(np.int64)
    counted = families(number.astype(np.float64), number, 1 - number, 1, 0.5, (0.5,))
    judge = Judge((0,), (), 0.01, robust=True)
    telling(counted, judge, np.bincount(region)).excess(counted.counted(region, 4))
