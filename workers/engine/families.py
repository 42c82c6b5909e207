"""Families of an owner's data: decided when these are read, and remembered beyond their deletion.

Each dataset is compared with the sketches of all others of its owner, by `algorithms.tables.recognition` alone. When a
release is reviewed, the column that states whose record one is is compared with those that other releases count by.
Where the evidence does not decide, a question is kept, which someone who may publish answers. Data of before there were
sketches are recognised when a release of their owner is reviewed next.

Data that came by a key without `jobs:read` are compared with nothing until a keeper confirms them: else whoever uploads
a guess would learn from what becomes of it whether it is right.

What computes is imported where it is called: a worker loads it once it has been forked (registry.py).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from app.db.repositories import families, recognition
from app.db.repositories.datasets import NO_DATASET
from app.db.repositories.families import LedgerEntry
from app.db.session import Connection
from app.errors import StorageDamagedError
from app.releases.people import stating_questions
from app.secrets.keep import open_sketch, owner_secret, seal_sketch
from app.secrets.seal import Sealer, service_sealer
from workers.engine.resources import WorkerResources

if TYPE_CHECKING:
    from workers.algorithms.tables.recognition import Agreement, Table

log = structlog.get_logger(__name__)

_SECRET: Final = "sketches"  # noqa: S105 - its name


@dataclass(frozen=True, slots=True)
class Recognised:
    """By what a dataset is recognised, and what it agrees in with others.

    Attributes
    ----------
    dataset_id, owner : which, and whose.
    table : the dataset as it is compared.
    sealer : of the service, for its sketch and those of others.
    agreements, compared : with other datasets, by their ids; all tables that it was compared with, by dataset and the
        column that counts their persons.
    counted_by : the column that counts the persons whose rows these are; None: they are the dataset's own.
    """

    dataset_id: str
    owner: str
    table: "Table"
    sealer: Sealer
    agreements: "Mapping[str, Agreement]" = field(default_factory=dict)
    compared: Collection[tuple[str, str | None]] = frozenset()
    counted_by: str | None = None


def recognised(
    path: Path, *, dataset_id: str, owner: str, at: WorkerResources, counted_by: str | None = None
) -> Recognised:
    """Compare a dataset with all others of its owner that are there by now, unless it is compared with nothing."""
    from workers.frames.sketched import hashed_table

    table, sealer = hashed_table(path, key=sketching_key(owner, at)), service_sealer(at.settings)
    with at.database.read() as connection:
        word = families.kept_word(connection, owner=owner, dataset_id=dataset_id)
        if word == NO_DATASET or not families.by_keeper(connection, dataset_id=dataset_id):
            return Recognised(dataset_id, owner, table, sealer, counted_by=counted_by)
        signature = Recognised(dataset_id, owner, table, sealer, counted_by=counted_by)
        known = _others(connection, signature)
        others = _datasets(known)
        agreements = _agreements(connection, signature, others, tables=len(others))
    return replace(signature, agreements=agreements, compared=known)


def _others(connection: Connection, mine: Recognised) -> frozenset[tuple[str, str | None]]:
    """Tables of other datasets: a dataset has one more once a job has counted its persons."""
    known = recognition.known_tables(connection, owner=mine.owner)
    return frozenset(one for one in known if one[0] != mine.dataset_id)


def _datasets(tables: Collection[tuple[str, str | None]]) -> set[str]:
    return {dataset_id for dataset_id, _ in tables}


def _agreements(
    connection: Connection, mine: Recognised, dataset_ids: Collection[str], *, tables: int
) -> "dict[str, Agreement]":
    """Agreements of a table with datasets that no one has declared to be of other people.

    A dataset of counts has two sketches, of its rows and of the persons: what agrees more counts.
    """
    from workers.algorithms.tables.recognition import Sameness, compared
    from workers.frames.sketched import unpacked

    made: dict[str, Agreement] = {}
    for one in recognition.tables(connection, owner=mine.owner, dataset_ids=dataset_ids):
        theirs = unpacked(open_sketch(mine.sealer, one, owner=mine.owner))
        agreement, other = compared(mine.table, theirs, tables=tables), made.get(one.dataset_id)
        if other is None or agreement.bits - agreement.needed > other.bits - other.needed:
            made[one.dataset_id] = agreement
    return {other: one for other, one in made.items() if one.sameness is not Sameness.OTHER}


def sketching_key(owner: str, at: WorkerResources) -> bytes:
    """By which the columns and rows of an owner's data are hashed, so that they are recognised."""
    return owner_secret(at.database, service_sealer(at.settings), owner=owner, name=_SECRET)


def join_family(connection: Connection, signature: Recognised) -> str:
    """Find the family of a dataset, or make one, and remember by what it is recognised.

    The keeper's word is added to the recognition: that data are the same as others does not state that they are not
    the same as third ones. Only data that were set apart (`none`) are compared with nothing.
    """
    from workers.frames.sketched import packed

    families.lock_recognising(connection, owner=signature.owner)
    agreements: dict[str, Agreement] = {}
    family_id, because = _family(connection, signature, agreements)
    families.assign(connection, dataset_id=signature.dataset_id, family_id=family_id, because=because)
    named = {"owner": signature.owner, "dataset_id": signature.dataset_id}
    counted_by = signature.counted_by
    sealed = seal_sketch(signature.sealer, packed(signature.table.sketch), **named, counted_by=counted_by)
    recognition.remember(connection, family_id=family_id, sealed=sealed, **named, counted_by=counted_by)
    for other, agreement in agreements.items():
        _ask(connection, signature.owner, signature.dataset_id, other, agreement)
    return family_id


