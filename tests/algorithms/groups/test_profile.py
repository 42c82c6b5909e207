"""The profile of the rules: precision, masked places made like others, decoys."""

import itertools

import numpy as np
import pytest

from tests.algorithms.groups.swapping import METRIC, records
from workers.algorithms.groups.profile.decoys import Everybody, decoys
from workers.algorithms.groups.profile.inconspicuous import View, masking
from workers.algorithms.groups.signals.criteria import Judge, failing
from workers.algorithms.groups.signals.families import families
from workers.algorithms.groups.signals.profile import GRID, precision, ranks
from workers.algorithms.groups.swaps.assignment import cheapest, moves_made
from workers.algorithms.groups.swaps.effect import counts_after, exactly, met, together
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
    restrictions = [Restriction(0, 5, 60), Restriction(1, 5, 60)]
    made = build(parameter, 24, band <= levels.at, values, METRIC, restrictions, levels=levels)
    return made, parameter, grades, band, values


def exchanged(parameter: np.ndarray, swaps: Swaps) -> np.ndarray:
    codes = parameter.copy()
    codes[swaps.source_row], codes[swaps.partner_row] = parameter[swaps.partner_row], parameter[swaps.source_row]
    return codes


def view(parameter: np.ndarray, grades: np.ndarray, places: tuple[int, ...], **given: int) -> View:
    """Records fit the more rules the better they fit."""
    number = np.where(grades >= 0.5, 1 + (20 * (grades - 0.5)).astype(np.int64), 0)
    first = np.where(number > 0, 12 - number, 12)
    counted = families(grades, number, first, 12, 0.5, ALPHAS)
    bounds = {int(name.removeprefix("place")): bound for name, bound in given.items()}
    return View(counted, parameter, Judge(places, (), 0.01, True), bounds, 0.0)


def drawing(seed: int):  # type: ignore[no-untyped-def]
    return lambda turn: np.random.default_rng([seed, turn])


@pytest.mark.parametrize("seed", range(3))
def test_masked_places_become_inconspicuous_in_every_signal(seed: int) -> None:
    given, parameter, grades, _, _ = problem(seed)
    seen = view(parameter, grades, (0, 1))
    before = failing(seen.judge.standings(seen.families.profile(parameter, 24)))
    assert {0, 1} <= {place for one in before for place in one.exposed}
    masked = next_or_end(masking(given, seen, drawing(seed)))
    assert not masked.failures
    codes = exchanged(parameter, masked.swaps)
    after = seen.families.profile(codes, 24)
    assert not failing(seen.judge.standings(after))
    assert np.bincount(codes).tolist() == np.bincount(parameter).tolist()
    assert met(masked.problem, counts_after(given, masked.swaps))
    assert sorted(masked.problem.source_rows.tolist()) == sorted(masked.swaps.source_row.tolist())
    again = next_or_end(masking(given, seen, drawing(seed)))
    np.testing.assert_array_equal(again.swaps.source_row, masked.swaps.source_row)
    np.testing.assert_array_equal(again.swaps.partner_row, masked.swaps.partner_row)


def test_no_way_to_leave_the_same_sets_of_grades_is_cheaper_than_the_flow_says() -> None:
    given, parameter, grades, _, _ = problem(2)
    masked = next_or_end(masking(given, view(parameter, grades, (0, 1)), drawing(2)))
    bound = cheapest(exactly(given, masked.swaps), moves_made(given, masked.swaps)).distortion
    assert 0.0 < bound <= masked.swaps.distortion + 1e-9


def test_a_given_bound_is_met() -> None:
    given, parameter, grades, _, _ = problem(1)
    masked = next_or_end(masking(given, view(parameter, grades, (0, 1), place0=1, place1=0), drawing(1)))
    after = counts_after(given, masked.swaps)
    assert after[given.at, 0] <= 1
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
    decoy_swaps = decoys(given, everybody, range(2, 24), swaps, count, np.random.default_rng(1))
    members = int(((parameter > 1) & (band < 9)).sum())
    assert len(decoy_swaps.source) == min(count, members) or (
        count > members and len(decoy_swaps.source) > members // 2
    )
    assert np.all((decoy_swaps.source > 1) & (decoy_swaps.target > 1) & (decoy_swaps.source != decoy_swaps.target))
    assert np.all(band[decoy_swaps.source_row] < 9)
    assert np.all(band[decoy_swaps.partner_row] == 9)
    every = together((swaps, decoy_swaps))
    touched = np.concatenate([every.source_row, every.partner_row])
    assert len(np.unique(touched)) == len(touched)
