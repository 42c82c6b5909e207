"""Cuts of columns of all kinds: orders of values, unused values, ends on grids, large tables."""

from dataclasses import replace

import numpy as np
import pytest

from surebox_core.statistics import Statistic
from tests.algorithms.boxes.mixed_tables import TREE, Case, anonymized, followed
from tests.algorithms.boxes.test_mixed import check_demands_hold, check_disjoint, check_members, check_ranges
from workers.algorithms.boxes.partition import partition as cutting
from workers.algorithms.boxes.partition.arranging import Costs
from workers.algorithms.boxes.partition.arrays import Effort, usual
from workers.algorithms.boxes.partition.companions import assign, ring
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.partition.partition import Method
from workers.algorithms.boxes.request import BoxesRequest
from workers.algorithms.boxes.sides import NominalColumn, NumericColumn


def cut(
    nominal: tuple[NominalColumn, ...],
    omega: np.ndarray,
    k: int,
    method: Method,
    values: int = cutting.STEP_VALUES,
) -> list[set[int]]:
    """Values of the boxes of one nominal column."""
    codes = nominal[0].codes
    costs = Costs(np.empty(0), (omega,), (), np.empty(0, np.float32))
    demands = BoxConstraints()
    state = cutting.init_mixed(np.empty((len(codes), 0)), nominal, k=k, costs=costs, method=method, demands=demands)
    while not cutting.done(state):
        state = cutting.step(state, values=values)
    partitioning = cutting.result(state)
    return [
        set(codes[partitioning.order[a:b]].tolist())
        for a, b in zip(partitioning.starts[:-1], partitioning.starts[1:], strict=True)
    ]


@pytest.mark.parametrize("method", ["optimal", "fast", "mondrian"])
def test_cuts_do_not_depend_on_how_much_is_done_in_a_step(method: Method) -> None:
    rng = np.random.default_rng(8)
    nominal = (NominalColumn(rng.integers(0, 12, 300).astype(np.int32), 12),)
    omega = rng.uniform(0.2, 3.0, 12)
    assert cut(nominal, omega, 20, method, values=1) == cut(nominal, omega, 20, method)


