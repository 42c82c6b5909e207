"""Numbers of classes and of values: equal rows share one, a missing value is told from all others."""

import numpy as np
import pyarrow as pa

from workers.frames.classes import classes, numbered


def test_rows_that_agree_in_every_column_share_a_class() -> None:
    table = pa.table({"a": ["x", None, "x", None, "y", "x"], "b": [1, 2, 1, 2, 1, 2]})
    found = classes(table)
    assert found[0] == found[2]
    assert found[1] == found[3]
    assert len(set(found.tolist())) == 4


def test_missing_values_have_no_number() -> None:
    found = numbered(pa.table({"a": ["x", None, "x", "y"], "b": [None, 0.5, 0.25, 0.5]}))
    assert found[1, 0] == found[0, 1] == -1
    assert found[0, 0] == found[2, 0] != found[3, 0]
    assert found[1, 1] == found[3, 1] != found[2, 1]
    assert np.dtype(np.int32) == found.dtype
