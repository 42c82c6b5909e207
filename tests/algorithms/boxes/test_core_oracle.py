"""Cores of weighted boxes and of boxes that lack columns, against every subset and the definitions."""

from typing import Any

import numpy as np
import pytest

from surebox_core.statistics import Statistic
from surebox_verify.boxes import PublishedBoxes
from tests.algorithms.boxes.core_oracle import Box, Oracle, every_value
from workers.algorithms.boxes.rare.points import judged
from workers.algorithms.boxes.rare.shifted import core_boxes

#: Columns: two numbers, two sets of 2 and of 3 values. One of every kind, with its numbers as the oracle has them.
WORDING: list[tuple[Statistic, Any]] = [
    (Statistic("mean", (0,), 0.7), ("mean", [("x", None)], 0.7)),
    (Statistic("mean", (1,), 0.4), ("mean", [("y", None)], 0.4)),
    (Statistic("variance", (1,), 0.1), ("variance", [("y", None)], 0.1)),
    (Statistic("covariance", (0, 1), 0.2), ("covariance", [("x", None), ("y", None)], 0.2)),
    (Statistic("correlation", (0, 1), 0.4), ("correlation", [("x", None), ("y", None)], 0.4)),
    (Statistic("share", (3,), 0.5), ("share", [("b", (0, 1, 2))], 0.5)),
    (Statistic("domain_mean", (0, 3), 0.3), ("domain_mean", [("x", None), ("b", (0, 1, 2))], 0.3)),
]
CELLS = Statistic("crosstab", (2, 3), 0.01)
NAMES = ("x", "y", "a", "b")


def table(seed: int, count: int, *, weighted: bool, lacking: float) -> list[dict[str, Any]]:
    """Boxes, of which some lack columns; at least two have all."""
    rng, boxes = np.random.default_rng(seed), []
    for b in range(count):
        box: dict[str, Any] = {"c": int(rng.integers(3, 9)), "v": float(rng.gamma(2.0, 20.0)) if weighted else 1.0}
        middle, wide = rng.standard_t(2.5, 2), rng.gamma(1.0, 0.5, 2) * (8.0 if rng.random() < 0.3 else 1.0)
        box |= {name: (middle[i] - wide[i], middle[i] + wide[i]) for i, name in enumerate("xy")}
        for name, size in (("a", 2), ("b", 3)):
            box[name] = frozenset(rng.choice(size, int(rng.integers(1, size + 1)), replace=False).tolist())
        gone = [name for name in NAMES if b > 1 and rng.random() < lacking]
        boxes.append({name: side for name, side in box.items() if name not in gone})
    return boxes


def published(boxes: list[dict[str, Any]]) -> PublishedBoxes:
    ends = [[[box.get(n, (np.nan, np.nan))[end] for n in "xy"] for box in boxes] for end in (0, 1)]
    sets = tuple(
        np.array([[v in box.get(n, ()) for v in range(m)] for box in boxes], dtype=np.bool_)
        for n, m in (("a", 2), ("b", 3))
    )
    return PublishedBoxes(
        np.array(ends[0]),
        np.array(ends[1]),
        np.array([box["c"] for box in boxes]),
        sets=sets,
        survey=None if all(box["v"] == 1.0 for box in boxes) else np.array([box["v"] for box in boxes]),
    )


def statistics_and_oracle(boxes: list[Box]) -> tuple[tuple[Statistic, ...], Oracle]:
    """The statistics, and the oracle of the same; a cell counts, so its omega is that of a share times the mass."""
    mass = sum(box["c"] * box["v"] for box in boxes if "a" in box and "b" in box)
    wording = [*WORDING, (CELLS, ("crosstab", [("a", (0, 1)), ("b", (0, 1, 2))], 0.01 * mass))]
    numbers = [number for _, one in wording for number in every_value(*one)]
    numbers = [one for one in numbers if one.value(boxes) == one.value(boxes)]  # a value that no box may have
    return tuple(statistic for statistic, _ in wording), Oracle(numbers, boxes, [n for n in NAMES if "v" in boxes[0]])


KINDS = [(True, 0.0), (False, 0.3), (True, 0.3), (False, 0.0)]


@pytest.mark.parametrize(("weighted", "lacking"), KINDS)
def test_what_boxes_add_and_what_records_leave_open_is_what_the_definitions_say(weighted: bool, lacking: float) -> None:
    for seed in range(8):
        boxes = table(seed, 12, weighted=weighted, lacking=lacking)
        statistics, oracle = statistics_and_oracle(boxes)
        assessment = judged(published(boxes), statistics, ddof=0, least=0.0)
        assert assessment is not None
        np.testing.assert_allclose(assessment.g, oracle.g, rtol=1e-9)
        assert 1.959963984540054 * assessment.uncertainty == pytest.approx(oracle.a, rel=1e-9)


