"""The profile of the rules: signals beside their definitions, bounds drawn until nothing stands out, decoys."""

import itertools

import numpy as np
import pytest

from tests.algorithms.groups.swapping import METRIC, records
from workers.algorithms.groups.profile.ceilings import Asked, bounding
from workers.algorithms.groups.profile.decoys import Everybody, decoys
from workers.algorithms.groups.signals.profile import GRID, ProfileSignal, precision, profile, ranks, standing_out
from workers.algorithms.groups.swaps.effect import counts_after, met, together
from workers.algorithms.groups.swaps.levels import Levels, bands
from workers.algorithms.groups.swaps.problem import Problem, Swaps, build
from workers.algorithms.groups.swaps.restrictions import Restriction

ALPHAS = tuple(sorted(GRID, reverse=True))


def country(seed: int, bases: tuple[int, ...] = (60, 35)) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places of 80 records, grades and attributes; the first places have more members, and as many who almost are."""
    rng = np.random.default_rng(seed)
    parameter, values = records(rng, [80] * 24)
    grades = np.where(rng.random(len(parameter)) < 0.06, rng.random(len(parameter)), 0.0)
    for place, count in enumerate(bases):
        grades[np.flatnonzero(parameter == place)[:count]] = rng.choice([0.2, 0.35, 0.6, 0.95], count)
    return parameter, grades, values


def test_signals_are_as_defined() -> None:
    parameter, grades, _ = country(0)
    found = {(one.name, one.alpha): one.values for one in profile(parameter, 24, grades, 0.5)}
    assert len(found) == 2 * len(GRID) + 2 * sum(a < 0.5 for a in GRID)
    for p in (0, 1, 7):
        here = grades[parameter == p].tolist()
        for a in GRID:
            assert found["members", a][p] == sum(g >= a for g in here)
            assert found["sum", a][p] == pytest.approx(sum(g for g in here if g >= a))
        near = sum(0.2 <= g < 0.5 for g in here)
        assert found["near", 0.2][p] == near
        assert found["near_ratio", 0.2][p] == pytest.approx(near / (sum(g >= 0.5 for g in here) + 5))


def test_precision_is_the_mean_over_all_orders_of_equals() -> None:
    values, wanted = np.array([5.0, 3.0, 3.0, 3.0, 1.0, 0.0]), [0, 2, 4]
    orders = [order for order in itertools.permutations(range(6)) if np.all(np.diff(values[list(order)]) <= 0)]
    assert precision(values, wanted) == pytest.approx(np.mean([len({*order[:3]} & {*wanted}) / 3 for order in orders]))
    assert precision(values, [4, 5], largest=False) == 1.0
    assert ranks(values).tolist() == [1.0, 3.0, 3.0, 3.0, 5.0, 6.0]


def problem(seed: int) -> tuple[Problem, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    parameter, grades, values = country(seed)
    band = bands(grades, np.array(ALPHAS))
    nothing = np.zeros((len(ALPHAS), 24), dtype=np.int64)
    levels = Levels(band, nothing - 1, nothing, ALPHAS.index(0.5))
    asked = [Restriction(0, 5, 60), Restriction(1, 5, 60)]
    made = build(parameter, 24, band <= levels.at, values, METRIC, asked, levels=levels)
    return made, parameter, grades, band, values


def exchanged(parameter: np.ndarray, swaps: Swaps) -> np.ndarray:
    codes = parameter.copy()
    codes[swaps.source_row], codes[swaps.partner_row] = parameter[swaps.partner_row], parameter[swaps.source_row]
    return codes


@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_drawn_until_no_masked_place_stands_out(seed: int) -> None:
    given, parameter, grades, _, _ = problem(seed)
    wanted = {0.1, 0.2, 0.3, 0.4, 0.5}

    def look(swaps: Swaps) -> list:  # type: ignore[type-arg]
        signals = profile(exchanged(parameter, swaps), 24, grades, 0.5)
        found = standing_out(signals, [0, 1], alpha=0.01, robust=True)
        return [(signal, places) for signal, places in found if places]

    def uniform(place: int, alpha: float, draw: int) -> float:
        return float(np.random.default_rng([seed, place, round(alpha * 10), draw]).random())

    asked = Asked(ALPHAS, np.isin(ALPHAS, list(wanted)), (0, 1), {}, 0.01, True)
    work = bounding(given, asked, look, uniform)
    before = look(together((next_or_end(work).swaps,), 0))
    assert before, "as it is, the places stand out"
    found = next_or_end(bounding(given, asked, look, uniform))
    assert found.failures == 0
    assert not look(found.swaps)
    assert met(found.problem, counts_after(given, found.swaps))
    for k, alpha in enumerate(ALPHAS):
        if alpha in wanted:
            counts = np.bincount(parameter[grades >= alpha], minlength=24)[2:]
            drawn = found.problem.bounds[k, [0, 1]]
            assert np.all(drawn <= max(counts)), "no higher than what is usual"
    again = next_or_end(bounding(given, asked, look, uniform))
    np.testing.assert_array_equal(again.swaps.source_row, found.swaps.source_row)


def test_a_bound_below_what_small_sets_keep_is_met() -> None:
    given, *_ = problem(1)

    def look(swaps: Swaps) -> list:  # type: ignore[type-arg]
        return [(ProfileSignal("near", 0.2, np.zeros(24)), frozenset({0, 1}))]

    asked = Asked(ALPHAS, np.zeros(len(ALPHAS), dtype=np.bool_), (0, 1), {0: 2, 1: 0}, 0.01, True)
    found = next_or_end(bounding(given, asked, look, lambda *_: 0.5))
    after = counts_after(given, found.swaps)
    assert met(found.problem, after)
    assert after[given.at, 0] <= 2
    assert after[given.at, 1] == 0


def next_or_end(work):  # type: ignore[no-untyped-def]
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value


@pytest.mark.parametrize("count", [0, 1, 10, 10_000])
def test_decoys_go_between_unmasked_places_and_touch_nobody_twice(count: int) -> None:
    given, parameter, _, band, values = problem(5)
    rows = np.flatnonzero((parameter == 0) & (band < 9))[:6]
    partners = np.flatnonzero((parameter == 3) & (band == 9))[:6]
    six = np.zeros(6, dtype=np.int64)
    swaps = Swaps(rows, partners, six, six + 3, band[rows], np.zeros(6))
    everybody = Everybody(parameter, band, values, np.random.default_rng(0).permutation(len(band)))
    found = decoys(given, everybody, range(2, 24), swaps, count, np.random.default_rng(1))
    members = int(((parameter > 1) & (band < 9)).sum())
    assert len(found.source) == min(count, members) or (count > members and len(found.source) > members // 2)
    assert np.all((found.source > 1) & (found.target > 1) & (found.source != found.target))
    assert np.all(band[found.source_row] < 9)
    assert np.all(band[found.partner_row] == 9)
    every = together((swaps, found))
    touched = np.concatenate([every.source_row, every.partner_row])
    assert len(np.unique(touched)) == len(touched)
