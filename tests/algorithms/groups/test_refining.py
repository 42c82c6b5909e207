"""Swaps refined one by one: never worse, bounds and ceilings kept, many masked places made inconspicuous."""

from dataclasses import replace

import numpy as np
import pytest

from surebox_core.steps import finished
from tests.algorithms.groups.swapping import METRIC, records
from tests.algorithms.groups.test_profile import ALPHAS, drawing, exchanged, problem, view
from workers.algorithms.groups.profile.inconspicuous import masking
from workers.algorithms.groups.profile.refining import Refining, refining
from workers.algorithms.groups.signals.criteria import failing
from workers.algorithms.groups.signals.telling import telling
from workers.algorithms.groups.swaps.assignment import cheapest, moves_needed
from workers.algorithms.groups.swaps.levels import Levels, bands
from workers.algorithms.groups.swaps.metric import nearest
from workers.algorithms.groups.swaps.problem import Swaps, build
from workers.algorithms.groups.swaps.restrictions import Restriction

GROUPS = 24


def given(seed: int, **bounds: int) -> tuple[Refining, Swaps, np.ndarray]:
    """A problem to refine, swaps that mask the members alone, and where records are."""
    made, parameter, grades, _, _ = problem(seed)
    seen = view(parameter, grades, (0, 1), **bounds)
    sizes = np.bincount(parameter, minlength=GROUPS)
    at = np.searchsorted(seen.families.records, made.source_rows)
    partners = np.array([0, len(made.partner_rows)])
    distance, index = nearest(made.metric, made.source_values, made.partner_values, partners, 32)
    return (
        Refining(
            problem=made,
            telling=telling(seen.families, seen.judge, sizes),
            weights=np.ascontiguousarray(seen.families.weights[:, at].T),
            counts=np.ascontiguousarray(seen.families.counted(parameter, GROUPS).T),
            distance=distance[:, 0],
            partners=index[:, 0],
            given=seen.given,
            capacities=None,
            goal=0.0,
        ),
        cheapest(made, moves_needed(made)),
        parameter,
    )


def excess(what: Refining, seed: int, parameter: np.ndarray, swaps: Swaps) -> float:
    _, _, grades, _, _ = problem(seed)
    counted = view(parameter, grades, (0, 1)).families.counted(exchanged(parameter, swaps), GROUPS)
    return what.telling.excess(counted)


@pytest.mark.parametrize("seed", range(2))
def test_refined_swaps_tell_no_more_and_are_pairs_that_may_be_swapped(seed: int) -> None:
    what, start, parameter = given(seed)
    refined = finished(refining(what, start, np.random.default_rng(seed)))
    before, after = (excess(what, seed, parameter, swaps) for swaps in (start, refined))
    assert before > 0.0
    assert after < before
    touched = np.concatenate([refined.source_row, refined.partner_row])
    assert len(np.unique(touched)) == len(touched)
    assert set(refined.source_row) <= set(what.problem.source_rows)
    assert set(refined.partner_row) <= set(what.problem.partner_rows)
    again = finished(refining(what, start, np.random.default_rng(seed)))
    np.testing.assert_array_equal(again.partner_row, refined.partner_row)


def test_ceilings_and_given_bounds_are_kept() -> None:
    what, start, parameter = given(1, place0=2)
    room = np.full(GROUPS, 6)
    made = replace(what, capacities=room)
    start = cheapest(what.problem, moves_needed(what.problem), room)
    refined = finished(refining(made, start, np.random.default_rng(1)))
    assert np.bincount(refined.target, minlength=GROUPS).max() <= 6
    _, _, grades, _, _ = problem(1)
    member = grades >= 0.5
    assert np.sum(member[exchanged(parameter, refined) == 0]) <= 2


def test_many_masked_places_end_as_unlike_each_other_as_others_are() -> None:
    """A third of the places are outliers: lowered to what is usual elsewhere they would be outliers of no count."""
    rng = np.random.default_rng(7)
    parameter, values = records(rng, [60] * GROUPS)
    grades = np.where(rng.random(len(parameter)) < 0.02, rng.random(len(parameter)), 0.0)
    masked = tuple(range(8))
    for place in masked:
        count = 8 + 3 * place
        grades[np.flatnonzero(parameter == place)[:count]] = rng.choice([0.2, 0.35, 0.6, 0.95], count)
    band, nothing = bands(grades, np.array(ALPHAS)), np.zeros((len(ALPHAS), GROUPS), dtype=np.int64)
    levels = Levels(band, nothing - 1, nothing, ALPHAS.index(0.5))
    restrictions = [Restriction(place, 3, 60) for place in masked]
    made = build(parameter, GROUPS, band <= levels.at, values, METRIC, restrictions, levels=levels)
    seen = view(parameter, grades, masked)
    assert len(failing(seen.judge.standings(seen.families.profile(parameter, GROUPS)))) > 20
    assert not finished(masking(made, seen, drawing(7))).failures
