"""Columns of the typed copy after recoding, a row group at a time: as doubles, as codes, as tests of membership.

A recoded column is made from the distinct combinations of its sources' values, so that the work in Python is done
once for each of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.contracts.columns import parsed
from app.contracts.datasets import ColumnType
from app.methods.microfile.spec import DerivedColumn, Recodings, recoded_type
from workers.frames.upload.building import ARROW_TYPES

_TYPES = {arrow: kind for kind, arrow in ARROW_TYPES.items()}


@dataclass(frozen=True, slots=True)
class Slice:
    """Some consecutive rows: where they begin, how many they are, and their harmonised columns."""

    first: int
    rows: int
    columns: Mapping[str, pa.Array]

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """A numeric column as doubles, NaN where missing."""
        array = self.columns[name].cast(pa.float64(), safe=False)
        return np.asarray(pc.fill_null(array, np.nan).to_numpy(zero_copy_only=False), dtype=np.float64)

    def present(self, name: str) -> npt.NDArray[np.bool_]:
        """Whether the rows have a value in a column."""
        return np.asarray(self.columns[name].is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)

    def matches(self, name: str, values: Sequence[object]) -> npt.NDArray[np.bool_]:
        """Whether a column has one of these values, compared as its type; a missing value is none of them."""
        array = self.columns[name]
        kind = column_type(array.type)
        wanted = pa.array([parsed(value, kind) for value in values], type=array.type)
        mask = pc.fill_null(pc.is_in(array, value_set=wanted, skip_nulls=True), False)
        return np.asarray(mask.to_numpy(zero_copy_only=False), dtype=np.bool_)

    def taken(self, names: Sequence[str], positions: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
        """Some rows of some columns, for `joined`."""
        return {name: self.columns[name].take(pa.array(positions)) for name in names}


def column_type(kind: pa.DataType) -> ColumnType:
    """The type of a column of the typed copy, or of one made by recoding."""
    return ColumnType.STRING if pa.types.is_large_string(kind) else _TYPES[kind]


def slices(path: Path, names: Sequence[str], recodings: Recodings) -> Iterator[Slice]:
    """Harmonised columns of the typed copy, a row group at a time.

    Parameters
    ----------
    path
        The typed copy.
    names
        The columns as they are called after recoding; all exist.
    recodings
        Recoded columns.
    """
    needed = list(dict.fromkeys(source for name in names for source in sources(name, recodings)))
    first = 0
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=needed)
            raw = {name: _one(table.column(name)) for name in needed}
            yield Slice(first, table.num_rows, {name: harmonised(name, raw, recodings) for name in names})
            first += table.num_rows


def column_names(path: Path) -> tuple[str, ...]:
    """The columns of the typed copy, in order."""
    with pq.ParquetFile(path, pre_buffer=False) as file:
        return tuple(file.schema_arrow.names)


def sources(name: str, recodings: Recodings) -> tuple[str, ...]:
    """The columns of the typed copy that a harmonised column is made from."""
    recoding = recodings.get(name)
    return recoding.columns if isinstance(recoding, DerivedColumn) else (name,)


def _one(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)


def harmonised(name: str, raw: Mapping[str, pa.Array], recodings: Recodings) -> pa.Array:
    """One column after recoding, from the columns as they are."""
    recoding = recodings.get(name)
    if recoding is None:
        return raw[name]
    kinds = {source: column_type(raw[source].type) for source in sources(name, recodings)}
    kind = recoded_type(recoding, kinds, name)
    if isinstance(recoding, DerivedColumn):
        if not recoding.cases:
            return raw[recoding.columns[0]]
        return _derived(recoding, [raw[source] for source in recoding.columns], kinds, kind)
    known = {parsed(value, kinds[name]): to for value, to in recoding.items()}
    encoded = raw[name].dictionary_encode()
    made = [_converted(known.get(value, value), kind) for value in encoded.dictionary.to_pylist()]
    return pa.array(made, type=ARROW_TYPES[kind]).take(encoded.indices)


def _derived(
    recoding: DerivedColumn, sources: Sequence[pa.Array], kinds: Mapping[str, ColumnType], kind: ColumnType
) -> pa.Array:
    codes, combinations = distinct(sources)
    fitting = [_fitting(recoding, column, kinds[column]) for column in recoding.columns]
    every, made = (1 << len(recoding.cases)) - 1, []
    for combination in combinations:
        cases = every
        for value, (by_value, any_value) in zip(combination, fitting, strict=True):
            cases &= by_value.get(value, any_value)
        first = (cases & -cases).bit_length() - 1
        made.append(_converted(recoding.otherwise if first < 0 else recoding.cases[first].to, kind))
    return pa.array(made, type=ARROW_TYPES[kind]).take(pa.array(codes))


def _fitting(recoding: DerivedColumn, column: str, kind: ColumnType) -> tuple[dict[Any, int], int]:
    """The cases that each value of a column fits, and those that any value fits, as bits: the first is the lowest.

    Looking at one case after the other would take as many steps as there are cases for each combination of values.
    """
    by_value: dict[Any, int] = {}
    any_value = 0
    for place, case in enumerate(recoding.cases):
        if column not in case.when:
            any_value |= 1 << place
        for value in {parsed(one, kind) for one in case.when.get(column, ())}:
            by_value[value] = by_value.get(value, 0) | 1 << place
    return {value: cases | any_value for value, cases in by_value.items()}, any_value


def _converted(value: Any, kind: ColumnType) -> Any:
    """A value as the recoded column contains it; what it cannot contain is missing."""
    if value is None or kind is ColumnType.STRING:
        return value if value is None or isinstance(value, str) else _text(value)
    try:
        return parsed(value, kind)
    except (ValueError, OverflowError):
        return None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def distinct(columns: Sequence[pa.Array]) -> tuple[npt.NDArray[np.int64], list[tuple[Any, ...]]]:
    """Distinct combinations of the columns' values in rising order (missing values first), and each row's place there.

    Parameters
    ----------
    columns
        At least one, all of one length.

    Returns
    -------
    codes, combinations
        Shape (rows,), int64; and the combinations, None where missing.
    """
    combined = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        encoded = column.dictionary_encode()
        order = np.asarray(pc.sort_indices(encoded.dictionary).to_numpy(), dtype=np.int64)
        rank = np.zeros(len(order) + 1, dtype=np.int64)  # the last one is that of a missing value
        rank[order] = np.arange(1, len(order) + 1)
        codes = np.asarray(pc.fill_null(encoded.indices, len(order)).to_numpy(zero_copy_only=False), dtype=np.int64)
        combined = np.unique(combined * (len(order) + 1) + rank[codes], return_inverse=True)[1]
    if not len(combined):
        return combined, []
    first = np.zeros(int(combined.max()) + 1, dtype=np.int64)
    first[combined[::-1]] = np.arange(len(combined))[::-1]
    values = [column.take(pa.array(first)).to_pylist() for column in columns]
    return combined, list(zip(*values, strict=True))


def published(value: object) -> str | int | float | bool:
    """A cell as JSON shows it."""
    return value.isoformat() if isinstance(value, date) else cast("str | int | float | bool", value)


def joined(parts: Sequence[Mapping[str, pa.Array]], names: Sequence[str]) -> list[pa.Array]:
    """Columns whose rows come from several slices."""
    return [pa.concat_arrays([part[name] for part in parts]) for name in names]
