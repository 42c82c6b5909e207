"""Which of an owner's data are the same: looked at when they are read, and remembered beyond their deletion.

At upload data are compared over all of their columns, and over those that were released by then. Of two files that were
uploaded before anything was published, with some columns of their own each, that reveals nothing. So when a release is
reviewed, its data are compared over its columns, its kept columns, and all columns that other data have too. The other
data are read for that, once for each set of columns, and the result is kept beyond their deletion.

Data that came by a key without `jobs:read` are compared with nothing until a keeper confirms them: else whoever uploads
a guess would learn from what becomes of it whether it is right.

What computes is imported where it is called: a worker loads it once it has been forked (registry.py).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from app.db.repositories import families
from app.db.repositories.datasets import NO_DATASET
from app.db.repositories.families import OtherData, RowSketch
from app.db.session import Connection
from app.secrets.keep import owner_secret
from app.secrets.seal import service_sealer
from app.storage.protocol import Storage
from workers.engine.resources import WorkerResources

if TYPE_CHECKING:
    from workers.algorithms.tables.sketches import Sketch
    from workers.frames.hashed_cells import Hashes

_SECRET: Final = "sketches"  # noqa: S105 - its name
#: Columns with the same multiset that make data the same; all, where there are fewer.
_ALIKE: Final = 3
#: Columns that a release has in common with other data reveal nothing below this number, unless it has no other.
_LEAST: Final = 2

Sets = set[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Recognised:
    """By what a dataset is recognised."""

    dataset_id: str
    owner: str
    #: With what it states that another dataset has one too, in bits.
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
    fingerprints = {fingerprint(one, key=key): bits(counts(one)) for one in cells.values()}
    return Recognised(
        dataset_id,
        owner,
        {one: weight for one, weight in fingerprints.items() if one is not None},
        tuple(_sketched(cells, columns, key) for columns in sorted(wanted)),
    )


def sketching_key(owner: str, at: WorkerResources) -> bytes:
    """By which the columns and rows of an owner's data are hashed, so that they are recognised."""
    return owner_secret(at.database, service_sealer(at.settings), owner=owner, name=_SECRET)


def sketched(path: Path, sets: Iterable[Sequence[str]], *, owner: str, at: WorkerResources) -> tuple[RowSketch, ...]:
    """The rows of a dataset over sets of its columns."""
    from workers.frames.hashed_cells import cell_hashes

    key = sketching_key(owner, at)
    wanted = sorted({tuple(sorted(columns)) for columns in sets})
    cells = cell_hashes(path, sorted({name for columns in wanted for name in columns}), key=key)
    return tuple(_sketched(cells, columns, key) for columns in wanted)


def join_family(connection: Connection, signature: Recognised) -> str:
    """Find the family of a dataset, or make one, and remember by what it is recognised.

    The keeper's word is added to what is recognised: that data are the same as others does not state that they are not
    the same as third ones. Only data that were set apart (`none`) are compared with nothing.
    """
    families.lock_recognising(connection, owner=signature.owner)
    family_id, because = _family(connection, signature)
    families.assign(connection, dataset_id=signature.dataset_id, family_id=family_id, because=because)
    families.remember(
        connection, owner=signature.owner, family_id=family_id, fingerprints=signature.fingerprints,
        row_sketches=signature.sketches, dataset_id=signature.dataset_id,
    )  # fmt: skip
    return family_id


def family_of(path: Path, *, dataset_id: str, owner: str, at: WorkerResources) -> str:
    """The family of a dataset; of one that was read before there were families, or confirmed since, it is looked for.

    Parameters
    ----------
    path : its typed copy.
    dataset_id, owner : which, and whose.
    at : where families are.
    """
    with at.database.read() as connection:
        known = families.of_dataset(connection, dataset_id=dataset_id)
        standing = None if known is None else families.standing(connection, family_id=known)
    if known is not None and standing is not None and (standing.joined or not standing.confirmed):
        return known
    signature = recognised(path, dataset_id=dataset_id, owner=owner, at=at)
    with at.database.unit_of_work() as unit:
        return join_family(unit.connection, signature)


