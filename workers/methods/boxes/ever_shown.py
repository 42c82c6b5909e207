"""Records that the versions of a table have shown: found again among today's, and kept for the version after.

Source: science.md section 6, "New versions of the data".

The family's ledger keeps fingerprints of them, of those who have left too: by these it is known who was shown where in
all versions, and no version splits off fewer than k of those whom all others show alike.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.inputs import PREVIOUS
from app.methods.boxes.spec import BoxesSpec
from surebox_core.types import BoolArray, IntArray
from workers.algorithms.boxes.overlays import NOWHERE, numbered
from workers.algorithms.boxes.versions import EverShown, Overlay, Version
from workers.frames.generalized import generalized
from workers.frames.ledger import Ledger, read_ledger
from workers.frames.persons import Cells, ShownRecords, read_fingerprints, read_shown_records, write_shown_records
from workers.frames.version_cells import VersionRows, version_rows
from workers.methods.context import InputFile, JobContext

#: Share of the records that may be the same by which it is seen that whole rows still are.
_MOST: Final = 0.5


@dataclass(frozen=True)
class Before:
    """The versions before, in the boxes of the last one.

    Attributes
    ----------
    ledgers
        What each published, the last one first; none where that is not known.
    rows
        The same, by the boxes of the last one.
    today, kept
        Numbers of the kept values of today's records, and of the rows of the last version.
    """

    ledgers: tuple[Ledger, ...]
    rows: tuple[VersionRows, ...]
    today: IntArray
    kept: IntArray

    @property
    def earlier(self) -> list[Version]:
        """Versions before the last one."""
        return [Version(one.box, one.kept, one.times) for one in self.rows[1:]]


def before(job: JobContext, of_row: IntArray, kept: Sequence[IntArray]) -> Before:
    """Read the versions before today's, as far as the ledger of their family has them.

    Parameters
    ----------
    job
        Of the new version.
    of_row
        Box of each row of the last version.
    kept
        Numbers of the kept values of today's records, and of the rows of the last version: where there is no ledger.
    """
    listed = job.fetch(InputFile.VERSIONS, PREVIOUS)
    if listed is None:
        return Before((), (), kept[0], kept[1])
    ledgers = tuple(read_ledger(Path(one)) for one in json.loads(listed.read_bytes()))
    rows, (today, last) = version_rows(job.release_path(PREVIOUS), ledgers, of_row=of_row, more=[job.dataset_path()])
    return Before(ledgers, tuple(rows), today, last)


@dataclass(frozen=True)
class Recognized:
    """The records that were ever shown, with those of today.

    Attributes
    ----------
    records
        As the last version left them.
    cells
        Fingerprints of today's records that are in a box, as `ShownRecords` has them.
    ever
        The same records, by the numbers of this job.
    """

    records: ShownRecords
    cells: dict[str, IntArray]
    ever: EverShown


def ever_shown(
    job: JobContext, spec: BoxesSpec, versions: Before, box: IntArray, inside: IntArray
) -> Recognized | None:
    """Find the records that were ever shown among today's; None where the ledger does not have them.

    Parameters
    ----------
    job, spec
        Of the new version.
    versions
        Those before.
    box
        Numbers of the boxes of the last one.
    inside
        Records of today that are in a box.
    """
    path, key = job.fetch(InputFile.PERSONS, PREVIOUS), job.fetch(InputFile.VERSIONS_KEY, PREVIOUS)
    if path is None or key is None or not versions.ledgers:
        return None
    records = read_shown_records(path) or _of_first(path, spec, versions, box)
    if records is None:
        return None
    today = Cells(job.dataset_path(), key.read_bytes())
    cells = {name: one[inside] for name, one in _cells(today, spec).items()}
    record = _same(records, cells, persons=spec.person_column is not None)
    person = np.concatenate([records.person, cells["person"]])
    known = None if spec.person_column is None else numbered(person)[: len(records.person)]
    kept = _kept(job, spec, versions, records, cells["kept"], inside, key.read_bytes())
    place = np.searchsorted(box, records.box)
    there = records.box >= 0
    ever = EverShown(records.group, np.where(there, place, NOWHERE), kept, record, known)
    return Recognized(records, cells, ever)


def persons_today(seen: Recognized) -> IntArray:
    """Return numbers of the persons of today's records, among those of `EverShown.person`."""
    person = np.concatenate([seen.records.person, seen.cells["person"]])
    return numbered(person)[len(seen.records.person) :]


