"""Tables whose cells are values, bounds or sets: their different rows as boxes, and records of the original."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from app.contracts.quasi_identifiers import Form, QuasiIdentifier
from workers.algorithms.tables.classes import classes, grouped
from workers.frames.codes import coded
from workers.frames.quasi_identifiers import as_it_is, members_of, ranked
from workers.frames.sets import MISSING

#: The column of a release of boxes in which they are numbered.
BOX: Final = "box"


@dataclass(frozen=True, slots=True)
class Meanings:
    """How values of some columns are read.

    Attributes
    ----------
    orders
        Values of ordinal columns, in their order.
    merged
        By column, what rare values became that its boxes do not name.
    """

    orders: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    merged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generalized:
    """Different rows of a table, B of them.

    Attributes
    ----------
    numeric, nominal
        Names of what `lower`, `upper` and `sets` are about.
    lower, upper
        Closed bounds, shape (B, n); both minus infinity where missing.
    sets
        Which values each allows, shape (B, values + 1) each; the last is the missing value, which a missing cell allows
        alone.
    books
        The values, as text.
    of_row
        Which of them each row is, shape (rows,).
    """

    numeric: tuple[str, ...]
    nominal: tuple[str, ...]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    sets: tuple[NDArray[np.bool_], ...]
    books: tuple[tuple[str, ...], ...]
    of_row: NDArray[np.int64]


def generalized(
    path: Path, wanted: Sequence[QuasiIdentifier], meanings: Meanings = Meanings(), *, numbered: str | None = None
) -> Generalized:
    """Read quasi-identifiers of a Parquet file as boxes.

    Parameters
    ----------
    path
        The typed copy of a dataset, or a release.
    wanted
        Quasi-identifiers, whose columns it has.
    meanings
        How values are read.
    numbered
        A column of whole numbers: rows with the same one have the same bounds and sets, as in releases of boxes.
    """
    names = dict.fromkeys(name for one in wanted for name in one.columns)
    with pq.ParquetFile(path, pre_buffer=False) as file:
        table = file.read(columns=list({**names, **({} if numbered is None else {numbered: None})}))
    wanted = [as_it_is(one, table) for one in wanted]
    table, of_row = _once(table, wanted, numbered)
    codes, bounds, sets, books = [], [], [], []
    bounded = [one for one in wanted if one.form is Form.BOUNDS]
    others = [one for one in wanted if one.form is not Form.BOUNDS]
    for one in bounded:
        ends = [ranked(table.column(name), meanings.orders.get(one.name)) for name in one.columns]
        bounds.append([np.where(np.isnan(end), -np.inf, end) for end in ends])
        codes += [grouped((end + 0.0).view(np.int64)).of_record.astype(np.int32) for end in bounds[-1]]
    for one in others:
        column_codes, members = members_of(table.column(one.columns[0]), one.form)
        book = tuple(sorted(frozenset[str]().union(*members) - {MISSING}))
        place = {value: at for at, value in enumerate((*book, MISSING))}
        allowed = np.zeros((len(members) + 1, len(place)), dtype=np.bool_)
        for row, held in enumerate(members):
            allowed[row, [place[value] for value in held]] = True
        allowed[-1, -1] = True
        codes.append(column_codes)
        sets.append((column_codes, allowed))
        books.append(book)
    kinds = classes(np.array(codes, dtype=np.int32))
    first = kinds.first
    return Generalized(
        numeric=tuple(one.name for one in bounded),
        nominal=tuple(one.name for one in others),
        lower=np.array([ends[0][first] for ends in bounds]).reshape(len(bounds), len(first)).T.copy(),
        upper=np.array([ends[1][first] for ends in bounds]).reshape(len(bounds), len(first)).T.copy(),
        sets=tuple(allowed[column_codes[first]] for column_codes, allowed in sets),
        books=tuple(books),
        of_row=kinds.of_record if of_row is None else kinds.of_record[of_row],
    )


def _once(
    table: pa.Table, wanted: Sequence[QuasiIdentifier], numbered: str | None
) -> tuple[pa.Table, NDArray[np.int64] | None]:
    """The first row of each number, and of each value next to it that is shown as it is; which of them each row is."""
    if numbered is None:
        return table, None
    plain = [coded(table.column(one.columns[0])).codes for one in wanted if one.form is Form.PLAIN]
    number = grouped(np.asarray(table.column(numbered).to_numpy(), dtype=np.int64))
    grouping = classes(np.array([number.of_record.astype(np.int32), *plain])) if plain else number
    return table.take(pa.array(grouping.first)), grouping.of_record


def kept_together(
    paths: Sequence[Path], names: Sequence[str], *, called: Sequence[Mapping[str, str]] = ()
) -> list[NDArray[np.int64]]:
    """Numbers of the combinations of values that rows of several files have in the same columns; texts compare.

    Parameters
    ----------
    paths, names
        The files, and the columns.
    called
        Of each file, what it calls columns that have another name there.
    """
    if not names:
        return [np.zeros(pq.read_metadata(path).num_rows, dtype=np.int64) for path in paths]
    tables = []
    for path, own in zip(paths, called or [{}] * len(paths), strict=True):
        there = [own.get(name, name) for name in names]
        with pq.ParquetFile(path, pre_buffer=False) as file:
            tables.append(file.read(columns=there).select(there).rename_columns(list(names)))
    codes = []
    for name in names:
        columns = [_texts(table.column(name)) for table in tables]
        codes.append(coded(pa.chunked_array([chunk for column in columns for chunk in column.chunks])).codes)
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    return np.split(classes(np.array(codes, dtype=np.int32)).of_record, ends)


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    series = pl.Series(pl.from_arrow(column))
    if series.dtype.is_numeric():  # a whole number is the same number in a column of either type
        series = series.cast(pl.Float64)
    series = series.cast(pl.String)
    return pa.chunked_array([series.to_arrow(compat_level=pl.CompatLevel.oldest())])
