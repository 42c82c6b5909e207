"""Shares, cross-tables, means within a set, quantiles: against every data set consistent with small mixed boxes."""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from surebox_verify.ranges.domains import domain_mean_range
from surebox_verify.ranges.guaranteed import Range
from surebox_verify.ranges.mass import Mass, mass_of
from surebox_verify.ranges.members import Members, ValueSets, members_of, ranges_of_labels, sets_of_values
from surebox_verify.ranges.quantiles import distribution_range, quantile_range
from surebox_verify.ranges.shares import count_range, cross_table, share_range, share_range_of_rows
from tests.drawing import seeds
from tests.verify.ranges.completions import sums_of_all, tables_of_box

VALUES = 3
ALL = list(itertools.product([False, True], repeat=VALUES))


@dataclass
class Small:
    """Boxes with a number y, a nominal column u and an ordinal one v; of each box all tables consistent with it."""

    lower: np.ndarray
    upper: np.ndarray
    sets: np.ndarray
    ranks: np.ndarray
    counts: np.ndarray
    weights: np.ndarray | None
    attained: bool

    @property
    def mass(self) -> Mass:
        return mass_of(self.counts, self.weights)

    @property
    def each(self) -> np.ndarray:
        return np.ones(len(self.counts)) if self.weights is None else self.weights

    @property
    def nominal(self) -> ValueSets:
        return sets_of_values(self.sets, attained=self.attained)

    @property
    def ordinal(self) -> ValueSets:
        return ranges_of_labels(self.ranks[:, 0], self.ranks[:, 1], range(VALUES), attained=self.attained)

    def data(self, columns: str) -> list[list[np.ndarray]]:
        """All tables of each box in some of the columns y, u, v."""
        tables = []
        for b, count in enumerate(self.counts):
            ends = sorted({self.lower[b], self.upper[b]})
            held = {"y": ends, "u": np.flatnonzero(self.sets[b]).tolist(), "v": sorted(set(self.ranks[b].tolist()))}
            sides = held | {
                "y": sorted({*ends, sum(ends) / len(ends)}),
                "v": np.arange(self.ranks[b, 0], self.ranks[b, 1] + 1).tolist(),
            }
            present = [held[name] for name in columns] if self.attained else []
            tables.append(tables_of_box([sides[name] for name in columns], int(count), present))
        return tables