def keep(seen: Recognized, overlay: Overlay, number: IntArray, target: Path) -> Path:
    """Write who was shown in all versions with this one.

    Parameters
    ----------
    seen
        The records as they were before.
    overlay
        Where this version shows them.
    number
        Number of the new version's box that each box of the last one is a part of.
    target
        Where to write.
    """
    ever, records = seen.ever, seen.records
    there = ever.record != NOWHERE
    columns = {}
    for name in seen.cells:
        which = overlay.came if name == "kept" else there
        known = getattr(records, name).copy()
        known[which] = seen.cells[name][ever.record[which]]
        columns[name] = np.concatenate([known, seen.cells[name][overlay.fresh]])
    of_record = np.append(number, NOWHERE)
    return write_shown_records(
        ShownRecords(
            **columns,
            box=np.concatenate([of_record[overlay.box], of_record[overlay.fresh_box]]),
            group=np.concatenate([overlay.group, overlay.fresh_group]),
            under=records.under,
        ),
        target,
    )


def _cells(table: Cells, spec: BoxesSpec) -> dict[str, IntArray]:
    """Fingerprints of records, as the ledger keeps them."""
    quasi, keep = {*spec.quasi_identifiers} & {*table.names}, {*spec.keep} & {*table.names}
    alone = np.zeros(table.rows, dtype=np.int64)
    return {
        "whole": table.keys(sorted(table.names)),
        "shown": table.keys(sorted(quasi | keep)),
        "person": alone if spec.person_column is None else table.keys([spec.person_column]),
        "kept": table.keys(sorted(keep)),
        "quasi": table.keys(sorted(quasi - keep)),
        "other": table.keys(sorted({*table.names} - quasi - keep)),
    }


def _of_first(path: Path, spec: BoxesSpec, versions: Before, box: IntArray) -> ShownRecords | None:
    """The records of a first release, each box or class of which is an overlay group."""
    if len(versions.ledgers) > 1:  # a version whose history is not known is no first release
        return None
    known, first = read_fingerprints(path), versions.ledgers[0]
    person = np.zeros(known.rows, dtype=np.int64)
    if spec.person_column is not None:
        names = [spec.person_column] if spec.person_column in known.persons else [*known.persons]
        if len(names) != 1:  # by which of them persons are known is not known
            return None
        person = known.persons[names[0]]
    if known.kept is None or known.quasi is None or known.other is None:
        return None
    places = generalized(first.path, first.columns, first.meanings).of_row
    of_place = np.full(max(int(places.max(initial=-1)), int(known.places.max(initial=-1))) + 2, NOWHERE)
    of_place[places] = np.where(versions.rows[0].box == NOWHERE, NOWHERE, box[versions.rows[0].box])
    numbers = of_place[np.maximum(known.places, NOWHERE)]
    there = numbers != NOWHERE
    group = numbered(known.places[there])
    return ShownRecords(
        known.whole[there], known.shown[there], person[there], known.kept[there], known.quasi[there],
        known.other[there], numbers[there], group, known.under,
    )  # fmt: skip


