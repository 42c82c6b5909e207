"""A box release as the boxes it publishes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workers.frames.columns import numeric_columns
from workers.methods.protocol import JobContext


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of a release.

    Attributes
    ----------
    lower, upper
        Closed bounds, shape (B, n).
    counts
        Records, shape (B,).
    of_row
        Box of each row, shape (rows,).
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    counts: NDArray[np.int64]
    of_row: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        return self.lower.nbytes + self.upper.nbytes + self.counts.nbytes + self.of_row.nbytes


def released_boxes(job: JobContext, *, field: str = "release_id") -> Boxes:
    """The boxes of the release that a field of the specification names.

    Parameters
    ----------
    job
        A job that works on the release.
    field
        The field.
    """
    names = job.releases[field].spec["columns"]
    bounds = [f"{name}_{end}" for end in ("lo", "hi") for name in names]
    values = numeric_columns(job.release_path(field), ("box", *bounds)).values
    _, first, of_row, counts = np.unique(values[:, 0], return_index=True, return_inverse=True, return_counts=True)
    lower, upper = values[first, 1 : 1 + len(names)], values[first, 1 + len(names) :]
    return Boxes(
        np.ascontiguousarray(lower), np.ascontiguousarray(upper), counts.astype(np.int64), of_row.astype(np.int64)
    )
