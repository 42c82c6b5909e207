"""The same rows over what is published: looked for when a release enters the gate, among all data of its owner.

At upload data are compared over all of their columns, and over those that were released by then. Of two files that were
uploaded before anything was published, with some columns of their own each, that says nothing. So a release is compared
over its columns, its kept columns, and all columns that the other data have too; the other data are read for that, once
for each set of columns, and what is found is kept beyond their deletion.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.db.repositories import families
from app.db.repositories.families import OtherData
from app.storage.protocol import Storage
from workers.engine.families import opened, sketched, united
from workers.engine.resources import WorkerResources

#: Fewer columns in common than these say nothing, unless all that is released is one column.
_LEAST: Final = 2

Sets = set[tuple[str, ...]]


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
    release : what enters the gate.
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
    """Sets of columns that both have and that say whether rows are the same."""
    whole = {tuple(sorted(release.columns))}
    wanted = (release.columns, (*release.columns, *release.keep), mine.columns)
    shared = {tuple(sorted(other.columns.intersection(one).intersection(mine.columns))) for one in wanted}
    return {one for one in shared if one and (len(one) >= _LEAST or one in whole)}


def _sketch_other(other: OtherData, missing: Sets, release: Released, *, at: WorkerResources, storage: Storage) -> None:
    path = release.scratch / f"rows-of-{other.id}.parquet"
    try:
        storage.fetch(other.key, path)
    except FileNotFoundError:  # deleted just now: what was sketched of it by then is compared
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
