"""Numeric columns as matrices of complete records, row by row, and where each row came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workers.frames.columns import numeric_columns


@dataclass(frozen=True, slots=True)
class CompleteRecords:
    """Complete records of a dataset.

    Attributes
    ----------
    values
        Shape (M, n), row by row, without missing values.
    rows
        Their places in the dataset, ascending, shape (M,).
    total
        Records of the dataset, incomplete ones included.
    """

    values: NDArray[np.float64]
    rows: NDArray[np.int64]
    total: int


def complete_records(path: Path, columns: Sequence[str]) -> CompleteRecords:
    """Read columns of the typed copy and leave out incomplete records.

    That there are none where they are refused, and nothing infinite or too large, was seen in the profile before the
    job was accepted (`app.methods.columns`): datasets never change.

    Parameters
    ----------
    path, columns
        The typed copy, and what to read of it.
    """
    table = numeric_columns(path, columns)
    rows = np.arange(len(table.values))
    if table.missing.any():
        rows = np.flatnonzero(~np.isnan(table.values).any(axis=1))
        return CompleteRecords(np.ascontiguousarray(table.values[rows]), rows, len(table.values))
    return CompleteRecords(np.ascontiguousarray(table.values), rows, len(rows))
