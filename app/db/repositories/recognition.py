"""By what an owner's data are recognised, and whether those that may be the same people are: what keepers answer."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Select, delete, func, null, or_, select, union, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.contracts.families import People
from app.db.repositories.secrets import Sealed
from app.db.tables.datasets import (
    counted_sketch,
    dataset,
    family,
    family_question,
    person_sketch,
    table_sketch,
)
from app.db.tables.releases import release

#: Families that others are compared with: confirmed, and not set apart by their keeper.
_COMPARED: Final = (family.c.apart.is_(False), family.c.confirmed.is_(True))
#: Sketches of rows: a dataset's own, and of the persons that columns of it count; all sketches.
_OF_TABLES: Final = (table_sketch, counted_sketch)
_ALL: Final = (*_OF_TABLES, person_sketch)
#: Sketches that are read at once.
_BATCH: Final = 64


@dataclass(frozen=True, slots=True)
class KnownTable:
    """The sketch of a dataset, which may be deleted by now, and the family that it is of.

    Attributes
    ----------
    name : the column whose persons it is about; None: it is about the table.
    counted_by : the column that counts the persons whose rows it is about; None: they are the dataset's own.
    sealed : the sketch; not sealed if `under` is empty, as sketches were before.
    """

    dataset_id: str
    family_id: str
    name: str | None
    sealed: Sealed
    counted_by: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """Two datasets of which the evidence does not decide whether they are the same people.

    Attributes
    ----------
    family_id, other_family_id : of both.
    published : releases that were ever published of the other family.
    evidence : columns that agree, the share that does, and what chance gives.
    people : the answer; None while there is none.
    """

    dataset_id: str
    family_id: str
    other_dataset_id: str
    other_family_id: str
    published: int
    evidence: Mapping[str, Any]
    people: People | None
    answered_at: datetime | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft with the findings against it, and how many publications it was composed with."""

    release_id: str
    family_id: str | None
    findings: Sequence[Mapping[str, Any]]
    composed_after: int | None


_DRAFTS: Final = select(release.c.id, release.c.family_id, release.c.findings, release.c.composed_after)


def known_tables(connection: Connection, *, owner: str) -> set[tuple[str, str | None]]:
    """The owner's tables of which there are sketches that others are compared with.

    Returns
    -------
    set of (dataset, column)
        The column that counts the persons whose rows the table has; None: they are the dataset's own.
    """
    columns = ((table_sketch, null().label("counted_by")), (counted_sketch, counted_sketch.c.counted_by))
    known = (
        select(one.c.dataset_id, counted_by)
        .join(family, family.c.id == one.c.family_id)
        .where(one.c.owner == owner, *_COMPARED)
        for one, counted_by in columns
    )
    return {(row.dataset_id, row.counted_by) for row in connection.execute(union(*known))}


def without_sketch(connection: Connection, *, owner: str) -> list[tuple[str, str]]:
    """The owner's datasets without a sketch of whose data something was published, and where they are stored."""
    statement = (
        select(dataset.c.id, dataset.c.data_key)
        .join(family, family.c.id == dataset.c.family_id)
        .outerjoin(table_sketch, table_sketch.c.dataset_id == dataset.c.id)
        .where(dataset.c.owner == owner, dataset.c.deleted_at.is_(None), dataset.c.data_key.is_not(None), *_COMPARED)
        .where(family.c.published > 0, table_sketch.c.dataset_id.is_(None))
    )
    return [(row.id, row.data_key) for row in connection.execute(statement.order_by(dataset.c.id))]


def tables(connection: Connection, *, owner: str, dataset_ids: Collection[str]) -> Iterator[KnownTable]:
    """The sketches of datasets, some at a time; of one whose rows were counted there are several."""
    wanted = sorted(dataset_ids)
    for at in range(0, len(wanted), _BATCH):
        for one in _OF_TABLES:
            mine = (one.c.owner == owner, one.c.dataset_id.in_(wanted[at : at + _BATCH]))
            for row in connection.execute(select(one).where(*mine)):
                yield _known(row)


def persons(connection: Connection, *, owner: str, besides: str) -> list[KnownTable]:
    """The sketches of the persons of other families, by the columns that their releases count them by."""
    return [_known(row) for row in connection.execute(_of_others(select(person_sketch), owner, besides))]


def persons_known(connection: Connection, *, owner: str, besides: str) -> list[tuple[str, str]]:
    """The datasets of other families, and the columns, of which there are sketches of persons."""
    columns = select(person_sketch.c.dataset_id, person_sketch.c.name)
    return [(row.dataset_id, row.name) for row in connection.execute(_of_others(columns, owner, besides))]


def _of_others(statement: Select[Any], owner: str, besides: str) -> Select[Any]:
    mine = (person_sketch.c.owner == owner, person_sketch.c.family_id != besides, *_COMPARED)
    of_families = statement.join(family, family.c.id == person_sketch.c.family_id).where(*mine)
    return of_families.order_by(person_sketch.c.dataset_id, person_sketch.c.name)


