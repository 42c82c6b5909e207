"""Hashes are SipHash; sketches keep few values and rows, and classify columns by what they state of people."""

from collections import Counter
from itertools import product
from math import inf, log2

import numpy as np
import pytest

from tests.drawing import seeds
from workers.algorithms.tables.recognition import Table
from workers.algorithms.tables.sketches import (
    COLUMN,
    IDS,
    SAMPLE,
    SAMPLES,
    WHOLE,
    Kind,
    bits,
    hashed_column,
    hashed_rows,
    kept_columns,
)

KEY = np.array((0x0706050403020100, 0x0F0E0D0C0B0A0908), np.uint64)


def table(values: np.ndarray, key: np.ndarray = KEY) -> Table:
    columns = [column.astype(np.float64).view(np.uint64) for column in values.T.copy()]
    return Table([hashed_column(f"c{at}", one, lambda: inf, key=key) for at, one in enumerate(columns)])


def kind(values: np.ndarray, lattice: float = inf) -> Kind:
    return hashed_column("x", values.astype(np.float64).view(np.uint64), lambda: lattice, key=KEY).sketch.kind


def test_hashes_are_those_of_the_authors_test_vectors() -> None:
    # Aumasson, Bernstein: vectors_sip64 of 0, 8 and 16 bytes 00 01 02 ... under the key 00 01 ... 0f
    words = np.array([[0x0706050403020100, 0x0F0E0D0C0B0A0908]], np.uint64)
    digests = [hashed_rows(words[:, :m], KEY)[0].tobytes().hex() for m in range(3)]
    assert digests == ["310e0edd47db6f72", "62 24 93 9a 79 f5 f5 93".replace(" ", ""), "db9bc2577fcc2a3f"]


@pytest.mark.parametrize("seed", seeds(3))
def test_a_sketch_does_not_follow_the_order_of_rows_and_is_small(seed: int) -> None:
    draw = np.random.default_rng([1, seed])
    values = draw.integers(0, 60, size=(int(draw.choice([200, 5000])), 6))
    one, other = table(values).sketch, table(draw.permutation(values)).sketch
    assert [x.anchor for x in one.samples] == [x.anchor for x in other.samples]
    for mine, theirs in zip(one.samples, other.samples, strict=True):
        assert mine.codes.tolist() == theirs.codes.tolist()
        assert len(mine.codes) <= (SAMPLE if mine.anchor else WHOLE)
    for a, b in zip(one.columns, other.columns, strict=True):
        assert (a.least.hashes.tolist(), a.least.counts.tolist()) == (b.least.hashes.tolist(), b.least.counts.tolist())
        assert len(a.least.hashes) <= COLUMN
    assert len(one.samples) <= SAMPLES
    anchors = [at for sample in one.samples for at in sample.anchor]
    assert len(anchors) == len(set(anchors)), "a column that changes spoils one sample only"
    secret = table(values, KEY + np.uint64(1)).sketch
    assert not np.intersect1d(one.columns[0].least.hashes, secret.columns[0].least.hashes).size


def test_columns_that_state_nothing_of_people_are_told_from_those_that_do() -> None:
    draw = np.random.default_rng(2)
    rows = 3000
    assert kind(np.ones(rows)) is Kind.CONSTANT
    assert kind(draw.permutation(rows), lattice=rows) is Kind.NUMBERING
    gaps = draw.choice(2 * rows, rows, replace=False)
    assert kind(gaps, lattice=2 * rows) is Kind.NUMBERING, "numbers of a table of which half was left out"
    assert kind(draw.choice(10**9, rows, replace=False), lattice=1e9) is Kind.IDENTIFYING
    assert kind(np.repeat(np.arange(60), 50)) is Kind.EVEN
    assert kind(draw.integers(0, 60, rows)) is Kind.ORDINARY
    drawn = draw.integers(0, 80_000, rows)
    assert kind(drawn, lattice=80_000) in {Kind.IDENTIFYING, Kind.ORDINARY}, "incomes that hardly repeat"


def test_the_identifying_columns_of_a_wide_table_are_kept() -> None:
    draw = np.random.default_rng(3)
    values = np.column_stack([draw.integers(0, 9, size=(400, 200)), draw.choice(10**9, 400, replace=False)])
    kept = kept_columns(table(values).columns)
    assert (len(kept), kept[0].sketch.name, kept[0].sketch.kind) == (64, "c200", Kind.IDENTIFYING)
    assert len(kept[0].sketch.least.hashes) == 400 <= IDS


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
