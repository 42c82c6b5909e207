"""Records with one key are one class, whether keys lie close to each other or far."""

import numpy as np
import pytest

from workers.algorithms.tables.classes import grouped


@pytest.mark.parametrize(
    ("low", "high"), [(0, 50), (-30, 30), (0, 3_999), (0, 4_001), (-(2**62), 2**62), (2**40, 2**40 + 9)]
)
def test_classes_are_numbered_in_the_order_in_which_they_come(low: int, high: int) -> None:
    key = np.random.default_rng(abs(high) % 97).integers(low, high, 1_000)
    classes = grouped(key)
    different = list(dict.fromkeys(key.tolist()))
    assert classes.of_record.tolist() == [different.index(one) for one in key.tolist()]
    assert classes.first.tolist() == [key.tolist().index(one) for one in different]
    assert classes.size.tolist() == [key.tolist().count(one) for one in different]


def test_nobody_is_in_no_class() -> None:
    classes = grouped(np.empty(0, dtype=np.int64))
    assert [one.tolist() for one in (classes.of_record, classes.first, classes.size)] == [[], [], []]