def _known(row: Any) -> KnownTable:
    """A sketch of either kind."""
    sealed = Sealed(row.sketch, row.sealed_under or b"")
    name, counted_by = getattr(row, "name", None), getattr(row, "counted_by", None)
    return KnownTable(row.dataset_id, row.family_id, name, sealed, counted_by)


def remember_persons(
    connection: Connection, *, owner: str, family_id: str, dataset_id: str, name: str, sealed: Sealed
) -> None:
    """Keep by what the persons of a dataset are recognised, whom a release counts by a column."""
    values = {"dataset_id": dataset_id, "name": name, "owner": owner, "family_id": family_id, **_values(sealed)}
    connection.execute(upsert(person_sketch).values(**values).on_conflict_do_nothing())


def _values(sealed: Sealed) -> dict[str, bytes]:
    return {"sketch": sealed.body, "sealed_under": sealed.under}


def owners_sealed_otherwise(connection: Connection, *, under: bytes) -> list[str]:
    """Owners with sketches that another of the service's secrets has sealed, or none."""
    owners = (select(one.c.owner).where(one.c.sealed_under.is_distinct_from(under)) for one in _ALL)
    return sorted(set(connection.execute(union(*owners)).scalars()))


def has_unsealed(connection: Connection) -> bool:
    """Return whether there are sketches of before they were sealed."""
    left = (select(one.c.dataset_id).where(one.c.sealed_under.is_(None)) for one in (table_sketch, person_sketch))
    return connection.execute(union(*left).limit(1)).first() is not None


def sealed_otherwise(connection: Connection, *, owner: str, under: bytes) -> list[KnownTable]:
    """Some sketches of an owner that another of the service's secrets has sealed, or none."""
    rows: list[KnownTable] = []
    for one in _ALL:
        due = select(one).where(one.c.owner == owner, one.c.sealed_under.is_distinct_from(under))
        rows += map(_known, connection.execute(due.order_by(one.c.dataset_id).limit(_BATCH)))
    return rows


def replace_sketch(connection: Connection, *, kept: KnownTable) -> None:
    """Keep the same sketch, sealed anew."""
    one, named = table_sketch, {"dataset_id": kept.dataset_id}
    if kept.name is not None:
        one, named = person_sketch, named | {"name": kept.name}
    elif kept.counted_by is not None:
        one, named = counted_sketch, named | {"counted_by": kept.counted_by}
    changed = update(one).where(*(one.c[column] == value for column, value in named.items()))
    connection.execute(changed.values(**_values(kept.sealed)))


def remember(
    connection: Connection,
    *,
    owner: str,
    family_id: str,
    dataset_id: str,
    sealed: Sealed,
    counted_by: str | None = None,
) -> None:
    """Keep by what a dataset, or the persons that a column of it counts, are recognised."""
    values = {"owner": owner, "family_id": family_id, **_values(sealed)}
    one, named = table_sketch, {"dataset_id": dataset_id}
    if counted_by is not None:
        one, named = counted_sketch, named | {"counted_by": counted_by}
    statement = upsert(one).values(**named, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=[*named], set_=values))


def is_counted(connection: Connection, *, dataset_id: str, counted_by: str) -> bool:
    """Return whether the persons that a column of a dataset counts can be recognised."""
    own = (counted_sketch.c.dataset_id == dataset_id, counted_sketch.c.counted_by == counted_by)
    return connection.execute(select(counted_sketch.c.dataset_id).where(*own)).first() is not None


def of_same_file(connection: Connection, *, owner: str, dataset_id: str) -> dict[str, str]:
    """Families with a dataset of the same bytes, and which it is, deleted ones among them."""
    mine = select(dataset.c.sha256).where(dataset.c.id == dataset_id).scalar_subquery()
    statement = (
        select(dataset.c.family_id, func.min(dataset.c.id))
        .join(family, family.c.id == dataset.c.family_id)
        .where(dataset.c.owner == owner, dataset.c.sha256 == mine, dataset.c.id != dataset_id, *_COMPARED)
        .group_by(dataset.c.family_id)
    )
    return {row[0]: row[1] for row in connection.execute(statement)}


def put_question(
    connection: Connection, *, owner: str, dataset_id: str, other_dataset_id: str, evidence: Mapping[str, Any]
) -> None:
    """Ask whether two datasets are of the same people; once, whichever came first."""
    first, second = sorted([dataset_id, other_dataset_id])
    values = {"owner": owner, "dataset_id": first, "other_dataset_id": second, "evidence": dict(evidence)}
    connection.execute(upsert(family_question).values(**values).on_conflict_do_nothing())


