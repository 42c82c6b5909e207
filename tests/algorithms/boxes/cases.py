"""Partitions and whole runs to completion, and tables with ties, that the tests of boxes share."""

import numpy as np
from hypothesis import strategies as st

from surebox_core.statistics import Statistic
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition import partition
from workers.algorithms.boxes.partition.arrays import NARROWEST, Effort
from workers.algorithms.boxes.partition.selection import is_open
from workers.algorithms.boxes.stages import STEP_DERIVATIVES
from workers.algorithms.boxes.state import BoxesOutcome, BoxesRequest


def parts(
    x: np.ndarray,
    k: int,
    method: partition.Method = "fast",
    worth: np.ndarray | None = None,
    *,
    effort: Effort | None = None,
    values: int = partition.STEP_VALUES,
    cell: np.ndarray | None = None,
) -> partition.Partition:
    worth = np.ones(x.shape[1]) if worth is None else worth
    state = partition.init(x, k=k, worth=worth, method=method, effort=effort, cell=cell)
    while not partition.done(state):
        state = partition.step(state, values=values)
    return partition.result(state)


def groups(partitioning: partition.Partition) -> set[frozenset[int]]:
    return {frozenset(g.tolist()) for g in np.split(partitioning.order, partitioning.starts[1:-1])}


def left_whole(
    x: np.ndarray, k: int, method: partition.Method, partitioning: partition.Partition
) -> list[tuple[int, int]]:
    """Groups and axes along which they could be cut; values so close that they count as one value are not cut."""
    whole = []
    for at, g in enumerate(np.split(partitioning.order, partitioning.starts[1:-1])):
        for i in range(x.shape[1]):
            v, extent = np.sort(x[g, i]), np.ptp(x[:, i])
            if extent <= NARROWEST or np.ptp(v) <= NARROWEST * extent:
                continue
            places = [p for p in range(k, len(v) - k + 1) if is_open(v[p - 1], v[p])]
            if method == "mondrian":
                places = [p for p in places if p == np.searchsorted(v, v[(len(v) - 1) // 2], side="right")]
            if places:
                whole.append((at, i))
    return whole


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    rows, columns = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    cell = draw(st.sampled_from([st.integers(0, 3), st.integers(-50, 50), st.floats(-1e6, 1e6)]))
    flat = draw(st.lists(cell, min_size=rows * columns, max_size=rows * columns))
    return np.array(flat, dtype=np.float64).reshape(rows, columns), draw(st.integers(1, rows))


def run(x: np.ndarray, request: BoxesRequest, seed: int = 0, derivatives: int = STEP_DERIVATIVES) -> BoxesOutcome:
    rng = np.random.default_rng(seed)
    state = anonymization.init(x, request)
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng, derivatives=derivatives)
    return anonymization.result(state)


def weighted(columns: int) -> tuple[Statistic, ...]:
    """All kinds that are defined for any records, and given weights."""
    singles = [Statistic(kind, (i,), 1.0) for kind in ("mean", "variance") for i in range(columns)]
    return (*singles, *(Statistic("covariance", (i, i + 1), 1.0) for i in range(columns - 1)))
