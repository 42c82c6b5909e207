"""New versions of data in published boxes: what is shown, what waits, and what goes up."""

from itertools import combinations

import numpy as np
import pytest

from surebox_verify.boxes import PublishedBoxes
from workers.algorithms.boxes.versions import Demanded, Renewed, Sensitive, numbers, renewed, risen
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
        renewal = renewed(before, today, boxes=grid([9] * boxes, columns=3), demands=Demanded(k))
        for box in range(boxes):
            was = [int(((before[0] == box) & (before[1] == v)).sum()) for v in range(3)]
            now = [int(((today[0] == box) & (today[1] == v)).sum()) for v in range(3)]
            added = sum(max(b - a, 0) for a, b in zip(was, now, strict=True))
            gone = sum(max(a - b, 0) for a, b in zip(was, now, strict=True))
            stayed = sum(min(a, b) for a, b in zip(was, now, strict=True))
            shown = all(seen not in range(1, k) for seen in (added, gone, stayed))
            assert (renewal.before[before[0] == box] == (not shown)).all()
            assert (renewal.today[today[0] == box] == shown).all()


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


def one_box(before: np.ndarray, today: np.ndarray, demands: Demanded) -> Renewed | None:
    """Return what a lone box shows; None where it would show fewer than k."""
    zero = np.zeros(len(before), int), np.zeros(len(today), int)
    try:
        return renewed((zero[0], before), (zero[1], today), boxes=grid([9]), demands=demands)
    except InfeasibleKError:
        return None


def fewest(bring: list[list[int]], came: list[int]) -> int:
    """Fewest persons of whom each value's rows that came can be, by trying all sets of persons."""
    for size in range(len(bring) + 1):
        for some in combinations(bring, size):
            if all(sum(one[v] for one in some) >= least for v, least in enumerate(came)):
                return size
    raise AssertionError("rows came that nobody has")


def test_of_persons_with_several_rows_fewer_than_k_never_bring_what_is_shown() -> None:
    """Whoever they were: no set of fewer than k persons of today has the rows that came; those who leave are all."""
    draw, shown = np.random.default_rng(6), 0
    for _ in range(400):
        k, before = int(draw.integers(2, 5)), draw.integers(0, 3, int(draw.choice([0, 9])))
        persons = draw.integers(0, 8, int(draw.integers(1, 20)))
        kept = draw.integers(0, 3, len(persons))
        if draw.random() < 0.5:  # all of before are there still
            persons, kept = np.r_[persons, 8 + np.arange(len(before))], np.r_[kept, before]
        if (renewal := one_box(before, kept, Demanded(k, persons=persons))) is None:
            continue
        was, now = np.bincount(before, minlength=3), np.bincount(kept, minlength=3)
        came, gone, stayed = np.maximum(now - was, 0), np.maximum(was - now, 0), np.minimum(was, now)
        if not renewal.today.all():
            assert not renewal.today.any()
            continue
        shown += 1
        own = [[int(((persons == p) & (kept == v)).sum()) for v in range(3)] for p in np.unique(persons)]
        assert came.sum() == 0 or fewest(own, came.tolist()) >= k
        assert gone.sum() == 0 or stayed.sum() == 0
    assert shown > 20


@pytest.mark.parametrize("published", [True, False])
def test_who_came_left_or_stayed_is_not_told_a_sensitive_value(published: bool) -> None:
    """l and alpha hold of each of the three where the column is published, and of the box in any case."""
    draw, shown = np.random.default_rng(7), 0
    for _ in range(400):
        before, today = (draw.integers(0, 3, int(draw.choice([0, 4, 12]))) for _ in range(2))
        kept = (before, today) if published else (np.zeros_like(before), np.zeros_like(today))
        column = Sensitive(today, before if published else None)
        demands = Demanded(2, least_values=2, largest_share=0.7, sensitive=[column])
        if (renewal := one_box(kept[0], kept[1], demands)) is None:
            continue
        was, now = (np.bincount(one, minlength=3) for one in (before, today))
        parts = [np.maximum(now - was, 0), np.maximum(was - now, 0), np.minimum(was, now)] if published else []
        holds = all(not one.sum() or ((one > 0).sum() >= 2 and one.max() <= 0.7 * one.sum()) for one in (*parts, now))
        rows = (
            [one.sum() for one in parts]
            if published
            else [max(len(today) - len(before), 0), max(len(before) - len(today), 0), min(len(before), len(today))]
        )
        enough = all(one not in range(1, 2) for one in rows)
        if len(today):
            assert renewal.today.all() == (holds and enough)
            shown += int(renewal.today.all())
    assert shown > 20


def test_classes_of_counted_kept_columns_show_or_wait_each_by_itself() -> None:
    before, today = np.array([0] * 5 + [1] * 5), np.array([0] * 10 + [1] * 6 + [2] * 2)
    renewal = one_box(before, today, Demanded(5, by_class=True))
    assert renewal is not None
    assert renewal.before.tolist() == [False] * 5 + [True] * 5
    assert renewal.today.tolist() == [True] * 10 + [False] * 8
    assert renewal.waiting == 1
