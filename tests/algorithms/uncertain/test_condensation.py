"""Condensation: groups against the definition, pseudo-records against their groups' moments."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from workers.algorithms.core.errors import InfeasibleKError
from workers.algorithms.uncertain.condensation import condensation


def groups_of(x: np.ndarray, k: int, seed: int) -> condensation.CondensationState:
    rng = np.random.default_rng(seed)
    state = condensation.init(x, k, rng)
    while not len(state.starts):
        state = condensation.step(state, rng)
    return state


def condensed(x: np.ndarray, k: int, seed: int) -> condensation.Condensed:
    rng = np.random.default_rng(seed)
    state = condensation.init(x, k, rng)
    while not condensation.done(state):
        state = condensation.step(state, rng)
    return condensation.result(state, rng)


RUNGS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)


def seen_by_groups(x: np.ndarray, k: int) -> np.ndarray:
    """Records clipped at the k-th value from either end, over a deviation clipped further in and put on a rung."""

    def clipped(m: int) -> np.ndarray:
        rank = min(m - 1, (len(x) - 1) // 2)
        ordered = np.sort(x, axis=0)
        return np.clip(x, ordered[rank], ordered[len(x) - 1 - rank])

    units = []
    inner, outer = (x, x) if len(x) < 2 * k else (clipped(max(k, math.ceil(0.005 * len(x)))), clipped(k))
    for tempered, own in zip(inner.T, outer.T, strict=True):
        spread = tempered.std() if np.ptp(tempered) > 0.0 else own.std() if np.ptp(own) > 0.0 else 0.0
        ladder = [r * 10.0**d for d in range(-8, 8) for r in RUNGS]
        units.append(next(rung for rung in ladder if rung >= spread) if spread else 1.0)
    return np.asarray(clipped(k) / units)


def test_groups_do_not_depend_on_how_much_is_done_in_a_step() -> None:
    x, made, steps = np.random.default_rng(11).normal(size=(400, 2)), [], []
    for visited in (1, condensation.STEP_VISITED):
        rng = np.random.default_rng(5)
        state, count = condensation.init(x, 4, rng), 0
        while not condensation.done(state):
            state, count = condensation.step(state, rng, visited=visited), count + 1
        made.append(condensation.result(state, rng))
        steps.append(count)
    assert steps[0] > 10 * steps[1]
    assert np.array_equal(made[0].z, made[1].z)


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 300), columns=st.integers(1, 4), k=st.integers(1, 12))
def test_groups_are_a_drawn_record_and_its_nearest_among_those_left(seed: int, rows: int, columns: int, k: int) -> None:
    k = min(k, rows)
    x = np.random.default_rng(seed).normal(size=(rows, columns)) * [1.0, 50.0, 1e-3, 1.0][:columns]
    state = groups_of(x, k, seed)
    y = seen_by_groups(x, k)
    group = np.empty(rows, dtype=int)
    group[state.members] = np.repeat(np.arange(state.groups), np.diff(state.starts))
    free, means = np.ones(rows, dtype=bool), np.empty((state.groups, columns))
    order = np.random.default_rng(seed).permutation(rows)
    place = np.argsort(order)
    for one in order:
        if free.sum() < k:
            break
        if free[one]:
            away = np.where(free, ((y - y[one]) ** 2).sum(axis=1), np.inf)
            away[one] = -1.0
            members = np.flatnonzero(group == group[one])
            # Of those that are as near the earlier drawn: a record that was left over is drawn after the last group.
            first = members[np.lexsort((place[members], away[members]))[:k]]
            assert np.array_equal(np.sort(away[first]), np.sort(away)[:k])
            free[first] = False
            means[group[one]] = y[first].mean(axis=0)
    assert free.sum() < k
    for one in np.flatnonzero(free):
        away = ((means - y[one]) ** 2).sum(axis=1)
        assert away[group[one]] <= away.min() * (1.0 + 1e-9) + 1e-18


@settings(max_examples=examples(20), deadline=None)
@given(
    values=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=80),
    k=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_every_record_is_stood_for_once_by_a_group_of_at_least_k(
    values: list[tuple[int, int]], k: int, seed: int
) -> None:
    x = np.array(values, dtype=np.float64)
    k = min(k, len(x))
    groups = condensed(x, k, seed)
    assert sorted(groups.stands_for.tolist()) == list(range(len(x)))
    assert groups.sizes.sum() == len(x)
    assert groups.sizes.min() >= k
    assert groups.z.shape == x.shape
    assert np.isfinite(groups.z).all()


def test_groups_that_agree_publish_their_value_exactly() -> None:
    x = np.repeat(np.array([[0.1, 7.3], [3.3, 1e6]]), 20, axis=0)
    groups = condensed(x, 5, 3)
    assert (groups.z == x[groups.stands_for]).all()


def test_pseudo_records_have_the_mean_and_covariance_of_their_group() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40_000, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    groups = condensed(x, len(x), 1)  # one group of all
    for j in range(2):
        assert abs(groups.z[:, j].mean() - x[:, j].mean()) < 5.5 * x[:, j].std() / np.sqrt(len(x))
    error = 5.5 * np.sqrt(2.0 / len(x))
    assert np.abs(np.cov(groups.z.T) - np.cov(x.T)).max() < error
    assert (x.std(axis=0) > 0.8).all()
    unit = np.where(x.std(axis=0) > 1.0, 1.25, 1.0)  # the rungs above
    values, vectors = np.linalg.eigh(np.cov((x / unit).T, ddof=0))
    along = ((groups.z - x.mean(axis=0)) / unit) @ vectors
    assert (np.abs(along).max(axis=0) <= np.sqrt(3.0 * values) * (1 + 1e-9)).all()
    assert (np.abs(along).max(axis=0) > 0.999 * np.sqrt(3.0 * values)).all()


def test_who_stands_for_whom_is_drawn_within_the_group() -> None:
    x = np.arange(6, dtype=np.float64)[:, None]
    nearest = 0
    for seed in range(400):
        groups = condensed(x, 6, seed)
        nearest += int((np.argsort(groups.z[:, 0]) == np.argsort(groups.stands_for)).sum())
    assert abs(nearest - 400) < 5.5 * np.sqrt(400)  # a random pairing agrees in one place on average, variance 1


def test_neither_the_order_of_rows_nor_the_units_matter() -> None:
    x = np.random.default_rng(4).normal(size=(200, 3))
    one, two = groups_of(x, 7, 5), groups_of(x * [1e3, 1.0, 0.1] + 5.0, 7, 5)
    assert (one.group == two.group).all()
    starts = [groups_of(x, 7, seed).seeds[0] for seed in range(60)]
    assert len(set(starts)) > 30


def test_k_beyond_the_records_is_refused_with_the_largest() -> None:
    with pytest.raises(InfeasibleKError) as refused:
        condensation.init(np.zeros((4, 1)), 5, np.random.default_rng(0))
    assert refused.value.largest == 4
    with pytest.raises(ValueError, match="at least 1"):
        condensation.init(np.zeros((4, 1)), 0, np.random.default_rng(0))


def test_more_than_half_of_the_records_make_one_group_at_once() -> None:
    x = np.random.default_rng(3).normal(size=(100_000, 2))
    rng = np.random.default_rng(4)
    state = condensation.init(x, 50_001, rng)
    state = condensation.step(state, rng)
    assert condensation.progress(state)[0] == "records", "nobody's neighbours are looked for"
    made = condensation.result(condensation.step(state, rng), rng)
    assert made.sizes.tolist() == [100_000]
    assert np.sort(made.stands_for).tolist() == list(range(100_000))
    np.testing.assert_allclose(np.cov(made.z.T), np.cov(x.T), atol=0.05)


def test_groups_of_many_columns_keep_their_moments_and_take_little_memory() -> None:
    """300 rows of 2,000 columns took 8 GB: the matrices of all rows of all groups were held at once."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(240, 400)) @ rng.normal(size=(400, 400))
    state = groups_of(x, 80, 3)
    members, starts = state.members.copy(), state.starts
    tracemalloc.start()
    made = condensed(x, 80, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    for group in np.split(members, starts[1:-1]):
        own = made.z[np.isin(made.stands_for, group)]
        assert len(own) == len(group)
        centre, spread = x[group].mean(axis=0), x[group].std(axis=0)
        # A pseudo-record lies among the group's: in the space that its records span, for 80 records span no more.
        basis = np.linalg.svd(x[group] - centre, full_matrices=False)[2][: len(group) - 1]
        away = own - centre
        # (An eigenvalue of 0 comes out as rounding, 1e-16 of the largest, and a range is its root.)
        assert np.abs(away - away @ basis.T @ basis).max() < 1e-6 * spread.max()
        # Each column's deviation is that of 80 draws with the group's variance: within four standard errors of most.
        ratio = own.std(axis=0) / spread
        assert abs(float(np.median(ratio)) - 1.0) < 0.1
