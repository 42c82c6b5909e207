"""Lists as sets, against Python's own."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.frames.sets import MISSING, coded_sets

WORDS = st.sampled_from(["a", "b", "é", "a b", "\x1f", "10", "9"])
TYPES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): WORDS,
    pa.large_string(): WORDS,
    pa.int64(): st.integers(-3, 12),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(dt.date(1999, 12, 30), dt.date(2000, 1, 2)),
}


def as_text(value: Any) -> str:
    return MISSING if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("kind", TYPES, ids=str)
@given(data=st.data())
def test_rows_have_one_code_where_they_have_the_same_members(kind: pa.DataType, data: st.DataObject) -> None:
    """Missing lists, missing members, empty lists, repeated members, any order, several chunks."""
    member = st.none() | TYPES[kind]
    chunks = data.draw(st.lists(st.lists(st.none() | st.lists(member, max_size=4), max_size=9), min_size=1, max_size=3))
    large = data.draw(st.booleans())
    lists = (pa.large_list if large else pa.list_)(kind)
    codes, members = coded_sets(pa.chunked_array([pa.array(chunk, lists) for chunk in chunks], lists))
    rows = [row for chunk in chunks for row in chunk]
    expected = [None if row is None else frozenset(map(as_text, row)) or frozenset({""}) for row in rows]
    assert [None if code < 0 else members[code] for code in codes.tolist()] == expected
    assert len(set(members)) == len(members) == len({one for one in expected if one is not None})


def test_lists_of_part_of_a_column_are_those_of_the_part() -> None:
    """A slice keeps the members of all rows."""
    column = pa.array([["a"], ["b", "a"], None, ["c"], ["a", "b"]])
    codes, members = coded_sets(pa.chunked_array([column.slice(1, 4)]))
    assert [None if code < 0 else set(members[code]) for code in codes] == [{"a", "b"}, None, {"c"}, {"a", "b"}]
