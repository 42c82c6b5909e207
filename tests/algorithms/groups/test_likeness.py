import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, kstwobign

from workers.algorithms.groups.signals.likeness import CHANCE, by_chance, distance

SAMPLES = st.lists(st.integers(-3, 6).map(float) | st.floats(-5, 5), min_size=1, max_size=30)


@given(SAMPLES, SAMPLES)
def test_the_distance_is_the_largest_over_every_threshold_tried(x: list[float], y: list[float]) -> None:
    measured = distance(np.array(x), np.array(y))
    slow = max(abs(sum(one <= at for one in x) / len(x) - sum(one <= at for one in y) / len(y)) for at in {*x, *y})
    assert measured == pytest.approx(slow, abs=1e-12)
    assert distance(np.array(y), np.array(x)) == measured


def test_chance_is_the_quantile_of_kolmogorovs_distribution() -> None:
    n, m = 4_000, 900
    assert by_chance(n, m) * np.sqrt(n * m / (n + m)) == pytest.approx(kstwobign.isf(CHANCE), rel=1e-6)


def test_the_distance_is_scipys() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 30, 500).astype(float), rng.integers(4, 40, 300).astype(float)
    assert distance(x, y) == pytest.approx(ks_2samp(x, y).statistic, abs=1e-12)


def test_samples_of_one_population_are_within_chance_and_others_are_not() -> None:
    rng = np.random.default_rng(0)
    beyond = [distance(rng.random(400), rng.random(300)) > by_chance(400, 300) for _ in range(400)]
    assert sum(beyond) <= 12
    assert distance(rng.random(400), rng.random(300) + 0.3) > by_chance(400, 300)


def test_a_file_without_records_is_refused() -> None:
    with pytest.raises(ValueError, match="records"):
        distance(np.empty(0), np.ones(2))