def united(connection: Connection, *, family_id: str, others: Collection[str]) -> str:
    """Make families one that turned out to be of the same data; the one that they are from now on."""
    first, *more = families.eldest_first(connection, family_ids={family_id, *others})
    families.merge(connection, family_id=first, others=more)
    return first


def _family(connection: Connection, signature: Recognised) -> tuple[str, dict[str, Any] | None]:
    """The family, and why it is that one; None where nothing is new."""
    known, because = families.of_dataset(connection, dataset_id=signature.dataset_id), None
    if known is None and not families.by_keeper(connection, dataset_id=signature.dataset_id):
        return families.create(connection, owner=signature.owner, confirmed=False), {"by": "first"}
    if known is None:
        known, because = _said(connection, signature)
    standing = None if known is None else families.standing(connection, family_id=known)
    if known is not None and standing is not None and (standing.apart or not standing.confirmed):
        return known, because
    same = _same(connection, signature)
    others = {one: why for one, why in same.items() if one != known}
    if known is None and not others:
        return families.create(connection, owner=signature.owner), {"by": "first"}
    joined = united(connection, family_id=known or min(others), others=others)
    families.set_joined(connection, family_id=joined)
    return joined, because or next(iter(others.values()), None)


def _said(connection: Connection, signature: Recognised) -> tuple[str | None, dict[str, Any] | None]:
    """The family by the keeper's word, given with this dataset or, while it was still being read, with another."""
    word = families.kept_word(connection, owner=signature.owner, dataset_id=signature.dataset_id)
    if word is None:
        return None, None
    if word == NO_DATASET:
        return families.create(connection, owner=signature.owner, apart=True), {"by": "apart"}
    named = families.of_dataset(connection, dataset_id=word)
    if named is None:  # of before there were families, or not read yet
        named = families.create(connection, owner=signature.owner)
        families.assign(connection, dataset_id=word, family_id=named)
    return named, {"by": "word", "dataset_id": word}


def _same(connection: Connection, signature: Recognised) -> dict[str, dict[str, Any]]:
    """Families whose data have columns or rows in common with these, and what."""
    from workers.algorithms.tables.sketches import BITS, same_rows

    alike = families.alike(connection, owner=signature.owner, fingerprints=signature.fingerprints)
    same: dict[str, dict[str, Any]] = {
        family_id: {"by": "columns", "columns": len(shared)}
        for family_id, (shared, every) in alike.items()
        if len(shared) >= min(_ALIKE, every, len(signature.fingerprints)) > 0
        if sum(signature.fingerprints[one] for one in shared) >= BITS
    }
    for mine in signature.sketches:
        for known in families.sketches(connection, owner=signature.owner, columns=mine.columns):
            if known.family_id not in same and same_rows(opened(mine), opened(known.sketch)):
                same[known.family_id] = {"by": "rows", "over": list(mine.columns)}
    return same


def _sketched(cells: "dict[str, Hashes]", columns: tuple[str, ...], key: bytes) -> RowSketch:
    from workers.algorithms.tables.sketches import sketch

    words = np.frombuffer(key[:16], "<u8")
    made = sketch([cells[name] for name in columns], (int(words[0]), int(words[1])))
    return RowSketch(
        columns=columns, rows=made.rows, least=made.least.astype("<u8").tobytes(), repeats=made.repeats.tolist()
    )


