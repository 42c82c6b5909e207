"""Rare boxes dismissed or weighed: promises over the kept records, and what a release must not give away."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_core.influence import absolute_influences, influences
from surebox_core.moments import moments
from surebox_core.statistics import Statistic, all_moments
from tests.algorithms.boxes.cases import run, tables
from tests.drawing import examples
from workers.algorithms.boxes.bounds import rounded_outward
from workers.algorithms.boxes.rare import rarity
from workers.algorithms.boxes.rare.balance import weigh
from workers.algorithms.boxes.rare.dismissal import dismiss
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.state import BoxesOutcome, BoxesRequest


@pytest.fixture
def records() -> np.ndarray:
    """Two correlated columns with heavy tails, so that some boxes are rare."""
    rng = np.random.default_rng(5)
    x = rng.standard_t(3, size=(3000, 2)) @ np.array([[1.0, 0.6], [0.0, 1.0]])
    return x * np.array([10.0, 0.1]) + np.array([500.0, -3.0])


STATISTICS = (*all_moments(2), Statistic("standard_deviation", (0,)), Statistic("covariance", (0, 1)))
UNIT = (Statistic("mean", (0,), 1.0), Statistic("variance", (0,), 1.0))


def weights_of_records(outcome: BoxesOutcome) -> np.ndarray:
    weights = outcome.chosen.weights
    records = len(outcome.boxes.box)
    return np.full(records, 1.0 / records) if weights is None else weights[outcome.boxes.box]


def value_of(kind: str, part: np.ndarray, w: np.ndarray) -> float:
    """A weighted statistic by numpy."""
    mean = w @ part
    covariance = (w[:, None] * (part - mean)).T @ (part - mean)
    match kind:
        case "mean":
            return float(mean[0])
        case "variance":
            return float(covariance[0, 0])
        case "standard_deviation":
            return float(np.sqrt(covariance[0, 0]))
        case "covariance":
            return float(covariance[0, 1])
        case _:
            return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))


@settings(deadline=None, max_examples=examples(60))
@given(
    table=tables(),
    bounds=st.sampled_from(["cells", "tight"]),
    method=st.sampled_from(["optimal", "fast"]),
    rare=st.sampled_from(["suppress", "weigh"]),
)
def test_every_promise_holds_for_the_kept_records(
    table: tuple[np.ndarray, int], bounds: str, method: str, rare: str
) -> None:
    x, k = table
    statistics = tuple(Statistic(kind, (i,), 1.0) for kind in ("mean", "variance") for i in range(x.shape[1]))  # type: ignore[arg-type]
    outcome = run(x, BoxesRequest(k, statistics, partition=method, bounds=bounds, rare_records=rare))  # type: ignore[arg-type]
    boxes, rows = outcome.boxes, outcome.chosen.rows
    assert rows is not None
    kept, w = x[rows], weights_of_records(outcome)
    assert boxes.counts.min() >= k
    assert np.bincount(boxes.box, minlength=len(boxes.counts)).tolist() == boxes.counts.tolist()
    assert ((boxes.lower[boxes.box] <= kept) & (kept <= boxes.upper[boxes.box])).all()
    assert w.sum() == pytest.approx(1.0, rel=1e-12)
    assert w.min() > 0
    for certificate in outcome.certificates:
        part = kept[:, list(certificate.statistic.of)]
        value = value_of(certificate.statistic.kind, part, w)
        whole = x[:, list(certificate.statistic.of)]
        before = value_of(certificate.statistic.kind, whole, np.full(len(x), 1.0 / len(x)))
        slack = 1e-9 * (1.0 + np.abs(whole).max() ** 2)
        (published,) = certificate.published
        assert published.guaranteed is not None
        assert published.guaranteed.lower - slack <= value <= published.guaranteed.upper + slack
        assert certificate.true_value[0] == pytest.approx(value, abs=slack)
        assert certificate.shift[0] == pytest.approx(before - value, abs=slack)


@pytest.mark.parametrize("rare", ["suppress", "weigh"])
def test_all_kinds_over_kept_records_and_their_uncertainty(records: np.ndarray, rare: str) -> None:
    outcome = run(records, BoxesRequest(5, STATISTICS, rare_records=rare))  # type: ignore[arg-type]
    rows, boxes, criterion = outcome.chosen.rows, outcome.boxes, outcome.chosen.criterion
    assert rows is not None
    assert criterion is not None
    assert 500 < len(rows) < 3000, "some are rare, not all"
    kept, w = records[rows], weights_of_records(outcome)
    for certificate in outcome.certificates:
        (published,) = certificate.published
        value = value_of(certificate.statistic.kind, kept[:, list(certificate.statistic.of)], w)
        assert published.guaranteed is not None
        assert published.guaranteed.lower <= value <= published.guaranteed.upper
        assert certificate.true_value[0] == pytest.approx(value, rel=1e-9)
    omega = [one.omega[0] for one in outcome.certificates]
    fixed = [replace(one, weight=o) for one, o in zip(STATISTICS, omega, strict=True)]
    a = absolute_influences(influences(fixed, moments(kept, w)), kept, np.ones(2))
    exact = float(w @ (a * boxes.half_width[boxes.box]).sum(axis=1))
    assert outcome.privacy_uncertainty == pytest.approx(exact, rel=1e-5)
    everything = run(records, BoxesRequest(5, STATISTICS))
    assert omega == pytest.approx([one.omega[0] for one in everything.certificates]), "one unit before and after"
    assert outcome.privacy_uncertainty < everything.privacy_uncertainty
    expected = everything.statistical_uncertainty * np.sqrt(3000 * (w @ w))
    assert outcome.statistical_uncertainty == pytest.approx(expected, rel=1e-9)


def test_lambda_is_the_objective_at_published_quantities_and_below_that_of_dismissal(records: np.ndarray) -> None:
    weighed = run(records, BoxesRequest(5, STATISTICS, rare_records="weigh"))
    criterion, weights = weighed.chosen.criterion, weighed.chosen.weights
    assert criterion is not None
    assert weights is not None
    g = released_g(weighed.boxes, criterion)
    mass = weighed.boxes.counts * weights
    objective = mass @ g + criterion.statistical * np.sqrt(weighed.boxes.counts @ weights**2)
    assert weighed.chosen.optimum == pytest.approx(objective, rel=1e-9)
    crisp = dismiss(g, weighed.boxes.counts, statistical=criterion.statistical)
    assert crisp.objective * 0.5 < weighed.chosen.optimum <= crisp.objective
    dismissed = run(records, BoxesRequest(5, STATISTICS, rare_records="suppress"))
    assert dismissed.chosen.optimum is dismissed.chosen.weights is None


def released_g(boxes: Boxes, criterion: rarity.Criterion) -> np.ndarray:
    field = rarity.derivatives_at(criterion, STATISTICS)
    assert field is not None
    return rarity.box_uncertainty(field, boxes, 0, len(boxes.counts))


def test_for_a_covariance_the_kept_set_is_a_threshold_on_density_over_distances() -> None:
    """XF 10: with half-widths of the optimal shape, kept is where rho / (|x - E_x| |y - E_y|) is large."""
    rng = np.random.default_rng(8)
    centre, rho, k = rng.normal(size=(40, 2)), rng.gamma(2.0, 1.0, 40), 5.0
    a = np.abs(centre[:, ::-1])
    c = 0.5 * np.sqrt(k / rho * a.prod(axis=1))
    half = c[:, None] / a
    boxes = Boxes(
        centre - half, centre + half, np.full(40, 5), np.zeros(0, dtype=np.int32), np.zeros(2, dtype=np.bool_)
    )
    criterion = rarity.Criterion(np.zeros(2), np.ones(2), np.eye(2))
    field = rarity.derivatives_at(criterion, [Statistic("covariance", (0, 1), 1.0)])
    assert field is not None
    dismissal = dismiss(rarity.box_uncertainty(field, boxes, 0, 40), boxes.counts, statistical=10.0)
    threshold = rho / a.prod(axis=1)
    assert 0 < dismissal.kept.sum() < 40
    assert threshold[dismissal.kept].min() > threshold[~dismissal.kept].max()


def test_weights_follow_from_the_release_alone(records: np.ndarray) -> None:
    """Bounds, counts and the rounded moments give the same weights: they tell nothing beyond those."""
    outcome = run(records, BoxesRequest(5, STATISTICS, rare_records="weigh"))
    criterion = outcome.chosen.criterion
    assert criterion is not None
    public = replace(outcome.boxes, box=np.zeros(0, dtype=np.int32))
    again = weigh(released_g(public, criterion), public.counts, statistical=criterion.statistical)
    np.testing.assert_allclose(again.weights, outcome.chosen.weights, rtol=1e-9)
    assert again.optimum == pytest.approx(outcome.chosen.optimum, rel=1e-9)


def test_whoever_knows_all_records_but_one_cannot_invert_the_weights() -> None:
    """He tries every value that the box allows; all explain the release equally well. True-valued g would not."""
    x = np.sort(np.random.default_rng(4).standard_t(2, size=(200, 1)), axis=0)
    request = BoxesRequest(5, UNIT, partition="fast", domains=((-100.0, 100.0),), rare_records="weigh")
    release = run(x, request)
    assert release.chosen.rows is not None
    assert release.chosen.weights is not None
    widest = int(np.argmax(release.boxes.half_width[:, 0]))
    target = int(release.chosen.rows[release.boxes.box == widest][2])  # the middle of five: no neighbour of a cut
    guesses = np.linspace(x[target - 1, 0], x[target + 1, 0], 11)[1:-1]
    flawed, flawed_true = [], _weights_of_true_values(x, release)
    for guess in guesses:
        tried = x.copy()
        tried[target] = guess
        other = run(tried, request)
        np.testing.assert_array_equal(other.boxes.lower, release.boxes.lower)
        np.testing.assert_array_equal(other.chosen.weights, release.chosen.weights)
        assert other.chosen.optimum == release.chosen.optimum
        assert [c.published for c in other.certificates] == [c.published for c in release.certificates]
        flawed.append(np.abs(_weights_of_true_values(tried, release) - flawed_true).max())
    assert min(flawed) > 1e-6 * flawed_true.max(), "the same attack finds the value in weights made from true values"


def _weights_of_true_values(x: np.ndarray, release: BoxesOutcome) -> np.ndarray:
    """What must not be published: g with a_i averaged over the records of each box."""
    assert release.chosen.rows is not None
    assert release.chosen.criterion is not None
    a = 1.0 + 2.0 * np.abs(x[release.chosen.rows, 0] - x.mean())
    boxes = release.boxes
    mean = np.bincount(boxes.box, weights=a) / boxes.counts
    return weigh(mean * boxes.half_width[:, 0], boxes.counts, statistical=release.chosen.criterion.statistical).weights


@pytest.mark.parametrize("rare", ["suppress", "weigh"])
def test_numbers_of_boxes_do_not_tell_that_some_are_missing(records: np.ndarray, rare: str) -> None:
    domains = ((-1e4, 1e4), (-100.0, 100.0))
    outcome = run(records, BoxesRequest(5, STATISTICS, rare_records=rare, domains=domains))  # type: ignore[arg-type]
    assert np.unique(outcome.boxes.box).tolist() == list(range(len(outcome.boxes.counts)))
    np.testing.assert_array_equal(np.lexsort(outcome.boxes.lower.T[::-1]), np.arange(len(outcome.boxes.counts)))
    everything = run(records, BoxesRequest(5, STATISTICS, domains=domains))
    whole = {tuple(row) for row in np.column_stack([everything.boxes.lower, everything.boxes.upper])}
    part = {tuple(row) for row in np.column_stack([outcome.boxes.lower, outcome.boxes.upper])}
    assert part < whole, "boxes are left out as a whole; the others stay as they are"


@pytest.mark.parametrize("rare", ["suppress", "weigh"])
def test_bounds_and_moments_do_not_tell_how_far_a_left_out_record_is(rare: str) -> None:
    """They did, to two digits: outer bounds were all records', moments all boxes'."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(600, 1))
    x[1:5] = np.array([[20.0], [19.0], [-18.0], [18.5]])
    for far in (900.0, 1.23e6):
        x[0] = far
        outcome = run(x, BoxesRequest(3, UNIT, partition="fast", rare_records=rare))  # type: ignore[arg-type]
        assert outcome.chosen.rows is not None
        assert 0 not in outcome.chosen.rows
        kept = x[outcome.chosen.rows]
        low, high = rounded_outward(float(kept.min()), float(kept.max()))
        assert low <= outcome.boxes.lower.min() < outcome.boxes.upper.max() <= high
        criterion = outcome.chosen.criterion
        assert criterion is not None
        assert criterion.deviation[0] == pytest.approx(1.4, abs=0.5), "that of the others"
        assert abs(criterion.mean[0]) < 0.2


