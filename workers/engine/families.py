"""Which of an owner's data are the same: looked at when they are read, and remembered beyond their deletion.

What computes is imported where it is called: a worker loads it once it has been forked (registry.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from app.db.repositories import families
from app.db.repositories.families import RowSketch
from app.db.session import Connection
from app.secrets.keep import owner_secret
from app.secrets.seal import service_sealer
from workers.engine.resources import WorkerResources

if TYPE_CHECKING:
    from workers.algorithms.tables.sketches import Sketch
    from workers.frames.hashed_cells import Hashes

_SECRET: Final = "sketches"  # noqa: S105 - its name
_APART: Final = "none"
#: Columns with the same multiset that make data the same; all, where there are fewer.
_ALIKE: Final = 3


@dataclass(frozen=True, slots=True)
class Recognised:
    """By what a dataset is recognised."""

    dataset_id: str
    owner: str
    #: With what it says that another dataset has one too, in bits.
    fingerprints: Mapping[str, float]
    sketches: tuple[RowSketch, ...]


def recognised(path: Path, *, dataset_id: str, owner: str, at: WorkerResources) -> Recognised:
    """Fingerprints of a dataset's columns, and sketches of its rows over all and over each known set of columns."""
    from workers.algorithms.tables.sketches import bits
    from workers.frames.hashed_cells import cell_hashes, columns_of, counts, fingerprint

    key = sketching_key(owner, at)
    names = sorted(columns_of(path))
    cells = cell_hashes(path, names, key=key)
    with at.database.read() as connection:
        known = families.column_sets(connection, owner=owner)
    wanted = {tuple(names), *(one for one in known if cells.keys() >= set(one))}
    found = {fingerprint(one, key=key): bits(counts(one)) for one in cells.values()}
    return Recognised(
        dataset_id,
        owner,
        {one: told for one, told in found.items() if one is not None},
        tuple(_sketched(cells, columns, key) for columns in sorted(wanted)),
    )


def sketching_key(owner: str, at: WorkerResources) -> bytes:
    """By which the columns and rows of an owner's data are hashed, so that they are recognised."""
    return owner_secret(at.database, service_sealer(at.settings), owner=owner, name=_SECRET)


def sketched(path: Path, columns: Sequence[str], *, owner: str, at: WorkerResources) -> RowSketch:
    """The rows of a dataset over some of its columns."""
    from workers.frames.hashed_cells import cell_hashes

    key = sketching_key(owner, at)
    names = tuple(sorted(columns))
    return _sketched(cell_hashes(path, names, key=key), names, key)


def join_family(connection: Connection, found: Recognised) -> str:
    """Find the family of a dataset, or make one, and remember by what it is recognised; the keeper's word wins."""
    families.lock_recognising(connection, owner=found.owner)
    family_id = _said(connection, found) or _found(connection, found)
    families.assign(connection, dataset_id=found.dataset_id, family_id=family_id)
    families.remember(
        connection, owner=found.owner, family_id=family_id, fingerprints=found.fingerprints, found=found.sketches
    )
    return family_id


def _said(connection: Connection, found: Recognised) -> str | None:
    """The family by the keeper's word, given with this dataset or, while it was still being read, with another."""
    known = families.of_dataset(connection, dataset_id=found.dataset_id)
    word = families.kept_word(connection, owner=found.owner, dataset_id=found.dataset_id)
    if known is not None or word is None:
        return known
    if word == _APART:
        return families.create(connection, owner=found.owner, apart=True)
    named = families.of_dataset(connection, dataset_id=word)
    if named is None:  # of before there were families, or not read yet
        named = families.create(connection, owner=found.owner)
        families.assign(connection, dataset_id=word, family_id=named)
    return named


def _found(connection: Connection, found: Recognised) -> str:
    """The family by what the data have in common with others; families that turn out to be one become one."""
    same = sorted(_same(connection, found))
    family_id = same[0] if same else families.create(connection, owner=found.owner)
    families.merge(connection, family_id=family_id, others=same[1:])
    return family_id


def _same(connection: Connection, found: Recognised) -> set[str]:
    """Families whose data have columns or rows in common with these."""
    from workers.algorithms.tables.sketches import BITS, same_rows

    alike = families.alike(connection, owner=found.owner, fingerprints=found.fingerprints)
    same = {
        family_id
        for family_id, (shared, every) in alike.items()
        if len(shared) >= min(_ALIKE, every, len(found.fingerprints)) > 0
        if sum(found.fingerprints[one] for one in shared) >= BITS
    }
    for mine in found.sketches:
        for known in families.sketches(connection, owner=found.owner, columns=mine.columns):
            if known.family_id not in same and same_rows(_opened(mine), _opened(known.sketch)):
                same.add(known.family_id)
    return same


def _sketched(cells: "dict[str, Hashes]", columns: tuple[str, ...], key: bytes) -> RowSketch:
    from workers.algorithms.tables.sketches import sketch

    words = np.frombuffer(key[:16], "<u8")
    made = sketch([cells[name] for name in columns], (int(words[0]), int(words[1])))
    return RowSketch(
        columns=columns, rows=made.rows, least=made.least.astype("<u8").tobytes(), repeats=made.repeats.tolist()
    )


def _opened(kept: RowSketch) -> "Sketch":
    from workers.algorithms.tables.sketches import Sketch

    least = np.frombuffer(kept.least, "<u8").astype(np.uint64)
    return Sketch(least, kept.rows, np.array(kept.repeats, np.int64).reshape(-1, 2))
