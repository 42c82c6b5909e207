"""The rows of a dataset with some columns exchanged between them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from workers.frames.columns import take_rows


def exchanged(
    path: Path,
    names: Sequence[str],
    moved: Sequence[str],
    positions: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
) -> pa.Table:
    """Columns of the typed copy in another order of rows, some of them taken from other rows.

    Parameters
    ----------
    path
        The typed copy.
    names
        The columns to take, in order.
    moved
        Those among them whose cells come from other rows.
    positions
        Row that each row gets the moved cells of, shape (rows,).
    order
        Which row comes where, shape (rows,).
    """
    taken = {False: take_rows(path, [name for name in names if name not in moved], order)}
    taken[True] = take_rows(path, [name for name in names if name in moved], positions[order])
    return pa.table([taken[name in moved].column(name) for name in names], names=list(names))
