"""The crisp optimum against all subsets of boxes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.algorithms.boxes.rare.dismissal import dismiss

boxes = st.lists(
    st.tuples(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 10)), st.integers(1, 9)), min_size=1, max_size=9
)


def cheapest_subset(g: np.ndarray, counts: np.ndarray, statistical: float) -> float:
    """The least objective over every subset of whole boxes, one at a time."""
    best = np.inf
    for size in range(1, len(g) + 1):
        for chosen in combinations(range(len(g)), size):
            picked = list(chosen)
            records = counts[picked].sum()
            best = min(best, (g[picked] * counts[picked]).sum() / records + statistical / np.sqrt(records))
    return best


@given(boxes, st.floats(0, 50))
def test_no_subset_of_boxes_is_cheaper(parts: list[tuple[float, int]], statistical: float) -> None:
    g = np.array([value for value, _ in parts])
    counts = np.array([count for _, count in parts])
    dismissal = dismiss(g, counts, statistical=statistical)
    assert dismissal.objective == pytest.approx(cheapest_subset(g, counts, statistical), rel=1e-9, abs=1e-12)
    assert dismissal.records == counts[dismissal.kept].sum() >= 1
    objective = (g * counts)[dismissal.kept].sum() / dismissal.records + statistical / np.sqrt(dismissal.records)
    assert dismissal.objective == pytest.approx(objective, rel=1e-9, abs=1e-12)


def test_for_one_mean_the_kept_set_is_a_threshold_on_density() -> None:
    """XF 10: with n = 1 and a = 1, g = k / (2 rho)."""
    density = np.array([9.0, 1.0, 4.0, 0.01, 2.0])
    dismissal = dismiss(5 / (2 * density), np.full(5, 5), statistical=1.0)
    assert density[dismissal.kept].min() > density[~dismissal.kept].max()
    assert not dismissal.kept[3]


def test_without_statistical_uncertainty_only_the_narrowest_boxes_stay() -> None:
    dismissal = dismiss(np.array([2.0, 1.0, 1.0, 3.0]), np.array([5, 5, 6, 5]), statistical=0.0)
    assert dismissal.kept.tolist() == [False, True, True, False]


def test_large_statistical_uncertainty_keeps_all() -> None:
    assert dismiss(np.array([2.0, 1.0, 9.0]), np.array([5, 5, 6]), statistical=1e9).kept.all()


@pytest.mark.parametrize(
    ("g", "counts", "statistical"),
    [
        ([], [], 1.0),
        ([1.0], [0], 1.0),
        ([np.inf], [5], 1.0),
        ([-1.0], [5], 1.0),
        ([1.0], [5], np.nan),
        ([1.0], [5, 5], 1),
    ],
)
def test_nonsense_is_refused(g: list[float], counts: list[int], statistical: float) -> None:
    with pytest.raises(ValueError, match="must"):
        dismiss(np.array(g, dtype=float), np.array(counts, dtype=int), statistical=statistical)
