"""Evidence is an e-value: of independent tables its expectation is at most 1, by enumeration."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from tests.drawing import seeds
from workers.algorithms.tables import splits
from workers.algorithms.tables.agreeing import agreeing_sets, by_chance, marks_by_set
from workers.algorithms.tables.splits import SPARSE, TILTS, Cells, cells_by_set, cells_of, sums_by_set

WORDS = np.random.default_rng(0).integers(0, 2**32, size=(9, 256), dtype=np.uint32)


def log_sum(terms: list[float]) -> float:
    top = max(terms)
    return top + math.log(math.fsum(math.exp(one - top) for one in terms))


def plain(first: dict[int, int], second: dict[int, int], share: float) -> float:
    """The equation of the module, cell by cell, with sums over all splits."""
    logs = []
    for tilt in TILTS:
        total = 0.0
        for cell in first.keys() | second.keys():
            a, c = first.get(cell, 0), first.get(cell, 0) + second.get(cell, 0)
            dense = c > 3 and c * min(share, 1 - share) >= SPARSE
            if c == 1 or (c > 3 and not dense):
                continue
            f = share if dense else 0.5
            exponents = [-tilt / 2 * (x - f * c) ** 2 / (c * f * (1 - f)) for x in range(c + 1)]
            draws = [math.log(math.comb(c, x)) + x * math.log(f) + (c - x) * math.log(1 - f) for x in range(c + 1)]
            total += exponents[a] - log_sum([one + other for one, other in zip(exponents, draws, strict=True)])
        logs.append(total)
    rows = sum(first.values()) + sum(second.values())
    given = 0.5 * math.log(2 * math.pi * rows * share * (1 - share) + 1)
    return (log_sum(logs) - math.log(len(logs)) - given) / math.log(2)


def counted(values: np.ndarray) -> dict[int, int]:
    different, counts = np.unique(values, return_counts=True)
    return dict(zip(different.tolist(), counts.tolist(), strict=True))


def cells(counts: dict[int, int]) -> Cells:
    kept = sorted(cell for cell, count in counts.items() if count)
    return Cells(np.array(kept, np.uint64), np.array([counts[one] for one in kept], np.int64))


def evidence(first: Cells, second: Cells, *, share: float) -> float:
    return float(splits.evidence([(first, second)], share=share)[0])


def by_set(first: np.ndarray, second: np.ndarray, share: float, *, halvings: int = 0, least: float = 0.0) -> np.ndarray:
    """Evidence of all rows of the first over all columns, and over all but one, beside the cells of the second."""
    columns = first.shape[1]
    members = np.array([[True] * columns, *(~np.eye(columns, dtype=bool))])
    words = WORDS[:columns]
    beside = cells_by_set(second, words, members, halvings)
    sums, rows = sums_by_set(first, words, members, np.uint32(beside.limit))
    return splits.evidence_by_set(beside, sums, rows, share=share, least=least, known=splits.normalizers())


@pytest.mark.parametrize("seed", seeds(10))
def test_evidence_is_the_equation(seed: int) -> None:
    draw = np.random.default_rng([1, seed])
    values = int(draw.integers(20, 200))
    rows = draw.integers(3, 300, 2)
    tables = [draw.integers(0, values, size) for size in rows]
    first, second = (counted(one) for one in tables)
    share = rows[0] / rows.sum()
    expected = plain(first, second, share)
    measured = evidence(cells(first), cells(second), share=share)
    assert measured == pytest.approx(expected, abs=1e-4)
    assert evidence(cells(second), cells(first), share=1 - share) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("seed", seeds(10))
def test_rows_beside_the_cells_of_many_are_judged_as_two_tables_are(seed: int) -> None:
    """With naive counts, of all cells and of those of some hashes alone; one bit a record at most, else not judged."""
    draw = np.random.default_rng([5, seed])
    columns = int(draw.integers(2, 7))
    many = draw.integers(0, draw.integers(2, 9, columns), size=(int(draw.integers(300, 3000)), columns)).astype(
        np.uint8
    )
    few = many[draw.permutation(len(many))[: int(draw.integers(20, 250))]]
    few = np.where(draw.random(few.shape) < draw.choice([0.0, 0.1, 1.0]), draw.integers(0, 9, few.shape), few)
    few = few.astype(np.uint8)
    share = len(few) / (len(few) + len(many))
    for halvings in (0, 2):
        bits = by_set(few, many, share, halvings=halvings)
        for at, got in enumerate(bits):
            chosen = [column for column in range(columns) if column != at - 1]
            sums = [[sum(int(WORDS[x, row[x]]) for x in chosen) % 2**32 for row in each] for each in (few, many)]
            here, there = (Counter(x for x in one if x < 2**32 >> halvings) for one in sums)
            together = sum(count for cell, count in here.items() if cell in there)
            if not here or not there:
                assert got == -math.inf
                continue
            assert got == pytest.approx(plain(here, there, share), abs=1e-2)
            assert got <= together
            judged = by_set(few, many, share, halvings=halvings, least=together + 0.5)[at]
            assert judged == -math.inf
            assert by_set(few, many, share, halvings=halvings, least=together)[at] == pytest.approx(got)


@pytest.mark.parametrize("seed", seeds(10))
def test_tilts_that_are_left_out_are_nothing_in_the_evidence(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few large cells and many small ones, alike and not: the same bits as with all tilts."""
    draw = np.random.default_rng([7, seed])
    every, left_out = np.array(TILTS), 0
    for _ in range(40):
        values, rows = int(draw.integers(2, 60)), draw.integers(50, 20_000, 2)
        first = draw.multinomial(rows[0], shares := draw.dirichlet(np.full(values, draw.choice([0.3, 5.0]))))
        second = draw.multinomial(rows[1], shares if draw.random() < 0.7 else draw.dirichlet(np.ones(values)))
        if draw.random() < 0.3:
            second = np.maximum(first - (draw.random(values) < 0.1), 0)
        share, both = first.sum() / (first.sum() + second.sum()), first + second
        one, other = (cells(dict(enumerate(x.tolist()))) for x in (first, second))
        logs = np.zeros(len(every))
        pair = one.hashes, one.counts, other.hashes, other.counts
        judged = splits.split_logs(*pair, share, every, splits.normalizers(), logs)
        each = np.zeros(len(every))
        for at in range(len(every)):  # one tilt alone is never left out
            room = splits.normalizers()
            splits.split_logs(*pair, share, every[at : at + 1], room, each[at : at + 1])
        kept = np.isfinite(logs)
        left_out += int((~kept).sum())
        assert judged == both.sum()
        assert (logs[kept] == each[kept]).all()
        assert (np.exp(each[~kept] - each.max()) == 0.0).all()
    assert left_out > 40


