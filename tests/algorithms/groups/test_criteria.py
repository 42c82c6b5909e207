"""AUC, precision and their distance from chance beside all ways to place the masked ones, and who is exposed."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from workers.algorithms.groups.signals.criteria import Judge, Standing, area, deviation, failing, limit, tails
from workers.algorithms.groups.signals.profile import ProfileSignal, precision, ranks

VALUES = [
    [5.0, 3.0, 3.0, 3.0, 1.0, 0.0, 7.0, 2.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0],
    [4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0],
    [0.1, 0.25, 0.3, 0.15, 0.8, 0.45, 0.2, 0.6],
]


def judged(values: list[float], places: tuple[int, ...], *, direct: bool = True) -> Standing:
    judge = Judge(places, (), 0.01, True)
    return judge.standings([ProfileSignal("members", 0.5, np.array(values), direct=direct)])[0]


def pairwise(values: list[float], places: tuple[int, ...]) -> float:
    others = [v for p, v in enumerate(values) if p not in places]
    pairs = [(values[p], v) for p in places for v in others]
    return sum((mine > v) + 0.5 * (mine == v) for mine, v in pairs) / len(pairs)


def from_chance(statistic: Callable[[tuple[int, ...]], float], count: int, places: tuple[int, ...]) -> float:
    """Distance from the mean over all ways to choose as many places, in standard deviations."""
    every = [statistic(some) for some in itertools.combinations(range(count), len(places))]
    mean = math.fsum(every) / len(every)
    spread = math.sqrt(math.fsum((one - mean) ** 2 for one in every) / len(every))
    return (statistic(places) - mean) / spread if spread > 1e-12 else 0.0


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("places", [(0,), (1, 4), (2, 3, 6)])
def test_auc_lies_as_far_from_chance_as_among_all_ways_and_precision_is_the_share_of_hits(
    values: list[float], places: tuple[int, ...]
) -> None:
    one, array = judged(values, places), np.array(values)
    assert one.auc == pytest.approx(pairwise(values, places))
    assert one.auc_deviation == pytest.approx(from_chance(lambda some: pairwise(values, some), 8, places))
    assert one.highest == pytest.approx(precision(array, places))
    assert one.lowest == pytest.approx(precision(-array, places))


@pytest.mark.parametrize(("masked", "others"), [(1, 9), (4, 8), (6, 6), (2, 20)])
def test_precision_lies_as_far_from_chance_as_a_normal_deviate_that_is_as_rare(masked: int, others: int) -> None:
    """Of all ways to place the masked ones: how many have as many hits among the highest, or more, or fewer."""
    count = masked + others
    hits = [sum(p < masked for p in some) for some in itertools.combinations(range(count), masked)]
    deviates = tails(count, masked)
    for number in range(masked + 1):
        more = sum(one >= number for one in hits) / len(hits)
        less = sum(one <= number for one in hits) / len(hits)
        tail = 0.5 * math.erfc(abs(float(deviates[number])) / math.sqrt(2.0))
        if more < 0.5:
            assert tail == pytest.approx(more, rel=1e-6, abs=1e-15)
        elif 0.0 < less < 0.5:
            assert (deviates[number] < 0.0, tail) == (True, pytest.approx(less, rel=1e-6))
        else:
            assert number == 0 or deviates[number] == 0.0


def test_one_of_few_places_among_the_highest_is_no_rare_event() -> None:
    values = [float(v) for v in range(60)]
    assert judged(values, (59,)).highest_deviation <= 2.5
    assert judged(values, (59, 2)).by_chance
    assert not judged(values, (59, 58)).by_chance, "both of the two highest"


def test_outliers_of_the_own_signals_expose_and_no_others() -> None:
    values = [float(v) for v in range(20)] + [60.0]
    assert judged(values, (20,)).exposed == {20}, "an outlier"
    assert not judged(values, (3, 19, 12)).exposed, "no outlier, though among the highest"
    assert not judged(values, (20,), direct=False).exposed, "another signal"
    assert judged([-50.0, *values[1:]], (0,)).exposed == {0}, "low"


def test_where_half_of_the_values_are_equal_the_second_largest_of_the_others_may_be_reached() -> None:
    values = [0.0] * 15 + [1.0, 2.0, 5.0, 2.0, 3.0]
    assert judged(values, (18,)).outliers.degenerate
    assert not judged(values, (18,)).exposed
    assert judged(values, (19,)).exposed == {19}
    assert not judged(values, (0,)).exposed, "an outlier of nothing"


def test_the_number_of_signals_of_which_places_are_outliers_is_judged_too() -> None:
    """Others stand out by turns, the four masked places of none: each signal passes, all together tell."""
    rng = np.random.default_rng(0)
    signals = []
    for at in range(36):
        values = rng.permuted(np.linspace(10, 20, 40))
        values[4 + at] = 90.0
        signals.append(ProfileSignal("members", 0.5, values))
    standings = Judge((0, 1, 2, 3), (), 0.01, True).standings(signals)
    (one,) = [each for each in standings if each.signal.name == "outlier_count"]
    assert one.signal.values.tolist() == [0.0] * 4 + [1.0] * 36
    assert one.auc == 0.0
    assert one in failing(standings)


def test_known_places_are_not_compared() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 100.0, 90.0])
    one, *more = Judge((3,), (4, 5), 0.01, True).standings([ProfileSignal("members", 0.5, values)])
    assert one.auc == 1.0
    (mean,) = [each for each in more if each.signal.name == "mean_rank"]
    assert mean.auc == 1.0, "the highest of those who are compared"


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("places", [(0,), (1, 4)])
def test_a_place_within_the_limit_is_not_exposed_and_the_limit_is_one_of_the_others_values(
    values: list[float], places: tuple[int, ...]
) -> None:
    array = np.array(values)
    array[list(places)] = np.median(array)
    judge = Judge(places, (), 0.01, True)
    most = limit(array, judge, judge.outliers(array))
    others = set(array[judge.others(8)].tolist())
    assert most in others | {0.0}


def test_no_place_is_judged_where_none_matters() -> None:
    standings = Judge((), (), 0.01, True).standings([ProfileSignal("members", 0.5, np.array([1.0, 2.0, 9.0]))])
    assert not failing(standings)


def test_a_sum_that_cannot_vary_is_no_deviation() -> None:
    assert deviation(np.full(5, 0.1), np.array([True, False, False, True, False])) == 0.0
    assert area(np.arange(3.0), np.ones(3, dtype=np.bool_)) == (0.5, 0.0)
    assert ranks(np.array([2.0, 2.0])).tolist() == [1.5, 1.5]


def test_places_that_stop_right_below_the_highest_of_every_count_are_told_by_all_counts_together() -> None:
    """Ranks 3 to 6 in every signal, never 1 or 2: no signal by itself shows it, their portraits do."""
    rng = np.random.default_rng(1)
    level = np.concatenate([[0.93, 0.91, 0.89, 0.87], np.linspace(0.0, 0.86, 32), [0.95] * 4])
    signals = []
    for alpha in (0.1, 0.3, 0.5, 0.7, 0.9):
        shown = level.copy()
        shown[36:] = rng.permuted([0.2, 0.4, 0.99, 1.0])
        signals.append(ProfileSignal("members", alpha, shown + rng.normal(0.0, 1e-3, 40), direct=alpha == 0.5))
    standings = Judge((0, 1, 2, 3), (), 0.01, True).standings(signals)
    names = {one.signal.name for one in failing(standings)}
    assert {"mean_rank", "below_top"} <= names
    assert next(one for one in standings if one.signal.name == "below_top").auc == 1.0


@pytest.mark.parametrize("seed", range(10))
def test_portraits_are_functions_of_the_ranks_of_each_place(seed: int) -> None:
    """Every figure that is judged, one place after the other, from ranks that are counted pair by pair."""
    rng = np.random.default_rng(seed)
    kinds = [
        ("members", 0.1, None),
        ("members", 0.5, None),
        ("rules", 0.5, 1),
        ("rules", 0.5, 10),
        ("confident", 0.5, 3),
    ]
    signals = [
        ProfileSignal(
            f"{name}{end}", alpha, rng.integers(0, 9, 12).astype(np.float64), rules, name == "members" and alpha == 0.5
        )
        for name, alpha, rules in kinds
        for end in ("", "_share")
    ]
    standings = {one.signal.name: one for one in Judge((0, 5), (), 0.01, True).standings(signals)}
    rank = [[sum(w > v for w in one.values) + (sum(one.values == v) + 1) / 2 for v in one.values] for one in signals]
    for place in range(12):
        mine = [row[place] for row in rank]
        pairs = [((a + b) / 2 - 0.5) / 12 for a, b in zip(mine[::2], mine[1::2], strict=True)]
        middle = sum(pairs) / 5
        expected = {
            "mean_rank": -middle, "best_rank": -min(mine), "worst_rank": -max(mine),
            "rank_spread": math.sqrt(sum((one - middle) ** 2 for one in pairs) / 5),
            "top_count": sum(one <= 2 for one in mine),
            "below_top": -middle if not any(one <= 2 for one in mine) else -1.0,
            "rules_contrast": (pairs[0] + pairs[1]) / 2 - (pairs[2] + pairs[3]) / 2,
            "confident_contrast": (pairs[0] + pairs[1]) / 2 - pairs[4],
            "grade_contrast": pairs[1] - pairs[0], "number_contrast": pairs[3] - pairs[2],
        }  # fmt: skip
        for name, value in expected.items():
            assert standings[name].signal.values[place] == pytest.approx(value, abs=1e-9), name
