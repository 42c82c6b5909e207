"""Families of nested sets, beside counts made place by place in plain Python."""

import itertools

import numpy as np
import pytest

from workers.algorithms.groups.signals.families import PARTS, RULE_COUNTS, families
from workers.algorithms.groups.signals.profile import GRID, ProfileSignal


def profiled(seed: int) -> tuple[dict[tuple[str, float, int | None], np.ndarray], list[list[tuple[float, int, int]]]]:
    """Signals of a made-up microfile by what they are, and its records (grade, number, first) by place."""
    rng = np.random.default_rng(seed)
    rules, groups = 21, 6
    number = np.where(rng.random(400) < 0.3, rng.integers(1, 25, 400), 0)
    first = np.where(number > 0, rng.integers(0, rules, 400), rules)
    grade = np.where(number > 0, rng.uniform(0.5, 1.0, 400), np.where(rng.random(400) < 0.2, 0.3, 0.0))
    parameter = rng.integers(0, groups, 400)
    counted = families(grade, number, first, rules, 0.5, GRID)
    signals = {(one.name, one.alpha, one.rules): one.values for one in counted.profile(parameter, groups)}
    places = [
        [(float(grade[i]), int(number[i]), int(first[i])) for i in np.flatnonzero(parameter == p)]
        for p in range(groups)
    ]
    return signals, places  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(3))
def test_every_signal_is_as_defined_place_by_place(seed: int) -> None:
    signals, places = profiled(seed)
    expected = {}
    for a in GRID:
        expected["members", a, None] = [sum(g >= a for g, _, _ in here) for here in places]
        expected["sum", a, None] = [sum(g for g, _, _ in here if g >= a) for here in places]
        expected["members_share", a, None] = [sum(g >= a for g, _, _ in here) / len(here) for here in places]
        if a < 0.5:
            near = [sum(a <= g < 0.5 for g, _, _ in here) for here in places]
            expected["near", a, None] = near
            expected["near_ratio", a, None] = [
                n / (sum(g >= 0.5 for g, _, _ in here) + 5) for n, here in zip(near, places, strict=True)
            ]
    for m in (1, 2, 3, 5, 10, 20):
        expected["rules", 0.5, m] = [sum(n >= m for _, n, _ in here) for here in places]
        expected["rules_share", 0.5, m] = [sum(n >= m for _, n, _ in here) / len(here) for here in places]
    for some in (21, 11, 6, 3):  # all of 21 rules, and halves rounded up
        expected["confident", 0.5, some] = [sum(f < some for _, _, f in here) for here in places]
        expected["confident_share", 0.5, some] = [sum(f < some for _, _, f in here) / len(here) for here in places]
    assert signals.keys() == expected.keys()
    for name, values in expected.items():
        assert signals[name].tolist() == pytest.approx(values), name


def test_sets_are_nested_and_meet_where_they_are_the_same() -> None:
    signals, _ = profiled(7)
    for one, more in itertools.pairwise(RULE_COUNTS):
        assert np.all(signals["rules", 0.5, one] >= signals["rules", 0.5, more])
    for one, more in itertools.pairwise(PARTS):
        assert np.all(signals["confident", 0.5, -(-21 // one)] >= signals["confident", 0.5, -(-21 // more)])
    for same in (("rules", 0.5, 1), ("confident", 0.5, 21)):
        np.testing.assert_array_equal(signals[same], signals["members", 0.5, None])


def test_nobody_fits_no_rule() -> None:
    counted = families(np.zeros(4), np.zeros(4, np.int64), np.zeros(4, np.int64), 0, 0.5, (0.5,))
    profile: tuple[ProfileSignal, ...] = counted.profile(np.array([0, 0, 1, 1]), 2)
    assert all(one.values.tolist() == [0.0, 0.0] for one in profile)
