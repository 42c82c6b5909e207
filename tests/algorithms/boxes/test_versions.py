"""New versions of data in published boxes: what is shown, what waits, and what goes up."""

import numpy as np
import pytest

from surebox_verify.boxes import PublishedBoxes
from workers.algorithms.boxes.versions import numbers, renewed, risen
from workers.algorithms.core.errors import InfeasibleKError


def grid(counts: list[int], *, columns: int = 4) -> PublishedBoxes:
    """Unit cells, row by row."""
    lower = np.array([[i % columns, i // columns] for i in range(len(counts))], dtype=float)
    return PublishedBoxes(lower, lower + 1.0, np.array(counts))


def test_a_box_shows_what_changed_where_nobody_or_at_least_k_came_went_and_stayed() -> None:
    draw = np.random.default_rng(5)
    for _ in range(200):
        k, boxes = int(draw.integers(1, 6)), 6
        before = draw.integers(0, boxes, 40), draw.integers(0, 3, 40)
        keep = draw.random(40) < draw.choice([0.5, 0.9, 1.0])
        more = int(draw.choice([0, 1, 12]))
        today = (
            np.r_[before[0][keep], draw.integers(0, boxes, more)], np.r_[before[1][keep], draw.integers(0, 3, more)]
        )  # fmt: skip
        shown = renewed(before, today, boxes=boxes, k=k)
        for box in range(boxes):
            was = [int(((before[0] == box) & (before[1] == v)).sum()) for v in range(3)]
            now = [int(((today[0] == box) & (today[1] == v)).sum()) for v in range(3)]
            added = sum(max(b - a, 0) for a, b in zip(was, now, strict=True))
            gone = sum(max(a - b, 0) for a, b in zip(was, now, strict=True))
            stayed = sum(min(a, b) for a, b in zip(was, now, strict=True))
            assert shown[box] == all(seen not in range(1, k) for seen in (added, gone, stayed))


def test_a_box_with_too_few_goes_up_to_the_lowest_part_with_k() -> None:
    counts = np.array([5, 2, 6, 7, 5, 5, 5, 5])
    group = risen(grid(counts.tolist()), counts, 5)
    mates = np.flatnonzero(group == group[1])
    assert len(mates) == 2
    assert counts[mates].sum() >= 5
    whole = np.delete(np.arange(8), mates)
    assert len(np.unique(group[whole])) == 6, "all others stay as they are"
    assert numbers(np.arange(1, 9), group).max() == 9
    assert sorted(numbers(np.arange(1, 9), group))[:-1] == (whole + 1).tolist()


def test_what_several_became_covers_what_they_covered_and_nothing_else() -> None:
    """Random cuts of a square in columns of both kinds; unions stay disjoint, and hold k."""
    draw = np.random.default_rng(9)
    for _ in range(60):
        lower, upper, sets = [[0.0, 0.0]], [[8.0, 8.0]], [np.ones(5, bool)]
        for _ in range(int(draw.integers(1, 14))):
            one, axis = int(draw.integers(len(lower))), int(draw.integers(3))
            if axis < 2:
                at = float(draw.uniform(lower[one][axis], upper[one][axis]))
                lower.append([at if j == axis else lower[one][j] for j in range(2)])
                upper.append(list(upper[one]))
                upper[one] = [at if j == axis else upper[one][j] for j in range(2)]
                sets.append(sets[one].copy())
            elif sets[one].sum() > 1:
                values = draw.permutation(np.flatnonzero(sets[one]))
                taken = np.isin(np.arange(5), values[: draw.integers(1, len(values))])
                lower.append(list(lower[one]))
                upper.append(list(upper[one]))
                sets.append(sets[one] & taken)
                sets[one] = sets[one] & ~taken
        counts = draw.choice([0, 1, 3, 9], len(lower))
        boxes = PublishedBoxes(np.array(lower), np.array(upper), counts, sets=(np.array(sets),))
        if counts.sum() < 3:
            with pytest.raises(InfeasibleKError):
                risen(boxes, counts, 3)
            continue
        group = risen(boxes, counts, 3)
        volume = (boxes.upper - boxes.lower).prod(axis=1) * boxes.sets[0].sum(axis=1)
        for number in range(int(group.max()) + 1):
            parts = np.flatnonzero(group == number)
            assert counts[parts].sum() >= 3
            hull = (boxes.upper[parts].max(axis=0) - boxes.lower[parts].min(axis=0)).prod()
            assert np.isclose(hull * boxes.sets[0][parts].any(axis=0).sum(), volume[parts].sum())
