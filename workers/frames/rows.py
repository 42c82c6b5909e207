"""The rows of a release, as its files are made of them: run after run, columns whole or taken from few values.

Notation
--------
unit : rows of one unit are the same in every column that is taken, as those of a box are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs
import pyarrow as pa

from surebox_verify.released.singles import are_plain, array, plain

Values: TypeAlias = npt.NDArray[Any] | pa.Array | pa.ChunkedArray
Places: TypeAlias = npt.NDArray[np.integer]

#: Rows of a run, and of a group in Parquet.
_RUN_ROWS: Final = 1 << 16
#: Where units are so many times fewer than rows, and no more than this, each is written once.
_REPEATED: Final = 4
_MOST_UNITS: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Taken:
    """A column that is read from few values; it is never whole in memory.

    Attributes
    ----------
    values
        What is taken.
    units
        The unit of each row; columns that are taken alike share the array.
    places
        The value of each unit; None where units have one each, in order.
    """

    values: npt.NDArray[Any] | pa.Array
    units: Places
    places: Places | None = None

    def of(self, units: Places) -> Values:
        """The values of some units."""
        places = units if self.places is None else np.take(self.places, units)
        if isinstance(self.values, pa.Array):
            return self.values.take(pa.array(places))
        return pa.array(np.take(self.values, places))

    @property
    def has_lists(self) -> bool:
        """True where its values are lists."""
        return isinstance(self.values, pa.Array) and pa.types.is_nested(self.values.type)

    @property
    def is_plain(self) -> bool:
        """True where it has lists, and those of the rows are all single values that CSV has as they are."""
        if not isinstance(self.values, pa.Array) or not self.has_lists:
            return False
        used = np.zeros(self.count, dtype=np.bool_)
        used[self.units] = True
        places = np.flatnonzero(used) if self.places is None else np.unique(self.places[used])
        return are_plain(self.values.take(pa.array(places)).to_pylist())

    def as_text(self) -> "Taken | None":
        """Lists as CSV has them: plain values or JSON arrays; None where the values are no lists."""
        if not isinstance(self.values, pa.Array) or not self.has_lists:
            return None
        lists = self.values.to_pylist()
        if self.is_plain:  # a list of several values is of no row
            texts = [plain(each) if each is not None and len(each) == 1 else None for each in lists]
        else:
            texts = [None if each is None else array(each) for each in lists]
        return Taken(pa.array(texts, pa.large_string()), self.units, self.places)

    @property
    def count(self) -> int:
        """How many units there are."""
        return len(self.values if self.places is None else self.places)


Columns: TypeAlias = Mapping[str, Values | Taken] | pa.Table


def by_name(columns: Columns) -> dict[str, Values | Taken]:
    """The columns, each by its name, in their order."""
    return {name: columns[name] for name in (columns if isinstance(columns, Mapping) else columns.column_names)}


def height(column: Values | Taken) -> int:
    """Rows of a column."""
    return len(column.units if isinstance(column, Taken) else column)


def infinite_column(columns: Mapping[str, Values | Taken]) -> str | None:
    """Return the first column with an infinite number; None where there is none."""
    for name, column in columns.items():
        values = pl.Series(pl.from_arrow(_as_arrow(column.values if isinstance(column, Taken) else column)))
        if values.dtype.is_float() and values.is_infinite().any():
            return name
    return None


@dataclass(frozen=True, slots=True)
class Run:
    """Rows that are written at once.

    Attributes
    ----------
    rows
        All columns.
    texts
        The columns of lists as files without lists have them.
    units
        The unit of each row, where units are written once; else None.
    """

    rows: pl.DataFrame
    texts: Mapping[str, pl.Series]
    units: Places | None = None

    @property
    def flat(self) -> pl.DataFrame:
        """The rows without lists."""
        return self.rows.with_columns([text.alias(name) for name, text in self.texts.items()])


class Rows:
    """The rows in runs, without NaN.

    Parameters
    ----------
    columns
        The columns by name, in order, all of one length; or a table.
    """

    def __init__(self, columns: Columns) -> None:
        given = by_name(columns)
        self._taken = {name: column for name, column in given.items() if isinstance(column, Taken)}
        texts = {name: column.as_text() for name, column in self._taken.items()}
        self._texts = {name: column for name, column in texts.items() if column is not None}
        whole = {name: _as_arrow(column) for name, column in given.items() if not isinstance(column, Taken)}
        self._whole = cast("pl.DataFrame", pl.from_arrow(pa.table(whole), rechunk=False))
        self._names = list(given)
        lengths = {height(column) for column in given.values()}
        if len(lengths) > 1:
            msg = "the columns of a release are of one length"
            raise ValueError(msg)
        self._height = max(lengths, default=0)
        self._units = None if len(self._whole.columns) else self._shared()

    def _shared(self) -> Places | None:
        """The unit of each row, where all columns are taken alike and units are few."""
        columns = list(self._taken.values())
        few = min(self._height // _REPEATED, _MOST_UNITS)
        if not columns or any(one.units is not columns[0].units for one in columns) or columns[0].count > few:
            return None
        return columns[0].units

    @property
    def empty(self) -> Run:
        """No row: names and types."""
        return self._run(0, 0)

    def each_unit(self) -> Run | None:
        """A row for each unit, where these are few and tell the whole row."""
        if self._units is None:
            return None
        every = np.arange(next(iter(self._taken.values())).count)
        return self._of(dict.fromkeys(self._taken, every), {}, None)

    def runs(self) -> Iterator[Run]:
        """All of them; a table without rows is one empty run."""
        for first in range(0, max(self._height, 1), _RUN_ROWS):
            yield self._run(first, min(first + _RUN_ROWS, self._height))

    def _run(self, first: int, last: int) -> Run:
        units = {name: one.units[first:last] for name, one in self._taken.items()}
        whole = {name: self._whole.get_column(name).slice(first, last - first) for name in self._whole.columns}
        return self._of(units, whole, None if self._units is None else self._units[first:last])

    def _of(self, units: Mapping[str, Places], whole: Mapping[str, pl.Series], repeated: Places | None) -> Run:
        columns = [
            _series(name, self._taken[name].of(units[name])) if name in self._taken else whole[name]
            for name in self._names
        ]
        rows = pl.DataFrame(columns).with_columns(cs.float().fill_nan(None))
        return Run(rows, {name: _series("", text.of(units[name])) for name, text in self._texts.items()}, repeated)


def _series(name: str, values: Values) -> pl.Series:
    return pl.Series(name, pl.from_arrow(values))


def _as_arrow(column: Any) -> Any:
    return pa.array(column) if isinstance(column, np.ndarray) else column