def family_of(path: Path, *, dataset_id: str, owner: str, at: WorkerResources, counted_by: str | None = None) -> str:
    """The family of a dataset; of one that was read before there were families, or confirmed since, it is looked for.

    So it is of the persons that a column counts, the first time that a job counts them.

    Parameters
    ----------
    path : its typed copy, with a row for each person where a column counts them.
    dataset_id, owner : which, and whose.
    at : where families are.
    counted_by : that column.
    """
    with at.database.read() as connection:
        known = families.of_dataset(connection, dataset_id=dataset_id)
        standing = None if known is None else families.standing(connection, family_id=known)
        is_known = counted_by is None or recognition.is_counted(
            connection, dataset_id=dataset_id, counted_by=counted_by
        )
    if known is not None and standing is not None and (not standing.confirmed or (standing.joined and is_known)):
        return known
    signature = recognised(path, dataset_id=dataset_id, owner=owner, at=at, counted_by=counted_by)
    with at.database.unit_of_work() as unit:
        return join_family(unit.connection, signature)


def recognise_older(folder: Path, *, owner: str, at: WorkerResources) -> None:
    """Recognise data of which something was published before there were sketches, one after the other, once each.

    Parameters
    ----------
    folder : where their typed copies are put while they are read. A copy that is gone or damaged is left out.
    owner, at : whose they are, and where families are.
    """
    with at.database.read() as connection:
        older = recognition.without_sketch(connection, owner=owner)
    for dataset_id, key in older:
        path = folder / f"{dataset_id}.parquet"
        try:
            at.storage.fetch(key, path)
            _recognise_older(path, dataset_id, owner, at)
        except (FileNotFoundError, StorageDamagedError) as error:
            log.warning("dataset.not_recognised", dataset_id=dataset_id, reason=type(error).__name__)
        finally:
            path.unlink(missing_ok=True)


def _recognise_older(path: Path, dataset_id: str, owner: str, at: WorkerResources) -> None:
    from workers.frames.hashed_cells import columns_of
    from workers.frames.sketched import packed_persons, sketched_persons

    signature, names = recognised(path, dataset_id=dataset_id, owner=owner, at=at), set(columns_of(path))
    with at.database.unit_of_work() as unit:
        family_id = join_family(unit.connection, signature)
        persons = [one.name for one in families.persons_of(unit.connection, family_id=family_id) if one.name in names]
    for name in persons:
        sketch = packed_persons(sketched_persons(path, name, key=sketching_key(owner, at)))
        sealed = seal_sketch(signature.sealer, sketch, owner=owner, dataset_id=dataset_id, name=name)
        with at.database.unit_of_work() as unit:
            recognition.remember_persons(
                unit.connection, owner=owner, family_id=family_id, dataset_id=dataset_id, name=name, sealed=sealed
            )


def united(connection: Connection, *, family_id: str, others: Collection[str]) -> str:
    """Make families one that turned out to be of the same data; the one that they are from now on."""
    first, *more = families.eldest_first(connection, family_ids={family_id, *others})
    with stating_questions(connection, family_ids=[first, *more], composed_anew=[first, *more]):
        families.merge(connection, family_id=first, others=more)
    return first


def _family(
    connection: Connection, signature: Recognised, agreements: "dict[str, Agreement]"
) -> tuple[str, dict[str, Any] | None]:
    """The family, and why it is that one; None where nothing is new. What others agree in is added to `agreements`.

    Families of which a keeper has answered that they are of other people stay two, whatever is the same as both.
    """
    known, because = families.of_dataset(connection, dataset_id=signature.dataset_id), None
    if known is None and not families.by_keeper(connection, dataset_id=signature.dataset_id):
        return families.create(connection, owner=signature.owner, confirmed=False), {"by": "first"}
    if known is None:
        known, because = _said(connection, signature)
    standing = None if known is None else families.standing(connection, family_id=known)
    if known is not None and standing is not None and (standing.apart or not standing.confirmed):
        return known, because
    others = {one: why for one, why in _same(connection, signature, agreements).items() if one != known}
    if known is None and not others:
        return families.create(connection, owner=signature.owner), {"by": "first"}
    joined, *more = [known] if known is not None else families.eldest_first(connection, family_ids=others)
    more += [one for one in families.eldest_first(connection, family_ids=others) if one != joined]
    for other in more:
        if not recognition.are_other(connection, family_id=joined, other_family_id=other):
            joined = united(connection, family_id=joined, others=[other])
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


