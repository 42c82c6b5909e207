"""The point of a hull nearest to the origin: its own conditions prove it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_verify.ranges.separation import nearest_to_origin
from tests.drawing import examples


@settings(deadline=None, max_examples=examples(300))
@given(
    st.integers(0, 2**32),
    st.integers(1, 60),
    st.integers(1, 7),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.sampled_from([1.0, 1e-6, 1e6]),
)
def test_no_direction_has_a_much_wider_margin(seed: int, count: int, n: int, shift: float, unit: float) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit * (rng.normal(size=(count, n)) + shift * rng.normal(size=n))
    nearest = nearest_to_origin(vectors)
    longest = np.sqrt((vectors**2).sum(axis=1).max())
    assert nearest.weights.min() >= 0.0
    assert nearest.weights.sum() == pytest.approx(1.0)
    assert nearest.weights @ vectors == pytest.approx(nearest.point, abs=1e-8 * longest)
    # for every x of the hull |x| is at least the least p_j x / |x|, so the margin cannot exceed |point|
    assert (vectors @ nearest.point).min() >= 0.9 * nearest.point @ nearest.point


def test_vectors_about_the_origin_hold_each_other() -> None:
    corners = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8], [3.0, 3.0]])
    nearest = nearest_to_origin(corners)
    assert not nearest.point.any()
    assert nearest.weights == pytest.approx([0.5 / 1.5, 0.5 / 1.5, 0.5 / 1.5, 0.0], abs=1e-9)


def test_equal_and_opposite_vectors() -> None:
    same = np.ones((5, 3))
    assert nearest_to_origin(same).point == pytest.approx([1.0, 1.0, 1.0])
    assert not nearest_to_origin(np.vstack([same, -same])).point.any()
    assert not nearest_to_origin(np.zeros((2, 3))).point.any()
