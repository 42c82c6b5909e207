"""Marked and dismissed boxes with the shift in the objective: what is promised about all, and about the core."""

from dataclasses import replace

import numpy as np
import pytest

from surebox_core.statistics import Statistic, all_moments
from tests.algorithms.boxes.cases import run
from workers.algorithms.boxes.rare.shifted import core_boxes
from workers.algorithms.boxes.state import BoxesRequest

STATISTICS = (*all_moments(2), Statistic("standard_deviation", (0,)))


@pytest.fixture(scope="module")
def records() -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.standard_t(3, size=(1500, 2)) @ np.array([[1.0, 0.6], [0.0, 1.0]])


def test_a_marked_release_holds_for_all_records_and_for_its_core(records: np.ndarray) -> None:
    outcome = run(records, BoxesRequest(5, STATISTICS, rare_records="mark", max_suppressed=0.1))
    plain = run(records, BoxesRequest(5, STATISTICS))
    core = outcome.chosen.core
    assert core is not None
    assert outcome.chosen.rows is None, "nobody is left out"
    outside = outcome.boxes.counts[~core].sum()
    assert 0 < outside <= 150
    np.testing.assert_array_equal(outcome.boxes.lower, plain.boxes.lower)
    inside = records[core[outcome.boxes.box]]
    for certificate, before in zip(outcome.certificates, plain.certificates, strict=True):
        assert certificate.published == before.published, "about all as if nothing were marked"
        assert certificate.core is not None
        (part,) = certificate.core
        of = list(certificate.statistic.of)
        covariance = np.cov(inside[:, of].T, ddof=0).reshape(len(of), len(of))
        value = {
            "mean": inside[:, of[0]].mean(),
            "variance": covariance[0, 0],
            "standard_deviation": np.sqrt(covariance[0, 0]),
            "correlation": covariance[0, -1] / np.sqrt(covariance[0, 0] * covariance[-1, -1]),
        }[certificate.statistic.kind]
        assert part.guaranteed is not None
        assert part.guaranteed.lower <= value <= part.guaranteed.upper


def test_the_core_follows_from_the_boxes_alone(records: np.ndarray) -> None:
    """Whoever has the table of boxes finds the same core; dismissing publishes that and nothing else."""
    request = BoxesRequest(5, STATISTICS, domains=((-60.0, 60.0),) * 2, rare_records="mark")
    outcome = run(records, request)
    unlinked = replace(outcome.boxes, box=np.zeros(0, dtype=np.int32))
    again = core_boxes(unlinked, STATISTICS, confidence=0.95, at_most=0.05)
    np.testing.assert_array_equal(outcome.chosen.core, again)
    dismissed = run(records, replace(request, rare_records="suppress", objective="bias_aware"))
    assert outcome.chosen.core is not None
    np.testing.assert_array_equal(dismissed.boxes.lower, outcome.boxes.lower[outcome.chosen.core])
    assert dismissed.chosen.rows is not None
    assert len(dismissed.chosen.rows) == outcome.boxes.counts[outcome.chosen.core].sum()


def test_with_the_shift_far_fewer_are_dismissed_and_the_statistics_move_less(records: np.ndarray) -> None:
    statistics = all_moments(2)
    paper = run(records, BoxesRequest(5, statistics, rare_records="suppress"))
    shift = run(records, BoxesRequest(5, statistics, rare_records="suppress", objective="bias_aware"))
    assert paper.chosen.rows is not None
    assert shift.chosen.rows is not None
    assert len(paper.chosen.rows) < 0.8 * len(records)
    assert len(shift.chosen.rows) >= 0.95 * len(records)
    for of_paper, of_shift in zip(paper.certificates, shift.certificates, strict=True):
        if of_paper.statistic.kind == "variance":
            assert of_paper.shift[0] is not None
            assert of_shift.shift[0] is not None
            assert abs(of_shift.shift[0]) < abs(of_paper.shift[0])
    (mean,) = shift.certificates[0].published
    assert mean.guaranteed is not None
    assert mean.guaranteed.lower <= records[:, 0].mean() <= mean.guaranteed.upper
