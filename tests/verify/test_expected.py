"""Where records are expected in their boxes: within them, whatever the scales."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_verify.expected import distribution, expected_values
from tests.drawing import examples

MAGNITUDES = st.integers(-40, 40)


@settings(deadline=None, max_examples=examples(500))
@given(
    boxes=st.lists(
        st.tuples(st.floats(-10, 10), MAGNITUDES, st.floats(0, 10), MAGNITUDES, st.integers(-12, 0)),
        min_size=1,
        max_size=12,
    )
)
def test_expected_values_lie_within_their_boxes(boxes: list[tuple[float, int, float, int, int]]) -> None:
    """Boxes a million million times narrower than others, or holding as much less, are no trouble to sums."""
    given = np.array(boxes)
    lower = given[:, 0] * 10.0 ** given[:, 1]
    upper = lower + given[:, 2] * 10.0 ** given[:, 3]
    mass = 10.0 ** given[:, 4]
    expected = expected_values(lower, upper, mass)
    assert ((lower <= expected.mean) & (expected.mean <= upper)).all()
    assert (expected.variance >= 0).all()
    assert (np.sqrt(expected.variance) <= (upper - lower) * 0.5000001).all(), "no more than half at either end"
    whole = distribution(lower, upper, mass)
    assert whole is None or (np.isfinite(whole.below).all() and (np.diff(whole.below) >= 0).all())


def test_narrow_boxes_tell_where_records_of_wide_ones_are() -> None:
    """Nine in ten records are in [0, 1]; a box of [0, 100] holds its others in the same proportion, in the end."""
    lower, upper = np.array([0.0, 99.0, 0.0]), np.array([1.0, 100.0, 100.0])
    expected = expected_values(lower, upper, np.array([9.0, 1.0, 1e-9]))
    assert abs(expected.mean[2] - (0.9 * 0.5 + 0.1 * 99.5)) < 0.05
