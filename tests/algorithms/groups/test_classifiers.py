"""Classifiers of the group attack: measures beside their definitions, and what must and must not be found."""

import numpy as np
import pytest

from workers.algorithms.groups.classifiers.attack import CLASSIFIERS, auc, judged, precision_at, sample, trained
from workers.algorithms.groups.classifiers.coding import coded, coding


def test_codes_keep_order_and_missing_values_are_their_own() -> None:
    numbers = np.array([3.0, 1.0, np.nan, 2.0, 3.0])
    texts = np.array(["b", "a", None, "b", "c"], dtype=object)
    how = coding([numbers, texts])
    codes = coded(how, [numbers, texts])
    assert codes[:, 0].tolist() == [3, 1, 0, 2, 3]
    assert codes[:, 1].tolist() == [1, 2, 0, 1, 3]
    assert coded(how, [np.array([2.5, 9.0]), np.array(["z", "a"], dtype=object)]).tolist() == [[2, 254], [3, 2]]
    many = np.random.default_rng(0).normal(size=5_000)
    fine = coded(coding([many]), [many])[:, 0]
    assert 200 < len(np.unique(fine)) <= 254
    assert np.all(np.diff(fine[np.argsort(many)].astype(int)) >= 0)


def test_measures_are_as_defined() -> None:
    rng = np.random.default_rng(1)
    scores, y = np.round(rng.random(60), 1), rng.random(60) < 0.4
    pairs = [(a > b) + 0.5 * (a == b) for a in scores[y] for b in scores[~y]]
    assert auc(scores, y) == pytest.approx(np.mean(pairs))
    weights = rng.random(60)
    threshold = sorted(scores[y], reverse=True)[int(np.ceil(0.25 * y.sum())) - 1]
    above = scores >= threshold
    assert precision_at(scores, y, weights, 0.25) == pytest.approx(weights[above & y].sum() / weights[above].sum())


def test_a_sample_has_more_of_the_group_and_never_more_than_half() -> None:
    vital = np.arange(10_000) < 300
    rows = sample(vital, 1_000, np.random.default_rng(0))
    assert len(np.unique(rows)) == 1_000
    assert vital[rows].sum() == 300
    assert vital[sample(vital, 100, np.random.default_rng(0))].sum() == 50


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_tells_the_group_is_found_and_scores_are_probabilities_of_the_population(name: str) -> None:
    rng = np.random.default_rng(3)
    y = rng.random(40_000) < 0.02
    tells, noise = np.where(rng.random(40_000) < 0.9, y, rng.random(40_000) < 0.1), rng.normal(size=40_000)
    texts = np.where(tells, "yes", "no").astype(object)
    columns = [noise, texts]
    rows = sample(y, 2_000, rng)
    how = coding([column[rows] for column in columns])
    codes = coded(how, [column[rows] for column in columns])
    assessment = judged(name, codes, y[rows], y.mean(), how.categorical, rng, lambda _: None)  # type: ignore[arg-type]
    assert assessment.auc > 0.9
    assert np.argmax(assessment.driving) == 1
    assert abs(assessment.driving[0]) < 0.02
    model = trained(name, codes, y[rows], y.mean(), how.categorical, 0)  # type: ignore[arg-type]
    p = model.probabilities(coded(how, columns))
    for value in ("yes", "no"):
        here = texts == value
        assert p[here].mean() == pytest.approx(y[here].mean(), rel=0.35)
