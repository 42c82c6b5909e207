"""Digests of columns as multisets: the same for the same values in whatever order."""

import hashlib
from pathlib import Path

import numpy as np

from workers.frames.columns import numeric_columns


def column_digest(path: Path, name: str) -> bytes:
    """SHA-256 of a numeric column's values, sorted, and of how many are missing.

    Parameters
    ----------
    path
        The typed copy.
    name
        The column. Values are taken as doubles: a whole number is the same number in a column of either type, and zero
        has no sign.

    Notes
    -----
    Small columns can be found from their digest by trying values: it is as restricted as they are.
    """
    values = numeric_columns(path, [name]).values[:, 0]
    values += 0.0
    values.sort()  # NaN, which is a missing value, comes last
    known = int(np.searchsorted(values, np.nan))
    header = f"surebox column 1: {len(values)} values, {len(values) - known} missing\n".encode()
    found = hashlib.sha256(header)
    found.update(values[:known].astype("<f8", copy=False).data)
    return found.digest()
