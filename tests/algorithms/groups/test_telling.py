"""The excess of a profile, against the judge that has all figures."""

import numpy as np
import pytest

from workers.algorithms.groups.signals.criteria import UNRANKED, Judge, Standing, failing
from workers.algorithms.groups.signals.families import Families, families
from workers.algorithms.groups.signals.portraits import PORTRAIT
from workers.algorithms.groups.signals.telling import telling


def profile(seed: int, places: int = 26) -> tuple[Families, np.ndarray]:
    """Records of many places, of which some have a few more that fit; small counts, so that ties are usual."""
    rng = np.random.default_rng(seed)
    parameter = rng.integers(0, places, 60 * places)
    grade = np.where(rng.random(len(parameter)) < rng.choice([0.02, 0.05, 0.2]), rng.random(len(parameter)), 0.0)
    number = np.where(grade >= 0.5, rng.integers(1, 25, len(parameter)), 0)
    first = np.where(number > 0, rng.integers(0, 12, len(parameter)), 12)
    return families(grade, number, first, 12, 0.5, (0.1, 0.3, 0.5, 0.9)), parameter


def by_hand(standings: tuple[Standing, ...], *, low: bool) -> float:
    """Beyond what (b) lets pass; an exposed place counts 1 or more besides."""
    out = 0.0
    for one in standings:
        high = max(one.auc_deviation, one.highest_deviation, -one.lowest_deviation)
        worst = max(high, -one.auc_deviation, -one.highest_deviation, one.lowest_deviation) if low else high
        if one.signal.name not in UNRANKED and (low or one.signal.name not in PORTRAIT) and worst > 2.5:
            out += 0.3 + 2.0 * (worst - 2.5)
    return out


@pytest.mark.parametrize("low", [True, False])
@pytest.mark.parametrize("robust", [True, False])
@pytest.mark.parametrize("masked", [(3,), (0, 5, 9), (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)])
def test_nothing_tells_exactly_where_no_signal_fails(masked: tuple[int, ...], robust: bool, low: bool) -> None:
    silent = 0
    for seed in range(25):
        made, parameter = profile(seed)
        judge = Judge(masked, (20, 21) if seed % 2 else (), 0.01, robust, low)
        standings = judge.standings(made.profile(parameter, 26))
        judged = telling(made, judge, np.bincount(parameter, minlength=26))
        excess = judged.excess(made.counted(parameter, 26))
        exposed = sum(len(one.exposed) for one in standings)
        assert (excess == 0.0) == (not failing(standings))
        assert excess >= exposed + by_hand(standings, low=low) - 1e-6
        if not exposed:
            assert excess == pytest.approx(by_hand(standings, low=low), abs=1e-9)
        silent += excess == 0.0
    assert silent < 25 or len(masked) == 1, "some of these tables have signals that fail"


def test_an_exposed_place_that_comes_nearer_tells_less() -> None:
    """A search sees that it is on the way before the place is inconspicuous."""
    made, parameter = profile(2)
    judge = Judge((0,), (), 0.01, True)
    judged = telling(made, judge, np.bincount(parameter, minlength=26))
    counted = made.counted(parameter, 26)
    steps = []
    for more in (400.0, 200.0, 100.0):
        raised = counted.copy()
        raised[:, 0] += more
        steps.append(judged.excess(raised))
    assert steps[0] > steps[1] > steps[2] > 0.0


@pytest.mark.parametrize("seed", range(10))
def test_goals_are_where_random_places_lie_and_these_reach_them(seed: int) -> None:
    """The judge with goals passes the places that the goals are of, were they the masked ones, and few others."""
    made, parameter = profile(seed)
    counted, sizes = made.counted(parameter, 26), np.bincount(parameter, minlength=26)
    judged = telling(made, Judge((0, 5, 9), (), 0.01, True), sizes)
    aim, places = judged.aiming(counted, np.random.default_rng(seed))
    assert len(set(places.tolist()) - {0, 5, 9}) == 3
    assert aim.goals.shape[1] == 3
    np.testing.assert_array_equal(aim.goals, np.sort(aim.goals, axis=1))
    others = np.setdiff1d(np.arange(26), (0, 5, 9))
    mean = np.array([row[others] for row in made.values(counted, sizes)])
    assert mean.shape[1] == 23
    again, same = judged.aiming(counted, np.random.default_rng(seed))
    np.testing.assert_array_equal(again.goals, aim.goals)
    np.testing.assert_array_equal(same, places)
    moved = counted.copy()
    moved[:, [0, 5, 9]] = counted[:, places]
    assert aim.excess(moved) < aim.excess(counted * 0.0 + np.where(np.isin(np.arange(26), (0, 5, 9)), 99.0, counted))
