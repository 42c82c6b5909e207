import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.groups.swapping import METRIC, records, slow_influence
from tests.drawing import examples
from workers.algorithms.groups.swaps.metric import Metric, encode, influence, nearest

VALUE = st.integers(-4, 6).map(float)
RECORD = st.tuples(st.integers(0, 2), st.integers(0, 2), VALUE, VALUE)


@given(st.lists(RECORD, min_size=1, max_size=5), st.lists(RECORD, min_size=1, max_size=5))
@settings(max_examples=examples(60), deadline=None)
def test_it_is_the_definition_symmetric_and_zero_for_equal_records(
    left: list[tuple[int, int, float, float]], right: list[tuple[int, int, float, float]]
) -> None:
    one, other = np.array(left, dtype=np.float64), np.array(right, dtype=np.float64)
    influences = influence(METRIC, one, other)
    np.testing.assert_allclose(influences, [[slow_influence(x, y) for y in other] for x in one], atol=1e-14)
    np.testing.assert_allclose(influence(METRIC, other, one), influences.T, atol=0)
    assert np.all(np.diag(influence(METRIC, one, one)) == 0.0)
    assert np.all(influences <= METRIC.largest + 1e-12)


def test_zeros_do_not_differ_and_opposite_incomes_differ_most() -> None:
    metric = Metric(ordinal=(2.0,), categorical=())
    values = encode(metric, np.array([[0.0], [5.0], [-5.0], [15.0]]), np.empty((4, 0), dtype=np.int64))
    influences = influence(metric, values, values)
    assert influences[0, 0] == 0.0  # 0/0
    assert influences[0, 1] == 2.0
    assert influences[1, 2] == 2.0
    assert influences[1, 3] == pytest.approx(2.0 * (10 / 20) ** 2)


def test_scaling_an_ordinal_attribute_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    _, values = records(rng, [30])
    scaled = values.copy()
    scaled[:, 3] *= 1000.0
    np.testing.assert_allclose(influence(METRIC, scaled, scaled), influence(METRIC, values, values), atol=1e-12)


@pytest.mark.parametrize("count", [1, 3, 50])
def test_nearest_are_those_of_a_full_sort(count: int) -> None:
    rng = np.random.default_rng(count)
    _, left = records(rng, [7])
    _, right = records(rng, [40])
    start = np.array([0, 5, 5, 30, 40])
    distance, index = nearest(METRIC, left, right, start, count)
    everything = influence(METRIC, left, right)
    for i in range(len(left)):
        for g in range(4):
            part = everything[i, start[g] : start[g + 1]]
            order = np.argsort(part, kind="stable")[:count]
            np.testing.assert_array_equal(index[i, g, : len(order)], order + start[g])
            np.testing.assert_allclose(distance[i, g, : len(order)], part[order], atol=1e-14)
            assert np.all(index[i, g, len(order) :] == -1)
            assert np.all(np.isinf(distance[i, g, len(order) :]))


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        (Metric((-1.0,), (1.0,)), "at least 0"),
        (Metric((np.nan,), (1.0,)), "finite"),
        (Metric((0.0,), (0.0,)), "positive"),
        (Metric((1.0, 1.0), (1.0,)), "2 ordinal and 1 categorical"),
    ],
)
def test_weights_that_measure_nothing_are_refused(metric: Metric, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        encode(metric, np.ones((2, 1)), np.ones((2, 1), dtype=np.int64))


def test_missing_ordinal_values_are_refused() -> None:
    metric = Metric((1.0,), ())
    with pytest.raises(ValueError, match="missing or infinite"):
        encode(metric, np.array([[np.nan]]), np.empty((1, 0), dtype=np.int64))
    with pytest.raises(ValueError, match="row per record"):
        encode(metric, np.ones((2, 1)), np.empty((1, 0), dtype=np.int64))
