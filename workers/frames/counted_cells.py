"""Different cells of a quasi-identifier with their numbers: as intervals or as sets, whoever generalized them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from app.contracts.quasi_identifiers import Form, QuasiIdentifier
from workers.frames.codes import coded
from workers.frames.quasi_identifiers import as_it_is, members_of, ranked
from workers.frames.widths import DAY, closed, intervals_of, is_generalized, sets_of


@dataclass(frozen=True, slots=True)
class CountedCells:
    """Different cells of a column: intervals with the step of their values, or sets.

    Attributes
    ----------
    counts
        Records of each, shape (c,).
    ends
        Shape (c, 2), NaN where missing; None of sets.
    sizes
        Number of values that each set leaves, 0 where missing; None of intervals.
    step
        What values are multiples of, where that is known.
    is_amount
        Whether values are amounts, and neither days nor ranks.
    is_generalized
        Whether some cells show that they leave more than one value.
    """

    counts: NDArray[np.int64]
    ends: NDArray[np.float64] | None = None
    sizes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    step: float | None = None
    is_amount: bool = False
    is_generalized: bool = True


def counted_cells(
    path: Path, named: QuasiIdentifier, kept: NDArray[np.bool_], order: Sequence[Any] | None
) -> CountedCells:
    """Count the cells of a quasi-identifier of a Parquet file.

    Parameters
    ----------
    path
        The typed copy of a dataset, or a release.
    named
        The quasi-identifier, whose columns it has.
    kept
        Which rows count, shape (rows,).
    order
        Values of an ordinal column, in their order; None: their own.
    """
    with pq.ParquetFile(path, pre_buffer=False) as file:
        table = file.read(columns=list(named.columns)).filter(pa.array(kept))
    one = as_it_is(named, table)
    columns = [table.column(name) for name in one.columns]
    if one.form is Form.SET:
        codes, members = members_of(columns[0], Form.SET)
        return _sets(codes, np.array([len(each) for each in members]))
    if order is not None or all(_is_ordered(column.type) for column in columns):
        ends = np.column_stack([ranked(column, order) for column in (columns[0], columns[-1])])
        whole = all(pa.types.is_integer(column.type) or pa.types.is_date(column.type) for column in columns)
        is_amount = order is None and not pa.types.is_date(columns[0].type)
        step = 1.0 if whole or order is not None else None
        return _intervals(ends, step, is_amount=is_amount, is_generalized=one.form is Form.BOUNDS)
    if one.form is Form.BOUNDS:
        lower, upper = (column.combine_chunks() for column in columns)
        differ = np.asarray(pc.fill_null(pc.not_equal(lower, upper), True).to_numpy(zero_copy_only=False))
        return CountedCells(np.ones(len(differ), dtype=np.int64), sizes=1 + differ.astype(np.int64))
    return _texts(columns[0])


def _is_ordered(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date(kind))


def _intervals(ends: NDArray[np.float64], step: float | None, *, is_amount: bool, is_generalized: bool) -> CountedCells:
    ends[np.isnan(ends).any(axis=1)] = np.nan
    different, counts = np.unique(closed(ends), axis=0, return_counts=True)
    return CountedCells(counts, different, step=step, is_amount=is_amount, is_generalized=is_generalized)


def _sets(codes: NDArray[np.int32], sizes: NDArray[np.int64]) -> CountedCells:
    counts = np.bincount(codes + 1, minlength=len(sizes) + 1)
    return CountedCells(counts.astype(np.int64), sizes=np.append(0, sizes))


def _texts(column: pa.ChunkedArray) -> CountedCells:
    """Texts that other programs may have generalized; words are values, also where they are classes of a hierarchy."""
    encoded = coded(column)
    counts = np.bincount(encoded.codes + 1, minlength=len(encoded.values) + 1).astype(np.int64)
    texts = [str(one) for one in encoded.values.to_pylist()]
    if not is_generalized(texts):
        return CountedCells(counts, sizes=np.append(0, np.ones(len(texts), dtype=np.int64)), is_generalized=False)
    ends = intervals_of(texts)
    if ends is not None:
        days = any(DAY.search(one) for one in texts)
        return CountedCells(counts, np.vstack([[np.nan, np.nan], ends]), step=1.0 if days else None, is_amount=not days)
    return CountedCells(counts, sizes=np.append(0, np.array(sets_of(texts))))
