"""Quasi-identifiers of a table as codes, whether their cells are values, bounds or sets; and how wide cells are."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
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
        cells of text were generalized in a way that does not state how far, as bounds do without an order.
    """

    codes: Codes
    distinct: int
    certainty: npt.NDArray[np.float64] | None


def cells(
    path: Path, wanted: Sequence[QuasiIdentifier], orders: Mapping[str, Sequence[Any]] = MappingProxyType({})
) -> list[Cells]:
    """Read quasi-identifiers of a Parquet file.

    Parameters
    ----------
    path
        The typed copy of a dataset, or a release.
    wanted
        Quasi-identifiers, whose columns it has.
    orders
        Values of ordinal columns, in their order.
    """
    names = [name for one in wanted for name in one.columns]
    with pq.ParquetFile(path, pre_buffer=False) as file:
        table = file.read(columns=list(dict.fromkeys(names)))
    there = [as_it_is(one, table) for one in wanted]
    return [_cells(one, [table.column(name) for name in one.columns], orders.get(one.name)) for one in there]


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


def _cells(one: QuasiIdentifier, columns: list[pa.ChunkedArray], order: Sequence[Any] | None) -> Cells:
    if one.form is Form.BOUNDS:
        return _bounds(columns[0], columns[1], order)
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


def _bounds(lower: pa.ChunkedArray, upper: pa.ChunkedArray, order: Sequence[Any] | None) -> Cells:
    low, high = coded(lower), coded(upper)
    both = (low.codes.astype(np.int64) + 1) * (len(high.values) + 1) + high.codes + 1
    seen, codes = np.unique(both, return_inverse=True)
    missing = int(bool(len(seen)) and seen[0] == 0)
    known = order is not None or (_has_order(lower) and _has_order(upper))
    width = _widths(ranked(lower, order), ranked(upper, order)) if known else None
    return Cells((codes - missing).astype(np.int32), len(seen) - missing, width)


def _widths(lower: npt.NDArray[np.float64], upper: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of intervals, as shares of what all finite ends span; open ones reach no further; 1 where missing."""
    known = np.concatenate([lower[np.isfinite(lower)], upper[np.isfinite(upper)]])
    known = known if len(known) else np.zeros(1)
    lower, upper = np.clip(lower, known.min(), known.max()), np.clip(upper, known.min(), known.max())
    whole = float(known.max() - known.min())
    width = np.divide(upper - lower, whole, out=np.zeros(len(lower)), where=np.full(len(lower), whole > 0.0))
    return np.where(np.isnan(upper - lower), 1.0, width)


def ranked(column: pa.ChunkedArray, order: Sequence[Any] | None) -> npt.NDArray[np.float64]:
    """Numbers of a column, days since 1970, or the ranks of its values in an order; NaN where missing.

    Parameters
    ----------
    column
        Numbers or days; with an order anything.
    order
        Its values in their order; None: their own.

    Raises
    ------
    TypeError
        Values that have no order of their own, such as texts: codes of two columns could not be compared.
    """
    if order is not None:
        ranks = pc.index_in(column, value_set=pa.array(order).cast(column.type)).cast(pa.float64())
        return np.asarray(ranks.to_numpy(), dtype=np.float64)
    if not _has_order(column):
        raise TypeError(f"values of type {column.type} have no order of their own")
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _has_order(column: pa.ChunkedArray) -> bool:
    kind = column.type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date(kind))


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
