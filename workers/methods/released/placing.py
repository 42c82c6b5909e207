"""Where a published table of boxes places the records of an original: by geometry, for links are not kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import merged_values
from app.contracts.inputs import ReleaseInput
from app.contracts.quasi_identifiers import QuasiIdentifier, telling_boxes
from workers.frames.generalized import BOX, Meanings, generalized
from workers.frames.originals import Originals


@dataclass(frozen=True, slots=True)
class Located:
    """Boxes of a table.

    Attributes
    ----------
    places
        Box of each record of the original, shape (N,); -1 where there is none.
    of_row
        Box of each row of the table.
    """

    places: NDArray[np.int64]
    of_row: NDArray[np.int64]


def located(
    original: Originals,
    table: Path,
    wanted: Sequence[QuasiIdentifier],
    meanings: Meanings,
    *,
    numbered: str | None = None,
) -> Located:
    """The box of every record.

    Parameters
    ----------
    original
        The records, the same ones for all tables.
    table
        The Parquet file with boxes.
    wanted
        What the boxes are of: columns that the original has.
    meanings
        How the table's values are read.
    numbered
        Its column with numbers of boxes, if it has one.
    """
    boxes = generalized(table, wanted, meanings, numbered=numbered)
    return Located(original.places(boxes, meanings), boxes.of_row)


def located_in(original: Originals, path: Path, release: ReleaseInput) -> Located:
    """The box of every record in a release of boxes; where kept columns count, among those of the record's class.

    Parameters
    ----------
    original
        The records; they have the release's columns, and those kept that count.
    path
        The Parquet file of the release.
    release
        The known facts of it.
    """
    wanted = telling_boxes(release.spec, {column.name for column in release.columns})
    meanings = Meanings(release.made.ordinal, merged_values(release.spec, release.merged_as))
    return located(original, path, wanted, meanings, numbered=BOX)
