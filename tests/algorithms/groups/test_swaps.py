import numpy as np
import pytest

from tests.algorithms.groups.swapping import METRIC, problem, records
from workers.algorithms.groups.swaps.problem import Problem, build
from workers.algorithms.groups.swaps.restrictions import (
    NoPartnerError,
    NothingToMaskError,
    Restriction,
    UnreachableError,
)

LOWER, RAISE = Restriction(0, bound=1, zero=9), Restriction(1, bound=2, zero=0)
RNG = np.random.default_rng(0)


def built(restrictions: list[Restriction], **sides: list[int]) -> Problem:
    parameter, values = records(np.random.default_rng(1), [6, 6, 6, 6])
    member = np.zeros(24, dtype=np.bool_)
    for code, count in enumerate([4, 0, 2, 1]):
        member[np.flatnonzero(parameter == code)[:count]] = True
    return build(parameter, 4, member, values, METRIC, restrictions, **sides)


def codes(array: np.ndarray) -> set[int]:
    return set(array.tolist())


def test_members_leave_lowered_submicrofiles_for_all_others() -> None:
    swap_problem = built([LOWER])
    assert codes(swap_problem.source_code) == {0}
    assert codes(swap_problem.partner_code) == {1, 2, 3}
    assert len(swap_problem.source_rows) == 4
    assert len(swap_problem.partner_rows) == 6 + 4 + 5
    assert (swap_problem.needed, swap_problem.fixed) == (3, "sources")
    assert swap_problem.needs.tolist() == [3, 0, 0, 0]


def test_members_come_in_from_elsewhere_where_a_signal_is_raised() -> None:
    swap_problem = built([RAISE])
    assert codes(swap_problem.source_code) == {0, 2, 3}
    assert codes(swap_problem.partner_code) == {1}
    assert (swap_problem.needed, swap_problem.fixed) == (2, "targets")


def test_one_swap_serves_a_lowered_and_a_raised_one() -> None:
    swap_problem = built([LOWER, RAISE])
    assert swap_problem.needed == 3
    assert swap_problem.needs.tolist() == [3, -2, 0, 0]


def test_sources_and_targets_may_be_named() -> None:
    swap_problem = built([LOWER], sources=[0, 2], targets=[3])
    assert codes(swap_problem.source_code) == {0, 2}
    assert codes(swap_problem.partner_code) == {3}
    assert codes(built([LOWER], targets=[1]).source_code) == {0}
    assert codes(built([RAISE], targets=[1, 2]).source_code) == {0, 3}
    assert codes(built([RAISE], sources=[2]).partner_code) == {0, 1, 3}


def test_rows_and_values_are_those_of_the_records() -> None:
    parameter, values = records(np.random.default_rng(2), [5, 5])
    member = parameter == 0
    swap_problem = build(parameter, 2, member, values, METRIC, [LOWER])
    np.testing.assert_array_equal(swap_problem.source_values, values[swap_problem.source_rows])
    np.testing.assert_array_equal(swap_problem.partner_values, values[swap_problem.partner_rows])
    np.testing.assert_array_equal(parameter[swap_problem.partner_rows], swap_problem.partner_code)
    assert member[swap_problem.source_rows].all()
    assert not member[swap_problem.partner_rows].any()


@pytest.mark.parametrize(
    ("restrictions", "sides", "says"),
    [
        ([], {}, "at least one"),
        ([LOWER, LOWER], {}, "twice"),
        ([Restriction(4, 1, 9)], {}, "outside"),
        ([Restriction(0, -1, 9)], {}, "negative"),
        ([Restriction(0, 3, 3)], {}, "differ"),
        ([LOWER], {"sources": [0, 1], "targets": [1]}, "disjoint"),
        ([LOWER], {"sources": [1]}, "lowered submicrofile must be a source"),
        ([RAISE], {"targets": [2]}, "raised one a target"),
        ([LOWER], {"targets": [7]}, "outside"),
    ],
)
def test_contradictions_are_refused(restrictions: list[Restriction], sides: dict[str, list[int]], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        built(restrictions, **sides)


def test_nothing_to_mask() -> None:
    with pytest.raises(NothingToMaskError):
        built([Restriction(0, bound=4, zero=9)])
    with pytest.raises(NothingToMaskError):
        built([Restriction(0, bound=4, zero=0)])


def test_nobody_to_swap_with() -> None:
    with pytest.raises(NoPartnerError) as caught:
        problem(RNG, [4, 2], [4, 2], [LOWER])
    assert caught.value.what == "non-members in the targets"
    with pytest.raises(NoPartnerError) as caught:
        problem(RNG, [4, 2], [0, 0], [RAISE])
    assert caught.value.what == "members in the sources"


def test_a_group_larger_than_the_outside_says_how_far_it_can_go() -> None:
    with pytest.raises(UnreachableError) as caught:
        problem(RNG, [9, 3], [8, 1], [LOWER])
    assert (caught.value.element, caught.value.required, caught.value.reachable) == (None, 7, 2)


def test_nobody_can_be_raised_above_their_size_or_the_members_there_are() -> None:
    with pytest.raises(UnreachableError) as caught:
        problem(RNG, [9, 3], [8, 1], [Restriction(1, bound=4, zero=1)])
    assert (caught.value.element, caught.value.required, caught.value.reachable) == (1, 4, 3)
    with pytest.raises(UnreachableError) as caught:
        problem(RNG, [9, 9], [2, 1], [Restriction(1, bound=5, zero=1)])
    assert (caught.value.element, caught.value.required, caught.value.reachable) == (None, 4, 2)


def test_shapes_and_codes_are_checked() -> None:
    _, values = records(RNG, [4])
    with pytest.raises(ValueError, match="per record"):
        build(np.zeros(3, dtype=np.int64), 1, np.ones(4, dtype=np.bool_), values, METRIC, [LOWER])
    with pytest.raises(ValueError, match=r"\[0, 1\)"):
        build(np.ones(4, dtype=np.int64), 1, np.ones(4, dtype=np.bool_), values, METRIC, [LOWER])
