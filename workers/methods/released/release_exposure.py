"""What releases show of the records of the tables that they were made from, and of all persons together.

A release is placed over its own table, whose values its boxes were cut by: over the typed copy by geometry, over a
table that is gone by what the ledger keeps of its records. Who of today is which of these records is `all_persons`'s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.tables.composition import ABSENT, UNPLACED, Noise, Placed
from workers.frames.columns import numeric_columns
from workers.frames.generalized import generalized, kept_together
from workers.frames.hashed_cells import columns_of
from workers.frames.ledger import Ledger, read_ledger
from workers.frames.originals import Originals
from workers.frames.persons import Cells, Fingerprints, fingerprints, write_fingerprints
from workers.methods.released.all_persons import AllPersons
from workers.methods.released.earlier import FamilyTerms
from workers.methods.released.placing import located
from workers.methods.released.same_persons import alike_in

#: Rows among which the scale of a record is looked up.
_SCALED: Final = 200_000


@dataclass(frozen=True)
class ReleaseExposure:
    """What one release shows of the records of its table.

    Attributes
    ----------
    ledger
        What it published.
    places, of_row
        Place of each record, and of each row of the ledger; None where it is noise.
    release_id
        Which one, of those of before.
    values, scale
        Of noise: values of each record, None where the table is gone; what its noise was, NaN where it was left out.
    """

    ledger: Ledger
    places: IntArray | None = None
    of_row: IntArray | None = None
    values: FloatArray | None = None
    scale: FloatArray | None = None
    release_id: str = ""

    @property
    def alike(self) -> IntArray:
        """Numbers of records of which it shows the same."""
        if self.places is not None:
            return alike_in(self.places)
        columns = (
            [] if self.values is None else [(one + 0.0).view(np.int64) for one in np.asfortranarray(self.values).T]
        )
        scales = [] if self.scale is None else [one.view(np.int64) for one in np.asfortranarray(self.scale).T]
        return alike_in(*columns, *scales)


def exposure_of_copy(
    original: Originals, dataset: Path, ledger: Ledger, *, scale: FloatArray | None = None
) -> ReleaseExposure:
    """What a release shows of the records of a typed copy.

    Parameters
    ----------
    original, dataset
        The records.
    ledger
        Of the release.
    scale
        Of noise, where it is known which row is whose; None: the scale of the row that is nearest to each record.
    """
    if not ledger.columns:
        values = np.ascontiguousarray(numeric_columns(dataset, ledger.names).values)
        return ReleaseExposure(ledger, values=values, scale=_nearest(values, ledger) if scale is None else scale)
    there = frozenset(columns_of(dataset))
    wanted = [one for one in ledger.columns if one.name in there]
    location = located(original, ledger.path, wanted, ledger.meanings)
    places = location.places
    if ledger.keep and there.issuperset(ledger.keep):
        mine, theirs = kept_together([dataset, ledger.path], ledger.keep)
        span = int(max(mine.max(initial=0), theirs.max(initial=0))) + 1
        places = np.where(np.isin(places * span + mine, location.of_row * span + theirs), places, ABSENT)
    return ReleaseExposure(ledger, places, location.of_row)


def exposure_of_fingerprints(known: Fingerprints, ledger: Ledger) -> ReleaseExposure:
    """What a release shows of records of which fingerprints are kept."""
    if not ledger.columns:
        return ReleaseExposure(ledger, scale=known.scale)
    return ReleaseExposure(ledger, known.places, generalized(ledger.path, ledger.columns, ledger.meanings).of_row)


def write_exposure(
    dataset: Path,
    ledger: Path,
    target: Path,
    *,
    terms: FamilyTerms,
    scale: FloatArray | None = None,
    history: Path | None = None,
) -> None:
    """Write what a family keeps of the records that a release was made from: fingerprints, and where each was in it.

    Parameters
    ----------
    dataset, ledger
        The records, and what the release published.
    target
        Where to write.
    terms
        What the family states about its tables.
    scale
        Of an uncertain release, the noise of each record.
    history
        Of a version, the records that all versions have shown.
    """
    released, cells = read_ledger(ledger), Cells(dataset, terms.key)
    exposure = exposure_of_copy(Originals(dataset), dataset, released, scale=scale)
    places = np.full(cells.rows, ABSENT, dtype=np.int64) if exposure.places is None else exposure.places
    shown = [name for name in (*released.names, *released.keep) if name in cells.names]
    persons = {name: own or name for name, own in terms.persons.items()}
    keep = [name for name in released.keep if name in cells.names]
    known = fingerprints(cells, shown, persons, places, under=terms.under, scale=exposure.scale, keep=keep)
    write_fingerprints(known, target, history)


def scale_of(known: Fingerprints, cells: Cells) -> FloatArray | None:
    """The noise of each record of a typed copy, from their stored record in another order; None: it has none."""
    order = None if known.scale is None else known.order_in(cells)
    if known.scale is None or order is None:
        return None
    scale = np.empty_like(known.scale)
    scale[order] = known.scale
    return scale


def linked_scale(release: Path, names: Sequence[str], link: Path, dataset: Path) -> FloatArray:
    """The noise of each record by the link that states which of them each row represents; NaN of those left out."""
    rows: NDArray[np.int64] = np.load(link, allow_pickle=False)
    scale = np.full((Cells(dataset, b"").rows, len(names)), np.nan)
    scale[rows] = numeric_columns(release, [f"{name}_scale" for name in names]).values
    return scale


def _nearest(values: FloatArray, release: Ledger) -> FloatArray:
    """Of each record the scale of the row that is nearest to it: which row is whose is not known."""
    there = np.isfinite(values).all(axis=1)
    scales = numeric_columns(release.path, [f"{name}_scale" for name in release.names]).values
    rows = np.linspace(0, len(scales) - 1, min(len(scales), _SCALED)).astype(np.int64)
    scale = scales[rows]
    nearest = np.full(values.shape, np.nan)
    if (scale == scale[:1]).all():
        nearest[there] = scale[0]
    else:
        z = numeric_columns(release.path, release.names).values[rows]
        spread = np.where(z.std(axis=0) > 0, z.std(axis=0), 1.0)
        nearest[there] = scale[cKDTree(z / spread).query(values[there] / spread)[1]]
    return nearest


def placed(exposure: ReleaseExposure, of: IntArray, shown: IntArray, kept: tuple[IntArray, IntArray] | None) -> Placed:
    """All persons in a release of boxes.

    Parameters
    ----------
    exposure
        The release.
    of
        Which record of its table each person is; negative: none, or untold.
    shown
        Numbers of the kept values of its rows, in the columns that all releases keep.
    kept
        Numbers of the kept values of today's records, and of its rows; None: they are not compared.
    """
    if exposure.places is None or exposure.of_row is None:
        raise ValueError("noise has no places")
    if not len(exposure.places):
        return Placed(of, exposure.of_row, shown, exposure.ledger.rows, kept, compared=kept is not None)
    places = np.where(of >= 0, exposure.places[np.maximum(of, 0)], of)
    return Placed(places, exposure.of_row, shown, exposure.ledger.rows, kept, compared=kept is not None)


def noise(exposure: ReleaseExposure, of: IntArray, values: FloatArray | None = None) -> tuple[Noise, IntArray]:
    """All persons in an uncertain release, and whether each is in it.

    Parameters
    ----------
    exposure, of
        As for `placed`.
    values
        Where the table is gone, the values of persons who have those that they had; NaN of others.
    """
    there, at = of >= 0, np.maximum(of, 0)
    width = len(exposure.ledger.names)
    points = np.full((len(of), width), np.nan)
    if exposure.values is not None and len(exposure.values):
        points[there] = exposure.values[at[there]]
    elif values is not None:
        points[: len(values)] = values
    scale = np.full((len(of), width), np.nan)
    if exposure.scale is not None and len(exposure.scale):
        scale[there] = exposure.scale[at[there]]
    presence = np.where(there, 0, of)
    lost = there & (np.isnan(points).any(axis=1)) & ~np.isnan(scale).any(axis=1)
    scale[lost], presence[lost] = np.nan, UNPLACED
    if exposure.scale is None:
        presence[there] = UNPLACED
    return Noise(points, scale, exposure.ledger.uniform), presence


def kept_now(dataset: Path, exposure: ReleaseExposure, columns: Mapping[str, str]) -> tuple[IntArray, IntArray] | None:
    """Numbers of the kept values of today's records, and of a release's rows, in the columns that both have.

    Parameters
    ----------
    dataset
        Today's typed copy.
    exposure
        The release.
    columns
        By the names of the release's table, what today's calls the columns whose values are the same.
    """
    names = [name for name in exposure.ledger.keep if name in columns]
    mine, theirs = kept_together([dataset, exposure.ledger.path], names, called=[columns, {}])
    return mine, theirs


def everywhere(persons: AllPersons, table: int | None) -> IntArray:
    """Which record of a table each person is; None: of today's."""
    if table is not None:
        return persons.records[table]
    of = np.full(persons.number, ABSENT, dtype=np.int64)
    of[: persons.today] = np.arange(persons.today)
    return of
