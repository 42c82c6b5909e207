import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from workers.algorithms.groups.signals import evidence
from workers.algorithms.groups.signals.adequacy import adequacy, from_counts, interpretation
from workers.algorithms.groups.signals.evidence import least_evidence, log_bayes_factors

# The paper's two confusion matrices and the figures it prints for them.
CENSUS_2000, ACS_2013 = (60, 38, 4, 785), (42, 39, 8, 564)


def exact(tp: int, fp: int, fn: int, tn: int, t1: int, t2: int) -> Fraction:
    """Equation 21 as it is printed, in rational numbers."""
    a, b = tp + fp, fn + tn
    total = sum(
        Fraction(math.comb(t1, i) ** 2 * math.comb(t2, j) ** 2)
        / (math.comb(t1 + t2, i + j) * math.comb(a + t1, tp + i) * math.comb(b + t2, fn + j))
        for i, j in product(range(t1 + 1), range(t2 + 1))
    )
    front = Fraction((a + b + 1) * (t1 + 1) * (t2 + 1), (a + t1 + 1) * (b + t2 + 1) * (t1 + t2 + 1))
    return front * math.comb(a + b, tp + fn) * total


def log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


@pytest.mark.parametrize(
    ("counts", "pa", "j", "mb", "place", "at_origin", "youden"),
    [
        (CENSUS_2000, 0.953, 0.891, 98.047, (98, 789), 136.006, 0.607),
        (ACS_2013, 0.928, 0.775, 55.067, (81, 572), 75.598, 0.505),  # PA is printed 0.930
    ],
)
def test_the_published_figures(
    counts: tuple[int, int, int, int],
    pa: float,
    j: float,
    mb: float,
    place: tuple[int, int],
    at_origin: float,
    youden: float,
) -> None:
    evaluation = from_counts(*counts)
    assert evaluation.prediction_accuracy == pytest.approx(pa, abs=5e-4)
    assert evaluation.markedness == pytest.approx(j, abs=5e-4)
    assert evaluation.log_bayes_factor == pytest.approx(mb, abs=5e-4)
    assert (evaluation.bayes_t1, evaluation.bayes_t2) == place
    assert log_bayes_factors(*counts)[0, 0] == pytest.approx(at_origin, abs=5e-4)
    assert evaluation.informedness == pytest.approx(youden, abs=5e-4)
    assert evaluation.interpretation == "decisive"


COUNT = st.integers(0, 7)


@given(COUNT, COUNT, COUNT, COUNT)
@settings(max_examples=examples(40), deadline=None)
def test_the_whole_grid_is_that_of_rational_arithmetic(tp: int, fp: int, fn: int, tn: int) -> None:
    if not (tp + fp and fn + tn):
        return
    wanted = [[float(exact(tp, fp, fn, tn, t1, t2)) for t2 in range(fn + tn + 1)] for t1 in range(tp + fp + 1)]
    np.testing.assert_allclose(log_bayes_factors(tp, fp, fn, tn), np.log(wanted), atol=1e-10)
    assert least_evidence(tp, fp, fn, tn).mb == pytest.approx(math.log(np.min(wanted)), abs=1e-10)


def test_the_minimum_may_lie_inside() -> None:
    counts = (7, 3, 7, 10)
    minimum = least_evidence(*counts)
    corners = [log(exact(*counts, t1, t2)) for t1, t2 in ((0, 0), (10, 17))]
    assert minimum.mb < min(corners) - 1e-3
    assert minimum.mb == pytest.approx(log(exact(*counts, minimum.t1, minimum.t2)), abs=1e-10)


def test_hundreds_of_orders_of_magnitude_are_kept() -> None:
    counts = (700, 0, 0, 700)
    grid = log_bayes_factors(*counts)
    # At (0, 0) the sum has one term: B = (m + 1) C(m, a) / ((a + 1)(b + 1)).
    assert grid[0, 0] == pytest.approx(log(Fraction(1401 * math.comb(1400, 700), 701 * 701)), rel=1e-12)
    wanted = [log(exact(*counts, 1, 1)), log(exact(*counts, 3, 2)), log(exact(*counts, 20, 30))]
    np.testing.assert_allclose([grid[1, 1], grid[3, 2], grid[20, 30]], wanted, rtol=1e-10)
    assert np.all(np.isfinite(grid))


def test_a_product_that_underflows_is_taken_in_logarithms() -> None:
    left, right = np.array([[0.0, -900.0, -2000.0]]), np.array([[-2000.0, -900.0, 0.0], [0.0, -1.0, -2.0]])
    product = evidence._log_product(left, right)
    np.testing.assert_allclose(product, [[-1800.0, 0.0]], atol=1e-12)


def test_the_matrix_counts_under_the_papers_names() -> None:
    evaluation = adequacy([0, 1, 2], [2, 3], 10)
    assert (evaluation.tp, evaluation.fp, evaluation.fn, evaluation.tn) == (1, 2, 1, 6)
    assert evaluation.sensitivity == pytest.approx(1 / 3)  # one of three true outliers is disclosed
    assert evaluation.specificity == pytest.approx(6 / 7)
    assert evaluation.precision == pytest.approx(1 / 2)
    assert evaluation.informedness == pytest.approx(1 / 3 + 6 / 7 - 1)
    assert evaluation.markedness == pytest.approx(1 / 2 + 6 / 8 - 1)
    assert evaluation.prediction_accuracy == pytest.approx(7 / 10)


def test_empty_margins_give_none() -> None:
    nothing_found = adequacy([1, 2], [], 5)
    assert nothing_found.precision is None
    assert nothing_found.markedness is None
    assert nothing_found.sensitivity == 0.0
    assert (
        nothing_found.log_bayes_factor is not None
    )  # both classes are there: finding nothing is evidence against dependence
    assert nothing_found.interpretation == "negative"
    no_outliers = adequacy([], [1], 5)
    assert no_outliers.sensitivity is None
    assert no_outliers.informedness is None
    assert no_outliers.log_bayes_factor is None
    assert no_outliers.interpretation is None
    assert adequacy([], [], 0).prediction_accuracy is None


@pytest.mark.parametrize(
    ("mb", "says"),
    [(-0.1, "negative"), (0.5, "bare mention"), (2.0, "positive"), (4.9, "strong"), (5.1, "decisive")],
)
def test_strength_after_table_1(mb: float, says: str) -> None:
    assert interpretation(mb) == says


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[0, 3\)"):
        adequacy([3], [], 3)
    with pytest.raises(ValueError, match="negative"):
        from_counts(-1, 0, 0, 1)
    with pytest.raises(ValueError, match="both rows"):
        least_evidence(0, 0, 1, 1)
    with pytest.raises(ValueError, match="negative"):
        least_evidence(1, -1, 1, 1)


@pytest.mark.parametrize("counts", [(5, 40, 60, 4000), (30, 30, 2100, 2100)])
def test_of_many_parameter_values_the_least_evidence_is_that_of_all_priors(counts: tuple[int, int, int, int]) -> None:
    grid = log_bayes_factors(*counts)
    minimum = least_evidence(*counts)
    assert grid[minimum.t1, minimum.t2] == pytest.approx(minimum.mb, abs=1e-9)
    assert minimum.mb == pytest.approx(float(grid.min()), abs=1e-9)


def test_many_parameter_values_need_neither_their_square_in_memory_nor_in_time() -> None:
    minimum = least_evidence(8_000, 2_000, 1_000, 9_000)
    assert minimum.mb > 1_000.0
    assert (minimum.t1, minimum.t2) == (10_000, 10_000)
