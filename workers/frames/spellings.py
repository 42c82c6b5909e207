"""Values of a column that are spellings of one word: counted in an upload, and as one where values are counted.

Which these are is said in `surebox_core.spellings`. Columns of other types than text have none.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from surebox_core.spellings import classes_of, spelling_classes, spelling_keys
from workers.frames.codes import Coded, Codes

#: Columns with more different values are not looked at when a file is uploaded: it would take longer than reading them.
MOST_VALUES: Final = 1_000_000
#: Values up to which each is looked at: that takes less than to sort out those that need not be.
_FEW: Final = 100
#: Blanks and control characters of ASCII, and its characters that look alike, as `spelling_keys` has them.
_BLANK: Final = r"[\x00-\x20\x7f]"
_SHAPED: Final = {"I": "1", "l": "1", "|": "1", "O": "0", "`": "'"}


def spelled_as_one(column: Coded, order: Sequence[Any] | None = None) -> Codes:
    """Return the codes of a column with those of values that are alike as one: as that of the first of them.

    Parameters
    ----------
    column
        Of any type.
    order
        All of its values, each once, by which codes are numbered; None: their own order.
    """
    if order is not None:
        column = Coded(np.maximum(column.among(order)[0], -1), pa.array(order, column.values.type))
    if not has_texts(column.values):
        return column.codes
    return np.array([*spelling_classes(column.values.to_pylist()), -1], dtype=np.int32)[column.codes]


def together_as_one(columns: Sequence[Coded]) -> list[Codes]:
    """Return codes of columns of texts, the same for values of any of them that are alike; -1 where missing."""
    words = sorted(frozenset[str]().union(*(column.values.to_pylist() for column in columns)))
    first = dict(zip(words, spelling_classes(words), strict=True))
    return [
        np.array([*(first[word] for word in column.values.to_pylist()), -1], dtype=np.int32)[column.codes]
        for column in columns
    ]


def without_gaps(codes: Codes) -> npt.NDArray[np.int64]:
    """Return codes numbered anew in their order, from 0 on; -1 stays."""
    known = codes >= 0
    return np.where(known, np.searchsorted(np.unique(codes[known]), codes), -1)


def has_texts(column: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether a column is one of texts."""
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def spelled_otherwise(values: pl.Series) -> int:
    """Return how many of the different values of a column of texts are alike to another one that it is counted with.

    Parameters
    ----------
    values
        Each once, none missing.

    Notes
    -----
    About 0.4 microseconds a value; 6 for one with other characters than those of ASCII.
    """
    if len(values) <= _FEW:
        return len(values) - len(set(classes_of([spelling_keys(value) for value in values])))
    is_plain = pl.Series(pc.string_is_ascii(values.to_arrow()))
    plain, keys = values.filter(is_plain), [spelling_keys(value) for value in values.filter(~is_plain)]
    keys += map(spelling_keys, _suspects(plain, keys))
    return len(keys) - len(set(classes_of(keys)))


def _suspects(plain: pl.Series, keys: Sequence[tuple[str, str, str]]) -> pl.Series:
    """Values of ASCII of which some key is another one's too, or one of `keys`."""
    bare = plain.str.replace_all(_BLANK, "")
    lower, shape = bare.str.to_lowercase(), bare.str.replace_many(_SHAPED)
    suspected = lower.is_duplicated() | shape.is_duplicated()
    if keys:
        others = pl.Series([key for each in keys for key in (each[0], each[2])]), pl.Series([each[1] for each in keys])
        suspected |= lower.is_in(others[0].implode()) | shape.is_in(others[1].implode())
    return plain.filter(suspected)
