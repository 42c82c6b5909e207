"""Cells of any columns as classifiers take them: numbers as doubles, everything else as texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.contracts.datasets import NUMERIC
from app.methods.microfile.spec import Recodings
from workers.frames.harmonised import Slice, column_type, slices

Column = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Cells:
    """Some rows: their positions, rising, and their columns (doubles, NaN where missing; texts, None where missing)."""

    rows: npt.NDArray[np.int64]
    columns: tuple[Column, ...]


def kinds(path: Path, names: Sequence[str], recodings: Recodings) -> dict[str, bool]:
    """Which columns are numbers, and which are not."""
    for part in slices(path, names, recodings):
        return {name: column_type(part.columns[name].type) in NUMERIC for name in names}
    return {}


def cells(
    path: Path, names: Sequence[str], recodings: Recodings, rows: npt.NDArray[np.int64] | None = None
) -> Iterator[Cells]:
    """Cells of all rows, or of some, a row group at a time.

    Parameters
    ----------
    path
        The typed copy.
    names
        Columns, as they are called after recoding.
    recodings
        Recoded columns.
    rows
        Positions, rising; None for all rows.
    """
    for part in slices(path, names, recodings):
        last = part.first + part.rows
        if rows is None:
            yield Cells(np.arange(part.first, last), tuple(_column(part, name, None) for name in names))
            continue
        inside = rows[np.searchsorted(rows, part.first) : np.searchsorted(rows, last)]
        if len(inside):
            yield Cells(inside, tuple(_column(part, name, inside - part.first) for name in names))


def _column(part: Slice, name: str, positions: npt.NDArray[np.int64] | None) -> Column:
    if column_type(part.columns[name].type) in NUMERIC:
        numbers = part.numbers(name)
        return numbers if positions is None else numbers[positions]
    array = part.columns[name] if positions is None else part.columns[name].take(pa.array(positions))
    return np.array(array.cast(pa.large_string()).to_numpy(zero_copy_only=False), dtype=object)


def together(parts: Sequence[Cells]) -> tuple[Column, ...]:
    """The columns of several parts, one after the other."""
    return tuple(np.concatenate(columns) for columns in zip(*(part.columns for part in parts), strict=True))


def vital_rows(
    path: Path, conditions: Sequence[tuple[str, Sequence[object]]], recodings: Recodings
) -> npt.NDArray[np.bool_]:
    """Which rows have one of some values in each of some columns, (rows,) bool."""
    names = list(dict.fromkeys(name for name, _ in conditions))
    masks = []
    for part in slices(path, names, recodings):
        here = np.ones(part.rows, dtype=np.bool_)
        for name, values in conditions:
            here &= part.matches(name, values)
        masks.append(here)
    return np.concatenate(masks) if masks else np.empty(0, dtype=np.bool_)
