import math
import statistics
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv

from tests.drawing import examples
from workers.algorithms.groups.signals.outliers import grubbs, tau, thompson_tau

# The table of the technique (alpha = 0.05) as textbooks print it; at last its limit, the normal quantile.
TABLE = {3: 1.1511, 4: 1.4250, 5: 1.5712, 6: 1.6563, 7: 1.7110, 8: 1.7491, 9: 1.7770, 10: 1.7984, 10**7: 1.95996}


@pytest.mark.parametrize(("m", "value"), TABLE.items())
def test_tau_is_the_printed_one(m: int, value: float) -> None:
    assert tau(m, 0.05) == pytest.approx(value, abs=6e-4)


#: Two-sided critical values of Grubbs' test at 5 %, as printed in handbooks.
GRUBBS = {3: 1.1543, 4: 1.4812, 5: 1.7150, 6: 1.8871, 7: 2.0200, 8: 2.1266, 9: 2.2150, 10: 2.2900}


@pytest.mark.parametrize(("m", "value"), GRUBBS.items())
def test_grubbs_value_is_the_printed_one(m: int, value: float) -> None:
    assert grubbs(m, 0.05) == pytest.approx(value, abs=6e-4)


#: The same at 5 and at 1 %.
GRUBBS_BY_LEVEL = {
    (10, 0.05): 2.290, (20, 0.05): 2.709, (50, 0.05): 3.128, (100, 0.05): 3.384,
    (10, 0.01): 2.482, (20, 0.01): 3.001, (50, 0.01): 3.483, (100, 0.01): 3.754,
}  # fmt: skip


@pytest.mark.parametrize(("place", "value"), GRUBBS_BY_LEVEL.items())
def test_grubbs_value_is_the_printed_one_at_each_level(place: tuple[int, float], value: float) -> None:
    assert grubbs(*place) == pytest.approx(value, abs=2e-3)


def cauchy(m: int, alpha: float) -> float:
    """tau of three elements: t has one degree of freedom, the Cauchy distribution, whose quantile is a cotangent."""
    t = Fraction(1 / math.tan(math.pi * alpha / 2.0))
    return (m - 1) / math.sqrt(m) * math.sqrt(t * t / (m - 2 + t * t))


def of_beta(m: int, alpha: float) -> float:
    """tau by the incomplete beta function: (m - 2) / (m - 2 + t^2) has the distribution Beta((m - 2) / 2, 1 / 2)."""
    return (m - 1) / math.sqrt(m) * math.sqrt(1.0 - betaincinv(0.5 * (m - 2), 0.5, alpha))


@pytest.mark.parametrize("alpha", [10.0**-power for power in (1, 2, 3, 5, 8, 12, 15, 16, 17, 30, 100, 300)])
def test_tau_is_right_at_every_level(alpha: float) -> None:
    """A small one too: where `1 - alpha / 2` is 1, no value is infinite or unknown."""
    assert tau(3, alpha) == pytest.approx(cauchy(3, alpha), rel=1e-12)
    for m in (3, 4, 5, 10, 31, 400, 10_000):
        assert tau(m, alpha) == pytest.approx(of_beta(m, alpha), rel=1e-9)
        assert tau(m, 0.3) < tau(m, alpha) <= grubbs(m, alpha) <= (m - 1) / math.sqrt(m) * (1.0 + 1e-15)


@pytest.mark.parametrize("test", ["thompson_tau", "grubbs"])
@pytest.mark.parametrize("robust", [False, True])
def test_the_smaller_the_level_the_fewer_outliers(test: Literal["thompson_tau", "grubbs"], robust: bool) -> None:
    signal = np.random.default_rng(8).normal(100.0, 5.0, 60)
    signal[[7, 31]] = 400.0, 380.0
    levels = [10.0**-power for power in range(1, 31)]
    outliers = [set(thompson_tau(signal, alpha=each, robust=robust, test=test).indexes) for each in levels]
    assert all(fewer <= more for more, fewer in pairwise(outliers))
    assert outliers[2] == {7, 31}
    assert outliers[-1] == ({7, 31} if robust else set())


def test_grubbs_points_at_an_element_of_pure_noise_as_often_as_its_level_says() -> None:
    """The level is of the whole test, whatever the number of regions; Thompson's is of one element."""
    rng = np.random.default_rng(3)
    draws = [rng.normal(size=30) for _ in range(600)]
    share = {
        test: np.mean([bool(thompson_tau(one, alpha=0.1, robust=False, test=test).order) for one in draws])
        for test in ("grubbs", "thompson_tau")
    }
    assert share["grubbs"] == pytest.approx(0.1, abs=0.05)  # four standard deviations
    assert share["thompson_tau"] > 0.8