def test_one_cut_of_a_nominal_column_is_the_cheapest_of_its_order() -> None:
    """Of all prefixes of the order by n / omega the one is taken that leaves the cheapest boxes."""
    rng, met = np.random.default_rng(3), 0
    for _ in range(120):
        values = int(rng.integers(2, 7))
        counts = rng.integers(1, 12, values)
        omega = rng.uniform(0.2, 3.0, values)
        k = int(counts.sum() // 3 + 1)  # room for two boxes, never for three
        codes = np.repeat(np.arange(values), counts).astype(np.int32)

        def cost(part: tuple[int, ...], counts: np.ndarray = counts, omega: np.ndarray = omega) -> float:
            return float(counts[list(part)].sum() * (omega[list(part)].sum() if len(part) > 1 else 0.0))

        order = np.argsort(counts / omega)
        ways = [(tuple(order[:z]), tuple(order[z:])) for z in range(1, values)]
        best, part = min((cost(a) + cost(b), a) for a, b in ways)
        held = counts[list(part)].sum()
        if min(held, counts.sum() - held) < k:
            continue  # the best division has too small a side
        boxes = cut((NominalColumn(codes, values),), omega, k, "optimal")
        assert sum(cost(tuple(box)) for box in boxes) == pytest.approx(best)
        met += 1
    assert met > 10


def test_hierarchies_are_cut_at_their_nodes() -> None:
    """No box has a part of a node of the tree beside values of another node."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 5, 400).astype(np.int32)
    for method in ("optimal", "fast", "mondrian"):
        for box in cut((NominalColumn(codes, 5, TREE),), np.ones(5), 20, method):
            groups = {v // 2 if v < 2 else 1 for v in box}
            assert len(groups) == 1 or box == set(range(5))


def test_unused_values_go_with_the_same_companion() -> None:
    """Where the companion of an unused value stays in a node, the value stays with it, whatever else leaves."""
    key = np.arange(8, dtype=np.uint32)
    order = ring(key, 12)
    assert sorted(order.tolist()) == list(range(12))
    assert (order != ring(key + 1, 12)).any()
    own = np.arange(12, dtype=np.int32).reshape(-1, 1)
    rng = np.random.default_rng(0)
    for _ in range(200):
        side = rng.integers(0, 3, 12)
        side[rng.permutation(12)[:2]] = 1, 2
        drawn = side.astype(np.int64)
        assign(order, own, 0, 12, drawn)
        place = {int(v): z for z, v in enumerate(order)}
        for v in range(12):
            after = [int(order[(place[v] + step) % 12]) for step in range(12)]
            companion = next(w for w in after if side[w] > 0)
            assert drawn[v] == side[companion]


def test_unused_values_of_a_hierarchy_stay_with_their_group() -> None:
    """A group of which records have a value is not torn apart."""
    ancestor = np.array([[9, 7, 0], [9, 7, 1], [9, 8, 2], [9, 8, 3], [9, 8, 4]], dtype=np.int32)
    for seed in range(20):
        side = np.array([1, 0, 0, 2, 0], dtype=np.int64)
        assign(np.random.default_rng(seed).permutation(5).astype(np.int64), ancestor, 0, 5, side)
        assert side.tolist() == [1, 1, 2, 2, 2]


def large(rows: int, seed: int) -> tuple[np.ndarray, tuple[NominalColumn, ...]]:
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=rows), np.where(rng.random(rows) < 0.9, 0.0, rng.integers(1, 999, rows))])
    codes = (rng.geometric(0.2, rows) % 70).astype(np.int32)
    return x, (NominalColumn(codes, 80), NominalColumn((x[:, 1] > 0).astype(np.int32), 2))


@pytest.mark.parametrize("tree", [False, True])
def test_fast_cuts_large_nodes_as_it_cuts_blocks(tree: bool) -> None:
    """Halves of nodes beyond a block, found by counting, are those that the block's orders of records give.

    Of two places equally far from the middle the one takes the upper, the other the lower: this table has none such.
    """
    rng = np.random.default_rng(12)
    x = np.column_stack([rng.normal(size=3000), rng.exponential(size=3000), np.where(rng.random(3000) < 0.6, 0.0, 1.0)])
    codes = rng.choice(5, 3000, p=[0.4, 0.1, 0.25, 0.05, 0.2]).astype(np.int32)
    nominal = (
        NominalColumn(codes, 5, TREE if tree else None),
        NominalColumn((rng.geometric(0.05, 3000) % 90).astype(np.int32), 90),
    )
    x[:, 0] = np.concatenate([[0.0, 49.0], rng.integers(0, 50, 2998)])  # 49 (1 / 49) is less than 1
    widths = np.ptp(x, axis=0)
    means = (Statistic("mean", (i,), 1.0 / width) for i, width in enumerate(widths.tolist()))
    shares = (Statistic("share", (3 + j,), 1.0 / column.values) for j, column in enumerate(nominal))
    statistics = (*means, *shares)  # all columns cost 1 where they are whole, but for rounding
    request = BoxesRequest(7, statistics, partition="fast", bounds="tight", nominal=nominal)
    box_arrays = []
    for block in (3000, 100):
        outcome, nodes = followed(Case(x, replace(request, effort=usual(3000, mixed=True)._replace(block=block))))
        assert nodes.halved > 20 or block == 3000
        boxes = outcome.boxes
        box_arrays.append((boxes.counts, boxes.lower, boxes.upper, *boxes.sets, boxes.box))
    for whole, halved in zip(*box_arrays, strict=True):
        np.testing.assert_array_equal(whole, halved)


@pytest.mark.parametrize("alike", [0.0, 0.99])
def test_nodes_of_which_a_sample_is_measured_keep_every_guarantee(alike: float) -> None:
    """Also where the sample sees one value only: then all records are measured."""
    effort = Effort(breadth=1, boxes=1, axes=1, sample=50, places=8, block=200)
    x, nominal = large(6000, 3)
    rng = np.random.default_rng(6)
    x = np.where(rng.random(x.shape) < alike, 0.0, x)
    statistics = tuple(Statistic(kind, (i,), 1.0) for i, kind in enumerate(("mean", "mean", "share", "share")))
    case = Case(x, BoxesRequest(5, statistics, nominal=nominal, effort=effort))
    (outcome, nodes), again = followed(case), anonymized(case)
    assert nodes.sampled > 5
    assert len(outcome.boxes.counts) > (300 if alike == 0.0 else 20)
    np.testing.assert_array_equal(outcome.boxes.box, again.boxes.box)
    check_demands_hold(case, outcome, np.arange(6000))
    check_members(case, outcome, np.arange(6000))
    check_disjoint(outcome, np.zeros(2, dtype=np.bool_))
    check_ranges(case, outcome, np.arange(6000))


@pytest.mark.parametrize("method", ["optimal", "fast", "mondrian"])
def test_tables_larger_than_a_block_keep_every_guarantee(method: Method) -> None:
    """Cuts of large nodes, among them values beyond the 64th, obey the demands too."""
    x, nominal = large(9000, 1)
    rng = np.random.default_rng(2)
    demands = BoxConstraints(
        l=2,
        codes=rng.integers(0, 4, (9000, 1)).astype(np.int32),
        ordered=(False,),
        t=0.35,
        alpha=0.6,
        kept=rng.choice(3, 9000, p=[0.8, 0.199, 0.001]).astype(np.int32),
        persons=rng.integers(0, 5000, 9000).astype(np.int32),
    )
    statistics = (Statistic("mean", (0,)), Statistic("share", (2,)), Statistic("domain_mean", (0, 3)))
    columns = (NumericColumn(value_step=0.1), NumericColumn(1.0))
    request = BoxesRequest(
        12,
        statistics,
        partition=method,
        bounds="grid",
        columns=columns,
        nominal=nominal,
        demands=demands,
        unlisted_column_weight=0.03,
    )
    case = Case(x, request)
    outcome = anonymized(case)
    rows = np.arange(9000) if outcome.chosen.rows is None else outcome.chosen.rows
    assert 0 < outcome.suppressed < 100
    assert len(outcome.boxes.counts) > 50
    check_demands_hold(case, outcome, rows)
    check_members(case, outcome, rows)
    check_ranges(case, outcome, rows)


def test_missing_patterns_of_a_large_table_are_cut_apart() -> None:
    """Every record is in a box of its own pattern, and rare patterns join others."""
    x, nominal = large(6000, 3)
    rng = np.random.default_rng(4)
    x[rng.random(6000) < 0.2, 0] = np.nan
    x[:3] = np.nan
    request = BoxesRequest(
        10, (Statistic("mean", (0,)), Statistic("share", (3,))), columns=(NumericColumn(), NumericColumn(1.0)),
        nominal=nominal, patterns=True, unlisted_column_weight=0.03,
    )  # fmt: skip
    case = Case(x, request)
    outcome = anonymized(case)
    rows = outcome.chosen.rows
    assert outcome.suppressed == 10  # three lack all that others have; seven more, so that nobody knows who
    assert outcome.blanked == check_members(case, outcome, rows)
    check_demands_hold(case, outcome, rows)
    keep = np.arange(0, len(outcome.boxes.counts), 5)
    some = replace(outcome, boxes=outcome.boxes.taking(keep, outcome.boxes.box))
    check_disjoint(some, np.array([False, True]))


def test_classes_of_kept_columns_are_parted_rather_than_boxes_left_whole() -> None:
    """Many small classes forbid nearly every cut; they are parted then, and few records are left out."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3000, 3))
    kept = (rng.geometric(0.15, 3000) - 1).astype(np.int32)
    means = tuple(Statistic("mean", (i,)) for i in range(3))
    request = BoxesRequest(5, means, demands=BoxConstraints(kept=kept), bounds="tight")
    for method in ("optimal", "fast", "mondrian"):
        case = Case(x, replace(request, partition=method))
        outcome = anonymized(case)
        rows = outcome.chosen.rows
        check_demands_hold(case, outcome, rows)
        rare = np.isin(kept, np.flatnonzero(np.bincount(kept) < 5))
        assert outcome.suppressed == rare.sum() > 0
        assert len(outcome.boxes.counts) > 200


def test_what_is_asked_again_is_answered_alike() -> None:
    """With the columns' secrets the boxes are a function of the records."""
    x, nominal = large(800, 8)
    keys = np.random.default_rng(9).integers(0, 2**32, (4, 8), dtype=np.uint32)
    request = BoxesRequest(6, (Statistic("share", (2,)),), nominal=nominal, keys=keys, unlisted_column_weight=0.1)
    first, second = (anonymized(Case(x, request), seed).boxes for seed in (1, 2))
    assert (first.lower == second.lower).all()
    assert all((a == b).all() for a, b in zip(first.sets, second.sets, strict=True))
    other = anonymized(Case(x, replace(request, keys=keys + 1))).boxes
    assert any((a != b).any() for a, b in zip(first.sets, other.sets, strict=True))
