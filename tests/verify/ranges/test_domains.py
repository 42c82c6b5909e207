"""Means within values that perhaps no record has: what is said of them, against all data that fit a few small boxes."""

import itertools

import numpy as np
import pytest

from surebox_core.statistics import Statistic
from surebox_verify.boxes import Meaning, PublishedBoxes
from surebox_verify.estimates import Estimate, estimates, reading_steps
from surebox_verify.readings import Readings
from tests.verify.ranges.completions import tables_of_box

VALUES = 3
STATISTICS = (Statistic("domain_mean", (0, 1)), Statistic("domain_mean", (0, 1), values=(0, 2)))
SETS = [(0,), (1,), (2,), (0, 2)]  # that these are about


def drawn(rng: np.random.Generator, *, attained: bool) -> PublishedBoxes:
    """Up to three boxes of up to three records; some without y, or without a value."""
    count = int(rng.integers(1, 4))
    held = rng.random((count, VALUES)) < 0.4
    counts = np.maximum(rng.integers(1, 4, count), held.sum(axis=1))
    lower = rng.integers(0, 4, (count, 1)).astype(float)
    upper = lower + rng.integers(0, 3, (count, 1)) * (counts > 1)[:, None]
    lacking = rng.random(count) < 0.15
    lower[lacking] = upper[lacking] = np.nan
    return PublishedBoxes(lower, upper, counts if attained else counts.clip(max=3), sets=(held,))


def means_of_all(boxes: PublishedBoxes, values: tuple[int, ...], *, attained: bool) -> tuple[list[float], bool]:
    """The mean of y within values in all data that have a record with them, and whether other data have none."""
    choices = []
    for b, held in enumerate(boxes.sets[0]):
        if np.isnan(boxes.lower[b, 0]) or not held.any():
            continue  # its records have no y, or no value
        ends = sorted({float(boxes.lower[b, 0]), float(boxes.upper[b, 0])})
        codes = np.flatnonzero(held).astype(float).tolist()
        tables = tables_of_box([ends, codes], int(boxes.counts[b]), [ends, codes] if attained else ())
        inside = [table[np.isin(table[:, 1], values), 0] for table in tables]
        choices.append(sorted({(len(each), float(each.sum())) for each in inside}))
    sums = [np.sum(each, axis=0) if each else np.zeros(2) for each in itertools.product(*choices)]
    return [total / number for number, total in sums if number], any(not number for number, _ in sums)


def said(boxes: PublishedBoxes, *, attained: bool) -> list[Estimate]:
    readings = Readings(boxes, Meaning(attained))
    by_statistic = [estimates(each, readings, reading_steps(each, readings).finish()) for each in STATISTICS]
    return [each for one in by_statistic for each in one]


@pytest.mark.parametrize("attained", [False, True])
def test_a_domain_that_may_be_empty_is_told_and_its_range_is_of_the_mean_if_there_is_one(attained: bool) -> None:
    rng, met = np.random.default_rng(4 + attained), {"never": 0, "always": 0, "perhaps": 0}
    for _ in range(150):
        boxes = drawn(rng, attained=attained)
        for values, estimate in zip(SETS, said(boxes, attained=attained), strict=True):
            means, empty = means_of_all(boxes, values, attained=attained)
            assert estimate.domain_may_be_empty is empty
            if not means:
                assert (estimate.guaranteed, estimate.estimate) == (None, None)
                met["always"] += 1
                continue
            assert estimate.guaranteed is not None
            ends = [estimate.guaranteed.lower, estimate.guaranteed.upper]
            assert ends == pytest.approx([min(means), max(means)], abs=1e-9)
            met["perhaps" if empty else "never"] += 1
    perhaps = met.pop("perhaps")  # where every value of a set is some record's there is none that may be nobody's
    assert perhaps == 0 if attained else perhaps > 30
    assert min(met.values()) > 30, met


def test_an_ordinal_domain_is_told_by_the_ranges_of_its_values() -> None:
    """Of three ranks, boxes of 0 to 1 and of 1: some record has 1 or less, perhaps none has 0, and none has 2."""
    ends = np.array([[0.0, 0.0], [5.0, 1.0]]), np.array([[4.0, 1.0], [9.0, 1.0]])
    readings = Readings(
        PublishedBoxes(*ends, np.array([3, 3])), Meaning(labels=(None, tuple(map(float, range(VALUES)))))
    )
    statistic = Statistic("domain_mean", (0, 1))
    zero, one, two = estimates(statistic, readings, reading_steps(statistic, readings).finish())
    assert [each.domain_may_be_empty for each in (zero, one, two)] == [True, False, True]
    assert zero.guaranteed is not None
    assert (zero.guaranteed.lower, zero.guaranteed.upper) == pytest.approx((0.0, 4.0))
    assert two.guaranteed is None


def test_other_statistics_say_nothing_of_a_domain() -> None:
    readings = Readings(drawn(np.random.default_rng(1), attained=False), Meaning())
    for statistic in (Statistic("mean", (0,)), Statistic("share", (1,)), Statistic("quantile", (0,), p=0.5)):
        results = estimates(statistic, readings, reading_steps(statistic, readings).finish())
        assert {each.domain_may_be_empty for each in results} == {None}
