"""What a specification demands of every box beside k records: classes of kept columns, values of sensitive ones."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.contracts.boxes import BoxesSpec
from workers.algorithms.boxes.partition.diversity import BoxConstraints
from workers.frames.classes import classes, numbered
from workers.frames.columns import numeric_columns, take_rows


def demands(path: Path, spec: BoxesSpec, rows: NDArray[np.int64]) -> BoxConstraints:
    """The demands, counted over the records that take part.

    Parameters
    ----------
    path : the dataset, in Parquet.
    spec : what is asked.
    rows : (N,), the records that take part.

    Notes
    -----
    A missing value of a kept column is a value (it is published); of a sensitive one it is none (it hides nothing).
    """
    kept, codes = np.empty(0, dtype=np.int32), np.empty((len(rows), 0), dtype=np.int32)
    if spec.count_keep and spec.keep:
        kept = classes(take_rows(path, spec.keep, rows))
    if spec.sensitive:
        codes = numbered(take_rows(path, spec.sensitive, rows))
    values = numeric_columns(path, tuple(spec.epsilon)).values[rows] if spec.epsilon else np.empty((len(rows), 0))
    return BoxConstraints(
        diversity=spec.l or 0,
        kept=kept,
        codes=codes,
        values=np.ascontiguousarray(values),
        apart=np.array(list(spec.epsilon.values()), dtype=np.float64),
    )
