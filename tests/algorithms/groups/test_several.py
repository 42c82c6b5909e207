"""Several groups masked at once, beside every way to choose and to pair."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_core.steps import finished
from tests.algorithms.groups.swapping import METRIC, slow_influence
from tests.drawing import examples
from workers.algorithms.groups.swaps import several
from workers.algorithms.groups.swaps.metric import encode
from workers.algorithms.groups.swaps.restrictions import (
    NoPartnerError,
    NothingToMaskError,
    Restriction,
    UnreachableError,
)
from workers.algorithms.groups.swaps.several import SeveralGroups, masking_several


def made(seed: int, *, raised: bool = False, ceilings: bool = False, people: int = 5) -> SeveralGroups:
    """Two groups that overlap in four places; the first is lowered in place 0, the second in 0 and 1."""
    rng = np.random.default_rng(seed)
    parameter = np.repeat(np.arange(4), people)
    member = np.zeros((2, 4 * people), dtype=np.bool_)
    member[0, :2] = member[1, 1:3] = member[1, people] = member[rng.integers(0, 2), 2 * people] = True
    values = encode(METRIC, rng.integers(-3, 9, (4 * people, 2)).astype(float), rng.integers(0, 3, (4 * people, 2)))
    second = [Restriction(0, 1, 9), Restriction(1, 0, 9)]
    first = [Restriction(0, 1, 9)] + ([Restriction(3, 1, 0)] if raised else [])
    caps = {2: 1, 3: 1} if ceilings else {}
    return SeveralGroups(
        parameter, 4, member, values, METRIC, (tuple(first), tuple(second)), caps, rng.permutation(4 * people)
    )


def fits(problem: SeveralGroups, codes: np.ndarray) -> bool:
    """Whether signals of all groups meet restrictions, and arrivals ceilings, once records are where `codes` says."""
    for group, restrictions in enumerate(problem.restrictions):
        now = np.bincount(codes[problem.member[group]], minlength=problem.groups)
        was = np.bincount(problem.parameter[problem.member[group]], minlength=problem.groups)
        for one in restrictions:
            if (now[one.element] < one.bound) if one.raises else (now[one.element] > one.bound):
                return False
        came = np.bincount(codes[problem.member[group] & (codes != problem.parameter)], minlength=problem.groups)
        if any(came[place] > max(0, most - was[place]) for place, most in problem.ceilings.items()):
            return False
    return True


def may_go(problem: SeveralGroups, row: int, place: int) -> bool:
    """Members leave where their group is lowered, or to where it is raised; they never come where it is lowered."""
    mine = [rules for rules, is_member in zip(problem.restrictions, problem.member[:, row], strict=True) if is_member]
    here = problem.parameter[row]
    lowered = {one.element for rules in mine for one in rules if not one.raises}
    raised = {one.element for rules in mine for one in rules if one.raises}
    return place != here and place not in lowered and here not in raised and (here in lowered or bool(raised))


def best_of_all(problem: SeveralGroups) -> float:
    """Least distortion by trying every set of pairs of a member of some group with a member of none."""
    ours = np.flatnonzero(problem.member.any(axis=0)).tolist()
    theirs = np.flatnonzero(~problem.member.any(axis=0)).tolist()
    best = np.inf

    def extended(place: int, codes: np.ndarray, used: frozenset[int], cost: float) -> None:
        nonlocal best
        if cost >= best:
            return
        if fits(problem, codes):
            best = cost
            return
        if place == len(ours):
            return
        extended(place + 1, codes, used, cost)
        a = ours[place]
        for b in theirs:
            if b not in used and may_go(problem, a, problem.parameter[b]):
                after = codes.copy()
                after[a], after[b] = codes[b], codes[a]
                extended(place + 1, after, used | {b}, cost + slow_influence(problem.values[a], problem.values[b]))

    extended(0, problem.parameter.copy(), frozenset(), 0.0)
    return float(best)


def exchanged(problem: SeveralGroups, swaps: object) -> np.ndarray:
    codes = problem.parameter.copy()
    codes[swaps.source_row], codes[swaps.partner_row] = swaps.target, swaps.source  # type: ignore[attr-defined]
    return codes


@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.sampled_from([1, 8]))
@settings(max_examples=examples(12), deadline=None)
def test_swaps_of_several_groups_are_as_cheap_as_the_best_of_all(
    seed: int, raised: bool, ceilings: bool, first: int
) -> None:
    problem = made(seed, raised=raised, ceilings=ceilings, people=4)
    best, usual = best_of_all(problem), several._FIRST
    several._FIRST = first  # so that lists have to grow
    try:
        ended = finished(masking_several(problem))
    except UnreachableError:
        assert best == np.inf
        return
    finally:
        several._FIRST = usual
    rows = np.concatenate([ended.swaps.source_row, ended.swaps.partner_row])
    assert len(np.unique(rows)) == len(rows)
    assert fits(problem, exchanged(problem, ended.swaps))
    assert ended.bound <= best + 1e-9
    if ended.integral:
        assert ended.swaps.distortion == pytest.approx(best)
    assert ended.swaps.distortion >= best - 1e-9
    assert ended.swaps.band.tolist() == [0 if problem.member[0, row] else 1 for row in ended.swaps.source_row]


def test_where_the_linear_program_is_not_integral_an_integer_one_decides() -> None:
    """Three groups that overlap in pairs, each to lose one member: half of each of three, or two whole ones."""
    member = np.zeros((3, 12), dtype=np.bool_)
    for row, groups in enumerate(([0, 1], [1, 2], [0, 2])):
        member[groups, row] = True
    parameter = np.repeat([0, 1], 6)
    values = encode(METRIC, np.zeros((12, 2)), np.repeat([[0, 0], [1, 0]], 6, axis=0))
    problem = SeveralGroups(parameter, 2, member, values, METRIC, ((Restriction(0, 1, 9),),) * 3, {}, np.arange(12))
    ended = finished(masking_several(problem))
    assert not ended.integral
    assert ended.bound == pytest.approx(1.5)
    assert ended.swaps.distortion == pytest.approx(2.0) == pytest.approx(best_of_all(problem))


def test_members_do_not_arrive_where_their_group_is_lowered_and_others_may() -> None:
    problem = made(3, people=6)
    ended = finished(masking_several(problem))
    for row, target in zip(ended.swaps.source_row, ended.swaps.target, strict=True):
        assert not (problem.member[1, row] and target in {0, 1})
        assert not (problem.member[0, row] and target == 0)


def test_what_cannot_be_masked_is_said() -> None:
    problem = made(1)
    with pytest.raises(NothingToMaskError):
        finished(masking_several(replace(problem, restrictions=((), (Restriction(2, 5, 9),)))))
    everybody = np.ones_like(problem.member)
    with pytest.raises(NoPartnerError):
        finished(masking_several(replace(problem, member=everybody)))
    closed = replace(problem, ceilings={1: 0, 2: 0, 3: 0})
    with pytest.raises(UnreachableError, match=r"requested, 0 is as far as it can go: by all groups together"):
        finished(masking_several(closed))
    with pytest.raises(UnreachableError, match=r"requested, 2 is as far"):
        finished(masking_several(replace(closed, ceilings={1: 0, 2: 0, 3: 1})))
