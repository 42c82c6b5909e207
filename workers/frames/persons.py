"""Records as keyed fingerprints: who was where in a release, which its family keeps beyond its data.

Source: science.md section 6, "The ledger" and "Placing persons".

What is written here is personal data, as restricted as the data are: anyone with the key finds persons whose values
they know. It is erased with the family, and so is the key.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.tables.sketches import hashed_rows
from workers.frames.codes import coded_columns
from workers.frames.hashed_cells import Hashes, cell_hashes, columns_of, counts, fingerprint

_ABOUT: Final = b"surebox persons"
#: Bytes of hashed columns that are kept for the next question.
_CACHED: Final = 256 << 20


class Cells:
    """The cells of a typed copy as keyed hashes, each column read once.

    Parameters
    ----------
    path
        The typed copy.
    key
        The family's.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self.path, self.key = path, key
        self.names = tuple(columns_of(path))
        self.rows: int = pq.read_metadata(path).num_rows
        self._hashes: dict[str, Hashes] = {}
        self._fingerprints: dict[str, str | None] = {}
        self._occurrences: dict[str, bytes] = {}

    def hashes(self, name: str) -> Hashes:
        """A column's cells, shape (rows,)."""
        if name in self._hashes:
            return self._hashes[name]
        hashes = cell_hashes(self.path, [name], key=self.key)[name]
        if sum(one.nbytes for one in self._hashes.values()) + hashes.nbytes <= _CACHED:
            self._hashes[name] = hashes
        return hashes

    def fingerprint(self, name: str) -> str | None:
        """A column's values as a multiset; None for one that many data share."""
        if name not in self._fingerprints:
            self._fingerprints[name] = fingerprint(self.hashes(name), key=self.key)
        return self._fingerprints[name]

    def occurrences(self, name: str) -> bytes:
        """How often the values of a column occur, whichever they are: the same for columns that are recodings."""
        if name not in self._occurrences:
            times = np.sort(counts(self.hashes(name)))
            self._occurrences[name] = hashlib.blake2b(times.tobytes(), digest_size=16).digest()
        return self._occurrences[name]

    def codes(self, name: str) -> IntArray:
        """A column's values by their places among the different ones, in their order; -1 where missing."""
        return coded_columns(self.path, [name])[0].codes.astype(np.int64)

    def keys(self, names: Sequence[str]) -> IntArray:
        """What records are known by, shape (rows,): the same for those that agree in these columns."""
        pair = np.frombuffer(self.key[:16], "<u8").astype(np.uint64)
        hashes = np.zeros(self.rows, dtype=np.uint64)
        for name in names:  # one column at a time: wide tables are larger than memory
            hashes = hashed_rows(np.column_stack([hashes, self.hashes(name)]), pair)
        keys: IntArray = hashes.view(np.int64)
        return keys


@dataclass(frozen=True)
class Fingerprints:
    """The records of a table that a release was made from, where each was, and by what each is known.

    Attributes
    ----------
    columns
        The table's columns by name, and the fingerprint of each as a multiset.
    released
        Those that the release was about.
    whole, shown
        Fingerprint of each record over all columns, and over those that were released.
    persons
        By the name of a person column, fingerprint of each record's person.
    places
        Where each was; negative: nowhere.
    scale
        Of an uncertain release, what the noise of each was, by column; NaN for those that were left out.
    kept, quasi, other
        Fingerprint of each record over the kept columns, over the quasi-identifiers, over all that were not released;
        None of releases of before they were stored.
    under
        Name of the secret by which all this is keyed.
    """

    columns: Mapping[str, str | None]
    released: tuple[str, ...]
    whole: IntArray
    shown: IntArray
    persons: Mapping[str, IntArray]
    places: IntArray
    under: str
    scale: FloatArray | None = field(default=None)
    kept: IntArray | None = field(default=None)
    quasi: IntArray | None = field(default=None)
    other: IntArray | None = field(default=None)

    @property
    def rows(self) -> int:
        """How many records there are."""
        return len(self.whole)

    def order_in(self, cells: "Cells") -> IntArray | None:
        """The records of a typed copy in the order in which they are kept; None where it is not the same table.

        Parameters
        ----------
        cells
            The copy's, under the key of these fingerprints. The file may have been read otherwise when it came again.
        """
        if cells.rows != self.rows or set(cells.names) != set(self.columns):
            return None
        whole = cells.keys(sorted(cells.names))
        order: IntArray = np.argsort(whole, kind="stable")
        return order if np.array_equal(whole[order], self.whole) else None


def fingerprints(
    cells: Cells,
    released: Sequence[str],
    persons: Mapping[str, str],
    places: IntArray,
    *,
    under: str,
    scale: FloatArray | None = None,
    keep: Sequence[str] = (),
) -> Fingerprints:
    """Fingerprints of a table's records, in an order that is not the table's.

    Parameters
    ----------
    cells
        The table's.
    released
        Those of its columns that were released.
    persons
        Columns that state whose record one is, by the names that its family knows.
    places, scale
        Where each record was, and with what noise.
    under
        The name of the key.
    keep
        Those that the release kept as they are.
    """
    whole = cells.keys(sorted(cells.names))
    order = np.argsort(whole, kind="stable")
    return Fingerprints(
        columns={name: cells.fingerprint(name) for name in sorted(cells.names)},
        released=tuple(sorted(released)),
        whole=whole[order],
        shown=cells.keys(sorted(released))[order],
        persons={name: cells.keys([own])[order] for name, own in persons.items()},
        places=places[order],
        under=under,
        scale=None if scale is None else scale[order],
        kept=cells.keys(sorted(keep))[order],
        quasi=cells.keys(sorted({*released} - {*keep}))[order],
        other=cells.keys(sorted({*cells.names} - {*released}))[order],
    )


