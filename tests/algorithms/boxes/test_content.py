"""Means inside boxes: they hold, they follow from box and secret alone, and what they leave to who knows the others."""

import gzip
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from surebox_core.statistics import Statistic
from tests.algorithms.boxes.cases import run
from workers.algorithms.boxes.content import BoxMeans, MeanIntervals, box_means_fault, mean_intervals
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.state import BoxesRequest

KEYS = new_keys(3, np.random.default_rng(11))


def boxed(x: np.ndarray, k: int = 5, bounds: str = "cells") -> Boxes:
    statistics = tuple(Statistic("mean", (i,), 1.0) for i in range(x.shape[1]))
    boxes = run(x, BoxesRequest(k, statistics, "fast", bounds, keys=KEYS[: x.shape[1]])).boxes  # type: ignore[arg-type]
    if bounds == "cells" and (x == np.rint(x)).all():  # whole numbers are published as such
        low, high = np.ceil(boxes.lower), np.ceil(boxes.upper) - 1.0
        high = np.maximum(np.where(boxes.upper == boxes.upper.max(axis=0), np.floor(boxes.upper), high), low)
        return Boxes(low, high, boxes.counts, boxes.box, boxes.outer_from_data)
    return boxes


def left_to_the_last(x: np.ndarray, boxes: Boxes, means: MeanIntervals, step: float | None) -> np.ndarray:
    """Share of the box's values that remain possible for each record to who knows the other records of its box."""
    count = boxes.counts[boxes.box][:, None]
    sums = np.zeros_like(boxes.lower)
    np.add.at(sums, boxes.box, x)
    others = sums[boxes.box] - x
    low, high = boxes.lower[boxes.box], boxes.upper[boxes.box]
    least = np.fmax(means.lower[boxes.box] * count - others, low)
    most = np.fmin(means.upper[boxes.box] * count - others, high)
    wide = high > low
    if step is None:
        return ((most - least) / np.where(wide, high - low, 1.0))[wide]
    values = np.floor(most / step + 1e-6) - np.ceil(least / step - 1e-6) + 1.0
    return (values / ((high - low) / step + 1.0))[wide]


