"""Small random tables with demands of all kinds, and how they are anonymized and cut."""

from dataclasses import dataclass, replace

import numpy as np

from surebox_core.errors import InvalidColumnError, UndefinedStatisticError
from surebox_core.statistics import Statistic
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.content import BoxMeans, box_means_fault
from workers.algorithms.boxes.partition.arrays import Effort
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.partition.partition import PartitionState
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.request import BoxesOutcome, BoxesRequest
from workers.algorithms.boxes.sides import Hierarchy, NominalColumn, NumericColumn
from workers.algorithms.boxes.state import MixedCutting
from workers.algorithms.core.errors import (
    InfeasibleAlphaError,
    InfeasibleDiversityError,
    InfeasibleKError,
    SuppressionError,
)

REFUSED = (
    InfeasibleAlphaError,
    InfeasibleDiversityError,
    InfeasibleKError,
    InvalidColumnError,
    SuppressionError,
    UndefinedStatisticError,
)

TREE = Hierarchy(np.array([5, 5, 6, 6, 6, 7, 7, 7], dtype=np.int32))  # {0, 1} and {2, 3, 4} below the root

#: Share of the tables whose covariance is asked: its search takes longer than all the rest.
COVARIANCES = 0.02
#: Share of the tables that are cut as very many records are: by halves, or by samples, of nodes beyond a small block.
LARGE = 0.5


@dataclass(frozen=True)
class Case:
    """Records and what is asked of them."""

    x: np.ndarray
    request: BoxesRequest


@dataclass(frozen=True)
class Nodes:
    """How many nodes beyond a block were cut: by halves (`fast`), by a sample of their records, by all of them."""

    halved: int = 0
    sampled: int = 0
    measured: int = 0


def anonymized(case: Case, seed: int = 0) -> BoxesOutcome:
    return followed(case, seed)[0]


def followed(case: Case, seed: int = 0) -> tuple[BoxesOutcome, Nodes]:
    """The outcome, and how its nodes were cut."""
    rng = np.random.default_rng(seed)
    state, cuts = anonymization.init(case.x, case.request), None
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
        cuts = state.cuts if isinstance(state, MixedCutting) else cuts
    return anonymization.result(state), Nodes() if cuts is None else nodes(case.request, cuts)


def nodes(request: BoxesRequest, cuts: PartitionState) -> Nodes:
    """What the tree of a partition tells: only what is made for it cuts a node that no block can hold."""
    made = int(cuts.tree.counters[0])
    sizes = np.diff(cuts.tree.span[:made])[:, 0]
    large = sizes[(cuts.tree.axis[:made] >= 0) & (sizes > cuts.block.sorted.shape[1])]
    if request.partition == "fast":
        return Nodes(halved=len(large))
    sampled = 0 if cuts.held.sieved else int((large >= 2 * cuts.effort.sample).sum())
    return Nodes(sampled=sampled, measured=len(large) - sampled)


