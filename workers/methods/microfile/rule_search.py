"""A search for rules, evolution or exhaustive, behind one face: init, step, done and result over a frozen state."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from app.errors import FieldError, InfeasibleError
from app.methods.group.spec import EvolutionSearch, ExhaustiveSearch, GroupSpec
from surebox_core.types import BoolArray
from workers.algorithms.groups.enumeration import search as enumeration
from workers.algorithms.groups.enumeration.search import NotFeasibleError
from workers.algorithms.groups.evolution import request as evolution_request
from workers.algorithms.groups.evolution import search as evolution
from workers.algorithms.groups.rules.fuzzified import Fuzzified, fuzzify
from workers.algorithms.groups.rules.generality import Kept, SearchOutcome, kept_by, merge, together
from workers.algorithms.groups.rules.membership import Term
from workers.algorithms.groups.rules.rules import Metrics, memberships
from workers.methods.protocol import Arrays

_GUARD: Final = 1.0
_METRICS: Final = tuple(Metrics.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Search:
    """A search under way or ended.

    Attributes
    ----------
    module : `evolution` or `enumeration`.
    state : its state; None once only the result was taken up again.
    outcome : the result, once it is there.
    kept : of an evolution that has ended: all rules over the thresholds, which is what parts of one are merged from.
    """

    module: Any
    state: Any
    outcome: SearchOutcome | None = None
    kept: Kept | None = None

    @property
    def done(self) -> bool:
        """Whether the rules are there."""
        return self.outcome is not None

    @property
    def progress(self) -> tuple[str, float]:
        """Stage, and share of the search that is done."""
        if self.outcome is not None:
            return "rules", 1.0
        stage, share = self.module.progress(self.state)
        return str(stage), float(share)

    def step(self) -> "Search":
        """Advance; the result is taken as soon as it is there."""
        state = self.module.step(self.state)
        if not self.module.done(state):
            return replace(self, state=state)
        if self.module is evolution:
            return evolved(kept_by(state))
        return replace(self, state=state, outcome=self.module.result(state))

    def result(self) -> SearchOutcome:
        """The rules.

        Raises
        ------
        ValueError
            The search is not done.
        """
        if self.outcome is None:
            msg = "the search has not ended"
            raise ValueError(msg)
        return self.outcome

    def pack(self) -> Arrays:
        """The state, or the result where it is there."""
        if self.outcome is None:
            return dict(self.module.pack(self.state))
        if self.kept is not None:
            evaluations = np.array(self.kept.evaluations, dtype=np.int64)
            return {"kept.rules": self.kept.rules, "kept.evaluations": evaluations, **_packed(self.kept.metrics)}
        counts = np.array([self.outcome.evaluations, self.outcome.over_thresholds], dtype=np.int64)
        return {"found.rules": self.outcome.rules, "found.counts": counts, **_packed(self.outcome.metrics)}


def evolved(*parts: Kept) -> Search:
    """An evolution that has ended, in one piece or in parts."""
    kept = together(parts)
    return Search(evolution, None, merge([kept]), kept)


def search_for(
    spec: GroupSpec,
    seen: Fuzzified,
    vital: BoolArray,
    *,
    threads: int,
    rng: np.random.Generator | None = None,
    arrays: Arrays | None = None,
    runs: Sequence[int] | None = None,
) -> Search:
    """Begin a search, or go on with one.

    Parameters
    ----------
    spec
        The request.
    seen, vital
        The auxiliary records.
    threads
        Shared by the search.
    rng
        For a new one.
    arrays
        What `Search.pack` gave, to go on.
    runs
        Of an evolution, those to compute; all by default.

    Raises
    ------
    InfeasibleError
        An exhaustive search that is too large; states what would fit.
    """
    search = spec.search
    module: Any = evolution if isinstance(search, EvolutionSearch) else enumeration
    if arrays is not None and "found.rules" in arrays:
        return Search(module, None, _unpacked_outcome(arrays))
    if arrays is not None and "kept.rules" in arrays:
        return evolved(Kept(arrays["kept.rules"], _unpacked(arrays), int(arrays["kept.evaluations"])))
    request = _request(spec, search)
    try:
        if arrays is not None:
            return Search(module, module.unpack(seen, vital, request, arrays, threads=threads))
        if isinstance(search, ExhaustiveSearch):
            return Search(module, module.init(seen, vital, request, threads=threads))
        return Search(module, module.init(seen, vital, request, rng=rng, runs=runs, threads=threads))
    except NotFeasibleError as error:
        raise InfeasibleError(f"too much to search: {error}", errors=[FieldError("/search", str(error))]) from None


def denominator_floor(spec: GroupSpec) -> float:
    """Least denominator of the relative confidence in a rule's fitness, in records; 0 by the paper's letter."""
    return 0.0 if isinstance(spec.search, EvolutionSearch) and spec.search.paper else _GUARD


def _request(spec: GroupSpec, search: EvolutionSearch | ExhaustiveSearch) -> Any:
    thresholds: dict[str, Any] = {
        "min_membership": spec.min_membership,
        "min_relative_confidence": spec.min_relative_confidence,
        "min_support": spec.min_support,
        "denominator_floor": denominator_floor(spec),
    }
    if isinstance(search, ExhaustiveSearch):
        return enumeration.EnumerationRequest(**thresholds)
    return evolution_request.EvolutionRequest(
        population=search.population,
        replaced=search.replaced,
        tournament=search.tournament,
        crossover=search.crossover,
        mutation=search.mutation,
        generations=search.generations,
        runs=search.runs,
        diversity=search.diversity,
        **thresholds,
    )


def _unpacked_outcome(arrays: Arrays) -> SearchOutcome:
    evaluations, over = arrays["found.counts"].tolist()
    return SearchOutcome(arrays["found.rules"], _unpacked(arrays), evaluations, over)


def _packed(metrics: Metrics) -> Arrays:
    return {f"metrics.{name}": getattr(metrics, name) for name in _METRICS}


def _unpacked(arrays: Arrays) -> Metrics:
    return Metrics(**{name: arrays[f"metrics.{name}"] for name in _METRICS})


def warm_search() -> None:
    """Run a few made-up records through both searches and the work on their rules."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 8, 400).astype(np.float64) for _ in range(3)]
    vital = columns[0] + columns[1] > 11
    seen = fuzzify(columns, [[Term("z", (2.0, 4.0)), Term("s", (3.0, 6.0))]] * 3)
    shared: dict[str, Any] = {"method": "group", "auxiliary_dataset_id": "", "region_columns": ["p"]}
    shared |= {"hidden_group": {"column": "v", "values": [1]}, "variables": [_variable(place) for place in range(3)]}
    for settings in (_EVOLUTION, _EXHAUSTIVE):
        spec = GroupSpec.model_validate({**shared, "search": settings})
        search = search_for(spec, seen, vital, threads=1, rng=rng)
        while not search.done:
            search = search.step()
        memberships(seen, np.ones((1, 3), dtype=np.int8), spec.min_membership)


_EVOLUTION: Final = {"method": "evolution", "generations": 2, "runs": 2, "population": 10, "replaced": 4}
_EXHAUSTIVE: Final = {"method": "exhaustive"}


def _variable(place: int) -> dict[str, Any]:
    term = {"name": "t", "shape": "range", "points": [0, 1]}
    return {"column": str(place), "range": [0, 8], "terms": [term]}