def estimates(values: list[float], robust: bool) -> tuple[float, float]:
    if not robust:
        return statistics.fmean(values), statistics.stdev(values)
    ordered = sorted(values)
    m = len(ordered)
    half = m // 2 if m % 2 == 0 else (m + 1) // 2
    quartiles = statistics.median(ordered[:half]), statistics.median(ordered[-half:])
    return statistics.median(ordered), (quartiles[1] - quartiles[0]) / 1.349


def slow(values: list[float], alpha: float, robust: bool, test: str) -> list[int]:
    """The technique as it is written: look at all elements that are left, remove the one that deviates most."""
    left = list(range(len(values)))
    removed = []
    while len(left) > 2:
        centre, spread = estimates([values[i] for i in left], robust)
        worst = max(left, key=lambda i: (abs(values[i] - centre), values[i], -i))
        critical = {"thompson_tau": tau, "grubbs": grubbs}[test](len(left), alpha)
        if not abs(values[worst] - centre) > critical * spread:
            break
        removed.append(worst)
        left.remove(worst)
    return removed


@given(
    st.lists(st.integers(0, 12).map(float) | st.sampled_from([40.0, 41.0, -30.0]), max_size=25),
    st.sampled_from([0.01, 0.05, 0.3]),
    st.booleans(),
    st.sampled_from(["thompson_tau", "grubbs"]),
)
@settings(max_examples=examples(150))
def test_outliers_are_removed_as_the_technique_says(
    values: list[float], alpha: float, robust: bool, test: Literal["thompson_tau", "grubbs"]
) -> None:
    outliers = thompson_tau(np.array(values), alpha=alpha, robust=robust, test=test)
    assert list(outliers.order) == slow(values, alpha, robust, test)
    assert outliers.indexes == tuple(sorted(outliers.order))
    assert len(values) - len(outliers.order) >= min(2, len(values))


def test_two_bases_stand_out_among_forty_regions() -> None:
    signal = np.array([3, 5, 2, 4, 6, 1, 3, 2, 5, 4] * 4)
    signal[[7, 31]] = 82, 57
    outliers = thompson_tau(signal, alpha=0.01, robust=True)
    assert outliers.order == (7, 31)
    assert not outliers.degenerate


def test_an_expert_excludes_after_the_test_not_before() -> None:
    signal = np.array([3, 5, 2, 4, 6, 1, 3, 2, 5, 4, 50, 60])
    outliers = thompson_tau(signal, alpha=0.01, robust=True, exclude=[11, 0])
    assert outliers.indexes == (10,)
    assert outliers.order == (11, 10)


def test_where_the_middle_half_is_equal_everything_else_is_an_outlier_and_flagged() -> None:
    outliers = thompson_tau(np.array([0, 0, 1, 0, 0, 0, 0, 0, -1, 0]), alpha=0.01, robust=True)
    assert outliers.indexes == (2, 8)
    assert outliers.order == (2, 8)  # of equal deviations the larger value first
    assert outliers.degenerate
    equal = thompson_tau(np.zeros(9), alpha=0.01, robust=True)
    assert equal.indexes == ()
    assert not equal.degenerate


@pytest.mark.parametrize("values", [[], [5.0], [1.0, 1e9]])
def test_two_elements_or_fewer_have_no_outliers(values: list[float]) -> None:
    assert thompson_tau(np.array(values), alpha=0.05, robust=True).indexes == ()


@given(st.lists(st.integers(0, 30), min_size=3, max_size=20))
@settings(max_examples=examples(50))
def test_shifting_scaling_and_permuting_a_signal_moves_its_outliers_along(values: list[int]) -> None:
    signal = np.array(values, dtype=np.float64)
    outliers = thompson_tau(signal, alpha=0.05, robust=True)
    assert thompson_tau(4.0 * signal + 8.0, alpha=0.05, robust=True).order == outliers.order
    order = np.argsort(signal + np.linspace(0.0, 0.5, len(signal)))
    moved = thompson_tau(signal[order], alpha=0.05, robust=True)
    assert sorted(signal[order][list(moved.indexes)]) == sorted(signal[list(outliers.indexes)])


@pytest.mark.parametrize(
    ("signal", "alpha", "exclude", "says"),
    [
        ([1.0, math.nan, 2.0], 0.05, [], "finite"),
        ([1.0, 2.0], 0.0, [], "alpha"),
        ([1.0, 2.0], 1.0, [], "alpha"),
        ([1.0, 2.0], 0.05, [2], "excluded"),
    ],
)
def test_what_cannot_be_is_refused(signal: list[float], alpha: float, exclude: list[int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        thompson_tau(np.array(signal), alpha=alpha, robust=True, exclude=exclude)
