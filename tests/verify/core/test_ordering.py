"""Order by many keys, against numpy's own sort by all of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surebox_core.extremes import extremes, extremes_present
from surebox_core.ordering import lexicographic

values = st.sampled_from([0.0, -0.0, 1.0, -2.5, float("inf"), float("nan")])


@given(
    st.integers(0, 12).flatmap(lambda n: st.lists(st.lists(values, min_size=n, max_size=n), min_size=1, max_size=25))
)
def test_rows_stand_as_all_keys_put_them(rows: list[list[float]]) -> None:
    """Also ties, of NaN too, which only the last of the keys break, or none."""
    keys = [np.array(row) for row in rows]
    assert lexicographic(keys).tolist() == np.lexsort(keys).tolist()


def test_keys_that_decide_nothing_are_not_looked_at() -> None:
    untouchable = np.empty(0)  # of another length: np.lexsort would refuse it
    keys = [untouchable, *[np.zeros(3)] * 3, np.array([2.0, 0.0, 1.0])]
    assert lexicographic(keys).tolist() == [1, 2, 0]


@given(st.lists(st.tuples(values, values, values), min_size=1, max_size=9))
def test_extremes_of_columns(rows: list[tuple[float, float, float]]) -> None:
    x = np.array(rows)
    low, high = extremes(x)
    assert np.array_equal(low, x.min(axis=0), equal_nan=True)
    assert np.array_equal(high, x.max(axis=0), equal_nan=True)
    for i, column in enumerate(zip(*rows, strict=True)):
        there = [value for value in column if value == value]
        assert extremes_present(x)[0][i] == min(there, default=float("inf"))
        assert extremes_present(x)[1][i] == max(there, default=float("-inf"))
