import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from workers.algorithms.groups.swaps.regional import regional_changes


@given(st.integers(0, 10**6), st.integers(0, 6))
@settings(max_examples=examples(60), deadline=None)
def test_changes_are_those_of_statistics_computed_twice(seed: int, swaps: int) -> None:
    rng = np.random.default_rng(seed)
    before = np.repeat(np.arange(4), [6, 5, 7, 4])
    values = np.column_stack([rng.integers(0, 3, 22), rng.integers(-4, 5, 22), np.full(22, 3)]).astype(float)
    pairs = rng.permutation(22)[: 2 * swaps].reshape(2, swaps)
    after = before.copy()
    after[pairs[0]], after[pairs[1]] = before[pairs[1]], before[pairs[0]]
    shares, means, constant = regional_changes(values, 1, before, after, pairs.ravel(), 4)

    touched = sorted({*before[pairs.ravel()].tolist()})
    far = [
        sum(abs(np.mean(values[after == k, 0] == c) - np.mean(values[before == k, 0] == c)) for c in range(3)) / 2
        for k in range(4)
    ]
    assert shares.largest_change == pytest.approx(max(far))
    assert far[shares.region_index] == pytest.approx(max(far))
    assert shares.median_change == pytest.approx(np.median([far[k] for k in touched]) if touched else 0.0)
    assert shares.mean_before is None

    old, new = ([values[codes == k, 1].mean() for k in range(4)] for codes in (before, after))
    gap = [abs(b - a) / values[:, 1].std() for a, b in zip(old, new, strict=True)]
    assert means.largest_change == pytest.approx(max(gap))
    assert (means.mean_before, means.mean_after) == pytest.approx((old[means.region_index], new[means.region_index]))
    assert means.median_change == pytest.approx(np.median([gap[k] for k in touched]) if touched else 0.0)
    assert (constant.largest_change, constant.median_change) == (0.0, 0.0)


def test_what_is_no_swap_is_refused() -> None:
    before = np.array([0, 0, 1])
    with pytest.raises(ValueError, match="size"):
        regional_changes(np.zeros((3, 1)), 0, before, np.array([0, 1, 1]), np.array([1]), 2)
