"""Weights that count how far they shift the statistics: against a convex solver, and what a release tells."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from surebox_core.statistics import Statistic
from tests.algorithms.boxes.cases import run
from tests.drawing import examples
from workers.algorithms.boxes.rare import rarity
from workers.algorithms.boxes.rare.balance import balanced, prices, upward, weigh_any, without_weight
from workers.algorithms.boxes.rare.choice import weighed as choose_weights
from workers.algorithms.boxes.rare.choice import with_prices
from workers.algorithms.boxes.state import BoxesOutcome, BoxesRequest

Table = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def table(seed: int, boxes: int, components: int) -> Table:
    """g, influences that are 0 on average, omega and counts."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, boxes)
    influence = rng.standard_t(3, (boxes, components))
    influence -= counts @ influence / counts.sum()
    return rng.gamma(1.0, 1.0, boxes), influence, rng.uniform(0.0, 2.0, components), counts


def objective(weights: np.ndarray, given: Table, statistical: float) -> float:
    """J by its definition."""
    g, influence, omega, counts = given
    shift = (counts * weights) @ influence
    return float(counts @ (weights * g) + statistical * np.sqrt(counts @ weights**2) + omega @ np.abs(shift))


@settings(deadline=None, max_examples=examples(60))
@example(seed=4313655, boxes=7, components=4, statistical=9.0)  # where a quasi-Newton search alone ends too early
@given(
    seed=st.integers(0, 2**32 - 1),
    boxes=st.integers(1, 60),
    components=st.integers(0, 6),
    statistical=st.floats(0.1, 90.0),
)
def test_no_weights_have_a_smaller_objective(seed: int, boxes: int, components: int, statistical: float) -> None:
    """lambda at any prices bounds the objective of all weights from below: where the two meet it is the least."""
    given_table = table(seed, boxes, components)
    g, influence, omega, counts = given_table
    multipliers = prices(g, influence, omega, counts, statistical=statistical)
    assert (np.abs(multipliers) <= omega).all()
    weights = weigh_any(g + influence @ multipliers, counts, statistical=statistical)
    reached = objective(weights.weights, given_table, statistical)
    assert weights.optimum <= reached * (1 + 1e-9)
    assert reached == pytest.approx(weights.optimum, rel=1e-4)


@pytest.mark.parametrize(("boxes", "components"), [(200, 150), (2000, 300)])
def test_many_statistics_are_balanced_too(boxes: int, components: int) -> None:
    """Where a quasi-Newton search alone ends far from the least."""
    given_table = table(1, boxes, components)
    g, influence, omega, counts = given_table
    multipliers = prices(g, influence, omega, counts, statistical=5.0)
    weights = weigh_any(g + influence @ multipliers, counts, statistical=5.0)
    assert objective(weights.weights, given_table, 5.0) == pytest.approx(weights.optimum, rel=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_a_general_solver_finds_no_better_weights(seed: int) -> None:
    """min J as a smooth problem: t_c at least the shift of c, and at least less it."""
    given_table = table(seed, 9, 3)
    g, influence, omega, counts = given_table
    statistical = float(np.random.default_rng(seed).uniform(0.5, 9.0))
    weighed = counts[:, None] * influence

    def smooth(v: np.ndarray) -> float:
        return float(counts @ (v[:9] * g) + statistical * np.sqrt(counts @ v[:9] ** 2) + omega @ v[9:])

    start = np.concatenate([np.full(9, 1.0 / counts.sum()), np.full(3, 1e-6)])
    solved = minimize(
        smooth,
        start,
        bounds=[(0, None)] * 12,
        constraints=[
            {"type": "eq", "fun": lambda v: counts @ v[:9] - 1},
            {"type": "ineq", "fun": lambda v: v[9:] - v[:9] @ weighed},
            {"type": "ineq", "fun": lambda v: v[9:] + v[:9] @ weighed},
        ],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 2000},
    )
    multipliers = prices(g, influence, omega, counts, statistical=statistical)
    weights = weigh_any(g + influence @ multipliers, counts, statistical=statistical).weights
    assert objective(weights, given_table, statistical) <= objective(solved.x[:9], given_table, statistical) * (
        1 + 1e-5
    )


