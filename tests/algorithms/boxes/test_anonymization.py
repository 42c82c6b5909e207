"""The whole method: what is promised of every result, whatever the records."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_core.errors import UndefinedStatisticError
from surebox_core.influence import absolute_influences, influences
from surebox_core.moments import moments
from surebox_core.statistics import Statistic, all_moments
from surebox_verify.boxes import Meaning
from surebox_verify.estimates import estimates, reading_steps
from surebox_verify.readings import Readings
from tests.algorithms.boxes.cases import run, tables, weighted
from tests.drawing import examples
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.sides import NominalColumn
from workers.algorithms.boxes.state import BoxesRequest
from workers.algorithms.core.errors import InfeasibleKError, OutsideDomainError


@settings(deadline=None, max_examples=examples(100))
@given(
    table=tables(),
    bounds=st.sampled_from(["cells", "tight"]),
    method=st.sampled_from(["optimal", "fast", "mondrian"]),
    seed=st.integers(0, 99),
)
def test_every_release_keeps_its_promises(table: tuple[np.ndarray, int], bounds: str, method: str, seed: int) -> None:
    x, k = table
    request = BoxesRequest(k, weighted(x.shape[1]), partition=method, bounds=bounds)  # type: ignore[arg-type]
    outcome = run(x, request, seed)
    boxes = outcome.boxes
    assert boxes.counts.min() >= k
    assert boxes.counts.sum() == len(x)
    assert ((boxes.lower[boxes.box] <= x) & (x <= boxes.upper[boxes.box])).all()
    for certificate in outcome.certificates:
        part = x[:, list(certificate.statistic.of)]
        plain = {"mean": part[:, 0].mean(), "variance": part[:, 0].var(), "covariance": np.cov(part.T, ddof=0)}
        value = plain[certificate.statistic.kind]
        value = float(value[0, 1] if certificate.statistic.kind == "covariance" else value)
        (estimate,) = certificate.published
        slack = 1e-9 * (1.0 + np.abs(part).max() ** 2)
        assert certificate.true_value[0] == pytest.approx(value, abs=slack)
        assert estimate.guaranteed is not None
        assert estimate.guaranteed.lower - slack <= value <= estimate.guaranteed.upper + slack
        assert estimate.guaranteed.lower <= certificate.true_value[0] <= estimate.guaranteed.upper
        assert estimate.estimate is not None
        assert estimate.guaranteed.lower <= estimate.estimate <= estimate.guaranteed.upper
        assert certificate.shift == (0.0,)


@pytest.fixture
def records() -> np.ndarray:
    rng = np.random.default_rng(12)
    x = rng.normal(size=(2000, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, -0.4], [0.0, 0.0, 1.0]])
    return x * np.array([10.0, 1.0, 0.1]) + np.array([40.0, 0.0, -3.0])


ALL_KINDS = (
    *all_moments(3),
    Statistic("standard_deviation", (0,)),
    Statistic("covariance", (0, 1)),
    Statistic("regression", (0, 1, 2)),
)


@pytest.mark.parametrize("bounds", ["cells", "tight"])
def test_all_kinds_together(records: np.ndarray, bounds: str) -> None:
    outcome = run(records, BoxesRequest(5, ALL_KINDS, bounds=bounds))  # type: ignore[arg-type]
    for certificate in outcome.certificates:
        for estimate, value in zip(certificate.published, certificate.true_value, strict=True):
            if estimate.guaranteed is not None:
                assert estimate.guaranteed.lower <= value <= estimate.guaranteed.upper
            if estimate.guaranteed is not None and estimate.inner is not None:
                assert estimate.guaranteed.lower <= estimate.inner.lower
                assert estimate.inner.upper <= estimate.guaranteed.upper
            assert estimate.linear is not None
            if bounds == "tight":
                assert estimate.linear.lower <= value <= estimate.linear.upper
    assert [len(c.published) for c in outcome.certificates][-1] == 3
    assert [c.published[0].exact for c in outcome.certificates[:3]] == [True] * 3


def test_uncertainties_are_their_definitions(records: np.ndarray) -> None:
    outcome = run(records, BoxesRequest(5, ALL_KINDS, bounds="tight", confidence=0.9))
    field = replace(influences(ALL_KINDS, moments(records)), omega=outcome.chosen.field.omega)
    a = absolute_influences(field, records, np.ones(3))
    half = outcome.boxes.half_width[outcome.boxes.box]
    assert outcome.privacy_uncertainty == pytest.approx((a * half).sum() / len(records), rel=1e-5)
    delta = sum(o * d for c in outcome.certificates for o, d in zip(c.omega, c.delta, strict=True))
    assert outcome.privacy_uncertainty == pytest.approx(delta, rel=1e-12)
    one = run(records, BoxesRequest(5, (Statistic("mean", (1,)),), confidence=0.9))
    (omega,), deviation = one.certificates[0].omega, records[:, 1].std()
    assert one.statistical_uncertainty == pytest.approx(
        1.6448536269514722 * omega * deviation / np.sqrt(2000), rel=1e-9
    )
    assert 0.7 < omega * deviation < 1.3, "1 / sigma, winsorized and on a rung"


def test_a_mean_has_its_exact_range_as_its_linear_one(records: np.ndarray) -> None:
    outcome = run(records, BoxesRequest(5, (Statistic("mean", (0,)),)))
    (estimate,) = outcome.certificates[0].published
    share = outcome.boxes.counts / 2000
    assert estimate.linear is not None
    assert estimate.guaranteed is not None
    assert estimate.guaranteed.lower == pytest.approx(share @ outcome.boxes.lower[:, 0], rel=1e-12)
    assert estimate.linear.upper == pytest.approx(share @ outcome.boxes.upper[:, 0], rel=1e-12)


def test_asymptotic_uncertainty_of_uniform_records_is_known() -> None:
    # Means with weights 1 on the unit cube: rho = N, a = 1, so c = (k/N)^(1/n) / 2 and Delta = n c.
    x = np.random.default_rng(3).uniform(size=(30_000, 2))
    outcome = run(x, BoxesRequest(10, tuple(Statistic("mean", (i,), 1.0) for i in range(2)), bounds="tight"))
    assert outcome.asymptotic_uncertainty == pytest.approx(np.sqrt(10 / 30_000), rel=0.05)
    assert run(x[:2], BoxesRequest(1, (Statistic("mean", (0,), 1.0),))).asymptotic_uncertainty is None


def test_published_numbers_come_from_boxes_and_counts_alone(records: np.ndarray) -> None:
    # Certificates made from bounds and counts, without the records: nothing published may differ.
    first = run(records, BoxesRequest(5, ALL_KINDS, bounds="tight"))
    unlinked = replace(first.boxes, box=np.zeros(0, dtype=np.int32))
    readings = Readings(unlinked, Meaning(attained=True))
    for certificate in first.certificates:
        ranges = reading_steps(certificate.statistic, readings).finish()
        again = estimates(certificate.statistic, readings, ranges)
        assert again == certificate.published


def test_one_correlation_gets_narrower_boxes_than_mondrian(records: np.ndarray) -> None:
    statistics = (Statistic("correlation", (0, 1)),)
    ours = run(records, BoxesRequest(5, statistics, bounds="tight"))
    theirs = run(records, BoxesRequest(5, statistics, bounds="tight", partition="mondrian"))
    assert ours.privacy_uncertainty < 0.6 * theirs.privacy_uncertainty


def test_results_follow_records_under_permutation_and_scale(records: np.ndarray) -> None:
    """Scales by whole decades: rungs are ten to each, and means are rounded about 0."""
    statistics = all_moments(3)
    plain = run(records, BoxesRequest(5, statistics, bounds="tight"))
    order = np.random.default_rng(2).permutation(2000)
    mixed = run(records[order], BoxesRequest(5, statistics, bounds="tight"))
    np.testing.assert_array_equal(mixed.boxes.lower, plain.boxes.lower)
    np.testing.assert_array_equal(mixed.boxes.box, plain.boxes.box[order])
    factor = np.array([10.0, 0.1, 1000.0])
    moved = run(records * factor, BoxesRequest(5, statistics, bounds="tight"))
    np.testing.assert_array_equal(moved.boxes.box, plain.boxes.box)
    assert moved.privacy_uncertainty == pytest.approx(plain.privacy_uncertainty, rel=1e-9)
    for here, there in zip(plain.certificates[:3], moved.certificates[:3], strict=True):
        (i,) = here.statistic.of
        assert there.published[0].estimate == pytest.approx(here.published[0].estimate * factor[i], rel=1e-9)
    for here, there in zip(plain.certificates[-3:], moved.certificates[-3:], strict=True):
        assert there.published[0].guaranteed is not None
        assert here.published[0].guaranteed is not None
        assert there.published[0].guaranteed.upper == pytest.approx(here.published[0].guaranteed.upper, rel=1e-9)


def test_columns_may_come_in_any_order(records: np.ndarray) -> None:
    turned = [2, 0, 1]
    here = run(records, BoxesRequest(5, (Statistic("mean", (0,)), Statistic("correlation", (1, 2))), bounds="tight"))
    there = run(
        records[:, turned], BoxesRequest(5, (Statistic("mean", (1,)), Statistic("correlation", (2, 0))), bounds="tight")
    )
    assert there.privacy_uncertainty == pytest.approx(here.privacy_uncertainty, rel=1e-12)


def test_the_same_generator_gives_the_same_release_and_small_steps_change_nothing(
    records: np.ndarray,
) -> None:
    request = BoxesRequest(5, ALL_KINDS)
    whole = run(records, request, seed=5)
    state, rng, seen = anonymization.init(records, request), np.random.default_rng(5), []
    while not anonymization.done(state):
        seen.append(anonymization.progress(state))
        state = anonymization.step(state, rng=rng, derivatives=40_000)
    outcome = anonymization.result(state)
    np.testing.assert_array_equal(outcome.boxes.lower, whole.boxes.lower)
    assert outcome.privacy_uncertainty == pytest.approx(whole.privacy_uncertainty, rel=1e-12)
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert {stage for stage, _ in seen} == {"influence", "partition", "bounds", "uncertainty", "ranges"}
    assert anonymization.progress(state) == ("done", 1.0)


def test_one_box_leaves_a_correlation_without_an_estimate(records: np.ndarray) -> None:
    outcome = run(records, BoxesRequest(2000, (Statistic("correlation", (0, 1)), Statistic("mean", (0,)))))
    (estimate,) = outcome.certificates[0].published
    assert (estimate.estimate, estimate.linear, estimate.inner, estimate.gap) == (None, None, None, None)
    assert estimate.guaranteed is not None
    assert (estimate.guaranteed.lower, estimate.guaranteed.upper) == (-1.0, 1.0)
    assert outcome.boxes.counts.tolist() == [2000]


def test_domains_are_the_outer_bounds(records: np.ndarray) -> None:
    domains = ((-100.0, 200.0), None, (-5.0, 0.0))
    boxes = run(records, BoxesRequest(5, all_moments(3), domains=domains)).boxes
    assert (boxes.lower.min(axis=0)[0], boxes.upper.max(axis=0)[2]) == (-100.0, 0.0)
    assert boxes.outer_from_data.tolist() == [False, True, False]


def test_what_cannot_be_is_refused_at_the_door(records: np.ndarray) -> None:
    mean = (Statistic("mean", (0,)),)
    with pytest.raises(InfeasibleKError):
        anonymization.init(records, BoxesRequest(2001, mean))
    with pytest.raises(OutsideDomainError):
        anonymization.init(records, BoxesRequest(5, mean, domains=((39.0, 41.0), None, None)))
    with pytest.raises(UndefinedStatisticError):
        anonymization.init(records, BoxesRequest(5, (Statistic("mean", (3,)),)))
    for bad in (BoxesRequest(0, mean), BoxesRequest(5, ()), BoxesRequest(5, mean, confidence=1.0)):
        with pytest.raises(ValueError, match=r"must|needed"):
            anonymization.init(records, bad)
    with pytest.raises(InfeasibleKError):
        anonymization.init(records[:0], BoxesRequest(1, mean))
    with pytest.raises(ValueError, match="not finished"):
        anonymization.result(anonymization.init(records, BoxesRequest(5, mean)))


@pytest.mark.parametrize("nominal", [(), (NominalColumn(np.arange(20, dtype=np.int32) % 2, 2),)])
@pytest.mark.parametrize("differing", [0, 1])
def test_a_column_that_is_constant_but_for_a_record_is_anonymized_as_one_that_is_constant(
    nominal: tuple[NominalColumn, ...], differing: int
) -> None:
    """A refusal would tell whether that record differs; what is undefined follows from the published bounds."""
    x = np.column_stack([np.arange(20.0), np.full(20, 2.5)])
    x[:differing, 1] = 2.75
    kinds = ("variance", "standard_deviation")
    statistics = (Statistic("mean", (0,)), *(Statistic(kind, (1,)) for kind in kinds), Statistic("correlation", (0, 1)))
    statistics += (Statistic("regression", (0, 1)),)
    outcome = run(x, BoxesRequest(2, statistics, nominal=nominal))
    other = run(x[:, :1], BoxesRequest(2, statistics[:1], nominal=nominal))
    np.testing.assert_array_equal(outcome.boxes.lower[:, 0], other.boxes.lower[:, 0])
    correlation = outcome.certificates[3]
    assert (correlation.true_value == (None,)) == (differing == 0)
    for one in outcome.certificates:
        for estimate, value in zip(one.published, one.true_value, strict=True):
            if estimate.guaranteed is not None and value is not None:
                assert estimate.guaranteed.lower <= value <= estimate.guaranteed.upper


@pytest.mark.parametrize("k", [1, 7, 60])
def test_fifty_columns(k: int) -> None:
    x = np.random.default_rng(1).normal(size=(60, 50))
    outcome = run(x, BoxesRequest(k, tuple(Statistic("mean", (i,)) for i in range(50))))
    assert outcome.boxes.counts.min() >= k
