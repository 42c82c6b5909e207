"""Who is who between two tables, against all ways to pair their records; maps of values, against all permutations."""

import math
from collections import Counter, defaultdict
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from workers.algorithms.tables.linking import NONE, UNTOLD, link
from workers.algorithms.tables.recoding import bits, mapped, order_bits, proposed

Record = tuple[int, int]


def outcomes(x: list[Record], y: list[Record]) -> set[tuple[object, ...]]:
    """What may come of records of one key, whichever are paired: pairs, those who came, those who left, by likeness."""
    possible = set()
    for chosen in permutations(range(len(y)), min(len(x), len(y))):
        for mine in permutations(range(len(x)), len(chosen)):
            pairs = Counter((x[a][1], y[b][1]) for a, b in zip(mine, chosen, strict=True))
            came = Counter(x[a][1] for a in range(len(x)) if a not in mine)
            left = Counter(y[b][1] for b in range(len(y)) if b not in chosen)
            possible.add(tuple(tuple(sorted(one.items())) for one in (pairs, came, left)))
    return possible


records = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=6)


@settings(max_examples=examples(150), deadline=None)
@given(records, records, st.booleans())
def test_records_are_paired_where_all_ways_come_to_the_same(x: list[Record], y: list[Record], certain: bool) -> None:
    (keys, alike), (others, also) = (np.array(one, np.int64).reshape(-1, 2).T for one in (x, y))
    links = link(keys, others, x_alike=alike, y_alike=also, certain=certain)
    by_key: dict[int, tuple[list[Record], list[Record]]] = defaultdict(lambda: ([], []))
    for side, table in enumerate((x, y)):
        for one in table:
            by_key[one[0]][side].append(one)
    changed = sum(max(len(b) - len(a), 0) for a, b in by_key.values()) > 0
    for key, (mine, theirs) in by_key.items():
        partners = links.other[keys == key]
        ways = outcomes(mine, theirs)
        if len(ways) > 1:
            assert (partners == UNTOLD).all()
            continue
        pairs = Counter((a, also[b]) for a, b in zip(alike[keys == key], partners, strict=True) if b >= 0)
        assert tuple(sorted(pairs.items())) == next(iter(ways))[0]
        rest = UNTOLD if changed and not certain else NONE
        assert (partners[partners < 0] == rest).all()
    used = links.other[links.other >= 0]
    assert len(set(used.tolist())) == len(used)
    assert not set(used.tolist()) & set(links.left.tolist())


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(-1, 3), min_size=1, max_size=30), st.permutations(range(4)), st.booleans())
def test_the_true_map_is_among_those_that_are_proposed(values: list[int], order: list[int], turned: bool) -> None:
    old = np.array(values, np.int64)
    old = np.where(old < 0, -1, np.searchsorted(np.unique(old[old >= 0]), old))
    number = int(old.max(initial=-1)) + 1
    places = {
        "order": np.arange(number)[::-1] if turned else np.arange(number),
        "classes": np.argsort(np.argsort(np.array(order[:number]))),
    }
    for name, to in places.items():
        new = np.append(to, -1)[old]
        tried = list(proposed(old, new))
        ties = Counter(Counter(old[old >= 0].tolist()).values())
        if name == "order" or math.prod(map(math.factorial, ties.values())) <= 24:
            assert any(np.array_equal(mapped(old, one), new) for one in tried)
        for one in tried:
            assert Counter(mapped(old, one).tolist()) == Counter(new.tolist())


def test_classes_of_neighbours_are_proposed_where_that_is_said() -> None:
    old = np.array([0, 0, 1, 2, 2, 3, 4, 5])
    new = old // 2
    assert not any(np.array_equal(mapped(old, one), new) for one in proposed(old, new))
    assert any(np.array_equal(mapped(old, one), new) for one in proposed(old, new, coarser=True))
    assert any(np.array_equal(mapped(old, one), 2 - new) for one in proposed(old, 2 - new, coarser=True))


@pytest.mark.parametrize("seed", range(6))
def test_bits_are_how_seldom_dealt_values_fall_so(seed: int) -> None:
    draw = np.random.default_rng(seed)
    keys, codes = draw.integers(0, 3, 7), draw.integers(0, 3, 7)
    joint_counts = Counter(zip(keys.tolist(), codes.tolist(), strict=True))
    same = sum(
        Counter(zip(keys.tolist(), dealt, strict=True)) == joint_counts for dealt in permutations(codes.tolist())
    )
    assert bits(keys, codes) == pytest.approx(-math.log2(same / math.factorial(7)))
    assert bits(np.zeros(7, np.int64), codes) == pytest.approx(0.0)
    counts = np.bincount(codes[codes >= 0])
    equal = sum(one == tuple(counts.tolist()) for one in permutations(counts.tolist()))
    assert order_bits(codes) == pytest.approx(-math.log2(equal / math.factorial(len(counts))))
