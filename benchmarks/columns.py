"""Steps of the columns of numbers in a table, and the widths demanded by default."""

from dataclasses import replace

import numpy as np

from surebox_core.types import FloatArray
from workers.algorithms.boxes.default_widths import default_width
from workers.algorithms.boxes.sides import NumericColumn


def columns_of(x: FloatArray) -> tuple[NumericColumn, ...]:
    """Columns of whole numbers, and of any numbers."""
    return tuple(NumericColumn(step=1.0 if (column == np.round(column)).all() else None) for column in x.T)


def demanded(x: FloatArray, columns: tuple[NumericColumn, ...], k: int = 5) -> tuple[NumericColumn, ...]:
    """The columns with their default least widths, and the spikes that need none."""
    made = []
    for column, values in zip(columns, x.T, strict=True):
        own = default_width(np.ascontiguousarray(values), column, k)
        made.append(replace(column, min_width=own.width, spike=own.spike))
    return tuple(made)