@pytest.mark.parametrize("bounds", ["cells", "tight"])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("box_means", ["rounded", "exact"])
def test_the_mean_of_every_box_lies_in_its_interval(box_means: str, whole: bool, bounds: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.gamma(1.0, 40.0, (2000, 2))
    x = np.rint(x) if whole else x
    step = 1.0 if whole else None
    if (box_means, whole, bounds) == ("exact", True, "tight"):
        assert box_means_fault("exact", 5, "tight", (step, step)), "who knows both ends and the mean knows too much"
        return
    assert box_means_fault(box_means, 5, bounds, (step, step)) is None  # type: ignore[arg-type]
    boxes = boxed(x, bounds=bounds)
    attained = bounds == "tight"
    intervals = mean_intervals(x, boxes, KEYS, box_means=box_means, steps=(step, step), attained=attained)  # type: ignore[arg-type]
    mean = np.stack([np.bincount(boxes.box, weights=x[:, j]) for j in range(2)], axis=1) / boxes.counts[:, None]
    there = ~np.isnan(intervals.lower)
    assert there.mean() > 0.5
    assert (intervals.lower[there] <= mean[there] + 1e-12 * np.abs(mean[there])).all()
    assert (mean[there] - 1e-12 * np.abs(mean[there]) <= intervals.upper[there]).all()
    assert (boxes.lower[there] <= intervals.lower[there]).all()
    assert (intervals.upper[there] <= boxes.upper[there]).all()


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("box_means", ["rounded", "exact"])
def test_no_rounding_leaves_a_mean_outside(box_means: BoxMeans, whole: bool) -> None:
    """In fractions: a mean near 0 between bounds far from it is the difference of two rounded numbers."""
    rng = np.random.default_rng(2)
    x = rng.integers(-1000, 1001, (1400, 1)) + (0.0 if whole else rng.random((1400, 1)) - 0.5)
    box, far = np.repeat(np.arange(200), 7).astype(np.int32), np.full((200, 1), 1001.0)
    boxes = Boxes(-far, far, np.full(200, 7), box, np.zeros(1, dtype=bool))
    intervals = mean_intervals(x, boxes, KEYS, box_means=box_means, steps=(1.0 if whole else None,), attained=False)
    for b in range(200):
        mean = sum(map(Fraction, x[box == b, 0].tolist())) / 7
        assert Fraction(intervals.lower[b, 0]) <= mean <= Fraction(intervals.upper[b, 0])


@pytest.mark.parametrize("bounds", ["cells", "tight"])
@pytest.mark.parametrize("whole", [False, True])
def test_who_knows_all_others_is_left_with_half_of_the_box(whole: bool, bounds: str) -> None:
    rng = np.random.default_rng(2)
    x = np.rint(rng.gamma(1.0, 30.0, (4000, 2))) if whole else rng.gamma(1.0, 30.0, (4000, 2))
    step = 1.0 if whole else None
    boxes = boxed(x, bounds=bounds)
    intervals = mean_intervals(x, boxes, KEYS, box_means="rounded", steps=(step, step), attained=bounds == "tight")
    left = left_to_the_last(x, boxes, intervals, step)
    assert left.mean() >= 0.5
    if whole:
        low, high = boxes.lower[boxes.box], boxes.upper[boxes.box]
        sizes = left * (high - low + 1.0)[high > low]
        assert (np.rint(sizes) == 1.0).mean() < 0.3, "few are left with one value"


def test_what_is_left_out_follows_from_the_box_alone() -> None:
    """Any records of the same box leave the same means out: absence says nothing."""
    lower, upper = np.array([[0.0], [0.0], [3.0]]), np.array([[1.0], [4.0], [9.0]])
    counts, box = np.array([5, 5, 5]), np.repeat(np.arange(3, dtype=np.int32), 5)
    boxes = Boxes(lower, upper, counts, box, np.zeros(1, dtype=bool))
    rng, seen = np.random.default_rng(0), set()
    for _ in range(200):
        share = rng.beta(0.3, 0.3, (15, 1))
        x = np.rint(lower[box] + share * (upper - lower)[box])
        intervals = mean_intervals(x, boxes, KEYS, box_means="rounded", steps=(1.0,), attained=False)
        seen.add(tuple(np.isnan(intervals.lower[:, 0]).tolist()))
    assert len(seen) == 1


def test_every_published_interval_of_whole_numbers_leaves_two_multisets() -> None:
    """All sums of small boxes, many secrets: no cell says the values of all records."""
    for width in (1, 2, 3, 5):
        boxes = Boxes(
            np.zeros((1, 1)), np.full((1, 1), float(width)), np.array([5]), np.zeros(5, np.int32), np.zeros(1, bool)
        )
        for seed in range(20):
            keys = new_keys(1, np.random.default_rng(seed))
            for total in range(5 * width + 1):
                x = np.minimum(np.maximum(total - width * np.arange(5), 0), width).astype(float)[:, None]
                intervals = mean_intervals(x, boxes, keys, box_means="rounded", steps=(1.0,), attained=False)
                if np.isnan(intervals.lower[0, 0]):
                    continue
                first, last = np.ceil(5 * intervals.lower[0, 0] - 1e-6), np.floor(5 * intervals.upper[0, 0] + 1e-6)
                assert first <= total <= last
                assert last > first, "two sums at least"


def test_the_same_box_has_the_same_interval_and_another_secret_another() -> None:
    x = np.random.default_rng(3).normal(size=(500, 1))
    boxes = boxed(x)
    one, again = (mean_intervals(x, boxes, KEYS, box_means="rounded", steps=(), attained=False) for _ in range(2))
    np.testing.assert_array_equal(one.lower, again.lower)
    other = mean_intervals(x, boxes, KEYS[1:], box_means="rounded", steps=(), attained=False)
    assert np.nanmean(other.lower != one.lower) > 0.9


def test_exact_means_do_not_say_all_values_and_keep_the_rule_of_p_percent() -> None:
    lower, upper = np.array([[0.0], [0.0], [0.0]]), np.array([[3.0], [1.0], [100.0]])
    counts, box = np.array([5, 5, 5]), np.repeat(np.arange(3, dtype=np.int32), 5)
    boxes = Boxes(lower, upper, counts, box, np.zeros(1, dtype=bool))
    shifted = Boxes(lower + 40.0, upper + 40.0, counts, box, np.zeros(1, dtype=bool))
    x = np.array([0, 0, 0, 0, 1, 1, 0, 1, 0, 1, 90, 40, 2, 3, 1], dtype=float)[:, None]
    intervals = mean_intervals(x, boxes, KEYS, box_means="exact", steps=(1.0,), attained=False)
    assert np.isnan(intervals.lower[0, 0]), "one value beside zeros"
    intervals = mean_intervals(x + 40.0, shifted, KEYS, box_means="exact", steps=(1.0,), attained=False)
    lower, upper = 5.0 * (intervals.lower[0, 0] - 40.0), 5.0 * (intervals.upper[0, 0] - 40.0)
    assert (round(lower), round(upper)) == (0, 2), "sums 0 to 2 are one cell"
    assert np.isnan(intervals.lower[1, 0]), "width 1: any sum says all values"
    intervals = mean_intervals(x, boxes, KEYS, box_means="exact", steps=(1.0,), attained=False)
    assert np.isnan(intervals.lower[2, 0]), "6 beside 90 and 40 is under 10 %"
    assert box_means_fault("exact", 3, "cells", ()) is not None
    assert box_means_fault("exact", 5, "tight", (1.0,)) is not None
    assert box_means_fault("rounded", 2, "tight", (1.0,)) is None


DATA = Path(__file__).parents[4] / "shared/data"


def public(name: str) -> np.ndarray:
    """Three columns of public microdata."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"public microdata: no {path.name} beside the project")
    if name.endswith(".gz"):
        with gzip.open(path, "rt") as file:
            rows = [line.split(", ") for line in file if line.strip() and "?" not in line]
        return np.array([[float(row[i]) for i in (0, 4, 12)] for row in rows[:10_000]])
    table = [line.replace('"', "").replace(";", ",").strip().split(",") for line in path.read_text().splitlines()]
    values = np.array([[float(cell) for cell in row[-3:]] for row in table[1:]])
    return values[~np.isnan(values).any(axis=1)]


@pytest.mark.parametrize("name", ["adult/adult.data.gz", "sdc/CASCrefmicrodata.csv", "sdc/Tarragona.csv"])
def test_on_public_data_the_last_record_keeps_half_of_its_box_on_average(name: str) -> None:
    x = public(name)
    whole = bool((x == np.rint(x)).all())
    boxes = boxed(x)
    step = 1.0 if whole else None
    intervals = mean_intervals(x, boxes, KEYS, box_means="rounded", steps=(step,) * 3, attained=False)
    assert left_to_the_last(x, boxes, intervals, step).mean() >= 0.5