def test_published_moments_have_two_digits_and_belong_to_some_data(records: np.ndarray) -> None:
    criterion = run(records, BoxesRequest(5, STATISTICS, rare_records="weigh")).chosen.criterion
    assert criterion is not None
    for value in (*criterion.deviation, criterion.statistical):
        assert value == float(f"{value:.1e}")
    assert criterion.mean[0] == pytest.approx(500.0, abs=10.0)
    assert criterion.mean[0] == round(criterion.mean[0])
    x = np.linspace(0.0, 1.0, 400)
    alike = np.column_stack([x, x + 1e-9 * x**2, -x, np.full(400, 7.0)])
    boxes = Boxes(alike, alike, np.full(400, 2), np.zeros(0, dtype=np.int32), np.zeros(4, dtype=np.bool_))
    rounded = rarity.rounded_moments(boxes)
    assert np.linalg.eigvalsh(rounded.correlation)[0] >= 0.01 - 1e-12
    assert (rounded.deviation[3], rounded.mean[3]) == (0.0, 7.0)


def test_a_regression_is_judged_too_and_small_steps_change_nothing(records: np.ndarray) -> None:
    request = BoxesRequest(5, (Statistic("regression", (0, 1)), Statistic("mean", (0,))), rare_records="weigh")
    whole = run(records, request, seed=3)
    assert len(whole.certificates[0].true_value) == len(whole.certificates[0].shift) == 2
    parts = run(records, request, seed=3, derivatives=2_000)
    np.testing.assert_array_equal(parts.boxes.lower, whole.boxes.lower)
    np.testing.assert_allclose(parts.chosen.weights, whole.chosen.weights, rtol=1e-9)


