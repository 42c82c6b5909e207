"""Tables of counts as tables of persons: each row as often as its count says."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

#: Rows of a group of the written file, and bytes from which on it has fewer, as of a typed copy.
_ROWS: Final = 250_000
_BYTES: Final = 1 << 27


def expanded(path: Path, column: str, target: Path) -> Path:
    """Write a table with a row for each person, in the order of the rows and without the column of counts.

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
        schema = file.schema_arrow
        persons = schema.remove(schema.get_field_index(column))
        with pq.ParquetWriter(target, persons, compression="zstd", compression_level=1) as writer:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                rows, counts = table.select(persons.names), _counts(table.column(column))
                for chosen in _repeated(counts, at_once=_at_once(rows)):
                    writer.write_table(rows.take(pa.array(chosen)))
    return target


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


def _at_once(rows: pa.Table) -> int:
    """Rows of a group, fewer where they are long."""
    return max(1, min(_ROWS, _BYTES * len(rows) // max(1, rows.nbytes))) if len(rows) else _ROWS


def _repeated(counts: NDArray[np.int64], *, at_once: int) -> Iterator[NDArray[np.int64]]:
    """Places of rows, each as often as it counts, some at a time: never more than `at_once` are in memory."""
    ends = np.cumsum(counts)
    last = int(ends[-1]) if len(ends) else 0
    for first in range(0, last, at_once):
        yield np.searchsorted(ends, np.arange(first, min(first + at_once, last)), side="right").astype(np.int64)
