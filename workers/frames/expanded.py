"""Tables of counts as tables of persons: each row as often as its count says."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

#: Rows of a group of the written file, and cells from which on it has fewer.
_ROWS: Final = 250_000
_CELLS: Final = 1 << 23
#: Bytes of a column's different texts up to which each is written once in a group, more than a group of a copy has.
_TEXTS: Final = 1 << 30


def expanded(path: Path, column: str, target: Path) -> Path:
    """Write a table with a row for each person, in the order of the rows and without the column of counts.

    Texts are repeated as codes, in memory and in the file: a long one with a large count would take its length for each
    person. Readers see the types of a typed copy all the same, for the file does not state how it was written.

    Parameters
    ----------
    path
        The typed copy.
    column
        Its counts: whole numbers of at least 1.
    target
        Where to write.

    Raises
    ------
    ValueError
        A count is missing, below 1, or a fraction.
    """
    with pq.ParquetFile(path, pre_buffer=False) as file:
        persons = pa.schema([_in_codes(one) for one in file.schema_arrow if one.name != column])
        at_once = max(1, min(_ROWS, _CELLS // max(1, len(persons))))
        options = {"compression": "zstd", "compression_level": 1, "dictionary_pagesize_limit": _TEXTS}
        with pq.ParquetWriter(target, persons, store_schema=False, **options) as writer:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                rows, counts = table.select(persons.names), _counts(table.column(column))
                for chosen in _repeated(counts, at_once=at_once):
                    writer.write_table(_taken(rows, chosen, persons))
    return target


def _in_codes(field: pa.Field) -> pa.Field:
    return field.with_type(pa.dictionary(pa.int32(), field.type)) if pa.types.is_string(field.type) else field


def _taken(rows: pa.Table, places: NDArray[np.int64], schema: pa.Schema) -> pa.Table:
    """Rows by their places, which rise; of texts only those that occur among them."""
    first = int(places[0])
    part = rows.slice(first, int(places[-1]) - first + 1)
    columns = [one.dictionary_encode() if pa.types.is_string(one.type) else one for one in part.columns]
    return pa.table(columns, schema=schema).take(pa.array(places - first))


def rows_of_persons(path: Path, column: str) -> Path:
    """Return the table with a row for each person beside that of counts, which is written once."""
    name = hashlib.blake2b(column.encode(), digest_size=8).hexdigest()
    target = path.with_name(f"{path.stem}-{name}.parquet")
    if not target.exists():
        expanded(path, column, target.with_suffix(".part")).rename(target)
    return target


def missing_by_column(path: Path) -> dict[str, int]:
    """Count the missing values of each column of a table that `expanded` has written, without reading it."""
    metadata = pq.read_metadata(path)
    missing = dict.fromkeys(metadata.schema.to_arrow_schema().names, 0)
    for group in range(metadata.num_row_groups):
        for place, name in enumerate(missing):
            missing[name] += metadata.row_group(group).column(place).statistics.null_count
    return missing


def _counts(column: pa.ChunkedArray) -> NDArray[np.int64]:
    values = column.to_numpy()
    if column.null_count or not (values >= 1).all() or not (values == np.floor(values)).all():
        raise ValueError("a column of counts has a value that counts no persons")
    counts: NDArray[np.int64] = values.astype(np.int64)
    return counts


def _repeated(counts: NDArray[np.int64], *, at_once: int) -> Iterator[NDArray[np.int64]]:
    """Places of rows, each as often as it counts, some at a time: never more than `at_once` are in memory."""
    ends = np.cumsum(counts)
    last = int(ends[-1]) if len(ends) else 0
    for first in range(0, last, at_once):
        yield np.searchsorted(ends, np.arange(first, min(first + at_once, last)), side="right").astype(np.int64)
