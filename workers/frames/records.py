"""Numeric columns as matrices of complete records, row by row, and where each row came from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import FieldError, InvalidError, pointer
from app.methods.columns import outside_domain
from surebox_verify.released.intervals import number_of
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


def within_domains(values: NDArray[np.float64], columns: Sequence[str], domains: Mapping[str, tuple[Any, Any]]) -> None:
    """Refuse domains that records which take part lie outside of.

    Parameters
    ----------
    values : (M, n), records that take part, NaN where they lack a value; days as they are counted from 1970.
    columns : names of the n columns.
    domains : declared ends by name, numbers or days.

    Raises
    ------
    InvalidError
        Each such domain, with the number of records on either side.
    """
    errors: list[FieldError] = []
    for place, name in enumerate(columns):
        if name in domains:
            low, high = (float(number_of(end)) for end in domains[name])
            below, above = (
                int(np.count_nonzero(beyond)) for beyond in (values[:, place] < low, values[:, place] > high)
            )
            errors += outside_domain(name, domains[name], below, above)
    if errors:
        raise InvalidError(" ".join(one.detail for one in errors), errors=errors)


def invalid_column(name: str, reason: str, quasi_identifiers: Sequence[str]) -> InvalidError:
    """Return the refusal of a column with values that a method cannot compute with.

    Parameters
    ----------
    name, reason
        The column, and what is wrong with its values.
    quasi_identifiers
        As the specification names them.
    """
    return InvalidError.at(pointer("quasi_identifiers", quasi_identifiers.index(name)), f"column {name!r}: {reason}")