def opened(kept: RowSketch) -> "Sketch":
    """A sketch as it is compared."""
    from workers.algorithms.tables.sketches import Sketch

    least = np.frombuffer(kept.least, "<u8").astype(np.uint64)
    return Sketch(least, kept.rows, np.array(kept.repeats, np.int64).reshape(-1, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """What a release is made from, and the columns that it publishes.

    Attributes
    ----------
    dataset_id, path, owner : the data, their typed copy, and whose they are.
    columns : published as quasi-identifiers.
    keep : published as they are.
    scratch : where other data are read.
    """

    dataset_id: str
    path: Path
    owner: str
    columns: Sequence[str]
    keep: Sequence[str]
    scratch: Path


def compare_released(
    release: Released, family_id: str, *, at: WorkerResources, storage: Storage, tick: Callable[[], None]
) -> str:
    """Compare the data of a release with all others of its owner over what it publishes; the family that they are of.

    Parameters
    ----------
    release : what is reviewed.
    family_id : of its data until now.
    at, storage : where families are, and other data.
    tick : called before each of the others is read.
    """
    with at.database.read() as connection:
        standing = families.standing(connection, family_id=family_id)
        known = set(families.column_sets(connection, owner=release.owner))
        have = families.sketched_sets(connection, owner=release.owner)
        others = families.data_of(connection, owner=release.owner)
    mine = {one.id: one for one in others}.get(release.dataset_id)
    if mine is None or standing is None or standing.apart or not standing.confirmed:
        return family_id
    sets = {one.id: _in_common(release, mine, one) for one in others}
    for other in others:
        missing = {one for one in sets[other.id] if (other.id, one) not in have}
        if other.id != release.dataset_id and missing:
            tick()
            _sketch_other(other, missing, release, at=at, storage=storage)
    known = {one for one in known if mine.columns.issuperset(one)}
    return _join(release, known.union(*sets.values()), have, family_id, at=at)


def _in_common(release: Released, mine: OtherData, other: OtherData) -> Sets:
    """Sets of columns that both have and that state whether rows are the same."""
    whole = {tuple(sorted(release.columns))}
    wanted = (release.columns, (*release.columns, *release.keep), mine.columns)
    shared = {tuple(sorted(other.columns.intersection(one).intersection(mine.columns))) for one in wanted}
    return {one for one in shared if one and (len(one) >= _LEAST or one in whole)}


def _sketch_other(other: OtherData, missing: Sets, release: Released, *, at: WorkerResources, storage: Storage) -> None:
    path = release.scratch / f"rows-of-{other.id}.parquet"
    try:
        storage.fetch(other.key, path)
    except FileNotFoundError:  # deleted just now: the sketch of it by then is compared
        return
    made = sketched(path, missing, owner=release.owner, at=at)
    path.unlink()
    with at.database.unit_of_work() as unit:
        families.lock_joining(unit.connection, owner=release.owner)
        family_id = families.of_dataset(unit.connection, dataset_id=other.id)
        if family_id is not None:
            families.remember(
                unit.connection, owner=release.owner, family_id=family_id, fingerprints=(), row_sketches=made,
                dataset_id=other.id,
            )  # fmt: skip


def _join(
    release: Released, sets: Iterable[tuple[str, ...]], have: set[tuple[str, tuple[str, ...]]], family_id: str,
    *, at: WorkerResources,
) -> str:  # fmt: skip
    """Sketch the data of the release, and make one family of all whose rows are the same."""
    from workers.algorithms.tables.sketches import same_rows

    sketches = sketched(release.path, sets, owner=release.owner, at=at)
    new = [one for one in sketches if (release.dataset_id, one.columns) not in have]
    with at.database.unit_of_work() as unit:
        connection = unit.connection
        families.lock_recognising(connection, owner=release.owner)
        now = families.of_dataset(connection, dataset_id=release.dataset_id) or family_id
        families.remember(
            connection,
            owner=release.owner,
            family_id=now,
            fingerprints=(),
            row_sketches=new,
            dataset_id=release.dataset_id,
        )
        for mine in sketches:
            same = {
                known.family_id
                for known in families.sketches(connection, owner=release.owner, columns=mine.columns)
                if known.family_id != now and same_rows(opened(mine), opened(known.sketch))
            }
            if same:
                now = united(connection, family_id=now, others=same)
                because = {"by": "rows", "over": list(mine.columns)}
                families.assign(connection, dataset_id=release.dataset_id, family_id=now, because=because)
        return now