def _same(
    connection: Connection, signature: Recognised, agreements: "dict[str, Agreement]"
) -> dict[str, dict[str, Any]]:
    """Families whose data are of the same people, and why."""
    from workers.algorithms.tables.recognition import Agreement, Sameness

    there = _others(connection, signature)
    known, since = _datasets(there), _datasets(there - frozenset(signature.compared))
    compared = dict(signature.agreements) | _agreements(connection, signature, since, tables=len(known))
    files = recognition.of_same_file(connection, owner=signature.owner, dataset_id=signature.dataset_id)
    same: dict[str, dict[str, Any]] = {one: {"by": "file", "dataset_id": other} for one, other in files.items()}
    names = tuple(one.sketch.name for one in signature.table.columns)
    agreements |= {other: Agreement(Sameness.SAME, math.inf, 0.0, names, 1.0) for other in files.values()}
    for other, agreement in compared.items():
        family_id = families.of_dataset(connection, dataset_id=other) if other in known else None
        if family_id is None:
            continue
        agreements[other] = agreement
        if agreement.sameness is Sameness.SAME:
            same.setdefault(family_id, {"by": "people", "over": list(agreement.columns), "dataset_id": other})
    return same


def _ask(connection: Connection, owner: str, dataset_id: str, other: str, agreement: "Agreement") -> None:
    """Ask whether two datasets are of the same people, unless their families are one or someone has answered.

    Evidence that decides against an answer about other data of these families is asked about again.
    """
    from workers.algorithms.tables.recognition import Sameness

    mine, theirs = (families.of_dataset(connection, dataset_id=one) for one in (dataset_id, other))
    if mine is None or theirs in {None, mine}:
        return
    before = recognition.questions(connection, family_id=mine)
    answered = any(one.other_family_id == theirs and one.people is not None for one in before)
    if answered and agreement.sameness is not Sameness.SAME:
        return
    evidence = {
        "columns": list(agreement.columns), "agreeing": round(agreement.agreeing, 2),
        "by_chance": round(agreement.expected, 2),
    }  # fmt: skip
    recognition.put_question(connection, owner=owner, dataset_id=dataset_id, other_dataset_id=other, evidence=evidence)


def join_by_persons(
    path: Path, person: str, *, dataset_id: str, owner: str, at: WorkerResources
) -> frozenset[tuple[str, str]]:
    """Compare the persons of a release with those of other families: values may have changed, ids have not.

    Parameters
    ----------
    path, dataset_id, owner : the data of the release, and whose.
    person : the column by which it counts them.
    at : where families are.

    Returns
    -------
    frozenset of (dataset, column)
        Whose persons these are compared with.
    """
    from workers.algorithms.tables.identified import compared_persons
    from workers.algorithms.tables.recognition import Sameness
    from workers.frames.sketched import sketched_persons, unpacked_persons

    with at.database.read() as connection:
        family_id = families.of_dataset(connection, dataset_id=dataset_id)
        standing = None if family_id is None else families.standing(connection, family_id=family_id)
        others = recognition.persons(connection, owner=owner, besides=family_id or "")
    compared = frozenset((one.dataset_id, one.name or "") for one in others)
    if standing is None or standing.apart or not standing.confirmed or not others:
        return compared
    mine, sealer = sketched_persons(path, person, key=sketching_key(owner, at)), service_sealer(at.settings)
    agreements: dict[str, Agreement] = {}
    for one in others:
        theirs = unpacked_persons(open_sketch(sealer, one, owner=owner))
        agreement = compared_persons(mine, theirs, tables=len(others))
        if one.dataset_id not in agreements or agreement.bits > agreements[one.dataset_id].bits:
            agreements[one.dataset_id] = replace(agreement, columns=(person,))
    with at.database.unit_of_work() as unit:
        families.lock_recognising(unit.connection, owner=owner)
        for other, agreement in agreements.items():
            if agreement.sameness is Sameness.SAME:
                because = {"by": "persons", "column": person, "dataset_id": other}
                _unite_datasets(unit.connection, dataset_id, other, because)
            if agreement.sameness is not Sameness.OTHER:
                _ask(unit.connection, owner, dataset_id, other, agreement)
    return compared


def _unite_datasets(connection: Connection, dataset_id: str, other: str, because: Mapping[str, Any]) -> None:
    """Make the families of two datasets one, unless a keeper has answered that they are of other people."""
    mine, theirs = (families.of_dataset(connection, dataset_id=one) for one in (dataset_id, other))
    if mine is None or theirs in {None, mine}:
        return
    if not recognition.are_other(connection, family_id=mine, other_family_id=str(theirs)):
        joined = united(connection, family_id=mine, others={str(theirs)})
        families.assign(connection, dataset_id=dataset_id, family_id=joined, because=because)


def continued(entries: Sequence[LedgerEntry], release_id: str | None) -> list[LedgerEntry]:
    """A publication among those of a family and the ones whose boxes it has, the last one first.

    Parameters
    ----------
    entries
        All publications of the family.
    release_id
        The one that is last; None for nothing.
    """
    there, chain = {one.release_id: one for one in entries}, dict[str, LedgerEntry]()
    while release_id is not None and release_id in there and release_id not in chain:
        chain[release_id] = there[release_id]
        release_id = there[release_id].previous_release_id
    return list(chain.values())