def _same(records: ShownRecords, cells: dict[str, IntArray], *, persons: bool) -> IntArray:
    """Match records that were ever shown to those of today: by whole rows, else by what is released; by persons.

    Records that agree in all that is released are as good as each other, those that are shown now come first. One whose
    released values have changed is known by the columns that are not released, or by its quasi-identifiers, where no
    other has these values. That one who has left is there again is known by its whole row; where most of the rows have
    changed in a column that is not released, by its released part.
    """
    record = np.full(len(records.group), NOWHERE, dtype=np.int64)
    current = records.box >= 0
    everyone = np.ones_like(current)
    if persons:
        both = (_mixed(records.person, records.shown), _mixed(cells["person"], cells["shown"]))
        for known, today in (both, (records.person, cells["person"])):
            _pair(record, known, today, everyone, current)
        return record
    _pair(record, records.whole, cells["whole"], everyone, current)
    whole = int(np.count_nonzero(record != NOWHERE))
    _pair(record, records.shown, cells["shown"], current, current)
    if whole < _MOST * min(int(np.count_nonzero(current)), len(cells["shown"])):
        _pair(record, records.shown, cells["shown"], everyone, current)
    else:
        _pair_single(record, records.other, cells["other"])
    _pair_single(record, records.quasi, cells["quasi"])
    return record


def _pair(record: IntArray, known: IntArray, today: IntArray, which: BoolArray, first: BoolArray) -> None:
    """Pair those who are not paired, as many of each key as both have, into `record`."""
    free = np.ones(len(today), dtype=np.bool_)
    free[record[record != NOWHERE]] = False
    mine, theirs = np.flatnonzero(which & (record == NOWHERE)), np.flatnonzero(free)
    keys = numbered(np.concatenate([known[mine], today[theirs]]))
    own, other = keys[: len(mine)], keys[len(mine) :]
    own_order, other_order = np.lexsort((~first[mine], own)), np.argsort(other, kind="stable")
    own, other = own[own_order], other[other_order]
    place = np.searchsorted(other, own) + np.arange(len(own)) - np.searchsorted(own, own)
    paired = np.append(other, NOWHERE)[np.minimum(place, len(other))] == own
    record[mine[own_order[paired]]] = theirs[other_order[place[paired]]]


def _pair_single(record: IntArray, known: IntArray, today: IntArray) -> None:
    """Pair those who are not paired whose key no other has, here or there, into `record`."""
    keys = numbered(np.concatenate([known, today]))
    mine, theirs = keys[: len(known)], keys[len(known) :]
    number = int(keys.max(initial=-1)) + 1
    single = (np.bincount(mine, minlength=number) == 1) & (np.bincount(theirs, minlength=number) == 1)
    of_key = np.full(number, NOWHERE, dtype=np.int64)
    of_key[theirs] = np.arange(len(today))
    free = np.ones(len(today) + 1, dtype=np.bool_)
    free[record[record != NOWHERE]] = False
    partner = np.where(single[mine], of_key[mine], NOWHERE)
    which = (record == NOWHERE) & (partner != NOWHERE) & free[partner]
    record[which] = partner[which]


def _mixed(one: IntArray, other: IntArray) -> IntArray:
    """A key of two, whose collisions are those of 64 bits."""
    mixed: IntArray = (one.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ other.view(np.uint64)).view(np.int64)
    return mixed


def _kept(
    job: JobContext,
    spec: BoxesSpec,
    versions: Before,
    records: ShownRecords,
    today: IntArray,
    inside: IntArray,
    key: bytes,
) -> NDArray[np.int64]:
    """Numbers of the kept values with which records are shown now, where k counts them."""
    if not (spec.k_counts_kept and spec.keep):
        return np.zeros_like(records.kept)
    last = Cells(job.release_path(PREVIOUS), key).keys(sorted(spec.keep))
    hashes, first = np.unique(np.concatenate([today, last]), return_index=True)
    numbers = np.concatenate([versions.today[inside], versions.kept])[first]
    place = np.minimum(np.searchsorted(hashes, records.kept), len(hashes) - 1)
    return np.where(hashes[place] == records.kept, numbers[place], NOWHERE)
