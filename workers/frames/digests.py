"""Digests of columns as multisets: the same for the same values in whatever order."""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from workers.frames.codes import Coded, coded_columns
from workers.frames.columns import NUMBERS, numeric_columns


def column_digest(path: Path, name: str) -> bytes:
    """SHA-256 of a column's values, sorted, and of how many are missing.

    Parameters
    ----------
    path
        The typed copy.
    name
        The column. Numbers and days are taken as doubles: a whole number is the same number in a column of either type,
        and zero has no sign. Texts and booleans are taken with how often each occurs.

    Notes
    -----
    Small columns can be found from their digest by trying values: it is as restricted as they are.
    """
    if pq.read_schema(path).field(name).type not in NUMBERS:
        return _digest_of_values(coded_columns(path, [name])[0])
    values = numeric_columns(path, [name]).values[:, 0]
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