def small(seed: int, *, attained: bool, weighted: bool = False) -> Small:
    """Boxes of records that are there, so that attained ends and sets are possible; wider where they need not be."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, 3).astype(float)
    lower, upper, ranks, sets = np.zeros(3), np.zeros(3), np.zeros((3, 2)), np.zeros((3, VALUES), dtype=bool)
    for b, count in enumerate(counts):
        y = rng.integers(0, 5, int(count))
        u, v = rng.integers(0, VALUES, int(count)), rng.integers(0, VALUES, int(count))
        lower[b], upper[b] = y.min(), y.max() + (not attained)
        sets[b, u] = True
        ranks[b] = v.min(), v.max()
    return Small(lower, upper, sets, ranks, counts, rng.uniform(0.5, 3.0, 3) if weighted else None, attained)


def meets(bounds: Range, values: list[float]) -> None:
    """The range is that of the values: certain and reached."""
    assert bounds.outer is not None
    assert bounds.inner is not None
    size = 1e-12 * max(1.0, abs(max(values)), abs(min(values)))
    assert bounds.outer.lower <= min(values) + size
    assert bounds.outer.upper >= max(values) - size
    assert bounds.inner.lower == pytest.approx(min(values), abs=1e-9)
    assert bounds.inner.upper == pytest.approx(max(values), abs=1e-9)
    assert bounds.exact


CASES = [(seed, attained, weighted) for seed in range(5) for attained in (False, True) for weighted in (False, True)]


@pytest.mark.parametrize(("seed", "attained", "weighted"), CASES)
def test_shares_are_exactly_those_of_all_consistent_data(seed: int, attained: bool, weighted: bool) -> None:
    boxes = small(seed, attained=attained, weighted=weighted)
    for column, name in ((boxes.nominal, "u"), (boxes.ordinal, "v")):
        for subset in ALL[1:]:
            inside = np.array(subset)
            sums = sums_of_all(boxes.data(name), lambda t, b, a=inside: (boxes.each[b] * a[t[:, 0].astype(int)].sum(),))
            values = [float(each[0]) for each in sums]
            members = members_of(column, inside, boxes.counts)
            total = float(boxes.counts @ boxes.each)
            meets(share_range(members, boxes.mass), [value / total for value in values])
            exponent = boxes.mass.of_record[0] / boxes.each[0]  # masses are scaled by a power of two
            meets(count_range(members, boxes.mass), [value * exponent for value in values])


@pytest.mark.parametrize("attained", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_weights_of_rows_are_given_to_values_in_every_order(seed: int, attained: bool) -> None:
    boxes, rng = small(seed, attained=attained), np.random.default_rng(seed + 100)
    box = rng.permutation(np.repeat(np.arange(3, dtype=np.int32), boxes.counts.astype(int)))
    weights = rng.uniform(0.1, 2.0, len(box))
    inside = np.array([True, False, True])
    least, most = np.zeros(3), np.zeros(3)
    for b, tables in enumerate(boxes.data("u")):
        own = weights[box == b]
        sums = [own @ inside[np.array(p)] for t in tables for p in itertools.permutations(t[:, 0].astype(int))]
        least[b], most[b] = min(sums), max(sums)
    bounds = share_range_of_rows(members_of(boxes.nominal, inside, boxes.counts), box, weights)
    meets(bounds, [least.sum() / weights.sum(), most.sum() / weights.sum()])


@pytest.mark.parametrize(("seed", "attained", "weighted"), CASES)
def test_every_cell_of_a_cross_table_has_its_exact_range(seed: int, attained: bool, weighted: bool) -> None:
    boxes = small(seed, attained=attained, weighted=weighted)
    table = cross_table(boxes.nominal, boxes.ordinal, boxes.mass, boxes.counts)
    scale = boxes.mass.of_record[0] / boxes.each[0]
    data = boxes.data("uv")
    for u, v in itertools.product(range(VALUES), repeat=2):
        counted = [[boxes.each[b] * np.all(t == (u, v), axis=1).sum() for t in part] for b, part in enumerate(data)]
        least, most = sum(map(min, counted)) * scale, sum(map(max, counted)) * scale
        assert table.least[u, v] == pytest.approx(least)
        assert table.most[u, v] == pytest.approx(most)
        assert table.least[u, v] <= least * (1.0 + 1e-15)
        assert table.most[u, v] >= most * (1.0 - 1e-15)


@pytest.mark.parametrize(("seed", "attained", "weighted"), CASES)
def test_two_columns_sets_are_met_independently(seed: int, attained: bool, weighted: bool) -> None:
    boxes = small(seed, attained=attained, weighted=weighted)
    inside, within = np.array([True, True, False]), np.array([False, True, True])
    both = members_of(boxes.nominal, inside, boxes.counts).both(members_of(boxes.ordinal, within, boxes.counts))
    for b, tables in enumerate(boxes.data("uv")):
        counted = {int((inside[t[:, 0].astype(int)] & within[t[:, 1].astype(int)]).sum()) for t in tables}
        assert counted == set(range(int(both.least[b]), int(both.most[b]) + 1))


@pytest.mark.parametrize(("seed", "attained", "weighted"), CASES)
def test_the_mean_within_a_set_has_its_exact_range(seed: int, attained: bool, weighted: bool) -> None:
    boxes = small(seed, attained=attained, weighted=weighted)
    data = boxes.data("yu")
    for subset in ALL[1:]:
        inside = np.array(subset)

        def sums(table: np.ndarray, b: int, inside: np.ndarray = inside) -> tuple[float, float]:
            held = inside[table[:, 1].astype(int)]
            return float(boxes.each[b] * held.sum()), float(boxes.each[b] * table[held, 0].sum())

        both = list(sums_of_all(data, sums))
        values = [float(top / mass) for mass, top in both if mass > 0.0]
        members = members_of(boxes.nominal, inside, boxes.counts)
        domain_mean = domain_mean_range(boxes.lower, boxes.upper, members, boxes.mass, attained=attained)
        assert domain_mean.may_be_empty == any(mass == 0.0 for mass, _ in both)
        if values:
            meets(domain_mean.range, values)
        else:
            assert domain_mean.range.outer is None


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9])
@pytest.mark.parametrize(("seed", "attained", "weighted"), CASES)
def test_quantiles_are_exactly_those_of_all_consistent_data(
    seed: int, attained: bool, weighted: bool, p: float
) -> None:
    boxes = small(seed, attained=attained, weighted=weighted)
    weights = np.repeat(boxes.each, boxes.counts.astype(int))
    values = []
    for parts in itertools.product(*boxes.data("y")):
        y = np.concatenate(parts)[:, 0]
        shares = [weights[y <= value].sum() / weights.sum() for value in y]
        values.append(min(value for value, share in zip(y, shares, strict=True) if share >= p - 1e-12))
    meets(quantile_range(boxes.lower, boxes.upper, boxes.counts, boxes.mass, p, attained=attained), values)


@pytest.mark.parametrize("at", [-1.0, 1.0, 2.5, 9.0])
@pytest.mark.parametrize(("seed", "attained", "weighted"), CASES[:8])
def test_the_distribution_function_is_that_of_all_consistent_data(
    seed: int, attained: bool, weighted: bool, at: float
) -> None:
    boxes = small(seed, attained=attained, weighted=weighted)
    total = float(boxes.counts @ boxes.each)
    sums = sums_of_all(boxes.data("y"), lambda t, b: (boxes.each[b] * (t[:, 0] <= at).sum(),))
    bounds = distribution_range(boxes.lower, boxes.upper, boxes.counts, boxes.mass, at, attained=attained)
    meets(bounds, [float(each[0]) / total for each in sums])


def exact(weights: np.ndarray, records: np.ndarray) -> Fraction:
    """The sum of their products."""
    return sum((Fraction(float(a)) * int(b) for a, b in zip(weights, records, strict=True)), Fraction(0))


@pytest.mark.parametrize("seed", seeds(12))
def test_a_share_of_weights_that_may_be_nothing_is_one_of_those_of_all_weights(seed: int) -> None:
    """Weights in intervals from 0 on, sets of no record and of all: the ends of all choices, in exact fractions."""
    draw = np.random.default_rng([1717, seed])
    for _ in range(60):
        boxes = int(draw.integers(1, 4))
        counts = draw.integers(1, 30, boxes).astype(float)
        low, high = np.sort(draw.uniform(0.0, 2.0, (2, boxes)).round(int(draw.integers(0, 4))), axis=0)
        low[draw.random(boxes) < 0.5] = 0.0
        high[high == 0.0] = 1.0
        least, most = np.sort(draw.choice([0.0, 0.5, 1.0], (2, boxes)) * counts // 1, axis=0)
        shares = []
        for corner in itertools.product([0, 1], repeat=3 * boxes):
            mine, theirs, many = np.reshape(corner, (3, boxes))
            number = np.where(many, most, least)
            inside = exact(np.where(mine, high, low), number)
            whole = inside + exact(np.where(theirs, high, low), counts - number)
            if whole:
                shares.append(inside / whole)
        mass = mass_of(counts, 0.5 * (low + high), (low, high))
        made = share_range(Members(least, most, counts), mass).outer
        assert made is not None
        assert 0.0 <= made.lower <= min(shares) <= max(shares) <= made.upper <= 1.0
        assert (made.lower, made.upper) == (pytest.approx(float(min(shares))), pytest.approx(float(max(shares))))
