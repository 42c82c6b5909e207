"""Least widths: both sides of every cut span them, no cut that leaves them is missed, published sides have them."""

from typing import Any

import numpy as np
import pytest

from surebox_core.statistics import Statistic
from surebox_verify.boxes import Meaning
from surebox_verify.disclosure import value_intervals
from tests.drawing import examples
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition import partition as cutting
from workers.algorithms.boxes.partition.arranging import Costs
from workers.algorithms.boxes.partition.arrays import Effort
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.partition.partition import Method, Partition
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import NominalColumn, NumericColumn

SEEDS = range(examples(12))


def table(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Columns of the kinds that people have: spread, skewed, few whole numbers, half of it one value, constant."""
    skewed = np.exp(rng.normal(0.0, 1.5, rows))
    spike = np.where(rng.random(rows) < 0.6, 0.0, rng.integers(0, 50, rows))
    columns = [rng.normal(size=rows), skewed, rng.integers(0, 9, rows), spike, np.full(rows, 3.0)]
    chosen = rng.choice(len(columns), int(rng.integers(1, len(columns) + 1)), replace=False)
    return np.ascontiguousarray(np.column_stack([columns[each] for each in chosen]), dtype=np.float64)


def widths(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Least widths from a trifle to more than the range, 0 for some columns."""
    share = rng.choice([0.0, 0.02, 0.1, 0.3, 0.49, 0.51, 1.2], x.shape[1])
    return np.asarray(share * np.ptp(x, axis=0))


def spikes(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Of half of the columns the value that most records have: boxes in which all have it need no width."""
    common = [float(np.median(column)) for column in x.T]
    return np.where(rng.random(x.shape[1]) < 0.5, common, np.nan)


def is_wide(values: np.ndarray, width: float, spike: float) -> bool:
    return bool(np.ptp(values) >= width or (values == spike).all())


def sides_of(cuts: Partition, node: int) -> list[np.ndarray]:
    return [cuts.order[slice(*cuts.span[child])] for child in cuts.child[node] + np.arange(2)]


def check_sides(x: np.ndarray, cuts: Partition, width: np.ndarray, spike: np.ndarray, k: int) -> None:
    """Both sides of each cut have k records, which span the width of the column that is cut, or all have its spike."""
    assert sorted(cuts.order.tolist()) == list(range(len(x)))
    for node in np.flatnonzero(cuts.axis >= 0):
        for side in sides_of(cuts, int(node)):
            assert len(side) >= k
            if cuts.axis[node] < x.shape[1]:
                axis = cuts.axis[node]
                assert is_wide(x[side, axis], width[axis], spike[axis])


def check_nothing_is_left(x: np.ndarray, cuts: Partition, width: np.ndarray, spike: np.ndarray, k: int) -> None:
    """No group has a column that could be cut once more."""
    for first, last in zip(cuts.starts[:-1], cuts.starts[1:], strict=True):
        for axis in range(x.shape[1]):
            values = np.sort(x[cuts.order[first:last], axis])
            for p in range(k, len(values) - k + 1):
                apart = values[p - 1] < 0.5 * values[p - 1] + 0.5 * values[p] < values[p]
                wide = all(is_wide(side, width[axis], spike[axis]) for side in (values[:p], values[p:]))
                assert not (apart and wide), (axis, p, values)


def finished(state: cutting.PartitionState) -> Partition:
    while not cutting.done(state):
        state = cutting.step(state)
    return cutting.result(state)


@pytest.mark.parametrize("method", ["optimal", "fast", "mondrian"])
@pytest.mark.parametrize("block", [64, 4_096])
def test_both_sides_of_every_cut_of_numbers_span_the_width(method: Method, block: int) -> None:
    """Also of nodes too large for a block, of which a sample is measured."""
    for seed in SEEDS:
        rng = np.random.default_rng([41, seed])
        x = table(rng, int(rng.integers(2, 900)))
        k, width, spike = int(rng.integers(1, min(len(x), 12) + 1)), widths(rng, x), spikes(rng, x)
        effort = Effort(int(rng.integers(1, 5)), 16, x.shape[1], int(rng.choice([32, 2**31])), block=block)
        cell = np.array([x.min(axis=0) - 0.5, x.max(axis=0) + 0.5]) if rng.random() < 0.5 else None
        ones = np.ones(x.shape[1])
        start: Any = {"k": k, "worth": ones, "method": method, "effort": effort, "cell": cell, "min_width": width}
        cuts = finished(cutting.init(x, **start, spikes=spike))
        check_sides(x, cuts, width, spike, k)
        if method != "mondrian":
            check_nothing_is_left(x, cuts, width, spike, k)


@pytest.mark.parametrize("method", ["optimal", "fast", "mondrian"])
@pytest.mark.parametrize("block", [64, 4_096])
@pytest.mark.parametrize("l", [1, 2])
def test_both_sides_of_every_cut_beside_nominal_columns_span_the_width(method: Method, block: int, l: int) -> None:  # noqa: E741
    for seed in SEEDS:
        rng = np.random.default_rng([42, seed])
        x = table(rng, int(rng.integers(20, 600)))
        k, width, spike = int(rng.integers(1, 12)), widths(rng, x), spikes(rng, x)
        nominal = (NominalColumn(rng.integers(0, 4, len(x)).astype(np.int32), 4),)
        costs = Costs(np.ones(x.shape[1]), (np.full(4, 0.3),), (), np.empty(0, np.float32))
        demands = BoxConstraints(l, codes=np.arange(len(x), dtype=np.int32)[:, None] % 5) if l > 1 else BoxConstraints()
        effort = Effort(int(rng.integers(1, 5)), 16, 8, int(rng.choice([32, 2**31])), block=block)
        start: Any = {"k": k, "costs": costs, "method": method, "demands": demands, "effort": effort}
        cuts = finished(cutting.init_mixed(x, nominal, **start, min_width=width, spikes=spike))
        check_sides(x, cuts, width, spike, k)
        if method != "mondrian" and l == 1:
            check_nothing_is_left(x, cuts, width, spike, k)


def made(x: np.ndarray, request: BoxesRequest) -> Any:
    rng = np.random.default_rng(5)
    state = anonymization.init(x, request)
    while not anonymization.done(state):
        state = anonymization.step(state, rng=rng)
    return anonymization.result(state).boxes


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("bounds", ["cells", "grid", "tight"])
def test_sides_as_they_are_published_have_the_least_width(mixed: bool, bounds: Any) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng([43, seed])
        rows = int(rng.integers(60, 400))
        x = np.column_stack([rng.normal(size=rows), rng.integers(0, 60, rows).astype(np.float64)])
        least = float(rng.choice([0.05, 0.4])), float(rng.choice([0.3, 1.0, 1.2, 4.6, 7.0]))
        columns = NumericColumn(min_width=least[0], value_step=0.1), NumericColumn(step=1.0, min_width=least[1])
        codes = (NominalColumn(rng.integers(0, 3, rows).astype(np.int32), 3),) if mixed else ()
        statistics = (Statistic("mean", (0,)), Statistic("mean", (1,)))
        boxes = made(x, BoxesRequest(4, statistics, "optimal", bounds, columns=columns, nominal=codes))
        assert (boxes.upper - boxes.lower >= np.array(least) * (1.0 - 1e-12)).all()


def test_records_span_the_least_width_where_exact_means_are_published() -> None:
    """Else their sum states records at one end of a wide side (science.md section 1, "Value disclosure")."""
    for seed in SEEDS:
        rng = np.random.default_rng([44, seed])
        rows = int(rng.integers(100, 500))
        x = np.round(np.column_stack([rng.exponential(4.0, rows), rng.exponential(4.0, rows)]))
        columns = (NumericColumn(step=1.0, min_width=3.0), NumericColumn(step=1.0, min_width=2.0))
        request = BoxesRequest(5, (Statistic("mean", (0,)),), columns=columns, box_means="exact")
        boxes = made(x, request)
        for box in range(len(boxes.counts)):
            assert (np.ptp(x[boxes.box == box], axis=0) >= [3.0, 2.0]).all()
        for column, width in enumerate((3.0, 2.0)):
            low, high = value_intervals(boxes, column, Meaning(False, (1.0, 1.0), least=5).lattice(column))
            assert (high - low >= width).all()


def test_without_a_least_width_nothing_changes() -> None:
    """Widths of 0, or so small that every pair of different values has them, leave the cuts that k alone gives."""
    rng = np.random.default_rng(45)
    x = rng.integers(0, 300, (2_000, 2)).astype(np.float64)
    ones = np.ones(2)
    for method in ("optimal", "fast", "mondrian"):
        usual = finished(cutting.init(x, k=30, worth=ones, method=method))
        zero = finished(cutting.init(x, k=30, worth=ones, method=method, min_width=np.zeros(2)))
        tiny = finished(cutting.init(x, k=30, worth=ones, method=method, min_width=np.full(2, 1e-9)))
        assert np.array_equal(usual.order, zero.order)
        assert len(tiny.starts) == len(usual.starts)