@pytest.mark.parametrize("seed", seeds(10))
def test_sets_in_which_too_few_agree_are_those_that_are_not_judged(seed: int) -> None:
    """A set is left out for one of its parts or counted itself, with tables that agree in some columns."""
    draw = np.random.default_rng([8, seed])
    columns = int(draw.integers(2, 9))
    many = draw.integers(0, draw.integers(2, 40, columns), size=(int(draw.integers(50, 900)), columns)).astype(np.uint8)
    few = many[draw.integers(0, len(many), int(draw.integers(20, 300)))]
    changed = draw.random(columns) < draw.choice([0.0, 0.3, 0.9])
    few = np.where(changed & (draw.random(few.shape) < 0.9), draw.integers(0, 40, few.shape), few).astype(np.uint8)
    members = np.array([x for x in itertools.product([False, True], repeat=columns) if sum(x) > 1])
    for halvings in (0, 1, 2):
        beside = cells_by_set(many, WORDS[:columns], members, halvings)
        sums, rows = sums_by_set(few, WORDS[:columns], members, np.uint32(beside.limit))
        marks, by_column = marks_by_set(beside.hashes, beside.starts, halvings), np.ascontiguousarray(few.T)
        for least in (1.0, 7.5, 13.0, float(len(few))):
            enough = agreeing_sets(beside, marks, by_column, WORDS[:columns], members, least=least)
            bits = splits.evidence_by_set(
                beside, sums, rows, share=len(few) / (len(few) + len(many)), least=least, known=splits.normalizers()
            )
            assert enough.tolist() == np.isfinite(bits).tolist()


@pytest.mark.parametrize(
    "pooled", [(2, 2, 2, 2), (5, 3, 2), (4, 4, 4), (9, 1, 1, 1), (6, 6), (3, 3, 3, 2, 1), (90, 80)]
)
def test_its_expectation_over_all_splits_is_at_most_1(pooled: tuple[int, ...]) -> None:
    """Of tables of given sizes, whichever records of the cells are in the first."""
    for size in range(1, sum(pooled)):
        share = size / sum(pooled)
        expectation = 0.0
        for split in itertools.product(*(range(c + 1) for c in pooled)):
            if sum(split) == size:
                ways = math.prod(math.comb(c, a) for c, a in zip(pooled, split, strict=True))
                first = dict(enumerate(split))
                second = {at: c - a for at, (c, a) in enumerate(zip(pooled, split, strict=True))}
                bits = evidence(cells(first), cells(second), share=share)
                expectation += ways / math.comb(sum(pooled), size) * 2.0**bits
        assert expectation <= 1.0 + 1e-9, (size, expectation)


@pytest.mark.parametrize("seed", seeds(4))
def test_a_part_of_a_population_is_no_evidence_against_the_whole(seed: int) -> None:
    """A table of one town, and one of the country with other people of it: the share of the tables is not a cell's."""
    draw = np.random.default_rng([2, seed])
    town, country = (
        draw.integers(0, 800, 500),
        np.concatenate([draw.integers(0, 800, 500), draw.integers(800, 9000, 20000)]),
    )
    first, second = cells_of(town.astype(np.uint64)), cells_of(country.astype(np.uint64))
    assert evidence(first, second, share=500 / 21000) < 5


def test_the_share_that_agrees_is_estimated_with_what_chance_gives() -> None:
    draw = np.random.default_rng(3)
    expected, agreeing = [], []
    for _ in range(200):
        one, other = (cells_of(draw.integers(0, 40, 60).astype(np.uint64)) for _ in range(2))
        shares = by_chance(one, other, share=0.5)
        agreeing.append(shares[0])
        expected.append(shares[1])
    assert np.mean(agreeing) == pytest.approx(np.mean(expected), abs=0.01)
