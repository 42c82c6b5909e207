"""What a specification demands of every box besides k records: persons, classes of kept columns, sensitive values."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import ColumnKind, typed_values
from app.contracts.datasets import ColumnType
from app.methods.boxes.spec import BoxesSpec, DistributionDistance, kind_of
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.core.winsorized import ends
from workers.frames.codes import Codes, coded_columns
from workers.frames.columns import numeric_columns
from workers.frames.spellings import spelled_as_one


def demands(
    path: Path, spec: BoxesSpec, rows: NDArray[np.int64], persons: Codes | None, types: Mapping[str, ColumnType]
) -> BoxConstraints:
    """The demands, counted over the records that take part.

    Parameters
    ----------
    path
        The dataset, in Parquet.
    spec
        The request.
    rows
        The records that take part, shape (M,).
    persons
        Number of each record's person, where k counts persons.
    types
        Of the dataset's columns.

    Notes
    -----
    A missing value of a kept column is a value (it is published); of a sensitive one it is none (it hides nothing).
    """
    kept = _kept(path, spec, rows) if spec.k_counts_kept and spec.keep else np.empty(0, dtype=np.int32)
    values = (
        numeric_columns(path, tuple(spec.min_separation)).values[rows]
        if spec.min_separation
        else np.empty((len(rows), 0))
    )
    return BoxConstraints(
        l=spec.l or 0,
        kept=kept,
        codes=sensitive_codes(path, spec, rows, persons, types),
        values=np.ascontiguousarray(values),
        apart=np.array(list(spec.min_separation.values()), dtype=np.float64),
        t=spec.t,
        alpha=spec.alpha,
        ordered=tuple(ordered(spec, name, types[name]) for name in spec.sensitive),
        persons=np.empty(0, dtype=np.int32) if persons is None else persons,
    )


def _kept(path: Path, spec: BoxesSpec, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """Number of each record's combination of kept values, shape (M,), by these: the order of rows changes none."""
    combined = np.zeros(len(rows), dtype=np.int64)
    for column in coded_columns(path, sorted(spec.keep)):
        codes = column.codes[rows] + 1
        combined = np.unique(combined * (len(column.values) + 1) + codes, return_inverse=True)[1]
    return combined.astype(np.int32)


def ordered(spec: BoxesSpec, name: str, column: ColumnType) -> bool:
    """Whether the values of a sensitive column have an order, so that moving them far counts for more."""
    if name in spec.t_distance:
        return spec.t_distance[name] is DistributionDistance.ORDERED
    return kind_of(spec, name, column) is not ColumnKind.NOMINAL


def sensitive_codes(
    path: Path, spec: BoxesSpec, rows: NDArray[np.int64], persons: Codes | None, types: Mapping[str, ColumnType]
) -> NDArray[np.int32]:
    """Codes of the sensitive columns in the order of their values.

    Parameters
    ----------
    path, spec, rows, persons, types
        As of `demands`.

    Returns
    -------
    ndarray of int32, shape (M, columns)
        -1 where missing. Texts that are spellings of one word are one value. Values that have an order come
        winsorized, as all that decides: the outermost count as one value.
    """
    codes = np.empty((len(rows), len(spec.sensitive)), dtype=np.int32)
    for index, (name, column) in enumerate(zip(spec.sensitive, coded_columns(path, spec.sensitive), strict=True)):
        order = typed_values(spec.ordinal[name], types[name]) if name in spec.ordinal else None
        whole = spelled_as_one(column, order)
        own = whole[rows]
        if kind_of(spec, name, types[name]) is not ColumnKind.NOMINAL:
            own = _winsorized(own, spec.k, persons, ranks=name in spec.ordinal)
        codes[:, index] = own
    return codes


def _winsorized(codes: Codes, k: int, persons: Codes | None, *, ranks: bool) -> Codes:
    """Codes in the order of values, those beyond the k-th from an end as that one; but for `ranks` renumbered."""
    known = codes >= 0
    if not known.any():
        return codes
    low, high = ends(np.where(known, codes, np.nan), k, persons)
    seen = np.clip(codes, int(low), int(high))
    if not ranks:
        seen = np.searchsorted(np.unique(seen[known]), seen).astype(np.int32)
    return np.where(known, seen, -1).astype(np.int32)