@pytest.mark.parametrize("at_most", [0.0, 0.02, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_few_enough_records_have_no_weight_and_a_smaller_a_would_leave_more(seed: int, at_most: float) -> None:
    g, influence, omega, counts = table(seed, 200, 4)
    own = 3.0
    multipliers, statistical = balanced(g, influence, omega, counts, statistical=own, at_most=at_most)
    cost, allowed = g + influence @ multipliers, at_most * counts.sum()
    assert without_weight(cost, counts, statistical) <= allowed
    assert statistical >= own
    if statistical > own:
        assert without_weight(cost, counts, statistical / 1.3) > allowed


def test_boxes_without_any_difference_are_weighed_alike() -> None:
    multipliers, statistical = balanced(
        np.full(3, 2.0), np.zeros((3, 2)), np.ones(2), np.array([5, 5, 6]), statistical=0.0, at_most=0.0
    )
    assert multipliers.tolist() == [0.0, 0.0]
    assert without_weight(np.full(3, 2.0), np.array([5, 5, 6]), statistical) == 0.0


@given(st.floats(1e-300, 1e300))
def test_two_digits_are_rounded_upward(value: float) -> None:
    assert value <= upward(value) <= value * 1.1
    assert upward(value) == float(f"{upward(value):.1e}")


MEANS = tuple(Statistic("mean", (i,)) for i in range(2))


def skewed(rows: int = 3000) -> np.ndarray:
    rng = np.random.default_rng(4)
    return np.column_stack([rng.normal(40.0, 12.0, rows), rng.lognormal(0.0, 1.5, rows)])


def weighed(x: np.ndarray, objective: str, **options: object) -> BoxesOutcome:
    return run(x, BoxesRequest(5, MEANS, rare_records="weigh", objective=objective, **options))  # type: ignore[arg-type]


def test_with_the_shift_most_records_stay_and_the_range_holds_the_value_of_all() -> None:
    x = skewed()
    paper, shifted = weighed(x, "paper"), weighed(x, "bias_aware")
    assert paper.chosen.rows is not None
    assert shifted.chosen.rows is not None
    assert len(paper.chosen.rows) < 0.8 * len(x)
    assert 0.95 * len(x) <= len(shifted.chosen.rows) < len(x)
    for i, (one, other) in enumerate(zip(paper.certificates, shifted.certificates, strict=True)):
        assert other.published[0].guaranteed is not None
        assert one.published[0].guaranteed is not None
        assert other.published[0].guaranteed.lower <= x[:, i].mean() <= other.published[0].guaranteed.upper
        # a true shift has the outermost values in it, which weights do not see
        assert abs(other.shift[0] or 0.0) < 0.6 * abs(one.shift[0] or 0.0)
    assert not one.published[0].guaranteed.lower <= x[:, 1].mean() <= one.published[0].guaranteed.upper


@pytest.mark.parametrize("at_most", [0.0, 0.01, 0.2])
def test_no_more_records_go_than_may(at_most: float) -> None:
    """Also after the outer bounds of those that stay have shrunk and these are weighed again."""
    x = skewed()
    rows = weighed(x, "bias_aware", max_suppressed=at_most).chosen.rows
    assert rows is not None
    assert len(rows) >= (1.0 - at_most) * len(x)


def test_weights_follow_from_what_is_published() -> None:
    """Boxes, rounded moments, A and prices: of means g = sum omega D, IF = z; w = max(K (lambda - g - u IF), 0)."""
    outcome = weighed(skewed(), "bias_aware", domains=((-20.0, 120.0), (0.0, 1000.0)))
    boxes, criterion = outcome.boxes, outcome.chosen.criterion
    assert criterion is not None
    assert criterion.prices is not None
    omega = 1.0 / criterion.deviation
    half, centre = 0.5 * (boxes.upper - boxes.lower), 0.5 * (boxes.lower + boxes.upper)
    within = np.clip(centre, criterion.mean - 10 * criterion.deviation, criterion.mean + 10 * criterion.deviation)
    cost = half @ omega + within @ criterion.prices
    low, high = cost.min(), cost.max() + 10.0 * criterion.statistical
    for _ in range(200):  # lambda, at which sqrt(sum c (lambda - cost)^2) is A
        root = 0.5 * (low + high)
        spread = np.sqrt(boxes.counts @ np.maximum(root - cost, 0.0) ** 2)
        low, high = (root, high) if spread < criterion.statistical else (low, root)
    expected = np.maximum(root - cost, 0.0)
    np.testing.assert_allclose(outcome.chosen.weights, expected / (boxes.counts @ expected), rtol=1e-6)


def test_a_box_that_is_left_out_leaves_no_trace_however_far_it_reaches() -> None:
    """Neither in the weights of the others nor in what these follow from, as long as its record is beyond the k-th."""
    x = skewed()
    x[:5, 1] = 3_000.0, 2_000.0, 1_900.0, 1_800.0, 1_700.0
    boxes = run(x, BoxesRequest(5, MEANS)).boxes
    far = int(boxes.box[0])
    choices = []
    for end in (3_000.0, 900_000.0):
        reaching = replace(boxes, upper=boxes.upper.copy())
        reaching.upper[far, 1] = end
        x[0, 1] = end
        points = rarity.middles(reaching, x, 5)
        criterion = rarity.rounded_moments(points)
        field = rarity.derivatives_at(criterion, MEANS)
        assert field is not None
        sums = rarity.influence_sums(field, points, 0, len(boxes.counts))
        criterion = rarity.with_statistical(criterion, field, sums, 0.95)
        g = rarity.box_uncertainty(field, reaching, 0, len(boxes.counts))
        criterion = with_prices(criterion, field, g, reaching, points, 0.05)
        choice = choose_weights(g, reaching, criterion, field, 0.05 * len(x))
        assert not choice.kept[far]
        assert choice.weights is not None
        choices.append((choice.weights, criterion.mean, criterion.deviation, criterion.statistical, criterion.prices))
    for one, other in zip(*choices, strict=True):
        np.testing.assert_array_equal(one, other)
