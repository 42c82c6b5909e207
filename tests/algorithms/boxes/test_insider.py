"""The part of a box that its mean leaves to an insider, against trying every value."""

from dataclasses import replace

import numpy as np
import pytest

from surebox_core.statistics import all_moments
from tests.algorithms.boxes.cases import run
from workers.algorithms.boxes.insider import left_to_insider
from workers.algorithms.boxes.sides import Boxes, NumericColumn
from workers.algorithms.boxes.state import BoxesRequest

LEAST_LEFT = 0.5


def one_box(values: list[float], side: tuple[float, float], mean: tuple[float, float]) -> tuple[np.ndarray, Boxes]:
    x = np.array(values)[:, None]
    low, high, least, most = (np.array([[end]]) for end in (*side, *mean))
    box, counts = np.zeros(len(x), np.int32), np.array([len(x)])
    return x, Boxes(low, high, counts, means=(least, most), box=box, outer_from_data=np.array([True]))


def left_by_trial(x: np.ndarray, boxes: Boxes, step: float) -> float:
    """Put every value of its box in the place of each record, and count those whose sum is within the interval."""
    shares = []
    assert boxes.means is not None
    for p, box in enumerate(boxes.box):
        low, high, c = boxes.lower[box, 0], boxes.upper[box, 0], int(boxes.counts[box])
        if high <= low:
            continue
        others = sum(x[q, 0] for q in range(len(x)) if boxes.box[q] == box and q != p)
        possible = np.arange(round(low / step), round(high / step) + 1) * step
        least, most = boxes.means[0][box, 0], boxes.means[1][box, 0]
        fits = np.isnan(least) | ((others + possible >= c * least - 1e-6) & (others + possible <= c * most + 1e-6))
        shares.append(np.broadcast_to(fits, possible.shape).mean())
    return float(np.mean(shares))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("step", [1.0, 0.5, 10.0])
def test_of_whole_steps_the_share_is_that_of_the_values_that_still_fit(seed: int, step: float) -> None:
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.integers(0, 30, 120) * step, rng.normal(size=120)])
    columns = (NumericColumn(step=step), NumericColumn())
    boxes = run(x, BoxesRequest(5, all_moments(2), columns=columns, box_means="rounded")).boxes
    assert boxes.means is not None
    assert not np.isnan(boxes.means[0]).all()
    shares = left_to_insider(x, boxes, (step, None), attained=False)
    assert shares[0] == pytest.approx(left_by_trial(x, boxes, step), abs=1e-12)
    assert all(share is not None and LEAST_LEFT <= share < 1.0 for share in shares)


def test_of_real_numbers_it_is_the_length_between_both_differences() -> None:
    # sums between 8 and 12: of 1, 4, 2 and 3 the others sum to 9, 6, 8 and 7, so 3, 4 (of 2 to 6, at most 5), 4 and 4
    x, boxes = one_box([1.0, 4.0, 2.0, 3.0], (0.0, 5.0), (2.0, 3.0))
    left = [3.0 - 0.0, 5.0 - 2.0, 4.0 - 0.0, 5.0 - 1.0]
    assert left_to_insider(x, boxes, (None,), attained=False) == (pytest.approx(np.mean(left) / 5.0),)


def test_without_means_all_of_the_box_is_left_and_without_width_nothing_was_open() -> None:
    x, boxes = one_box([1.0, 4.0, 2.0], (0.0, 5.0), (np.nan, np.nan))
    assert left_to_insider(x, boxes, (None,), attained=False) == (1.0,)
    assert left_to_insider(x, replace(boxes, means=None), (1.0,), attained=False) == (1.0,)
    x, boxes = one_box([2.0, 2.0], (2.0, 2.0), (2.0, 2.0))
    assert left_to_insider(x, boxes, (1.0,), attained=False) == (None,)


def test_an_end_that_is_attained_and_that_nobody_else_has_was_never_open() -> None:
    # tight: who knows 3, 3 and 5 has 1 from the bounds, and who knows 1, 3 and 3 has 5; of either 3 the sum leaves all
    x, boxes = one_box([1.0, 3.0, 3.0, 5.0], (1.0, 5.0), (1.0, 5.0))
    assert left_to_insider(x, boxes, (1.0,), attained=True) == (1.0,)
    x, boxes = one_box([1.0, 5.0], (1.0, 5.0), (3.0, 3.0))
    assert left_to_insider(x, boxes, (1.0,), attained=True) == (None,)