@pytest.mark.parametrize(("weighted", "lacking"), KINDS[:3])
@pytest.mark.parametrize("at_most", [0.3, 0.999])
def test_the_core_is_the_least_of_all_subsets_nearly_always(weighted: bool, lacking: float, at_most: float) -> None:
    missed = smaller = 0
    for seed in range(30):
        boxes = table(seed, 8, weighted=weighted, lacking=lacking)
        statistics, oracle = statistics_and_oracle(boxes)
        kept = np.flatnonzero(core_boxes(published(boxes), statistics, confidence=0.95, at_most=at_most)).tolist()
        own, least = oracle.objective(kept), oracle.least(at_most)
        assert own < np.inf, "no column and no statistic is left without a record"
        assert tuple(kept) in set(oracle.subsets(at_most))
        assert own >= least - 1e-9 * abs(least)
        missed += own > least * (1.0 + 1e-9)
        smaller += len(kept) < len(boxes)
    assert missed <= 2
    assert smaller > 10


def test_weights_are_a_scale() -> None:
    """Weights in another unit are the same weights: only how they differ from box to box counts."""
    boxes = table(3, 30, weighted=True, lacking=0.2)
    statistics, _ = statistics_and_oracle(boxes)
    statistics = statistics[:-1]  # a cell is a sum of weights
    one = core_boxes(published(boxes), statistics, confidence=0.95, at_most=0.3)
    tons = [box | {"v": box["v"] * 1024.0} for box in boxes]
    np.testing.assert_array_equal(one, core_boxes(published(tons), statistics, confidence=0.95, at_most=0.3))
    assert not one.all()


def test_equal_weights_are_no_weights() -> None:
    boxes = table(4, 40, weighted=False, lacking=0.2)
    statistics, _ = statistics_and_oracle(boxes)
    plain = core_boxes(published(boxes), statistics, confidence=0.95, at_most=0.3)
    same = [box | {"v": 2.0} for box in boxes]
    weighed = core_boxes(published(same), statistics[:-1], confidence=0.95, at_most=0.3)
    again = core_boxes(published(boxes), statistics[:-1], confidence=0.95, at_most=0.3)
    np.testing.assert_array_equal(weighed, again)
    assert not plain.all()


def test_the_only_box_of_a_column_or_a_pair_stays() -> None:
    """However wide it is: a release would lose the column, or what is asked of both."""
    wide = {"c": 4, "v": 1.0, "x": (-50.0, 50.0), "y": (-90.0, 90.0)}
    narrow = [{"c": 5, "v": 1.0, "x": (i / 10, i / 10 + 0.05)} for i in range(8)]
    others = [{"c": 5, "v": 1.0, "y": (i / 9, i / 9 + 0.05)} for i in range(8)]

    def core(boxes: list[dict[str, Any]], statistics: tuple[Statistic, ...]) -> np.ndarray:
        release = published(boxes)
        plain = PublishedBoxes(release.lower, release.upper, release.counts)
        return core_boxes(plain, statistics, confidence=0.95, at_most=0.9)

    means = Statistic("mean", (0,)), Statistic("mean", (1,))
    assert not core([wide, *narrow, *others], means)[0], "others have both columns' values"
    assert core([wide, *narrow], means)[0], "nobody else has y"
    assert core([wide, *narrow], means[:1])[0], "though nothing is asked of y"
    pair = Statistic("covariance", (0, 1), 0.0)
    assert core([wide, *narrow, *others], (*means, pair))[0], "nobody else has both"
    median = Statistic("quantile", (1,), p=0.5)
    assert core([wide, *narrow], (means[0], median))[0]


def test_a_mean_within_a_set_keeps_a_record_that_may_be_in_it() -> None:
    boxes = [{"c": 5, "v": 1.0, "x": (i / 10, i / 10 + 0.05), "y": (0.0, 1.0), "b": frozenset({0})} for i in range(9)]
    boxes.append({"c": 4, "v": 1.0, "x": (-50.0, 50.0), "y": (0.0, 1.0), "b": frozenset({1, 2})})
    release = published([box | {"a": frozenset({0})} for box in boxes])
    statistics = Statistic("mean", (0,)), Statistic("domain_mean", (0, 3), 0.0, values=(1,))
    assert core_boxes(release, statistics, confidence=0.95, at_most=0.9)[-1]
    assert not core_boxes(release, statistics[:1], confidence=0.95, at_most=0.9)[-1]
