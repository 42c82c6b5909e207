"""Each operator of the memetic algorithm by itself, beside what the paper's outline says of it."""

from dataclasses import replace

import numpy as np
import pytest

from tests.algorithms.groups.swapping import problem, slow_influence
from workers.algorithms.groups.memetic import search as memetic
from workers.algorithms.groups.memetic import variation
from workers.algorithms.groups.memetic.board import Board, Odds, Places, Stamps
from workers.algorithms.groups.memetic.state import MemeticRequest, MemeticState
from workers.algorithms.groups.memetic.stream import new_stream
from workers.algorithms.groups.swaps.restrictions import Restriction

NONE = (0.0, 0.0, 0.0, 0.0)
REQUEST = MemeticRequest(population=10, pairs=40, tournament=1, generations=1, mutations=NONE, roaming=0.0)


@pytest.fixture(scope="module")
def begun() -> MemeticState:
    """A first population, lists of nearest partners and all: two sources, three targets."""
    given = problem(
        np.random.default_rng(8), [30, 25, 40, 35, 30], [14, 12, 2, 3, 1], [Restriction(0, 2, 12), Restriction(1, 4, 9)]
    )
    state = memetic.init(given, REQUEST, np.random.default_rng(2))
    while state.runs[0].generation < 0:
        state = memetic.step(state)
    return state


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators as Python runs their source: those that only kernels call have no other way in."""
    for name in ("_next", "free_record", "_mutate", "_cut"):
        monkeypatch.setattr(variation, name, getattr(variation, name).py_func)


def stamped(board: Board, s: np.ndarray, p: np.ndarray) -> Stamps:
    parts = board.parts
    sizes = (len(parts.source_part), len(parts.partner_part), len(parts.partner_part), 1)
    stamps = Stamps(*(np.zeros(size, dtype=np.int64) for size in sizes))
    stamps.now[0] = 1
    stamps.source[s] = stamps.partner[p] = 1
    return stamps


def mutated(begun: MemeticState, rates: tuple[float, ...], seed: int) -> tuple[np.ndarray, ...]:
    """An individual of eight rows, before and after: (s, p, s, p)."""
    rng, parts = np.random.default_rng(seed), begun.board.parts
    s = rng.choice(len(parts.source_part), 8, replace=False).astype(np.int32)
    p = rng.choice(len(parts.partner_part), 8, replace=False).astype(np.int32)
    after = s.copy(), p.copy()
    stream = new_stream(np.full(8, seed, dtype=np.uint32))
    variation._mutate(parts, stream, np.array(rates), *after, stamped(begun.board, s, p))
    for column in after:
        assert len(set(column.tolist())) == len(column), "no record occurs twice"
    return s, p, *after


@pytest.mark.usefixtures("interpreted")
def test_m1_and_m2_exchange_pairs_of_a_column_and_change_nothing_else(begun: MemeticState) -> None:
    moved = [0, 0]
    for seed in range(60):
        s, p, after_s, after_p = mutated(begun, (1.0, 0.0, 0.0, 0.0), seed)
        assert sorted(after_s) == sorted(s)
        assert np.array_equal(after_p, p)
        moved[0] += int((after_s != s).any())
        s, p, after_s, after_p = mutated(begun, (0.0, 1.0, 0.0, 0.0), seed)
        assert sorted(after_p) == sorted(p)
        assert np.array_equal(after_s, s)
        moved[1] += int((after_p != p).any())
    assert min(moved) >= 55


@pytest.mark.usefixtures("interpreted")
def test_m3_and_m4_draw_another_record_of_the_same_submicrofile(begun: MemeticState) -> None:
    parts = begun.board.parts
    for seed in range(60):
        s, p, after_s, after_p = mutated(begun, (0.0, 0.0, 1.0, 0.0), seed)
        assert np.array_equal(parts.source_part[after_s], parts.source_part[s])
        assert (after_s != s).all(), "each source has free records left"
        assert np.array_equal(after_p, p)
        s, p, after_s, after_p = mutated(begun, (0.0, 0.0, 0.0, 1.0), seed)
        assert np.array_equal(parts.partner_part[after_p], parts.partner_part[p])
        assert (after_p != p).all()
        assert np.array_equal(after_s, s)


@pytest.mark.usefixtures("interpreted")
def test_each_mutation_has_a_probability_of_its_own_per_row(begun: MemeticState) -> None:
    changed = np.zeros(2)
    for seed in range(400):
        s, p, after_s, after_p = mutated(begun, (0.0, 0.0, 0.25, 0.05), seed)
        changed += ((after_s != s).sum(), (after_p != p).sum())
    rows = 8 * 400
    for count, rate in zip(changed, (0.25, 0.05), strict=True):
        assert abs(count - rate * rows) < 5 * np.sqrt(rows * rate * (1 - rate))


@pytest.mark.usefixtures("interpreted")
def test_crossover_points_are_all_that_leave_no_child_empty() -> None:
    stream, first, second = new_stream(np.arange(8, dtype=np.uint32)), 2, 3
    drawn = {variation._cut(stream, first, second) for _ in range(400)}
    assert drawn == {
        (one, rest)
        for one in range(first + 1)
        for rest in range(second + 1)
        if one + second - rest > 0 and rest + first - one > 0
    }


def bred(begun: MemeticState, crossover: float, share: float) -> list[tuple[list[int], list[int], np.ndarray]]:
    """Children of the first population: (s, p, InfM) of each."""
    run, request = begun.runs[0], begun.request
    places = Places(*(array.copy() for array in (run.source, run.partner, run.influence, run.rows, run.fitness)))
    stamps = stamped(begun.board, np.empty(0, np.int64), np.empty(0, np.int64))
    odds = Odds(request.tournament, crossover, np.zeros(4), share, 0.0)
    variation.fill(begun.board, run.stream.copy(), places.fitness[: request.population].copy(), odds, places, stamps)
    rows = places.rows.tolist()
    return [
        (places.source[i, : rows[i]].tolist(), places.partner[i, : rows[i]].tolist(), places.influence[i, : rows[i]])
        for i in range(len(rows))
    ]


def test_without_crossover_children_are_their_parents_and_with_it_heads_and_tails(begun: MemeticState) -> None:
    """Local search takes partners only (share 1), so that the first two columns are as they were recombined."""
    mu = begun.request.population
    for crossover, least, most in ((0.0, 0, 0), (0.5, 20, 60), (1.0, 60, 80)):
        every = bred(begun, crossover, 1.0)
        parents, children = [s for s, _, _ in every[:mu]], [s for s, _, _ in every[mu:]]
        assert least <= sum(child not in parents for child in children) <= most
        heads = {tuple(parent[:at]) for parent in parents for at in range(len(parent) + 1)}
        tails = {tuple(parent[at:]) for parent in parents for at in range(len(parent) + 1)}
        whole = [
            child for child in children
            if any(tuple(child[:at]) in heads and tuple(child[at:]) in tails for at in range(len(child) + 1))
        ]  # fmt: skip
        assert len(whole) > 10, "the others have had a duplicate drawn again"


def test_local_search_takes_the_nearest_free_record_of_the_same_submicrofile(begun: MemeticState) -> None:
    """A row after the other, by trying all; a target and a source are kept for good."""
    own, parts, mu = begun.problem, begun.board.parts, begun.request.population
    for share, kept, part, mine, theirs in (
        (1.0, 0, parts.partner_part, own.source_values, own.partner_values),
        (0.0, 1, parts.source_part, own.partner_values, own.source_values),
    ):
        every = bred(begun, 0.0, share)
        for child in every[mu:]:
            parent = next(one for one in every[:mu] if one[kept] == child[kept])
            taken = list(parent[1 - kept])
            for row, fixed in enumerate(child[kept]):
                free = [
                    r for r in np.flatnonzero(part == part[taken[row]]).tolist() if r == taken[row] or r not in taken
                ]
                far = {r: slow_influence(mine[fixed], theirs[r]) for r in free}
                assert far[child[1 - kept][row]] == pytest.approx(min(far.values()), abs=1e-12)
                assert child[2][row] == pytest.approx(min(far.values()), abs=1e-12)
                taken[row] = child[1 - kept][row]


def test_by_the_letter_no_row_ever_changes_its_target(begun: MemeticState) -> None:
    """Without roaming and crossover the targets of a child are those of its parent, row by row."""
    parts, mu = begun.board.parts, begun.request.population
    every = bred(begun, 0.0, 0.75)
    targets = [parts.partner_part[p].tolist() for _, p, _ in every]
    assert all(one in targets[:mu] for one in targets[mu:])
    assert replace(REQUEST, roaming=0.3) != REQUEST