def drawn(seed: int) -> Case:
    """A small table with ties, missing values, sensitive and kept columns, persons; and demands of all kinds."""
    rng = np.random.default_rng(seed)
    size, n, d = int(rng.integers(4, 70)), int(rng.integers(0, 4)), int(rng.integers(0, 4))
    n = 1 if n + d == 0 else n
    whole = rng.random(n) < 0.6
    x = np.where(whole, rng.integers(-3, 9, (size, n)).astype(float), rng.normal(size=(size, n)))
    patterns = bool(rng.random() < 0.3)
    sizes = rng.integers(2, 7, d)
    codes = [rng.integers(0, rng.integers(1, m + 1), size).astype(np.int32) for m in sizes]
    trees = [None] * d
    for j in range(d):
        if rng.random() < 0.3:
            sizes[j], trees[j] = 5, TREE
            codes[j] = rng.integers(0, 5, size).astype(np.int32)
    if patterns:
        x[rng.random(x.shape) < 0.15] = np.nan
        for column in codes:
            column[rng.random(size) < 0.1] = -1
    steps = [0.5 if rng.random() < 0.7 else None for _ in range(n)]
    widths = np.where(rng.random(n) < 0.15, 1.0, 0.0) if n else np.zeros(0)
    extent = [np.ptp(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 0.0 for c in x.T]
    columns = tuple(
        NumericColumn(1.0 if whole[i] else None, steps[i], float(widths[i]) if extent[i] >= 1.0 else 0.0)
        for i in range(n)
    )
    request = BoxesRequest(
        k=int(rng.integers(1, 7)),
        statistics=_statistics(rng, n, d, extent),
        partition=("optimal", "fast", "mondrian")[seed % 3],
        bounds=("cells", "tight", "grid")[seed // 3 % 3],
        domains=tuple((-50.0, 50.0) if rng.random() < 0.5 else None for _ in range(n)),
        demands=_demands(rng, size),
        columns=columns,
        nominal=tuple(NominalColumn(c, int(m), t) for c, m, t in zip(codes, sizes, trees, strict=True)),
        patterns=patterns,
        min_records_at_bound=int(rng.integers(1, 3)),
        max_suppressed_classes=float(rng.choice([0.3, 1.0])),
        survey=rng.uniform(0.5, 4.0, size) if rng.random() < 0.2 else None,
        unlisted_column_weight=0.03,
    )
    request = _rare(request, np.random.default_rng(seed + 10**6))
    request = _large(request, np.random.default_rng(seed + 2 * 10**6))
    return Case(x, with_content(request, n + d, np.random.default_rng(seed + 3 * 10**6)))


def with_content(request: BoxesRequest, columns: int, rng: np.random.Generator) -> BoxesRequest:
    """Means inside boxes for most requests that may have them, under a secret that checks know."""
    chosen: BoxMeans = ("none", "rounded", "rounded", "exact")[rng.integers(4)]
    request = replace(
        request,
        mean_interval_in_boxes=float(rng.choice([0.5, 1.0, 1.0, 1.0, 2.0])),
        p_percent=float(rng.choice([10.0, 40.0])),
        keys=new_keys(columns, rng),
    )
    if chosen == "none" or request.survey is not None or request.rare_records != "keep":
        return request
    steps = tuple(column.step for column in request.columns)
    refused = box_means_fault(chosen, request.k, request.bounds, steps) is not None
    return replace(request, box_means="rounded" if refused else chosen)


def _large(request: BoxesRequest, rng: np.random.Generator) -> BoxesRequest:
    """Some tables cut as very many records are, most of these without the demands that forbid samples and halves."""
    if rng.random() >= LARGE:
        return request
    if rng.random() < 0.7:
        free = tuple(replace(column, min_width=0.0) for column in request.columns)
        request = replace(request, demands=BoxConstraints(), columns=free)
    effort = Effort(
        breadth=int(rng.choice([1, 3])),
        boxes=int(rng.choice([1, 16])),
        axes=int(rng.integers(1, 4)),
        sample=int(rng.choice([1, 3, 10, 100])),
        places=int(rng.choice([1, 8])),
        block=int(rng.integers(2, 20)),
    )
    return replace(request, effort=effort)


def _rare(request: BoxesRequest, rng: np.random.Generator) -> BoxesRequest:
    """Some requests with rare boxes marked or left out, where that is defined."""
    rare = ("keep", "keep", "mark", "suppress")[rng.integers(4)]
    if rare == "suppress" and request.demands.t is not None:
        return request
    at_most = float(rng.choice([0.1, 0.4]))
    return replace(request, rare_records=rare, objective="bias_aware", max_suppressed=at_most)


def _demands(rng: np.random.Generator, size: int) -> BoxConstraints:
    sensitive = rng.random() < 0.5
    return BoxConstraints(
        l=int(rng.integers(0, 3)) if sensitive else 0,
        codes=rng.integers(-1, 3, (size, 2)).astype(np.int32) if sensitive else np.empty((size, 0), dtype=np.int32),
        ordered=(False, True),
        t=0.3 if sensitive and rng.random() < 0.4 else None,
        alpha=0.7 if sensitive and rng.random() < 0.4 else None,
        kept=rng.choice(6, size, p=[0.5, 0.2, 0.15, 0.1, 0.03, 0.02]).astype(np.int32)
        if rng.random() < 0.3
        else np.empty(0, dtype=np.int32),
        persons=rng.integers(0, max(size // 2, 1), size).astype(np.int32)
        if rng.random() < 0.3
        else np.empty(0, dtype=np.int32),
    )


def _statistics(rng: np.random.Generator, n: int, d: int, extent: list[float]) -> tuple[Statistic, ...]:
    statistics = [Statistic("mean", (i,), 1.0) for i in range(n)]
    statistics += [Statistic("variance", (i,), 1.0) for i in range(n) if extent[i] > 0.0 and rng.random() < 0.5]
    statistics += [Statistic("quantile", (i,), 1.0, p=0.3) for i in range(n) if rng.random() < 0.3]
    statistics += [Statistic("share", (n + j,)) for j in range(d) if rng.random() < 0.7]
    statistics += [Statistic("share", (n + j,), values=(0, 1)) for j in range(d) if rng.random() < 0.3]
    if n and d:
        statistics.append(Statistic("domain_mean", (0, n), 1.0))
    if n > 1 and d and extent[0] > 0.0 and rng.random() < COVARIANCES:
        statistics.append(Statistic("covariance", (0, 1), 1.0))
    if d > 1:
        statistics.append(Statistic("crosstab", (n, n + 1)))
    return tuple(statistics) or (Statistic("share", (n,)),)
