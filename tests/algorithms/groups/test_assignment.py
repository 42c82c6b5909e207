import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tests.algorithms.groups.swapping import METRIC, cheapest_by_trying, problem, records
from tests.drawing import seeds
from workers.algorithms.groups.swaps.assignment import Effort, cheapest, finding, moves_made, moves_needed
from workers.algorithms.groups.swaps.effect import after, counts_after, met
from workers.algorithms.groups.swaps.metric import influence
from workers.algorithms.groups.swaps.problem import Problem, Swaps, build, shuffled
from workers.algorithms.groups.swaps.restrictions import Restriction, UnreachableError

LOWER, RAISE = Restriction(0, bound=1, zero=9), Restriction(1, bound=2, zero=-3)


def kept(given: Problem, swaps: Swaps) -> None:
    """What every result promises."""
    rows = np.concatenate([swaps.source_row, swaps.partner_row])
    assert len(np.unique(rows)) == len(rows)
    assert np.isin(swaps.source_row, given.source_rows).all()
    assert np.isin(swaps.partner_row, given.partner_rows).all()


@pytest.mark.parametrize("seed", range(12))
def test_it_is_as_cheap_as_the_cheapest_of_all_ways(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = problem(rng, [4, 3, 4], [3, 1, 1], [LOWER])
    moves = moves_needed(given)
    swaps = cheapest(given, moves)
    kept(given, swaps)
    assert swaps.distortion == pytest.approx(cheapest_by_trying(given, moves), abs=1e-12)
    assert after(given, swaps)[0] == 1
    ceilings = np.array([0, 1, 1])
    capped = cheapest(given, moves, ceilings)
    kept(given, capped)
    assert capped.distortion == pytest.approx(cheapest_by_trying(given, moves, ceilings), abs=1e-12)
    assert np.all(np.bincount(capped.target, minlength=3) <= ceilings)
    assert capped.distortion >= swaps.distortion - 1e-12


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("crisp", "restrictions", "fixed"),
    [
        ([3, 0, 2], [RAISE], "targets"),
        ([3, 1, 1], [LOWER, RAISE], "sources"),
        ([2, 0, 1], [LOWER, RAISE], "targets"),
        ([3, 1, 3], [LOWER, Restriction(2, bound=2, zero=5)], "sources"),
    ],
)
def test_raising_and_several_restrictions_are_met_at_least_cost(
    seed: int, crisp: list[int], restrictions: list[Restriction], fixed: str
) -> None:
    given = problem(np.random.default_rng(seed), [4, 4, 4], crisp, restrictions)
    assert given.fixed == fixed
    moves = moves_needed(given)
    assert moves.sum() == given.needed
    swaps = cheapest(given, moves)
    kept(given, swaps)
    assert met(given, counts_after(given, swaps))
    assert swaps.distortion == pytest.approx(cheapest_by_trying(given, moves), abs=1e-12)
    np.testing.assert_array_equal(moves_made(given, swaps), moves)