@pytest.mark.parametrize("rare", ["suppress", "weigh"])
def test_one_box_is_kept(records: np.ndarray, rare: str) -> None:
    outcome = run(records, BoxesRequest(3000, all_moments(2), rare_records=rare))  # type: ignore[arg-type]
    assert outcome.boxes.counts.tolist() == [3000]
    assert [one.shift[0] for one in outcome.certificates] == pytest.approx([0.0] * 5, abs=1e-9)
    nothing = (Statistic("mean", (0,), 0.0),)
    outcome = run(records, BoxesRequest(5, nothing, rare_records=rare))  # type: ignore[arg-type]
    assert outcome.boxes.counts.sum() == 3000, "where nothing matters nothing is rare"


def test_a_column_that_dismissal_leaves_constant_has_no_correlation_and_is_told_so() -> None:
    """Nearly all records have y = 0; the few others are far apart, hence rare."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=2000), np.zeros(2000)])
    x[:18, 1] = 10.0 ** np.linspace(6, 8, 18)
    statistics = (Statistic("mean", (0,)), Statistic("mean", (1,)), Statistic("correlation", (0, 1)))
    outcome = run(x, BoxesRequest(3, statistics, rare_records="suppress", bounds="tight"))
    assert outcome.chosen.rows is not None
    assert not np.any(x[outcome.chosen.rows, 1])
    mean, correlation = outcome.certificates[1:]
    assert (mean.true_value, mean.shift) == ((0.0,), (pytest.approx(x[:, 1].mean()),))
    assert correlation.true_value == correlation.shift == correlation.delta == (None,)
    assert correlation.published[0].estimate is None
    only = run(x, BoxesRequest(3, statistics[2:], rare_records="suppress", bounds="tight")).certificates[0]
    assert len(only.true_value) == len(only.published) == 1
