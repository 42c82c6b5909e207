"""Numeric columns as matrices of complete records, row by row, and where each row came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import Missing
from app.errors import FieldError, InvalidError
from workers.frames.columns import FloatTable, numeric_columns


@dataclass(frozen=True, slots=True)
class Records:
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


def complete_records(path: Path, columns: Sequence[str], missing: Missing, *, field: str = "columns") -> Records:
    """Read columns of the typed copy and leave out incomplete records, where that is allowed.

    Parameters
    ----------
    path, columns
        The typed copy, and what to read of it.
    missing
        What becomes of incomplete records.
    field
        The field of the specification that named the columns, for the pointers of errors.

    Raises
    ------
    InvalidError
        Missing values that are not to be dropped, infinite ones, or integers that a double cannot hold.
    """
    table = numeric_columns(path, columns)
    if errors := _errors(table, missing, field):
        raise InvalidError("columns that cannot be computed with; see `errors`", errors=errors)
    rows = np.arange(len(table.values))
    if table.missing.any():
        rows = np.flatnonzero(~np.isnan(table.values).any(axis=1))
        return Records(np.ascontiguousarray(table.values[rows]), rows, len(table.values))
    return Records(np.ascontiguousarray(table.values), rows, len(rows))


def _errors(table: FloatTable, missing: Missing, field: str) -> list[FieldError]:
    infinite = np.isinf(table.values).sum(axis=0)
    wrong = {
        "missing values": table.missing if missing is Missing.REFUSE else np.zeros_like(table.missing),
        "integers beyond 2^53 in size": table.wide,
        "infinite values": infinite,
    }
    return [
        FieldError(f"/{field}/{index}", f"column {name!r} has {counts[index]} {what}")
        for what, counts in wrong.items()
        for index, name in enumerate(table.names)
        if counts[index]
    ]