def questions(connection: Connection, *, family_id: str) -> list[Question]:
    """List the questions about the data of a family and those of others, as they are now, oldest first."""
    statement = _QUESTIONS.order_by(family_question.c.created_at, family_question.c.dataset_id)
    rows = connection.execute(statement.where(or_(_MINE.c.family_id == family_id, _THEIRS.c.family_id == family_id)))
    made = [_from(row, family_id) for row in rows]
    counts = select(family.c.id, family.c.published).where(family.c.id.in_({one.other_family_id for one in made}))
    published = {row.id: row.published for row in connection.execute(counts)}
    return [replace(one, published=published.get(one.other_family_id, 0)) for one in made]


def possibly_same(connection: Connection, *, family_id: str) -> list[str]:
    """Other families whose data may be of the same people, which no one has answered."""
    unanswered = (one for one in questions(connection, family_id=family_id) if one.people is None)
    return sorted({one.other_family_id for one in unanswered})


def are_other(connection: Connection, *, family_id: str, other_family_id: str) -> bool:
    """Return whether a keeper has answered that the data of two families are of other people."""
    between = (one for one in questions(connection, family_id=family_id) if one.other_family_id == other_family_id)
    return any(one.people is People.OTHER for one in between)


def answer(
    connection: Connection, *, family_id: str, other_family_id: str, people: People, key_id: str | None
) -> list[Question]:
    """State whether the data of two families are of the same people; the questions that this answers."""
    answered = [one for one in questions(connection, family_id=family_id) if one.other_family_id == other_family_id]
    for one in answered:
        first, second = sorted([one.dataset_id, one.other_dataset_id])
        pair = (family_question.c.dataset_id == first, family_question.c.other_dataset_id == second)
        values = {"people": people.value, "answered_by": key_id, "answered_at": func.now()}
        connection.execute(update(family_question).where(*pair).values(**values))
    return answered


def drafts(connection: Connection, *, family_ids: Collection[str], audit: str) -> list[Draft]:
    """Drafts of families, with a finding of an audit."""
    there = (release.c.family_id.in_(sorted(family_ids)), release.c.published_at.is_(None))
    rows = connection.execute(_DRAFTS.where(*there).order_by(release.c.id))
    return [Draft(*row) for row in rows if any(one["audit"] == audit for one in row.findings or ())]


def draft(connection: Connection, *, release_id: str) -> Draft:
    """A draft."""
    return Draft(*connection.execute(_DRAFTS.where(release.c.id == release_id)).one())


def set_findings(
    connection: Connection, *, release_id: str, findings: Sequence[Mapping[str, Any]], composed_after: int | None
) -> None:
    """Change the findings against a draft, and how many publications it was composed with: -1 for compose it again."""
    values = {"findings": [dict(one) for one in findings], "composed_after": composed_after}
    connection.execute(update(release).where(release.c.id == release_id).values(**values))


def is_answered(connection: Connection, *, family_id: str) -> bool:
    """Return whether a keeper has answered for data of a family, by which releases are composed since."""
    mine = (table_sketch.c.family_id == family_id, family_question.c.people.is_not(None))
    sides = or_(
        family_question.c.dataset_id == table_sketch.c.dataset_id,
        family_question.c.other_dataset_id == table_sketch.c.dataset_id,
    )
    statement = select(family_question.c.dataset_id).join(table_sketch, sides)
    return connection.execute(statement.where(*mine).limit(1)).first() is not None


def forget_questions(connection: Connection, *, family_id: str) -> None:
    """Forget the questions about the data of a family that is erased."""
    its = select(table_sketch.c.dataset_id).where(table_sketch.c.family_id == family_id)
    either = or_(family_question.c.dataset_id.in_(its), family_question.c.other_dataset_id.in_(its))
    connection.execute(delete(family_question).where(either))


_MINE: Final = table_sketch.alias("mine")
_THEIRS: Final = table_sketch.alias("theirs")


_QUESTIONS: Final = (
    select(
        family_question.c.dataset_id, _MINE.c.family_id, family_question.c.other_dataset_id,
        _THEIRS.c.family_id.label("other_family_id"), family_question.c.evidence, family_question.c.people,
        family_question.c.answered_at,
    )
    .join(_MINE, _MINE.c.dataset_id == family_question.c.dataset_id)
    .join(_THEIRS, _THEIRS.c.dataset_id == family_question.c.other_dataset_id)
    .where(_MINE.c.family_id != _THEIRS.c.family_id)
)  # fmt: skip


def _from(row: Any, family_id: str) -> Question:
    """A question, seen from one of its families."""
    people = None if row.people is None else People(row.people)
    mine, theirs = (row.dataset_id, row.family_id), (row.other_dataset_id, row.other_family_id)
    if mine[1] != family_id:
        mine, theirs = theirs, mine
    return Question(*mine, *theirs, 0, row.evidence, people, row.answered_at)
