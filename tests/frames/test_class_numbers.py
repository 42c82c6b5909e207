"""Numbers of classes and of values: equal rows share one, a missing value is told from all others."""

import numpy as np
import pyarrow as pa

from workers.frames.classes import classes, numbered


def test_rows_that_agree_in_every_column_share_a_class() -> None:
    table = pa.table({"a": ["x", None, "x", None, "y", "x"], "b": [1, 2, 1, 2, 1, 2]})
    numbers = classes(table)
    assert numbers[0] == numbers[2]
    assert numbers[1] == numbers[3]
    assert len(set(numbers.tolist())) == 4


def test_missing_values_have_no_number() -> None:
    numbers = numbered(pa.table({"a": ["x", None, "x", "y"], "b": [None, 0.5, 0.25, 0.5]}))
    assert numbers[1, 0] == numbers[0, 1] == -1
    assert numbers[0, 0] == numbers[2, 0] != numbers[3, 0]
    assert numbers[1, 1] == numbers[3, 1] != numbers[2, 1]
    assert np.dtype(np.int32) == numbers.dtype
