"""Unions of published boxes: each of k records, of least cost, and what any number of them tells an adversary."""

import numpy as np
import pytest
from numpy.typing import NDArray

from surebox_verify.boxes import PublishedBoxes
from workers.algorithms.boxes.unions import KeptClasses, unions, united
from workers.algorithms.core.errors import InfeasibleKError

K, L = 5, 2


def divided(x: NDArray[np.float64], rows: NDArray[np.int64], k: int, first: int) -> list[NDArray[np.int64]]:
    """Halves by the median of one column after the other, while both have k records: a partition by other means."""
    if len(rows) < 2 * k:
        return [rows]
    order = rows[np.argsort(x[rows, first % x.shape[1]], kind="stable")]
    half = len(order) // 2
    return [part for side in (order[:half], order[half:]) for part in divided(x, side, k, first + 1)]


def published(x: NDArray[np.float64], parts: list[NDArray[np.int64]]) -> PublishedBoxes:
    lower, upper = (np.array([end(x[rows], axis=0) for rows in parts]) for end in (np.min, np.max))
    return PublishedBoxes(lower, upper, np.array([len(rows) for rows in parts]))


def of_records(parts: list[NDArray[np.int64]], rows: int) -> NDArray[np.int64]:
    box = np.empty(rows, np.int64)
    for number, part in enumerate(parts):
        box[part] = number
    return box


def taking(boxes: PublishedBoxes, columns: NDArray[np.int64]) -> PublishedBoxes:
    return PublishedBoxes(boxes.lower[:, columns], boxes.upper[:, columns], boxes.counts)


@pytest.mark.parametrize("k", [1, 5, 12, 40, 300, 600])
def test_every_union_has_k_records_and_is_the_hull_of_its_boxes(k: int) -> None:
    x = np.random.default_rng(1).normal(size=(600, 3))
    boxes = published(x, divided(x, np.arange(600), K, 0))
    group = unions(boxes, k)
    made = united(boxes, group)
    assert made.counts.sum() == 600
    assert made.counts.min() >= k
    if k <= boxes.counts.min():
        assert group.tolist() == list(range(len(boxes.counts)))
    assert len(made.counts) > 1 or k > 300, "it is cut where it can be"
    for number in range(len(made.counts)):
        mine = group == number
        assert made.lower[number].tolist() == boxes.lower[mine].min(axis=0).tolist()
        assert made.upper[number].tolist() == boxes.upper[mine].max(axis=0).tolist()
        assert made.counts[number] == boxes.counts[mine].sum()


def test_the_first_cut_is_the_cheapest_of_all() -> None:
    draw = np.random.default_rng(2)
    for _ in range(20):
        lower = draw.integers(0, 9, size=(8, 2)).astype(float)
        sets = draw.random((8, 3)) < 0.5
        sets[np.arange(8), draw.integers(0, 3, 8)] = True
        boxes = PublishedBoxes(lower, lower + draw.integers(1, 4, size=(8, 2)), draw.integers(5, 9, 8), sets=(sets,))
        k = int(boxes.counts.sum()) // 2 - 4  # two unions at most
        group = unions(boxes, k)
        if group.max() == 0:
            continue
        assert cost(boxes, group) == pytest.approx(min(cost(boxes, cut) for cut in cuts(boxes, k)))


def cost(boxes: PublishedBoxes, group: NDArray[np.int64]) -> float:
    """n_U (sum of the hull's sides in shares of their columns), over all unions; by the definition."""
    extent = boxes.upper.max(axis=0) - boxes.lower.min(axis=0)
    total = 0.0
    for number in set(group.tolist()):
        mine = group == number
        sides = (boxes.upper[mine].max(axis=0) - boxes.lower[mine].min(axis=0)) / extent
        values = {int(value) for one in boxes.sets[0][mine] for value in np.flatnonzero(one)}
        total += boxes.counts[mine].sum() * (sides.sum() + len(values) / 3)
    return float(total)


