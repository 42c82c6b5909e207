"""Cuts that know of published means: narrower ranges of other statistics, and the same cuts where none would gain."""

from dataclasses import replace

import numpy as np
import pytest

from surebox_core.statistics import Statistic, all_moments
from surebox_core.types import FloatArray
from surebox_verify.boxes import Meaning
from surebox_verify.estimates import affordable, estimates, reading_steps
from surebox_verify.readings import Readings
from tests.algorithms.boxes.cases import run
from workers.algorithms.boxes.deciding import mean_shares
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.published import with_content
from workers.algorithms.boxes.sides import Boxes, NominalColumn, NumericColumn
from workers.algorithms.boxes.state import BoxesRequest

KEYS = new_keys(5, np.random.default_rng(4))
MEANS = tuple(Statistic("mean", (i,)) for i in range(4))
PAIR = Statistic("correlation", (2, 3))


def table(rows: int = 3_000) -> FloatArray:
    rng = np.random.default_rng(7)
    common = rng.normal(size=(rows, 1))
    return common + rng.normal(size=(rows, 4))


def requested(*statistics: Statistic, **change: object) -> BoxesRequest:
    return BoxesRequest(5, statistics, keys=KEYS, unlisted_column_weight=0.03, **change)  # type: ignore[arg-type]


def width(boxes: Boxes, statistic: Statistic) -> float:
    readings = Readings(boxes, Meaning(least=5), None)
    work = reading_steps(statistic, readings, affordable(statistic, (statistic,), len(boxes.counts)), 0)
    while work.ranges is None:
        work.step()
    (part,) = estimates(statistic, readings, work.ranges, 0)
    assert part.guaranteed is not None
    return part.guaranteed.width


def nominal(rows: int) -> NominalColumn:
    return NominalColumn(np.random.default_rng(5).integers(0, 3, rows).astype(np.int32), 3)


@pytest.mark.parametrize("mixed", [False, True])
def test_other_statistics_are_narrower_than_with_the_cuts_of_a_release_without_means(mixed: bool) -> None:
    x = table()
    wanted = requested(*MEANS, PAIR, box_means="rounded", nominal=(nominal(len(x)),) if mixed else ())
    outcome = run(x, wanted)
    before = with_content(run(x, replace(wanted, box_means="none")).boxes, x, wanted, KEYS)
    assert len(outcome.boxes.counts) >= 0.95 * len(before.counts)
    assert width(outcome.boxes, PAIR) < 0.9 * width(before, PAIR)
    truth = [*x.mean(axis=0), np.corrcoef(x[:, 2], x[:, 3])[0, 1]]
    for certificate, value in zip(outcome.certificates, truth, strict=True):
        guaranteed = certificate.published[0].guaranteed
        assert guaranteed is not None
        assert guaranteed.lower <= value <= guaranteed.upper
    again = run(x, wanted).boxes
    assert np.array_equal(again.lower, outcome.boxes.lower)
    assert np.array_equal(again.upper, outcome.boxes.upper)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("statistics", [all_moments(4), MEANS, (*MEANS[2:], PAIR)])
def test_cuts_are_those_without_means_where_no_mean_has_a_column_for_itself(
    statistics: tuple[Statistic, ...], mixed: bool
) -> None:
    x = table(600)
    wanted = requested(*statistics, nominal=(nominal(len(x)),) if mixed else ())
    without, averaged = run(x, wanted).boxes, run(x, replace(wanted, box_means="rounded")).boxes
    assert np.array_equal(without.lower, averaged.lower)
    assert np.array_equal(without.upper, averaged.upper)
    assert np.array_equal(without.counts, averaged.counts)


def test_a_mean_with_a_column_for_itself_counts_as_much_narrower_as_its_interval_is() -> None:
    columns = (NumericColumn(step=1.0), NumericColumn(), NumericColumn(), NumericColumn(step=1.0))
    wanted = requested(*MEANS, PAIR, box_means="rounded", columns=columns)
    shares = wanted.mean_shares
    assert shares is not None
    # sums of whole numbers are in intervals of two widths, others in one; k = 5
    assert shares.tolist() == [0.4, 0.2, 1.0, 1.0, 1.0]
    assert replace(wanted, box_means="none").mean_shares is None
    wide = replace(wanted, mean_interval_in_boxes=100.0).mean_shares
    assert wide is None, "an interval wider than the side tells nothing, so the mean counts whole"
    assert mean_shares(MEANS, 5, 1.0, ()) is None
