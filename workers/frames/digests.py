"""Digests of columns as multisets: the same for the same values in whatever order."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from workers.frames.codes import Coded, coded_columns
from workers.frames.columns import NUMBERS, numeric_columns

#: Columns that are read at once: a file of thousands states where each is, and that takes as long as reading some.
_AT_ONCE: Final = 64


def column_digests(path: Path, names: Sequence[str]) -> list[bytes]:
    """SHA-256 of each column's values, sorted, and of how many are missing.

    Parameters
    ----------
    path
        The typed copy.
    names
        The columns. Numbers and days are taken as doubles: a whole number is the same number in a column of either
        type, and zero has no sign. Texts and booleans are taken with how often each occurs.

    Notes
    -----
    Small columns can be found from their digest by trying values: it is as restricted as they are.
    """
    schema, digests = pq.read_schema(path), dict[str, bytes]()
    numeric = [name for name in names if schema.field(name).type in NUMBERS]
    for first in range(0, len(numeric), _AT_ONCE):
        some = numeric[first : first + _AT_ONCE]
        digests.update(zip(some, map(_digest_of_numbers, numeric_columns(path, some).values.T), strict=True))
    others = [name for name in names if name not in digests]
    for first in range(0, len(others), _AT_ONCE):
        some = others[first : first + _AT_ONCE]
        digests.update(zip(some, map(_digest_of_values, coded_columns(path, some)), strict=True))
    return [digests[name] for name in names]


def _digest_of_numbers(values: NDArray[np.float64]) -> bytes:
    values += 0.0
    values.sort()  # NaN, which is a missing value, comes last
    known = int(np.searchsorted(values, np.nan))
    header = f"surebox column 1: {len(values)} values, {len(values) - known} missing\n".encode()
    hasher = hashlib.sha256(header)
    hasher.update(values[:known].astype("<f8", copy=False).data)
    return hasher.digest()


def _digest_of_values(column: Coded) -> bytes:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values)).tolist()
    missing = int(np.count_nonzero(column.codes < 0))
    hasher = hashlib.sha256(f"surebox column of values 1: {len(column.codes)} values, {missing} missing\n".encode())
    for value, count in zip(column.values.to_pylist(), counts, strict=True):
        text = str(value).encode()
        hasher.update(f"{count} {len(text)} ".encode() + text)
    return hasher.digest()