def cuts(boxes: PublishedBoxes, k: int) -> list[NDArray[np.int64]]:
    """All balanced cuts across one column with k records on either side."""
    centres = [*(boxes.lower + boxes.upper).T, boxes.sets[0] @ np.arange(3.0) / boxes.sets[0].sum(axis=1)]
    candidates = []
    for centre in centres:
        order = np.argsort(centre, kind="stable")
        for size in range(1, 8):
            group = np.ones(8, np.int64)
            group[order[:size]] = 0
            if min(boxes.counts[group == side].sum() for side in (0, 1)) >= k:
                candidates.append((size, group))
    balanced = [group for size, group in candidates if 2 <= size <= 6]
    return balanced or [group for _, group in candidates]


def test_boxes_that_lack_other_values_are_not_united() -> None:
    lower = np.array([[0.0, 0.0], [1.0, np.nan], [2.0, np.nan], [3.0, 1.0]])
    boxes = PublishedBoxes(lower, lower + 1.0, np.array([5, 6, 7, 8]))
    assert unions(boxes, 13).tolist() == [0, 1, 1, 0]
    made = united(boxes, unions(boxes, 13))
    assert np.isnan(made.lower[1, 1])
    assert np.isnan(made.upper[1, 1])
    with pytest.raises(InfeasibleKError) as refused:
        unions(boxes, 14)
    assert (refused.value.required, refused.value.largest) == (14, 13)


@pytest.mark.parametrize("seed", range(4))
def test_any_number_of_later_releases_leaves_k_persons_and_l_values(seed: int) -> None:
    """An adversary who knows every record joins all releases of a series.

    The theorem of science.md section 6, "A series is post-processing".

    He knows which box of the base a record is in, and of every later release which union that box went into. Persons
    whom all releases place alike are his candidates; an independent release of the same people leaves him fewer.
    """
    draw = np.random.default_rng([seed, 3])
    rows = 800
    x = np.round(draw.normal(size=(rows, 4)), 1)
    parts = divided(x, np.arange(rows), K, 0)
    secret = np.empty(rows, np.int64)
    for part in parts:  # the base holds l values in every box
        secret[part] = draw.permutation(np.arange(len(part)) % (L + int(draw.integers(0, 2))))
    base, box = published(x, parts), of_records(parts, rows)
    seen = [box]
    for _ in range(30):
        columns = np.flatnonzero(draw.random(4) < 0.6)
        later = taking(base, columns if len(columns) else np.array([0]))
        group = unions(later, int(draw.integers(K, 120)))
        seen.append(group[box])
        places = np.unique(np.column_stack(seen), axis=0, return_inverse=True)[1].reshape(-1)
        assert np.bincount(places).min() >= K
        assert min(len(set(secret[places == one].tolist())) for one in range(places.max() + 1)) >= L
    other = of_records(divided(x, np.arange(rows), K, 2), rows)
    alone = np.unique(np.column_stack([box, other]), axis=0, return_counts=True)[1]
    assert alone.min() < K, "the attack that a series withstands"


@pytest.mark.parametrize("k", [3, 8, 20])
def test_kept_values_have_k_rows_in_a_union_or_none_and_cuts_are_all_that_allow_it(k: int) -> None:
    """Against counting on both sides of every cut; a union that could be cut so is cut."""
    draw = np.random.default_rng(k)
    x = draw.normal(size=(600, 2))
    parts = divided(x, np.arange(600), 12, 0)
    box, boxes = of_records(parts, 600), published(x, parts)
    value = np.where(draw.random(600) < 0.7, box % 2, 2 + (draw.random(600) < 0.5))
    kept = KeptClasses.of(box, value, len(parts))
    table = np.zeros((len(parts), 4), np.int64)
    np.add.at(table, (box, value), 1)

    def rare(counts: NDArray[np.int64]) -> bool:
        return bool(((counts > 0) & (counts < k)).any())

    for _ in range(20):
        order = draw.permutation(len(parts))[: int(draw.integers(1, len(parts) + 1))]
        expected = [
            rare(table[order[:cut]].sum(axis=0)) or rare(table[order[cut:]].sum(axis=0)) for cut in range(1, len(order))
        ]
        assert kept.divided(order, k).tolist() == expected
    group = unions(boxes, k, kept)
    for number in range(int(group.max()) + 1):
        assert not rare(table[group == number].sum(axis=0))
    assert group.max() > 0
    with pytest.raises(InfeasibleKError) as refused:
        unions(boxes, 600, kept)
    assert refused.value.largest == table.sum(axis=0).min()
