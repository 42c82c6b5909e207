"""AUC, precision and their distance from chance beside all ways to place the masked ones, and who is exposed."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from workers.algorithms.groups.signals.criteria import Judge, Standing, area, deviation, failing, free_ranks, limit
from workers.algorithms.groups.signals.profile import ProfileSignal, SignalName, precision, ranks

VALUES = [
    [5.0, 3.0, 3.0, 3.0, 1.0, 0.0, 7.0, 2.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0],
    [4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0],
    [0.1, 0.25, 0.3, 0.15, 0.8, 0.45, 0.2, 0.6],
]


def judged(values: list[float], places: tuple[int, ...], name: SignalName = "members") -> Standing:
    judge = Judge(places, (), 0.01, True)
    return judge.standings([ProfileSignal(name, 0.5, np.array(values))])[0]


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
def test_auc_and_precision_lie_as_far_from_chance_as_among_all_ways(
    values: list[float], places: tuple[int, ...]
) -> None:
    one, array = judged(values, places), np.array(values)
    assert one.auc == pytest.approx(pairwise(values, places))
    assert one.auc_deviation == pytest.approx(from_chance(lambda some: pairwise(values, some), 8, places))
    assert one.highest == pytest.approx(precision(array, places))
    assert one.lowest == pytest.approx(precision(-array, places))
    for largest, mine in ((True, one.highest_deviation), (False, one.lowest_deviation)):

        def share(some: tuple[int, ...], largest: bool = largest) -> float:
            return precision(array, some, largest=largest)

        assert mine == pytest.approx(from_chance(share, 8, places))


@pytest.mark.parametrize(("masked", "others"), [(1, 9), (4, 8), (6, 6), (8, 12)])
def test_free_ranks_are_those_that_chance_may_leave_to_others(masked: int, others: int) -> None:
    """Of all ways to place the masked ones: how far none among the first t lies from the mean."""

    def from_mean(t: int) -> float:
        among = [sum(p < t for p in some) for some in itertools.combinations(range(masked + others), masked)]
        mean = math.fsum(among) / len(among)
        return mean / math.sqrt(math.fsum((one - mean) ** 2 for one in among) / len(among))

    most = min(masked, others)
    assert free_ranks(masked, others) == max([t for t in range(1, most + 1) if from_mean(t) <= 2.5], default=0)


def test_few_masked_places_leave_as_many_ranks_free() -> None:
    assert [free_ranks(masked, 80 - masked) for masked in (1, 6, 17)] == [1, 6, 17]
    assert free_ranks(26, 34) < 26


def test_the_highest_ranks_and_outliers_expose() -> None:
    values = [float(v) for v in range(20)] + [60.0]
    assert judged(values, (20,)).exposed == {20}, "an outlier"
    assert judged(values, (3, 19, 12)).exposed == {19}, "no outlier, and rank 2 of 3 that are others'"
    assert not judged(values, (3, 17, 12)).exposed, "rank 4"
    assert not judged(values, (3, 19, 12), "near").exposed, "no family of sets"
    assert judged([-50.0, *values[1:]], (0,), "near").exposed == {0}, "low"


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
    assert standings[-1].signal.name == "outlier_count"
    assert standings[-1].signal.values.tolist() == [0.0] * 4 + [1.0] * 36
    assert standings[-1].auc == 0.0
    assert standings[-1] in failing(standings)


def test_known_places_are_not_compared() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 100.0, 90.0])
    (one, _) = Judge((3,), (4, 5), 0.01, True).standings([ProfileSignal("members", 0.5, values)])
    assert one.auc == 1.0
    assert one.exposed == {3}, "the highest of those who are compared"


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("places", [(0,), (1, 4)])
def test_a_place_within_the_limit_is_not_exposed_and_the_limit_is_one_of_the_others_values(
    values: list[float], places: tuple[int, ...]
) -> None:
    array = np.array(values)
    array[list(places)] = np.median(array)
    judge = Judge(places, (), 0.01, True)
    most = limit(array, judge, judge.outliers(array), ranked=True)
    others = set(array[judge.others(8)].tolist())
    assert most in others | {0.0}
    assert limit(array, judge, judge.outliers(array), ranked=True, lower=3) <= most


def test_no_place_is_judged_where_none_matters() -> None:
    standings = Judge((), (), 0.01, True).standings([ProfileSignal("members", 0.5, np.array([1.0, 2.0, 9.0]))])
    assert not failing(standings)


def test_a_sum_that_cannot_vary_is_no_deviation() -> None:
    assert deviation(np.full(5, 0.1), np.array([True, False, False, True, False])) == 0.0
    assert area(np.arange(3.0), np.ones(3, dtype=np.bool_)) == (0.5, 0.0)
    assert ranks(np.array([2.0, 2.0])).tolist() == [1.5, 1.5]
