"""Quasi-identifiers of a table as codes, whether their cells are values, bounds or sets; and how wide cells are."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from app.contracts.quasi_identifiers import Form, QuasiIdentifier
from workers.frames.codes import Coded, Codes, coded
from workers.frames.sets import MISSING, coded_sets
from workers.frames.widths import is_generalized, left_open


@dataclass(frozen=True, slots=True)
class Cells:
    """One quasi-identifier.

    Attributes
    ----------
    codes
        Equal for equal cells, in the order of values, shape (rows,); -1 where all of it is missing.
    distinct
        Different cells, missing ones not counted.
    certainty
        Normalized certainty penalty of each cell, shape (rows,): 0 for a single value, 1 where missing; None where
        cells of text were generalized in a way that does not state how far.
    """

    codes: Codes
    distinct: int
    certainty: npt.NDArray[np.float64] | None


def cells(path: Path, wanted: Sequence[QuasiIdentifier]) -> list[Cells]:
    """Read quasi-identifiers of a Parquet file.

    Parameters
    ----------
    path
        The typed copy of a dataset, or a release.
    wanted
        Quasi-identifiers, whose columns it has.
    """
    names = [name for one in wanted for name in one.columns]
    with pq.ParquetFile(path, pre_buffer=False) as file:
        table = file.read(columns=list(dict.fromkeys(names)))
    there = [as_it_is(one, table) for one in wanted]
    return [_cells(one, [table.column(name) for name in one.columns]) for one in there]


def as_it_is(one: QuasiIdentifier, table: pa.Table) -> QuasiIdentifier:
    """A quasi-identifier by what its columns contain: next to a column of its name, one called a set may be none.

    Parameters
    ----------
    one
        As its names have it.
    table
        With its columns.
    """
    if one.form is not Form.SET or len(one.columns) == 1 or _has_sets(table.column(one.columns[0])):
        return one
    return QuasiIdentifier(one.name, Form.PLAIN, one.columns[1:])


def _has_sets(column: pa.ChunkedArray) -> bool:
    """Whether cells are lists, or written as JSON arrays."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return True
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    return all(_array(text) is not None for text in coded(column).values.to_pylist())


def _cells(one: QuasiIdentifier, columns: list[pa.ChunkedArray]) -> Cells:
    if one.form is Form.BOUNDS:
        return _bounds(columns[0], columns[1])
    if one.form is Form.SET:
        return _sets(columns[0]) if len(columns) == 1 else _beside(_sets(columns[0]), coded(columns[1]).codes)
    encoded = coded(columns[0])
    return Cells(encoded.codes, len(encoded.values), _of_texts(encoded))


def _of_texts(column: Coded) -> npt.NDArray[np.float64] | None:
    """The penalty of cells as they are, which other programs may have generalized."""
    missing = (column.codes < 0).astype(np.float64)
    if not (pa.types.is_string(column.values.type) or pa.types.is_large_string(column.values.type)):
        return missing
    texts = column.values.to_pylist()
    if not is_generalized(texts):
        return missing
    each = left_open(texts)
    return None if each is None else np.append(each, 1.0)[column.codes]  # the last is that of -1


def _bounds(lower: pa.ChunkedArray, upper: pa.ChunkedArray) -> Cells:
    low, high = coded(lower), coded(upper)
    both = (low.codes.astype(np.int64) + 1) * (len(high.values) + 1) + high.codes + 1
    seen, codes = np.unique(both, return_inverse=True)
    missing = int(bool(len(seen)) and seen[0] == 0)
    lo, hi = as_numbers(lower), as_numbers(upper)
    whole = float(np.nanmax(hi, initial=-np.inf) - np.nanmin(lo, initial=np.inf))
    width = np.divide(hi - lo, whole, out=np.zeros(len(lo)), where=np.full(len(lo), whole > 0.0))
    return Cells((codes - missing).astype(np.int32), len(seen) - missing, np.where(np.isnan(width), 1.0, width))


def as_numbers(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Numbers, or days since 1970, or the places of texts in their order; NaN where missing."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    codes = coded(column).codes
    return np.where(codes < 0, np.nan, codes)


def _sets(column: pa.ChunkedArray) -> Cells:
    codes, members = members_of(column, Form.SET)
    values = len(frozenset[str]().union(*members))
    share = np.array([len(one) / values if len(one) > 1 else 0.0 for one in members] + [1.0])  # the last is that of -1
    return Cells(codes, len(members), share[codes])


def _beside(sets: Cells, classes: Codes) -> Cells:
    """Sets with a class next to each: equal where both are. In a release of boxes the class follows from the set."""
    both = (sets.codes.astype(np.int64) + 1) * (int(classes.max(initial=-1)) + 2) + classes + 1
    seen, codes = np.unique(both, return_inverse=True)
    missing = int(bool(len(seen)) and seen[0] == 0)
    return Cells((codes - missing).astype(np.int32), len(seen) - missing, sets.certainty)


def members_of(column: pa.ChunkedArray, form: Form) -> tuple[Codes, list[frozenset[str]]]:
    """A column of values or sets as codes, and for each code the values that it allows, as text, `MISSING` among them.

    Parameters
    ----------
    column
        Values, lists, or sets written as JSON arrays.
    form
        What its cells are: `PLAIN` or `SET`.
    """
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return coded_sets(column)
    encoded = coded(column)
    texts = pl.Series(pl.from_arrow(encoded.values)).cast(pl.String).to_list()
    return encoded.codes, [_members(text) if form is Form.SET else frozenset({text}) for text in texts]


def _members(text: str) -> frozenset[str]:
    """Members of a set that was written as a JSON array; any other text is a single value."""
    members = _array(text)
    if members is None:
        return frozenset({text})
    return frozenset(MISSING if one is None else one if isinstance(one, str) else json.dumps(one) for one in members)


def _array(text: str) -> list[Any] | None:
    """A JSON array; None of any other text."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return None
    return parsed if isinstance(parsed, list) else None
