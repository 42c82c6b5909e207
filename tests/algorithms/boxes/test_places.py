"""Where cuts lie in their gaps: inside, uniform, the same wherever they are asked for, mute about the gap's ends."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from workers.algorithms.boxes.partition.places import KeyArray, cut_points, encoded, new_keys

ANY = st.one_of(st.floats(-1e150, 1e150), st.floats(-10, 10), st.integers(-5, 5).map(float), st.just(-0.0))


def keys(columns: int, seed: int) -> KeyArray:
    return new_keys(columns, np.random.default_rng(seed))


def cut(a: float, b: float, key: KeyArray) -> float:
    return float(cut_points(np.array([[a, b]]), np.zeros(1, np.int32), key)[0])


def is_open(a: float, b: float) -> bool:
    return np.nextafter(a, np.inf) < b


@settings(deadline=None, max_examples=examples(400))
@given(ends=st.lists(ANY, min_size=2, max_size=2).map(sorted), steps=st.integers(0, 3), seed=st.integers(0, 99))
def test_a_cut_is_strictly_inside_its_gap(ends: list[float], steps: int, seed: int) -> None:
    a, b = ends
    for _ in range(steps):  # gaps of very few floats too
        b = float(np.nextafter(a if b == ends[1] else b, np.inf))
    if a < b and is_open(a, b):
        assert a < cut(a, b, keys(1, seed)) < b


@settings(deadline=None, max_examples=examples(200))
@given(values=st.lists(ANY, min_size=4, max_size=4, unique=True).map(sorted), seed=st.integers(0, 99))
def test_a_narrower_gap_that_holds_the_cut_keeps_it(values: list[float], seed: int) -> None:
    a, c, d, b = values
    if not (is_open(a, b) and is_open(c, d)):
        return
    key = keys(1, seed)
    wide, narrow = cut(a, b, key), cut(c, d, key)
    if c < wide < d:
        assert narrow == wide
    else:
        assert c < narrow < d


def test_between_two_neighbours_there_is_one_cut_whatever_is_asked() -> None:
    rng = np.random.default_rng(2)
    values = np.sort(rng.normal(size=400))
    ends = np.sort(rng.choice(400, (4000, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    cuts = np.unique(cut_points(values[ends], np.zeros(len(ends), np.int32), keys(1, 0)))
    between = np.searchsorted(values, cuts)
    assert len(np.unique(between)) == len(between) > 100


def test_a_cut_depends_on_nothing_but_its_gap_and_the_key_of_its_column() -> None:
    rng = np.random.default_rng(3)
    gap = np.sort(rng.normal(size=(500, 2)), axis=1)
    axis = rng.integers(0, 3, 500).astype(np.int32)
    several = keys(3, 1)
    together = cut_points(gap, axis, several)
    alone = [cut(a, b, several[[column]]) for (a, b), column in zip(gap, axis, strict=True)]
    np.testing.assert_array_equal(together, alone)
    assert not np.isin(together, cut_points(gap, axis, keys(3, 2))).any(), "another key has other cuts"


@pytest.mark.parametrize(("a", "b"), [(0.0, 7.0), (-3.0, 1e-3), (1e6, 1e6 + 1), (-1e70, 1e70), (0.1, 100.0)])
def test_cuts_are_uniform_in_their_gap(a: float, b: float) -> None:
    many = keys(4000, 5)
    gap = np.repeat([[a, b]], len(many), axis=0)
    share = (cut_points(gap, np.arange(len(many), dtype=np.int32), many) - a) / (b - a)
    distance = np.abs(np.sort(share) - (np.arange(len(many)) + 0.5) / len(many)).max()
    assert distance < 1.95 / np.sqrt(len(many)), "Kolmogorov-Smirnov at 0.1 %"


def test_of_two_overlapping_gaps_the_cuts_tell_which_part_came_first_and_no_place() -> None:
    """Thirds of [0, 3] are served in any order alike; where in a third its cut lies is told by no other cut."""
    many = keys(6000, 6)
    axis = np.arange(len(many), dtype=np.int32)
    left, right = (cut_points(np.repeat([ends], len(many), axis=0), axis, many) for ends in ([0.0, 2.0], [1.0, 3.0]))
    assert (left == right).mean() == pytest.approx(1 / 3, abs=0.03), "the middle third first"
    apart = right[left < 1.0]
    assert np.mean(apart < 2.0) == pytest.approx(1 / 3, abs=0.04), "the middle one second, after the left one"
    assert np.corrcoef(left[left < 1.0], apart % 1.0)[0, 1] == pytest.approx(0.0, abs=0.08)


def test_the_last_bits_of_a_cut_do_not_tell_the_neighbour_above() -> None:
    # The attacker knows that the value below is 0 and asks of which whole numbers the cut, in units of 2^-53, is a
    # multiple. Drawn from 2^53 places in the gap every cut would be one of the gap's width.
    many = keys(4000, 6)
    cuts = cut_points(np.repeat([[0.0, 7.0]], len(many), axis=0), np.arange(len(many), dtype=np.int32), many)
    units = [Fraction(cut) * 2**53 for cut in cuts.tolist() if cut < 1.0]  # of larger ones rounding takes the last bits
    assert len(units) > 400
    for number in (3, 5, 7, 11):
        assert np.mean([unit % number == 0 for unit in units]) < 1 / number + 0.07


def oracle(a: float, b: float, key: KeyArray) -> float:
    """The first arrival in (a, b) by the definition, in rational numbers, with another implementation of the cipher."""

    def number(code: int) -> Fraction:
        code = min(max(code, (1 << 64) - 1 - UPPER), UPPER)
        bits = code & (2**63 - 1) if code >> 63 else ~code & (2**64 - 1)
        return Fraction(float(np.array([bits], np.uint64).view(np.float64)[0]))

    def first(start: int, depth: int) -> tuple[float, int] | None:
        final = start | ((1 << (64 - depth)) - 1)
        low, high = number(start), number(min(final + 1, UPPER))
        if high <= low:
            return None
        nonce = start.to_bytes(8, "little") + depth.to_bytes(8, "little")
        words = np.frombuffer(block(key, nonce), dtype="<u4").tolist()
        share = [words[2 * i] * 2**21 + (words[2 * i + 1] >> 11) for i in range(3)]
        place = float(low + (high - low) * Fraction(share[0] * 2**53 + share[1], 2**106))
        code = int(encoded(np.array([place]))[0])
        return -np.log1p(-share[2] / 2**53) / float((high - low) * 2**400), min(max(code, start), final)

    def search(start: int, depth: int, arrival: tuple[float, int] | None) -> tuple[float, int] | None:
        if arrival is None or start > last or start | ((1 << (64 - depth)) - 1) < low:
            return None
        if low <= arrival[1] <= last:
            return arrival
        if depth == 64:
            return None
        solutions = []
        for part in (start, start | 1 << (63 - depth)):
            own = first(part, depth + 1) if (arrival[1] ^ part) >> (63 - depth) else None
            later = arrival if not (arrival[1] ^ part) >> (63 - depth) else own and (arrival[0] + own[0], own[1])
            solutions.append(search(part, depth + 1, later))
        return min((one for one in solutions if one is not None), default=None)

    low, last = int(encoded(np.array([a]))[0]) + 1, int(encoded(np.array([b or -0.0]))[0]) - 1
    best = search(0, 0, first(0, 0))
    assert best is not None
    return float(number(best[1]))


UPPER = int(encoded(np.array([2.0**512]))[0])


def block(key: KeyArray, nonce: bytes) -> bytes:
    return Cipher(algorithms.ChaCha20(key[0].tobytes(), nonce), mode=None).encryptor().update(bytes(64))


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: np.sort(rng.normal(size=2)),
        lambda rng: np.sort(rng.integers(-9, 9, 2) + np.array([0.5, 20.0])),
        lambda rng: 10.0 ** rng.uniform(-300, 140) * np.array([1, 1 + 1e-9]),
        lambda rng: np.array([-1.0, 1.0]) * 10.0 ** rng.uniform(-200, 140, 2),
    ],
)
def test_a_cut_is_the_first_arrival_in_the_gap(draw: Callable[[np.random.Generator], np.ndarray]) -> None:
    rng = np.random.default_rng(7)
    for seed in range(12):
        a, b = draw(rng).tolist()
        key = keys(1, seed)
        assert cut(a, b, key) == pytest.approx(oracle(a, b, key), rel=1e-15, abs=0)
