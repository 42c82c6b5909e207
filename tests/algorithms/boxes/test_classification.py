"""Classification by boxes, against all boxes in plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from workers.algorithms.boxes.queries.classification import classify, index


def plain(lower, upper, votes, unit, point, q):  # type: ignore[no-untyped-def]
    gap = np.maximum(np.maximum(lower - point, point - upper), 0.0) / unit
    away = (gap**2).sum(axis=1)
    probabilities, room = np.zeros(votes.shape[1]), float(q)
    for distance in np.unique(away):
        level = votes[away == distance].sum(axis=0)
        part = min(1.0, room / level.sum())
        probabilities += part * level
        room -= part * level.sum()
        if room <= 1e-12:
            break
    return probabilities / probabilities.sum()


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 10**6), boxes=st.integers(1, 120), columns=st.integers(1, 3), neighbours=st.integers(1, 30))
def test_the_nearest_boxes_vote_with_their_records(seed: int, boxes: int, columns: int, neighbours: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.normal(size=(2, boxes, columns)), axis=0) * [1.0, 30.0, 0.1][:columns]
    votes = rng.integers(0, 4, (boxes, 3))
    votes[:, 0] += 1
    ready = index(ends[0], ends[1], votes)
    points = rng.normal(size=(9, columns)) * [1.0, 30.0, 0.1][:columns]
    prediction = classify(ready, points, neighbours, threads=2)
    assert prediction.probabilities.sum(axis=1) == pytest.approx(1.0)
    for q, point in enumerate(points):
        inside = ((ends[0] <= point) & (point <= ends[1])).all(axis=1)
        if inside.sum() > neighbours:
            continue
        expected = plain(ends[0], ends[1], votes, ready.unit, point, neighbours)
        assert prediction.probabilities[q] == pytest.approx(expected)
        assert prediction.probabilities[q, prediction.label[q]] == prediction.probabilities[q].max()


def test_the_box_that_holds_the_point_decides_while_it_has_votes() -> None:
    ready = index(np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]]), np.array([[4, 1], [0, 6]]))
    prediction = classify(ready, np.array([[0.5], [1.5], [1.0], [-9.0]]), 5)
    assert prediction.probabilities[0] == pytest.approx([0.8, 0.2])
    assert prediction.probabilities[1] == pytest.approx([0.0, 1.0])
    assert prediction.probabilities[2] == pytest.approx([4 / 11, 7 / 11])  # on the bound of both: they share
    assert prediction.label.tolist() == [0, 1, 1, 0]


def test_more_votes_than_records_are_all_records() -> None:
    ready = index(np.array([[0.0], [5.0]]), np.array([[1.0], [6.0]]), np.array([[3, 0], [0, 1]]))
    assert classify(ready, np.array([[5.5]]), 100).probabilities[0] == pytest.approx([0.75, 0.25])


def test_what_cannot_be_classified_is_refused() -> None:
    ready = index(np.zeros((1, 1)), np.ones((1, 1)), np.array([[5]]))
    with pytest.raises(ValueError, match="at least 1"):
        classify(ready, np.zeros((1, 1)), 0)
    with pytest.raises(ValueError, match="finite coordinates"):
        classify(ready, np.full((1, 1), np.inf), 3)
    with pytest.raises(ValueError, match="no record has a class"):
        index(np.zeros((1, 1)), np.ones((1, 1)), np.array([[0]]))
