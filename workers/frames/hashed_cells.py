"""Cells as keyed hashes: by them the same data are recognised, and nothing of them is kept."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

Hashes = npt.NDArray[np.uint64]

#: Bits of a missing number: a NaN that no computation makes.
_MISSING: Final = np.uint64(0x7FF8_5375_7265_626F)


def cell_hashes(path: Path, names: Iterable[str], *, key: bytes) -> dict[str, Hashes]:
    """Hash each cell of columns, shape (rows,) each: of numbers their bits, of all else a keyed hash of their text.

    Parameters
    ----------
    path
        The typed copy. It is opened once: to open it is to read the description of all its columns.
    names
        The columns. A whole number is the same number in a column of either type, and zero has no sign.
    key
        The owner's.
    """
    with pq.ParquetFile(path, pre_buffer=False) as file:
        return {name: _hashes(file.read(columns=[name]).column(name).combine_chunks(), key=key) for name in names}


def _hashes(column: pa.Array, *, key: bytes) -> Hashes:
    if (cells := pl.Series(pl.from_arrow(column))).dtype.is_numeric():
        numbers = cells.cast(pl.Float64).to_numpy() + 0.0
        bits: Hashes = np.where(np.isnan(numbers), _MISSING, numbers.view(np.uint64))
        return bits
    coded = column.dictionary_encode()
    texts = pl.Series(pl.from_arrow(coded.dictionary)).cast(pl.String)
    hashed = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=key).digest()) for text in texts]
    codes = coded.indices.fill_null(len(hashed)).to_numpy(zero_copy_only=False)
    hashes: Hashes = np.array([*hashed, _MISSING], np.uint64)[codes]
    return hashes


def counts(cells: Hashes) -> npt.NDArray[np.int64]:
    """How often each value of a column occurs."""
    return np.unique(cells, return_counts=True)[1].astype(np.int64)


def fingerprint(cells: Hashes, *, key: bytes) -> str | None:
    """Keyed fingerprint of a column as a multiset; None for one that many datasets share: constants, row numbers."""
    ordered = np.sort(cells)
    if len(ordered) < 2 or ordered[0] == ordered[-1] or _numbers_rows(ordered):
        return None
    return hashlib.blake2b(ordered.astype("<u8").tobytes(), digest_size=20, key=key).hexdigest()


def _numbers_rows(ordered: Hashes) -> bool:
    """Whether the cells are consecutive whole numbers, each once."""
    numbers = np.sort(ordered.view(np.float64))
    return bool(np.isfinite(numbers).all() and (np.diff(numbers) == 1.0).all() and numbers[0] == np.floor(numbers[0]))


def columns_of(path: Path) -> list[str]:
    """Names of the columns of a typed copy."""
    schema: pa.Schema = pq.read_schema(path)
    return list(schema.names)
