"""The same rows are recognised, others are not; hashes are SipHash."""

from collections import Counter
from itertools import product
from math import log2

import numpy as np
import pytest

from workers.algorithms.tables.sketches import (
    BITS,
    SKETCH,
    Sketch,
    bits,
    hashed_rows,
    independent,
    overlap,
    same_rows,
    sketch,
)

KEY = (0x0706050403020100, 0x0F0E0D0C0B0A0908)


def of(values: np.ndarray, key: tuple[int, int] = KEY) -> Sketch:
    return sketch([column.astype(np.float64).view(np.uint64) for column in values.T.copy()], key)


def test_hashes_are_those_of_the_authors_test_vectors() -> None:
    # Aumasson, Bernstein: vectors_sip64 of 0, 8 and 16 bytes 00 01 02 ... under the key 00 01 ... 0f
    words = np.array([[0x0706050403020100, 0x0F0E0D0C0B0A0908]], np.uint64)
    key = np.array(KEY, np.uint64)
    digests = [hashed_rows(words[:, :m], key)[0].tobytes().hex() for m in range(3)]
    assert digests == ["310e0edd47db6f72", "62 24 93 9a 79 f5 f5 93".replace(" ", ""), "db9bc2577fcc2a3f"]


def test_rows_in_another_order_have_the_same_sketch_and_under_another_key_another() -> None:
    draw = np.random.default_rng(1)
    values = draw.integers(0, 5, size=(5000, 3))
    one, other = of(values), of(draw.permutation(values))
    assert (one.least == other.least).all()
    assert (one.repeats == other.repeats).all()
    assert overlap(one, of(values, (1, 2))) < 0.05
    times, counts = np.unique(np.unique(values, axis=0, return_counts=True)[1], return_counts=True)
    assert (one.repeats == np.column_stack([times, counts])).all()


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_overlap_is_estimated_with_rows_that_occur_several_times(share: float) -> None:
    draw = np.random.default_rng(2)
    pool = draw.integers(0, 2000, size=(30000, 1))  # 15 of each value
    first = pool[:10000]
    shared = int(10000 * share)
    second = np.vstack([first[:shared], draw.integers(5000, 7000, size=(20000 - shared, 1))])
    count = lambda rows: np.bincount(rows[:, 0], minlength=8000)  # noqa: E731
    exact = np.minimum(count(first), count(second)).sum() / 10000
    assert overlap(of(first), of(second)) == pytest.approx(exact, abs=0.09)
    assert len(of(first).least) == SKETCH


@pytest.mark.parametrize(("levels", "columns"), [(2, 2), (6, 3), (9, 5), (100, 4)])
@pytest.mark.parametrize("ratio", [1, 3])
def test_independent_draws_of_one_population_are_not_the_same_data(levels: int, columns: int, ratio: int) -> None:
    draw = np.random.default_rng(3)
    skewed = np.arange(1, levels + 1) ** -1.0
    values = draw.choice(levels, size=(12000, columns), p=skewed / skewed.sum())
    small, large = values[: 12000 // (1 + ratio)], values[12000 // (1 + ratio) :]
    assert overlap(of(small), of(large)) == pytest.approx(independent(of(small), of(large)), abs=0.08)
    assert not same_rows(of(small), of(large))


@pytest.mark.parametrize("levels", [9, 100])
def test_appended_and_removed_rows_are_the_same_data(levels: int) -> None:
    draw = np.random.default_rng(4)
    values = draw.integers(0, levels, size=(8000, 5))
    assert same_rows(of(values[:7000]), of(values))
    assert same_rows(of(values[:5000]), of(values[1000:]))
    assert not same_rows(of(values[:4000]), of(values[4000:]))


@pytest.mark.parametrize(("values", "rows"), [(73, 600), (40, 200), (25, 1000), (6, 90)])
def test_two_populations_of_few_values_are_not_the_same_data(values: int, rows: int) -> None:
    """Ages and towns of different people: what is common to them is common to everybody."""
    matches = 0
    for seed in range(40):
        draw = np.random.default_rng([6, seed])
        one, other = (draw.integers(0, values, size=(rows, 1)) for _ in range(2))
        matches += same_rows(of(one), of(other))
    assert matches == 0


@pytest.mark.parametrize(("values", "rows"), [(73, 600), (40, 200), (25, 1000)])
def test_the_same_data_of_few_values_are_found_and_with_rows_appended(values: int, rows: int) -> None:
    draw = np.random.default_rng(7)
    one = draw.integers(0, values, size=(rows, 1))
    assert same_rows(of(one), of(draw.permutation(one)))
    wide = draw.integers(0, values, size=(rows, 3))
    assert same_rows(of(wide), of(np.vstack([wide, draw.integers(0, values, size=(rows // 3, 3))])))


def test_equal_multisets_say_as_much_as_they_are_improbable() -> None:
    """Against all sequences of draws, one by one."""
    for counts in ([3, 1], [2, 2, 1], [4], [1, 1, 1, 1]):
        n = sum(counts)
        shares = [one / n for one in counts]
        alike = sum(
            np.prod([shares[value] for value in drawn])
            for drawn in product(range(len(counts)), repeat=n)
            if Counter(drawn) == Counter(dict(enumerate(counts)))
        )
        assert bits(np.array(counts)) == pytest.approx(-log2(alike), abs=1e-9)
    halves = np.array([300, 300])
    assert bits(halves) < 6
    assert bits(np.ones(600, np.int64)) > 100
    few = np.repeat([[0.0], [1.0]], 300, axis=0)
    assert bits(halves) < BITS
    assert not same_rows(of(few), of(few)), "a column of two values, as often each, is anybody's"