@dataclass(frozen=True)
class ShownRecords:
    """Records that some version of a table has shown, whether they are there still or not; (K,) each.

    Attributes
    ----------
    whole, shown, person, kept, quasi, other
        Fingerprints of each, as when a version had it last: over all columns, over those that were released, of its
        person (0 where each record is one), over the kept columns, the quasi-identifiers, those that were not released.
    box
        Number of the box that shows it now; negative: none.
    group
        Overlay group of all versions: equal for those whom every version has shown in the same places.
    under
        Name of the secret by which all this is keyed.
    """

    whole: IntArray
    shown: IntArray
    person: IntArray
    kept: IntArray
    quasi: IntArray
    other: IntArray
    box: IntArray
    group: IntArray
    under: str


#: Fingerprints of a record.
_FINGERPRINTS: Final = ("whole", "shown", "person", "kept", "quasi", "other")
#: Columns of `ShownRecords`, by their names in a file of fingerprints.
_EVER: Final = {f"ever {name}": name for name in (*_FINGERPRINTS, "box", "group")}


def write_shown_records(ever: ShownRecords, target: Path) -> Path:
    """Write the records that versions have shown, for the file of fingerprints."""
    table = pa.table({column: pa.array(getattr(ever, name)) for column, name in _EVER.items()})
    about = json.dumps({"ever_under": ever.under, "ever": len(ever.group)})
    pq.write_table(table.replace_schema_metadata({_ABOUT: about}), target, compression="zstd")
    return target


def read_shown_records(path: Path) -> ShownRecords | None:
    """Read the records that versions have shown; None where a file of fingerprints has none: of a first release."""
    about = json.loads(pq.read_schema(path).metadata[_ABOUT])
    if "ever" not in about:
        return None
    table = pq.read_table(path, columns=list(_EVER)).slice(0, about["ever"])
    columns = {name: np.asarray(table.column(column).to_numpy(), dtype=np.int64) for column, name in _EVER.items()}
    return ShownRecords(**columns, under=about["ever_under"])


def key_of_shown_records(path: Path) -> str:
    """Return the name of the secret by which the records that versions have shown are keyed, or will be."""
    about = json.loads(pq.read_schema(path).metadata[_ABOUT])
    under: str = about.get("ever_under", about["under"])
    return under


#: Fingerprints that those of before lack.
_LATER: Final = ("kept", "quasi", "other")


def write_fingerprints(known: Fingerprints, target: Path, ever: Path | None = None) -> None:
    """Write what a family keeps of a release's records.

    Parameters
    ----------
    known
        Their fingerprints.
    target
        Where to write.
    ever
        Of a version: what `write_shown_records` has written; the shorter columns are filled up with zeros.
    """
    about: dict[str, object] = {
        "columns": dict(known.columns), "released": known.released, "persons": list(known.persons),
        "under": known.under, "rows": known.rows,
    }  # fmt: skip
    scales = [] if known.scale is None else list(known.scale.T)
    columns: dict[str, npt.NDArray[Any]] = {
        "whole": known.whole, "shown": known.shown, "place": known.places.astype(np.int32),
        **{name: one for name in _LATER if (one := getattr(known, name)) is not None},
        **{f"person {at}": one for at, one in enumerate(known.persons.values())},
        **{f"scale {at}": np.ascontiguousarray(one) for at, one in enumerate(scales)},
    }  # fmt: skip
    if ever is not None:
        records = pq.read_table(ever)
        about |= json.loads(records.schema.metadata[_ABOUT])
        columns |= {name: records.column(name).to_numpy() for name in _EVER}
    length = max(len(values) for values in columns.values())
    table = pa.table({name: pa.array(np.pad(values, (0, length - len(values)))) for name, values in columns.items()})
    pq.write_table(table.replace_schema_metadata({_ABOUT: json.dumps(about)}), target, compression="zstd")


def read_fingerprints(path: Path) -> Fingerprints:
    """What `write_fingerprints` has written."""
    names = [name for name in pq.read_schema(path).names if name not in _EVER]
    table = pq.read_table(path, columns=names)
    about = json.loads(table.schema.metadata[_ABOUT])
    table = table.slice(0, about.get("rows", table.num_rows))  # those of before have no longer columns beside them

    def column(name: str) -> npt.NDArray[np.int64]:
        return np.asarray(table.column(name).to_numpy(), dtype=np.int64)

    scales = [np.asarray(table.column(name).to_numpy()) for name in table.column_names if name.startswith("scale ")]
    return Fingerprints(
        columns=about["columns"],
        released=tuple(about["released"]),
        whole=column("whole"),
        shown=column("shown"),
        persons={name: column(f"person {at}") for at, name in enumerate(about["persons"])},
        places=column("place"),
        under=about["under"],
        scale=np.column_stack(scales) if scales else None,
        **{name: column(name) for name in _LATER if name in names},
    )
