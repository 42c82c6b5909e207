"""ddof 1: statistics of the sample form, their ranges and their uncertainties."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_core.errors import UndefinedStatisticError
from surebox_core.intervals import Interval
from surebox_core.statistics import Statistic
from surebox_verify.boxes import Meaning
from surebox_verify.estimates import estimates, reading_steps
from surebox_verify.ranges.guaranteed import Range
from surebox_verify.ranges.sample_form import sample_form
from surebox_verify.readings import Readings
from tests.algorithms.boxes.cases import run, tables, weighted
from tests.drawing import examples
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.state import BoxesRequest

KINDS = (
    Statistic("variance", (0,), 1.0),
    Statistic("standard_deviation", (1,), 2.0),
    Statistic("covariance", (0, 1), 0.5),
)
SAME = (
    Statistic("mean", (0,), 1.0),
    Statistic("correlation", (0, 1), 1.0),
    Statistic("regression", (1, 0), 1.0),
)


@pytest.fixture
def records() -> np.ndarray:
    rng = np.random.default_rng(31)
    x = rng.standard_t(3, size=(37, 2)) @ np.array([[3.0, 0.5], [0.0, 2.0]])
    return x + np.array([10.0, -1.0])


def exact_covariance(a: np.ndarray, b: np.ndarray) -> Fraction:
    """Of the sample form, in rational numbers."""
    x, y = [Fraction(v) for v in a.tolist()], [Fraction(v) for v in b.tolist()]
    products = sum(u * v for u, v in zip(x, y, strict=True))
    return (products - sum(x) * sum(y) / len(x)) / (len(x) - 1)


@settings(deadline=None, max_examples=examples(30))
@given(table=tables(), bounds=st.sampled_from(["cells", "tight"]), rare=st.sampled_from(["keep", "suppress"]))
def test_guaranteed_ranges_hold_the_exact_sample_form(table: tuple[np.ndarray, int], bounds: str, rare: str) -> None:
    x, k = table[0][:, :2], table[1]
    request = BoxesRequest(k, weighted(x.shape[1]), bounds=bounds, rare_records=rare, ddof=1)  # type: ignore[arg-type]
    if len(x) == 1:
        with pytest.raises(UndefinedStatisticError, match="two records or more"):
            run(x, request)
        return
    outcome = run(x, request)
    kept = x if outcome.chosen.rows is None else x[outcome.chosen.rows]
    for certificate in outcome.certificates:
        of = certificate.statistic.of
        (published,) = certificate.published
        if certificate.statistic.kind == "mean":
            continue
        if len(kept) == 1:
            assert (published.estimate, published.guaranteed, certificate.true_value) == (None, None, (None,))
            continue
        exact = exact_covariance(kept[:, of[0]], kept[:, of[-1]])
        assert published.guaranteed is not None
        assert Fraction(published.guaranteed.lower) <= exact <= Fraction(published.guaranteed.upper)
        assert published.guaranteed.lower >= 0.0 or certificate.statistic.kind == "covariance"
        size = np.abs(kept).max() ** 2
        assert certificate.true_value[0] == pytest.approx(float(exact), rel=1e-9, abs=1e-9 * size)


@settings(deadline=None, max_examples=examples(200))
@given(
    ends=st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=2).map(sorted),
    records=st.integers(2, 2**40),
)
def test_the_factor_is_rounded_outward(ends: list[float], records: int) -> None:
    interval = Interval(*ends)
    outer = sample_form(Range(interval, interval, 0.0), records, 1).outer
    factor = Fraction(records, records - 1)
    assert outer is not None
    lower, upper = (Fraction(end) * factor for end in ends)
    assert Fraction(outer.lower) <= lower <= upper <= Fraction(outer.upper)
    slack = Fraction(1, 2**50)
    assert Fraction(outer.lower) >= lower - slack * abs(lower) - Fraction(1, 2**1070)
    assert Fraction(outer.upper) <= upper + slack * abs(upper) + Fraction(1, 2**1070)


def test_values_are_those_of_numpy_and_what_has_no_sample_form_is_unchanged(records: np.ndarray) -> None:
    plain, sample = (run(records, BoxesRequest(5, KINDS + SAME, bounds="tight", ddof=ddof)) for ddof in (0, 1))
    true = [certificate.true_value[0] for certificate in sample.certificates[:3]]
    wanted = [records[:, 0].var(ddof=1), records[:, 1].std(ddof=1), np.cov(records.T, ddof=1)[0, 1]]
    assert true == pytest.approx(wanted, rel=1e-12)
    factors = [37 / 36, np.sqrt(37 / 36), 37 / 36]
    for before, after, factor in zip(plain.certificates, sample.certificates, factors, strict=False):
        (here,), (there,) = before.published, after.published
        for part in ("guaranteed", "inner", "linear"):
            ends = [getattr(one, part) for one in (here, there)]
            assert ends[1].lower == pytest.approx(factor * ends[0].lower, rel=1e-12)
            assert ends[1].upper == pytest.approx(factor * ends[0].upper, rel=1e-12)
        assert there.estimate == pytest.approx(factor * here.estimate, rel=1e-12)
        assert (there.exact, there.gap) == (here.exact, pytest.approx(here.gap, abs=1e-9))
        assert after.delta[0] == pytest.approx(factor * before.delta[0], rel=1e-12)
        assert after.shift == (0.0,)
    boxes_agree = np.array_equal(plain.boxes.box, sample.boxes.box)
    for before, after in zip(plain.certificates[3:], sample.certificates[3:], strict=True):
        assert boxes_agree
        assert after == before


def test_uncertainties_use_the_derivatives_of_the_sample_form(records: np.ndarray) -> None:
    outcome = run(records, BoxesRequest(5, (KINDS[0],), bounds="tight", confidence=0.9, ddof=1))
    u = records[:, 0] - records[:, 0].mean()
    half = outcome.boxes.half_width[outcome.boxes.box, 0]
    assert outcome.privacy_uncertainty == pytest.approx((2 * np.abs(u) * half).sum() / 36, rel=1e-12)
    spread = np.sqrt((u**4).mean() - (u**2).mean() ** 2)  # of the influence function u^2 - V
    wanted = 1.6448536269514722 * 37 / 36 * spread / np.sqrt(37)
    assert outcome.statistical_uncertainty == pytest.approx(wanted, rel=1e-9)
    step = 1e-5
    moved = records[:, 0] + step * np.sign(u) * half
    assert (moved.var(ddof=1) - records[:, 0].var(ddof=1)) / step == pytest.approx(
        outcome.privacy_uncertainty, rel=1e-3
    )


def test_default_weights_make_the_same_boxes_either_way(records: np.ndarray) -> None:
    statistics = tuple(replace(one, weight=None) for one in (*KINDS, *SAME))
    plain, sample = (run(records, BoxesRequest(5, statistics, rare_records="suppress", ddof=ddof)) for ddof in (0, 1))
    np.testing.assert_array_equal(plain.boxes.lower, sample.boxes.lower)
    assert sample.statistical_uncertainty == pytest.approx(plain.statistical_uncertainty, rel=1e-12)


def test_the_factor_is_that_of_the_kept_records_and_follows_from_boxes_and_counts() -> None:
    rng = np.random.default_rng(32)
    x = np.vstack([rng.normal(size=(300, 2)), rng.normal(size=(12, 2)) * 60.0])
    outcome = run(x, BoxesRequest(6, KINDS, bounds="tight", rare_records="suppress", ddof=1))
    rows = outcome.chosen.rows
    assert rows is not None
    assert len(rows) < 312
    assert outcome.certificates[0].true_value[0] == pytest.approx(x[rows, 0].var(ddof=1), rel=1e-12)
    assert outcome.certificates[0].shift[0] == pytest.approx(x[:, 0].var(ddof=1) - x[rows, 0].var(ddof=1), rel=1e-12)
    unlinked = replace(outcome.boxes, box=np.zeros(0, dtype=np.int32))
    readings = Readings(unlinked, Meaning(attained=True))
    for certificate in outcome.certificates:
        ranges = reading_steps(certificate.statistic, readings, ddof=1).finish()
        assert estimates(certificate.statistic, readings, ranges, ddof=1) == certificate.published


def test_one_record_has_no_sample_form() -> None:
    one = Boxes(np.zeros((1, 2)), np.ones((1, 2)), np.array([1]), np.zeros(1, np.int32), np.zeros(2, np.bool_))
    readings = Readings(one)
    for statistic in KINDS:
        ranges = reading_steps(statistic, readings, ddof=1).finish()
        assert [(r.outer, r.inner) for r in ranges] == [(None, None)]
        assert [e.estimate for e in estimates(statistic, readings, ranges, ddof=1)] == [None]
    mean = run(np.array([[4.0]]), BoxesRequest(1, (Statistic("mean", (0,), 1.0),), ddof=1))
    assert mean.certificates[0].true_value == (4.0,)


@pytest.mark.parametrize("change", [{"ddof": 2}, {"ddof": -1}, {"ddof": 1, "rare_records": "weigh"}])
def test_other_forms_are_refused(records: np.ndarray, change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="ddof must be 0 or 1"):
        run(records, replace(BoxesRequest(5, KINDS), **change))  # type: ignore[arg-type]
