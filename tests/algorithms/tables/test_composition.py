"""What releases leave together, against counting by hand over all pairs."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from workers.algorithms.tables.composition import ABSENT, CompositionRequest, Noise, Placed, compose


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def placed(places: list[int], kept: list[int] | None = None) -> Placed:
    """A release whose published rows are those of the records that it places."""
    pairs = Counter(
        (place, value) for place, value in zip(places, kept or [0] * len(places), strict=True) if place >= 0
    )
    table = np.array([(place, value, rows) for (place, value), rows in pairs.items()], np.int64).reshape(-1, 3)
    return Placed(np.array(places, np.int64), table[:, 0], table[:, 1], table[:, 2])


def test_two_releases_are_overlaid_and_absence_is_a_place() -> None:
    composition = compose(
        CompositionRequest([placed([0, 0, 0, 1, 1, 1, -1]), placed([5, 5, 6, 6, 6, 6, -1])], k=2), rng=rng()
    )
    # groups {0, 1}, {2}, {3, 4, 5}; the last record is in no release
    assert (composition.records, composition.groups, composition.overlay) == (6, 3, 1)
    assert composition.overlay_below == pytest.approx(1 / 6)
    # the record that is alone has min(3, 4) candidates
    assert (composition.candidates, composition.candidates_below) == (2, 0.0)
    assert composition.changed is None
    absent = compose(CompositionRequest([placed([0, 0, 0, 0, 0, 0]), placed([1, 1, 1, 1, 1, -1])], k=2), rng=rng())
    assert absent.overlay == 1


def test_candidates_agree_in_what_is_kept() -> None:
    one = placed([0, 0, 0, 0], [7, 7, 8, 8])
    other = placed([1, 1, 2, 2], [7, 8, 7, 8])
    composition = compose(CompositionRequest([one, other], k=3), rng=rng())
    assert composition.candidates == 2  # one of 7 and one of 8: min(2, 1) + min(2, 1)
    assert compose(CompositionRequest([placed([0] * 4), placed([1, 1, 2, 2])], k=3), rng=rng()).candidates == 2


def test_records_that_came_or_went_are_counted_where_they_are() -> None:
    before = Placed(np.array([0, 0, 0, 1, 1]), np.array([0, 1]), np.zeros(2, np.int64), np.array([3, 4]))
    composition = compose(CompositionRequest([before, placed([4, 4, 4, 4, 4])], k=3), rng=rng())
    assert composition.changed == 2


def test_persons_are_counted_not_rows() -> None:
    persons = np.array([1, 1, 1, 2, 3])
    composition = compose(CompositionRequest([placed([0, 0, 0, 1, 1])], k=2, persons=persons), rng=rng())
    assert composition.overlay == 1
    assert composition.overlay_below == pytest.approx(1 / 3)


def test_diversity_is_that_of_the_overlay_groups() -> None:
    codes = np.array([1, 2, 1, 1, 1, 2])
    composition = compose(
        CompositionRequest([placed([0, 0, 0, 0, 0, 0]), placed([1, 1, 2, 2, 2, 2])], k=2, sensitive=[codes]), rng=rng()
    )
    assert composition.diversity[0].l_diversity == 2
    assert composition.diversity[0].alpha == pytest.approx(3 / 4)
    assert compose(CompositionRequest([placed([0, 0, 1, 1, 1, 2])], k=2, sensitive=[codes]), rng=rng()).diversity[
        0
    ].homogeneous == (pytest.approx(4 / 6))


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_any_releases_are_composed_as_by_hand(data: st.DataObject) -> None:
    records = data.draw(st.integers(1, 25))
    lists = st.lists(st.integers(-1, 3), min_size=records, max_size=records)
    places = data.draw(st.lists(lists, min_size=1, max_size=4))
    kept = data.draw(st.lists(st.integers(0, 2), min_size=records, max_size=records))
    persons = data.draw(st.lists(st.integers(0, 9), min_size=records, max_size=records))
    k = data.draw(st.integers(1, 6))
    composition = compose(
        CompositionRequest(
            [placed(one, kept) for one in places], k=k, persons=np.array(persons), sensitive=[np.array(kept)]
        ),
        rng=rng(),
    )
    members: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for record in range(records):
        where = tuple(one[record] for one in places)
        if set(where) != {ABSENT}:
            members[where].append(record)
    counts = {where: len({persons[record] for record in group}) for where, group in members.items()}
    seen = sum(len(group) for group in members.values())
    assert (composition.records, composition.groups) == (seen, len(members))
    assert composition.overlay == min(counts.values(), default=seen)
    below = sum(count for count in counts.values() if count < k)
    assert composition.overlay_below == pytest.approx(below / sum(counts.values()) if counts else 0.0)
    candidates = {
        where: sum(
            min(
                sum(places[r][i] == place and kept[i] == value for i in range(records))
                for r, place in enumerate(where)
                if place != ABSENT
            )
            for value in range(3)
        )
        for where in members
    }
    assert composition.candidates == min(candidates.values(), default=seen)
    if members:
        assert composition.diversity[0].l_diversity == min(len({kept[i] for i in group}) for group in members.values())
        shares = [max(Counter(kept[i] for i in group).values()) / len(group) for group in members.values()]
        assert composition.diversity[0].alpha == pytest.approx(max(shares))
    assert composition.changed is None


def test_noise_is_multiplied_and_asked_within_the_overlay_group() -> None:
    draw = np.random.default_rng(5)
    values, scale = draw.normal(size=(12, 2)), draw.uniform(0.5, 2, size=(12, 2))
    scale[3] = np.nan  # dismissed there
    side = draw.uniform(2, 4, size=(12, 1))
    boxes = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    composition = compose(
        CompositionRequest(
            [placed(boxes)], k=2, noise=[Noise(values, scale), Noise(values[:, :1], side, uniform=True)]
        ),
        rng=rng(),
    )
    expected = []
    for i in range(12):
        total = 0.0
        for j in range(12):
            if boxes[i] != boxes[j]:
                continue
            if i == j:
                total += 1
                continue
            delta = 0.0 if i == 3 else math.dist(values[i] / scale[i], values[j] / scale[i])
            bell = 1.0 if i == 3 else 0.5 * math.erfc(delta / 2 / math.sqrt(2))
            total += bell * max(1 - abs(values[i, 0] - values[j, 0]) / side[i, 0], 0)
        expected.append(total)
    assert composition.expected == pytest.approx(min(expected))
    assert composition.expected_below == pytest.approx(np.mean(np.array(expected) < 2))
    assert composition.evaluated == 12


def test_a_simulated_adversary_finds_as_many_fitting_records_as_expected() -> None:
    draw = np.random.default_rng(7)
    values = draw.normal(size=(40, 2))
    scale = np.full((40, 2), 0.8)
    composition = compose(CompositionRequest([], k=2, noise=[Noise(values, scale), Noise(values, scale)]), rng=rng())
    ranks = np.zeros(40)
    for _ in range(3000):
        z = values[:, None, :] + draw.normal(size=(40, 2, 2)) * 0.8
        fits = -((z[:, None] - values[None, :, None]) ** 2).sum(axis=(2, 3))
        ranks += (fits >= np.diagonal(fits)[:, None]).sum(axis=1)
    assert composition.expected == pytest.approx((ranks / 3000).min(), rel=0.05)


def test_what_cannot_be_composed_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to compose"):
        compose(CompositionRequest([], k=2), rng=rng())
    with pytest.raises(ValueError, match="same records"):
        compose(CompositionRequest([placed([0, 0]), placed([0])], k=2), rng=rng())
