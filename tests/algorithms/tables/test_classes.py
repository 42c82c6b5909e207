"""Records with one key are one class, whether keys lie close to each other or far."""

import numpy as np
import pytest

from workers.algorithms.tables.classes import grouped


@pytest.mark.parametrize(
    ("low", "high"), [(0, 50), (-30, 30), (0, 3_999), (0, 4_001), (-(2**62), 2**62), (2**40, 2**40 + 9)]
)
def test_classes_are_numbered_in_the_order_in_which_they_come(low: int, high: int) -> None:
    key = np.random.default_rng(abs(high) % 97).integers(low, high, 1_000)
    found = grouped(key)
    different = list(dict.fromkeys(key.tolist()))
    assert found.of_record.tolist() == [different.index(one) for one in key.tolist()]
    assert found.first.tolist() == [key.tolist().index(one) for one in different]
    assert found.size.tolist() == [key.tolist().count(one) for one in different]


def test_nobody_is_in_no_class() -> None:
    found = grouped(np.empty(0, dtype=np.int64))
    assert [one.tolist() for one in (found.of_record, found.first, found.size)] == [[], [], []]
