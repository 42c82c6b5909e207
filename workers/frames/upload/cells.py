"""Cells: where the fields of a run of records are in a buffer, before they have a type.

The readers of text (`delimited`, `objects`) fill them in compiled code; `lexemes` finds which types a cell can have and
`building` makes typed arrays of them. No cell becomes a Python object on the way.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

#: Kinds of a cell. TEXT may have any type; QUOTED stood in quotes; STRING is text by its format (a JSON string).
TEXT, QUOTED, STRING, MISSING = 0, 1, 2, 3
#: An array of JSON as it was written, which its reader makes a STRING of before anything else sees it.
LIST = 6

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Cells:
    """A run of records as slices of a buffer, row by row.

    Attributes
    ----------
    buffer
        The bytes.
    start, end
        Slices of the buffer, shape (rows * width,).
    kind
        Kinds of the cells, shape (rows * width,).
    line
        Physical line, from 1, on which each record starts, shape (rows,).
    rows, width
        Records, and fields of each.
    fraction
        Share of the file read with these records.
    """

    buffer: Bytes
    start: Positions
    end: Positions
    kind: Bytes
    line: npt.NDArray[np.int64]
    rows: int
    width: int
    fraction: float

    def first(self, rows: int) -> "Cells":
        """The first records of these."""
        size = rows * self.width
        return Cells(
            self.buffer, self.start[:size], self.end[:size], self.kind[:size], self.line[:rows], rows, self.width,
            self.fraction,
        )  # fmt: skip


class CellReader(Protocol):
    """A file of text; every call of :meth:`batches` reads it from its beginning.

    Attributes
    ----------
    path
        The file, in UTF-8.
    names
        The columns found so far; complete once :meth:`batches` was exhausted.
    trailing_blanks
        Blank lines at the end that were counted as records because a file of one column has records like that.
    """

    path: Path
    names: list[str]
    trailing_blanks: int

    def batches(self) -> Iterator[Cells]:
        """Runs of records in the file's order; a run's arrays are only good until the next one is requested."""
        ...
