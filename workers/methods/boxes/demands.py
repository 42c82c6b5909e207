"""What a specification demands of every box beside k records: persons, classes of kept columns, sensitive values."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.contracts.box_columns import ColumnKind, kind_of, typed
from app.contracts.boxes import BoxesSpec, Distance
from app.contracts.datasets import ColumnType
from workers.algorithms.boxes.partition.diversity import BoxConstraints
from workers.frames.classes import classes
from workers.frames.codes import Codes, coded_columns
from workers.frames.columns import numeric_columns, take_rows


def demands(
    path: Path, spec: BoxesSpec, rows: NDArray[np.int64], persons: Codes | None, types: Mapping[str, ColumnType]
) -> BoxConstraints:
    """The demands, counted over the records that take part.

    Parameters
    ----------
    path
        The dataset, in Parquet.
    spec
        What is asked.
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
    kept = np.empty(0, dtype=np.int32)
    if spec.count_keep and spec.keep:
        kept = classes(take_rows(path, spec.keep, rows))
    values = numeric_columns(path, tuple(spec.epsilon)).values[rows] if spec.epsilon else np.empty((len(rows), 0))
    return BoxConstraints(
        diversity=spec.l or 0,
        kept=kept,
        codes=_sensitive(path, spec, rows, types),
        values=np.ascontiguousarray(values),
        apart=np.array(list(spec.epsilon.values()), dtype=np.float64),
        closeness=spec.t,
        alpha=spec.alpha,
        ordered=tuple(ordered(spec, name, types[name]) for name in spec.sensitive),
        persons=np.empty(0, dtype=np.int32) if persons is None else persons,
    )


def ordered(spec: BoxesSpec, name: str, column: ColumnType) -> bool:
    """Whether the values of a sensitive column have an order, so that moving them far counts for more."""
    if name in spec.t_distance:
        return spec.t_distance[name] is Distance.ORDERED
    return kind_of(spec, name, column) is not ColumnKind.NOMINAL


def _sensitive(
    path: Path, spec: BoxesSpec, rows: NDArray[np.int64], types: Mapping[str, ColumnType]
) -> NDArray[np.int32]:
    """Codes of the sensitive columns in the order of their values, shape (M, columns); -1 where missing."""
    codes = np.empty((len(rows), len(spec.sensitive)), dtype=np.int32)
    for index, (name, found) in enumerate(zip(spec.sensitive, coded_columns(path, spec.sensitive), strict=True)):
        whole = found.codes
        if name in spec.ordinal:
            whole = found.among([typed(value, types[name]) for value in spec.ordinal[name]])[0]
        codes[:, index] = whole[rows]
    return codes