def large(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    sizes = [90, 70, 300, 400, 500]
    parameter, values = records(rng, sizes)
    member = (rng.random(len(parameter)) < 0.9) & (parameter < 2)
    restrictions = [Restriction(0, bound=2, zero=12), Restriction(1, bound=5, zero=12)]
    return build(parameter, len(sizes), member, values, METRIC, restrictions)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("first", [1, 16])
def test_lists_are_lengthened_until_nothing_left_out_could_help(seed: int, first: int) -> None:
    """Against a dense solver that knows all pairs: who stays is a column of its own, with a bonus for staying."""
    given = large(seed)
    moves = moves_needed(given)
    cost = influence(given.metric, given.source_values, given.partner_values)
    stay = []
    for code in (0, 1):
        column = np.where(given.source_code == code, -100.0, 1e6)
        stay += [column] * int((given.source_code == code).sum() - moves[code])
    full = np.hstack([cost, np.array(stay).T])
    rows, columns = linear_sum_assignment(full)
    moved = columns < cost.shape[1]
    swaps = cheapest(given, moves, effort=Effort(first=first))
    assert swaps.distortion == pytest.approx(cost[rows[moved], columns[moved]].sum(), abs=1e-9)


def test_with_ceilings_that_bind_it_agrees_with_a_dense_solver() -> None:
    given = large(9)
    moves = moves_needed(given)
    ceilings = np.array([0, 0, 60, 50, 40])
    swaps = cheapest(given, moves, ceilings)
    kept(given, swaps)
    cost = influence(given.metric, given.source_values, given.partner_values)
    price = scarcity(cost, given, moves, ceilings)
    assert np.all(np.bincount(swaps.target, minlength=5) <= ceilings)
    assert price <= swaps.distortion + 1e-9
    assert swaps.distortion == pytest.approx(price, abs=1e-6)


def scarcity(cost: np.ndarray, given: Problem, moves: np.ndarray, ceilings: np.ndarray) -> float:
    """Least cost as a linear programme over all pairs, solved by another program."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    lefts, rights = cost.shape
    pair = np.arange(cost.size)
    left, right = np.divmod(pair, rights)

    def sums(group: np.ndarray, count: int) -> coo_array:
        return coo_array((np.ones(cost.size), (group, pair)), shape=(count, cost.size))

    upper = vstack([sums(left, lefts), sums(right, rights), sums(given.partner_code[right], 5)])
    limits = np.concatenate([np.ones(lefts + rights), ceilings])
    equal = sums(given.source_code[left], 2)
    solution = linprog(cost.ravel(), upper, limits, equal, moves[:2], bounds=(0, 1), method="highs")
    return float(solution.fun)


def test_the_order_of_records_does_not_change_the_least_cost() -> None:
    given = large(4)
    moves = moves_needed(given)
    mixed = shuffled(given, np.random.default_rng(0))
    assert sorted(mixed.source_rows) == sorted(given.source_rows)
    assert np.any(mixed.source_rows != given.source_rows)
    assert cheapest(mixed, moves).distortion == pytest.approx(cheapest(given, moves).distortion, abs=1e-9)


def test_identical_records_fill_each_others_lists() -> None:
    """All sources want the same few partners: every list must grow before there is a flow at all."""
    parameter = np.repeat([0, 1], [60, 200])
    values = np.zeros((260, 4))
    values[60:, 2] = np.arange(200)
    member = parameter == 0
    given = build(parameter, 2, member, values, METRIC, [Restriction(0, bound=0, zero=9)])
    swaps = cheapest(given, moves_needed(given))
    kept(given, swaps)
    # One partner equals the sources; any other differs by the whole weight of one ordinal attribute (0 against not 0).
    assert swaps.distortion == pytest.approx(59.0)


def test_what_cannot_be_moved_is_said_in_numbers() -> None:
    given = problem(np.random.default_rng(0), [4, 3, 4], [3, 1, 1], [LOWER])
    with pytest.raises(UnreachableError) as caught:
        cheapest(given, np.array([4, 0, 0]))
    assert (caught.value.element, caught.value.required, caught.value.reachable) == (0, 4, 3)
    with pytest.raises(UnreachableError) as caught:
        cheapest(given, np.array([2, 0, 0]), np.array([5, 1, 0]))
    assert (caught.value.element, caught.value.required, caught.value.reachable) == (None, 2, 1)
    with pytest.raises(ValueError, match="one number per submicrofile"):
        cheapest(given, np.array([2, 0]))
    raising = problem(np.random.default_rng(0), [4, 4, 4], [3, 0, 2], [RAISE])
    with pytest.raises(UnreachableError, match="own ceiling"):
        cheapest(raising, moves_needed(raising), np.array([9, 1, 9]))
    both = problem(np.random.default_rng(0), [4, 4, 4], [3, 1, 1], [LOWER, RAISE])
    with pytest.raises(UnreachableError, match="have room"):
        cheapest(both, moves_needed(both), np.array([9, 0, 9]))
    with pytest.raises(UnreachableError, match="numbers to be moved"):
        cheapest(both, np.zeros(3, dtype=np.int64))


@pytest.mark.parametrize("ceiling", [None, 6])
def test_pauses_change_nothing(ceiling: int | None) -> None:
    given = problem(np.random.default_rng(5), [60, 40, 40, 40], [50, 2, 1, 0], [Restriction(0, bound=36, zero=60)])
    moves = moves_needed(given)
    ceilings = None if ceiling is None else np.full(4, ceiling)
    whole = cheapest(given, moves, ceilings)
    work, pauses = finding(given, moves, ceilings, effort=Effort(compared=1, arcs=1)), 0
    while True:
        try:
            next(work)
        except StopIteration as end:
            swaps: Swaps = end.value
            break
        pauses += 1
    assert pauses >= 50 + 14, "one for each record's list and for each swap"
    for name in ("source_row", "partner_row", "influence"):
        np.testing.assert_array_equal(getattr(swaps, name), getattr(whole, name))


@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.parametrize("fixed", ["sources", "targets"])
def test_where_nobody_is_to_leave_nobody_does(seed: int, fixed: str) -> None:
    """The number of those who leave is drawn, and in small places it may be 0."""
    rng = np.random.default_rng(seed)
    restrictions, crisp = ([LOWER], [3, 1, 1]) if fixed == "sources" else ([RAISE], [3, 0, 2])
    given = problem(rng, [4, 4, 4], crisp, restrictions)
    assert given.fixed == fixed
    if fixed == "sources":  # without a target that asks for someone
        swaps = cheapest(given, np.zeros(3, dtype=np.int64))
        kept(given, swaps)
        assert len(swaps.source_row) == 0
        assert np.array_equal(counts_after(given, swaps)[0], given.crisp)
    else:
        swaps = cheapest(given, np.zeros(3, dtype=np.int64))
        assert len(swaps.source_row) == 0
