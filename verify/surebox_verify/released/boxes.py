"""A box release as the boxes it publishes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from surebox_verify.boxes import Meaning, PublishedBoxes
from surebox_verify.core.types import FloatArray, IntArray
from surebox_verify.readings import Readings


@dataclass(frozen=True)
class ReleasedBoxes(PublishedBoxes):
    """Boxes of a release.

    Attributes
    ----------
    of_row : (rows,), box of each row.
    weights : (B,), weight of each record of a box; None where the release has none.
    """

    of_row: IntArray
    weights: FloatArray | None = None

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        arrays = (self.lower, self.upper, self.counts, self.of_row, self.weights)
        return sum(array.nbytes for array in arrays if array is not None)

    def readings(self, meaning: Meaning) -> Readings:
        """The columns, ready for ranges.

        Parameters
        ----------
        meaning : what the release says of its bounds and columns.
        """
        return Readings(self, meaning, self.weights)


def read_boxes(path: Path, names: Sequence[str], *, weight: str | None = None) -> ReleasedBoxes:
    """Read the boxes of a release.

    Parameters
    ----------
    path : the release's Parquet file.
    names : columns that were anonymized, in the order wanted; their bounds are `<name>_lo` and `<name>_hi`.
    weight : the column of the rows' weights, where the release is weighed.

    Raises
    ------
    ValueError
        A column that a release of boxes has is not there or is not numeric.
    """
    wanted = ["box", *(f"{name}_{end}" for end in ("lo", "hi") for name in names), *([weight] if weight else [])]
    with pq.ParquetFile(path, pre_buffer=False) as file:
        missing = [name for name in wanted if file.schema_arrow.get_field_index(name) < 0]
        if missing:
            msg = f"no column {missing[0]!r}: this is no release of boxes of {', '.join(names)}"
            raise ValueError(msg)
        return boxes_of(file.read(columns=wanted), names, weight=weight)


def boxes_of(table: pa.Table, names: Sequence[str], *, weight: str | None = None) -> ReleasedBoxes:
    """The boxes of a release whose rows are there already; as `read_boxes`."""
    number = _doubles(table, "box")
    _, first, of_row, counts = np.unique(number, return_index=True, return_inverse=True, return_counts=True)
    bounds = [np.column_stack([_doubles(table, f"{name}_{end}")[first] for name in names]) for end in ("lo", "hi")]
    return ReleasedBoxes(
        lower=np.ascontiguousarray(bounds[0]),
        upper=np.ascontiguousarray(bounds[1]),
        counts=counts.astype(np.int64),
        of_row=of_row.astype(np.int64),
        weights=_doubles(table, weight)[first] if weight else None,
    )


def meaning_of(parameters: Mapping[str, Any], columns: Mapping[str, str]) -> Meaning:
    """What a release says of its bounds, beside the boxes.

    Parameters
    ----------
    parameters : how it was made, as far as that is public.
    columns : type of each column of its files, by name.
    """
    whole = {"integer": 1.0, "date": 1.0}
    steps = tuple(whole.get(columns.get(f"{name}_lo", "number")) for name in parameters.get("columns", ()))
    return Meaning(parameters.get("bounds") == "tight", steps, least=int(parameters.get("k") or 0))


def _doubles(table: pa.Table, name: str) -> FloatArray:
    column = table.column(name)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        msg = f"column {name!r} is not numeric"
        raise ValueError(msg)
    values: FloatArray = column.cast(pa.float64(), safe=False).to_numpy()
    return values
