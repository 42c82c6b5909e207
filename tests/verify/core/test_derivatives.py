"""Derivatives, default weights and refusals of all kinds of statistics."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from surebox_core.errors import UndefinedStatisticError
from surebox_core.influence import (
    absolute_influences,
    derivatives,
    half_width_sums,
    influence_deviations,
    influence_squares,
    influences,
)
from surebox_core.moments import moments
from surebox_core.statistics import Statistic, all_moments


def values(statistic: Statistic, x: np.ndarray) -> np.ndarray:
    """An independent definition of every statistic, population form."""
    part = x[:, list(statistic.of)]
    if statistic.kind == "mean":
        return np.array([part[:, 0].mean()])
    if statistic.kind == "variance":
        return np.array([part[:, 0].var()])
    if statistic.kind == "standard_deviation":
        return np.array([part[:, 0].std()])
    if statistic.kind == "covariance":
        return np.array([np.cov(part.T, ddof=0)[0, 1]])
    if statistic.kind == "correlation":
        return np.array([np.corrcoef(part.T)[0, 1]])
    design = np.column_stack([np.ones(len(part)), part[:, 1:]])
    beta = np.linalg.lstsq(design, part[:, 0], rcond=None)[0]
    return beta if statistic.kind == "regression" else np.array([beta @ [1.0, *statistic.at]])


KINDS = [
    Statistic("mean", (2,)),
    Statistic("variance", (0,)),
    Statistic("standard_deviation", (1,)),
    Statistic("covariance", (2, 0)),
    Statistic("correlation", (1, 3)),
    Statistic("regression", (3, 1)),
    Statistic("regression", (0, 3, 1, 2)),
    Statistic("prediction", (3, 1), at=(4.5,)),
    Statistic("prediction", (0, 3, 1, 2), at=(-2.0, 7.0, 0.25)),
]


@pytest.fixture
def records() -> np.ndarray:
    rng = np.random.default_rng(3)
    mix = rng.normal(size=(4, 4)) + 2 * np.eye(4)
    return rng.gamma(2.0, size=(23, 4)) @ mix + np.array([5.0, -3.0, 0.0, 20.0])


@pytest.mark.parametrize("statistic", KINDS, ids=lambda s: f"{s.kind}{s.of}")
def test_values_are_those_of_an_independent_definition(statistic: Statistic, records: np.ndarray) -> None:
    field = influences([statistic], moments(records))
    np.testing.assert_allclose(field.values, values(statistic, records), rtol=1e-10)


@pytest.mark.parametrize("statistic", KINDS, ids=lambda s: f"{s.kind}{s.of}")
def test_derivatives_match_finite_differences(statistic: Statistic, records: np.ndarray) -> None:
    field = influences([statistic], moments(records))
    step = 1e-4
    for p in (0, 7, 22):
        for i in range(4):
            up, down = records.copy(), records.copy()
            up[p, i] += step
            down[p, i] -= step
            slope = len(records) * (values(statistic, up) - values(statistic, down)) / (2 * step)
            ours = [derivatives(field, c, records)[p, i] for c in range(len(slope))]
            np.testing.assert_allclose(ours, slope, rtol=1e-5, atol=1e-6)


def test_printed_forms_of_the_table(records: np.ndarray) -> None:
    at = moments(records)
    u = records - records.mean(axis=0)
    c, s = np.cov(records.T, ddof=0), records.std(axis=0)
    expected = {
        Statistic("mean", (1,)): {1: np.ones(len(u))},
        Statistic("variance", (1,)): {1: 2 * u[:, 1]},
        Statistic("standard_deviation", (1,)): {1: u[:, 1] / s[1]},
        Statistic("covariance", (0, 2)): {0: u[:, 2], 2: u[:, 0]},
        Statistic("correlation", (0, 2)): {
            0: (u[:, 2] - c[0, 2] / s[0] ** 2 * u[:, 0]) / (s[0] * s[2]),
            2: (u[:, 0] - c[0, 2] / s[2] ** 2 * u[:, 2]) / (s[0] * s[2]),
        },
    }
    for statistic, columns in expected.items():
        b = derivatives(influences([statistic], at), 0, records)
        for i in range(4):
            np.testing.assert_allclose(b[:, i], columns.get(i, np.zeros(len(u))), atol=1e-12)


def test_several_statistics_add_their_weighted_sizes(records: np.ndarray) -> None:
    weighted = [replace(s, weight=0.25 * (i + 1)) for i, s in enumerate(KINDS)]
    field = influences(weighted, moments(records))
    scale = np.array([1.0, 0.5, 2.0, 1.0])
    total = np.zeros_like(records)
    for i, statistic in enumerate(weighted):
        alone = influences([statistic], moments(records))
        for c in range(len(alone.omega)):
            total += 0.25 * (i + 1) * np.abs(derivatives(alone, c, records))
    np.testing.assert_allclose(absolute_influences(field, records, scale), total * scale, rtol=1e-5)


def test_default_weights_make_statistics_free_of_units(records: np.ndarray) -> None:
    unit = np.array([1000.0, 0.01, 7.0, 1.0])
    in_units = [replace(s, at=tuple(a * unit[i] for a, i in zip(s.at, s.of[1:], strict=False))) for s in KINDS]
    here = absolute_influences(influences(KINDS, moments(records)), records, np.ones(4))
    there = absolute_influences(influences(in_units, moments(records * unit)), records * unit, unit)
    np.testing.assert_allclose(there, here, rtol=1e-4)


def test_natural_scales(records: np.ndarray) -> None:
    s, v = records.std(axis=0), records.var(axis=0)
    field = influences([*KINDS[:5], Statistic("regression", (3, 1, 0))], moments(records))
    expected = [s[2], v[0], s[1], s[2] * s[0], 1.0, s[3], s[3] / s[1], s[3] / s[0]]
    np.testing.assert_allclose(1.0 / field.omega, expected, rtol=1e-10)


def test_columns_that_nothing_asked_depends_on_are_free(records: np.ndarray) -> None:
    field = influences([Statistic("correlation", (0, 2)), Statistic("mean", (3,), 0.0)], moments(records))
    assert field.free.tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    ("statistic", "word"),
    [
        (Statistic("standard_deviation", (1,), 1.0), "constant"),
        (Statistic("correlation", (0, 1), 1.0), "constant"),
        (Statistic("mean", (1,)), "natural scale"),
        (Statistic("covariance", (0, 1)), "natural scale"),
        (Statistic("regression", (0, 1), 1.0), "column 1 is constant"),
        (Statistic("regression", (0, 2, 3), 1.0), "columns 2, 3 are collinear"),
        (Statistic("covariance", (2, 2)), "differ"),
        (Statistic("mean", (4,)), "among 0 to 3"),
        (Statistic("mean", (0, 1)), "takes 1 columns"),
        (Statistic("regression", (0,)), "at least 2"),
        (Statistic("mean", (0,), -1.0), "weight"),
    ],
    ids=str,
)
def test_undefined_statistics_are_refused_by_place_and_reason(statistic: Statistic, word: str) -> None:
    x = np.random.default_rng(0).normal(size=(30, 4))
    x[:, 1] = 0.1
    x[:, 3] = 3.0 * x[:, 2] - 1.0
    with pytest.raises(UndefinedStatisticError, match=word) as caught:
        influences([Statistic("mean", (0,)), statistic], moments(x))
    assert caught.value.index == 1
    assert caught.value.kind == statistic.kind


def test_a_constant_column_has_a_mean_with_a_given_weight() -> None:
    x = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    field = influences([Statistic("mean", (0,), 1.0), Statistic("variance", (0,), 1.0)], moments(x))
    assert field.values.tolist() == [0.1, 0.0]


def test_deviations_of_influence_functions_have_their_closed_forms(records: np.ndarray) -> None:
    statistics = [Statistic("mean", (0,)), Statistic("variance", (1,)), Statistic("correlation", (0, 2))]
    field = influences(statistics, moments(records))
    parts = influence_squares(field, records[:9]) + influence_squares(field, records[9:])
    z = (records - records.mean(axis=0)) / records.std(axis=0)
    rho = np.corrcoef(records.T)[0, 2]
    m4 = stats.moment(records[:, 1], 4)
    expected = [
        records[:, 0].std(),
        np.sqrt(m4 - records[:, 1].var() ** 2),
        (z[:, 0] * z[:, 2] - rho * (z[:, 0] ** 2 + z[:, 2] ** 2) / 2).std(),
    ]
    np.testing.assert_allclose(influence_deviations(parts, len(records)), expected, rtol=1e-10)


def test_deviations_of_a_regression_match_the_jackknife() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(4000, 3))
    x[:, 0] += 2.0 * x[:, 1] - x[:, 2] + 5.0
    statistic = Statistic("regression", (0, 1, 2))
    field = influences([statistic], moments(x))
    left_out = np.array([values(statistic, np.delete(x, p, axis=0)) for p in range(400)])
    jackknife = (len(x) - 1) * (values(statistic, x) - left_out)
    ours = influence_deviations(influence_squares(field, x[:400]), 400)
    np.testing.assert_allclose(ours, jackknife.std(axis=0), rtol=0.01)


def test_linear_uncertainty_is_the_plain_double_sum(records: np.ndarray) -> None:
    field = influences(KINDS, moments(records))
    box = np.arange(len(records), dtype=np.int32) % 4
    half = np.random.default_rng(1).uniform(size=(4, 4))
    expected = [
        sum(abs(derivatives(field, c, records)[p, i]) * half[box[p], i] / 23 for p in range(23) for i in range(4))
        for c in range(len(field.omega))
    ]
    np.testing.assert_allclose(half_width_sums(field, records, box, half, np.full(4, 1 / 23)), expected, rtol=1e-12)


def test_all_moments_is_every_mean_variance_and_correlation() -> None:
    kinds = [s.kind for s in all_moments(4)]
    assert (kinds.count("mean"), kinds.count("variance"), kinds.count("correlation")) == (4, 4, 6)
