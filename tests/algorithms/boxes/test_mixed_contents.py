"""Means inside boxes against all that records of tiny tables and boxes may be."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from tests.algorithms.boxes.mixed_completions import check_completions, tiny
from workers.algorithms.boxes.content import Drawn, mean_intervals
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.sides import Boxes

SECRETS = 400  # boxes apart from each other have divisions that do not depend on one another


def left_over_secrets(record: float, others: tuple[float, ...], width: float, step: float | None) -> np.ndarray:
    """Part of a box that is left of a record to whoever knows the others, in many equal boxes at other places."""
    c, at = len(others) + 1, 64.0 * np.arange(SECRETS)
    x = (at[:, None] + np.array([record, *others])).reshape(-1, 1)
    box = np.repeat(np.arange(SECRETS, dtype=np.int32), c)
    boxes = Boxes(at[:, None], at[:, None] + width, np.full(SECRETS, c), box, np.zeros(1, dtype=bool))
    keys = new_keys(1, np.random.default_rng(5))
    intervals = mean_intervals(x, boxes, keys, box_means="rounded", steps=(step,), attained=False)
    low, high = (c * (ends[:, 0] - at) - sum(others) for ends in (intervals.lower, intervals.upper))
    low, high = np.fmax(low, 0.0), np.fmin(high, width)
    return (high - low) / width if step is None else (np.floor(high + 1e-6) - np.ceil(low - 1e-6) + 1.0) / (width + 1.0)


@pytest.mark.parametrize("c", [2, 3, 5])
def test_over_secrets_whoever_knows_the_others_is_left_with_half_of_any_box_whatever_it_holds(c: int) -> None:
    """Which half is a matter of the secret: 400 of them are within 0.04 of all."""
    for width in (1.0, 2.0, 3.0):
        values = np.arange(width + 1.0)
        for others in combinations_with_replacement(values.tolist(), c - 1):
            for record in values.tolist():
                assert left_over_secrets(record, others, width, 1.0).mean() >= 0.71, (record, others)
    for others in combinations_with_replacement((0.0, 0.3, 1.0), c - 1):
        for record in (0.0, 0.1, 0.5, 1.0):
            assert left_over_secrets(record, others, 1.0, None).mean() >= 0.46, (record, others)


def test_a_bound_that_moved_does_not_make_a_mean_say_all_values() -> None:
    """Two of five records have one of the two greatest values: the sum is 2 at least, and is never told to be that."""
    records, at = np.array([0.0, 0.0, 0.0, 1.0, 1.0]), 8.0 * np.arange(SECRETS)
    box = np.repeat(np.arange(SECRETS, dtype=np.int32), 5)
    boxes = Boxes(at[:, None], at[:, None] + 2.0, np.full(SECRETS, 5), box, np.zeros(1, dtype=bool))
    keys = new_keys(1, np.random.default_rng(6))
    least: dict[bool, int] = {}
    for drawn in (None, Drawn((2.0,), (2,))):
        intervals = mean_intervals(
            (at[:, None] + records).reshape(-1, 1),
            boxes,
            keys,
            box_means="rounded",
            steps=(1.0,),
            attained=False,
            drawn=drawn,
        )
        most = np.floor(5.0 * (intervals.upper[:, 0] - at) + 1e-6)
        least[drawn is None] = int(np.nanmin(most))
    assert least == {True: 2, False: 3}


@pytest.mark.parametrize("part", range(2))
def test_certain_ranges_hold_for_all_data_that_fit_boxes_and_means(part: int) -> None:
    """benchmarks/attack_boxes.py goes through many more."""
    compared = [check_completions(tiny(seed)) for seed in range(12 * part, 12 * part + 12)]
    assert sum(number > 1 for number in compared) > 7
