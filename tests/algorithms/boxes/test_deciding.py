"""Moments that decide: on their rungs, of some data, the same for whatever the outermost records are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_core.ladder import rung, rung_from
from surebox_core.moments import moments
from surebox_core.statistics import Statistic, all_moments
from tests.drawing import examples
from workers.algorithms.boxes.deciding import deciding_influences, on_rungs, tempered

NOBODY = np.empty(0, dtype=np.int32)


@settings(deadline=None, max_examples=examples(100))
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_they_are_on_rungs_near_the_moments_and_belong_to_some_data(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, n)) @ rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-3, 3, n) + rng.normal(size=n)
    at, rounded = moments(x), on_rungs(moments(x), ())
    for sigma, true in zip(rounded.deviation, at.deviation, strict=True):
        assert sigma == pytest.approx(rung_from(sigma * (1 - 1e-9)))
        assert true <= sigma * (1 + 1e-12) < 1.3 * true
    np.testing.assert_allclose(rounded.mean, at.mean, atol=float(rounded.deviation.max()) / 8, rtol=0)
    np.testing.assert_allclose(
        4 * rounded.mean / rounded.deviation, np.rint(4 * rounded.mean / rounded.deviation), atol=1e-6
    )
    rho = rounded.covariance / np.outer(rounded.deviation, rounded.deviation)
    assert np.linalg.eigvalsh(rho)[0] > 0.01
    if np.linalg.eigvalsh(np.clip(np.rint(np.corrcoef(x.T) * 16) / 16, -15 / 16, 15 / 16) + np.eye(n) / 16)[0] > 1 / 32:
        np.testing.assert_allclose(16 * rho, np.rint(16 * rho), atol=1e-9)


def test_correlations_are_multiples_of_a_sixteenth_at_most_fifteen_of_them() -> None:
    x = np.arange(100.0)
    rounded = on_rungs(moments(np.column_stack([x, 2 * x, (x * 37) % 100])), ())
    rho = rounded.covariance / np.outer(rounded.deviation, rounded.deviation)
    assert rho[0, 1] == pytest.approx(15 / 16)
    assert 16 * rho[0, 2] == pytest.approx(round(16 * float(np.corrcoef(x, (x * 37) % 100)[0, 1])))


def test_a_column_that_becomes_constant_has_its_domain_for_a_scale_or_none() -> None:
    x = np.zeros((2000, 2))
    x[:9] = 1e6  # of 2,000 records ten count as the tenth
    x[:, 0] += np.arange(2000.0)
    table = tempered(x, 5, NOBODY)
    declared, undeclared = on_rungs(moments(table), ((0.0, 1e6), (0.0, 4e6))), on_rungs(moments(table), ())
    assert declared.deviation[1] == rung(66) == 4e6
    assert undeclared.deviation[1] == 0.0
    assert declared.deviation[0] == undeclared.deviation[0] == rung_from(float(np.std(table[:, 0])))
    assert deciding_influences(all_moments(2), declared).omega.all()
    lacking = deciding_influences((*all_moments(2), Statistic("correlation", (0, 1), 3.0)), undeclared)
    by_owner = dict(zip(lacking.owner.tolist(), lacking.omega.tolist(), strict=True))
    assert [by_owner[i] > 0.0 for i in range(6)] == [True, False, True, False, False, True]


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 10**6), st.booleans())
def test_they_are_the_same_wherever_the_outermost_records_lie(seed: int, several: bool) -> None:
    rng = np.random.default_rng(seed)
    x = np.round(rng.standard_t(2, (400, 3)) * 10)
    x[rng.random(x.shape) < 0.1] = np.nan
    persons = rng.integers(0, 300, 400).astype(np.int32) if several else NOBODY
    moved = x.copy()
    for i in range(3):
        order = np.argsort(x[:, i])  # missing ones last
        moved[order[:3], i] -= 10.0 ** rng.uniform(0, 6, 3)
        last = order[: np.count_nonzero(~np.isnan(x[:, i]))][-3:]
        moved[last, i] += 10.0 ** rng.uniform(0, 6, 3)
    np.testing.assert_array_equal(tempered(moved, 4, persons), tempered(x, 4, persons))


def test_a_rung_is_seldom_another_for_one_record() -> None:
    """0.2 % of tables of 2,000 (science.md section 4, "The promise"): here one of many records near the middle goes."""
    flips = 0
    for seed in range(400):
        x = np.random.default_rng(seed).normal(size=(2000, 1))
        one, other = (on_rungs(moments(tempered(rows, 5, NOBODY)), ()).deviation[0] for rows in (x, x[1:]))
        flips += bool(one != other)
    assert flips <= 6
