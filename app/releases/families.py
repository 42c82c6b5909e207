"""Reading, confirming and erasing one's families."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from app.contracts.families import (
    Family,
    FamilyAnswer,
    FamilyComposition,
    FamilyDataset,
    FamilyPublication,
    FamilyQuestion,
    People,
)
from app.contracts.log import LogAction
from app.db.repositories import families, log, recognition
from app.db.session import Connection, Database
from app.errors import ConflictError, NotFoundError
from app.releases.people import stating_questions
from app.releases.publishing import withdraw_locked

#: Families of a list.
MOST: Final = 1000
_ABSENT: Final = "there is no family with this id"


def read_family(*, database: Database, owner: str, family_id: str) -> Family:
    """The owner's family.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    with database.read() as connection:
        _refuse_absent(connection, owner=owner, family_id=family_id)
        return _family(connection, owner=owner, family_id=family_id)


def list_families(*, database: Database, owner: str) -> list[Family]:
    """The owner's families, newest first."""
    with database.read() as connection:
        ids = families.of_owner(connection, owner=owner, limit=MOST)
        return [_family(connection, owner=owner, family_id=one) for one in ids]


def confirm_family(*, database: Database, owner: str, key_id: str | None, family_id: str) -> None:
    """Vouch for data that came by a lesser key: they are compared with all others before anything is published of them.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    with _locked(database, owner=owner, family_id=family_id) as connection:
        if families.confirm(connection, owner=owner, family_id=family_id):
            log.append(connection, owner=owner, action=LogAction.CONFIRMED, subject=family_id, key_id=key_id)


def answer_family(*, database: Database, owner: str, key_id: str | None, family_id: str, answer: FamilyAnswer) -> str:
    """State whether the data of two families are of the same people; the id of the family afterwards.

    Raises
    ------
    NotFoundError
        If there is no such family.
    ConflictError
        If there is no question about the two.
    """
    pair = [family_id, answer.other_family_id]
    anew = pair if answer.people is People.SAME else []
    with (
        _locked(database, owner=owner, family_id=family_id) as connection,
        stating_questions(connection, family_ids=pair, composed_anew=anew),
    ):
        answered = recognition.answer(
            connection, family_id=family_id, other_family_id=answer.other_family_id, people=answer.people,
            key_id=key_id,
        )  # fmt: skip
        if not answered:
            raise ConflictError(
                f"There is no question about {family_id} and {answer.other_family_id}. `questions` of the family "
                "lists those that there are."
            )
        facts = {"other_family_id": answer.other_family_id, "people": answer.people.value}
        if before := {one.people.value for one in answered if one.people not in {None, answer.people}}:
            facts["before"] = before.pop()
        log.append(connection, owner=owner, action=LogAction.DECLARED, subject=family_id, key_id=key_id, facts=facts)
        return family_id if answer.people is People.OTHER else _joined(connection, family_id, answered)


def _joined(connection: Connection, family_id: str, answered: Sequence[recognition.Question]) -> str:
    """Make two families one, as someone has answered; its id."""
    first, second = families.eldest_first(connection, family_ids=[family_id, answered[0].other_family_id])
    families.merge(connection, family_id=first, others=[second])
    for one in answered:
        later, named = (one.dataset_id, one.other_dataset_id)
        if one.family_id == first:
            later, named = named, later
        families.assign(
            connection, dataset_id=later, family_id=first, because={"by": "answer", "dataset_id": named}
        )  # fmt: skip
    return first


def owner_of_family(*, database: Database, family_id: str) -> str:
    """The owner of a family, for who operates the service.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    with database.read() as connection:
        owner = families.owner_of(connection, family_id=family_id)
    if owner is None:
        raise NotFoundError(_ABSENT)
    return owner


def published_unless_refused(*, database: Database, owner: str, family_id: str, withdraw: bool) -> list[str]:
    """Releases of a family that are published now, as `erase_family` would withdraw them, or refuse.

    Raises
    ------
    NotFoundError, ConflictError
        As of `erase_family`.
    """
    with _locked(database, owner=owner, family_id=family_id) as connection:
        return _published(connection, family_id=family_id, withdraw=withdraw)


def erase_family(*, database: Database, owner: str, key_id: str | None, family_id: str, withdraw: bool = False) -> None:
    """Forget by what the owner's data are recognised and the published part of them; the log states that it was done.

    Parameters
    ----------
    database, owner, family_id
        Which family, and where.
    key_id
        Whose order it is; None: the operator's.
    withdraw
        Whether releases of it that are published are withdrawn first.

    Raises
    ------
    NotFoundError
        If there is none.
    ConflictError
        If releases of it are published, and are not to be withdrawn: the same rows could be published again next to
        them, and nothing would be composed.
    """
    with _locked(database, owner=owner, family_id=family_id) as connection:
        published = _published(connection, family_id=family_id, withdraw=withdraw)
        for release_id in published:
            withdraw_locked(connection, owner=owner, key_id=key_id, release_id=release_id, reason="family erased")
        with stating_questions(connection, family_ids=[family_id], composed_anew=[family_id]):
            forgotten = families.erase(connection, owner=owner, family_id=family_id)
        log.append(
            connection, owner=owner, action=LogAction.ERASED, subject=family_id, key_id=key_id,
            facts={"publications": forgotten},
        )  # fmt: skip


def _published(connection: Connection, *, family_id: str, withdraw: bool) -> list[str]:
    """The published releases of a family, if they are to be withdrawn."""
    published = families.published_of(connection, family_id=family_id)
    if published and not withdraw:
        raise ConflictError(
            f"Releases of this family are published: {', '.join(published)}. Withdraw them first, or let the operator "
            f"withdraw and erase them with `surebox families erase {family_id} --withdraw`. What has been read of them "
            "stays read."
        )
    return published


@contextmanager
def _locked(database: Database, *, owner: str, family_id: str) -> Iterator[Connection]:
    """A transaction in which none of the owner's families changes but by us, and this one is there."""
    with database.unit_of_work() as unit:
        families.lock_recognising(unit.connection, owner=owner)
        _refuse_absent(unit.connection, owner=owner, family_id=family_id)
        yield unit.connection


def _refuse_absent(connection: Connection, *, owner: str, family_id: str) -> None:
    if not families.exists(connection, owner=owner, family_id=family_id):
        raise NotFoundError(_ABSENT)


def _family(connection: Connection, *, owner: str, family_id: str) -> Family:
    entries = families.ledger(connection, owner=owner, family_id=family_id)
    members = families.datasets_of(connection, owner=owner, family_id=family_id)
    standing = families.standing(connection, family_id=family_id)
    return Family(
        id=family_id,
        confirmed=standing is None or standing.confirmed,
        apart=standing is not None and standing.apart,
        dataset_ids=tuple(one.id for one in members),
        datasets=tuple(
            FamilyDataset(dataset_id=one.id, name=one.name, created_at=one.created_at, reason=reason(one.joined_by))
            for one in members
        ),
        published=tuple(_shown(one) for one in entries),
        questions=tuple(_question(one) for one in recognition.questions(connection, family_id=family_id)),
    )


def reason(joined_by: Mapping[str, Any] | None) -> str:
    """Why a dataset is of its family, in words."""
    why = {} if joined_by is None else joined_by
    match why.get("by"):
        case "first":
            return "it was the first of its family"
        case "apart":
            return "its owner has set it apart (`new_family=true`)"
        case "word":
            return f"its owner has said so: the same data as {why['dataset_id']}"
        case "file":
            return f"its file has the same bytes as that of {why['dataset_id']}"
        case "people":
            names = ", ".join(map(repr, why["over"]))
            return f"it is of the same people as {why['dataset_id']}: more records agree over {names} than by chance"
        case "persons":
            return f"it has the ids of the persons of {why['dataset_id']} in {why['column']!r}"
        case "answer":
            return f"its owner has answered that it is of the same people as {why['dataset_id']}"
        case "columns":
            return f"{why['columns']} of its columns have the same values as columns of the family's data"
        case "rows":
            names = ", ".join(map(repr, why["over"]))
            return f"more of its rows agree with rows of the family's data over {names} than would by chance"
    return "it was read before reasons were kept"


def _question(one: recognition.Question) -> FamilyQuestion:
    return FamilyQuestion(
        other_family_id=one.other_family_id,
        dataset_id=one.dataset_id,
        other_dataset_id=one.other_dataset_id,
        columns=tuple(one.evidence["columns"]),
        share_agreeing=one.evidence["agreeing"],
        share_by_chance=one.evidence["by_chance"],
        people=one.people,
        answered_at=one.answered_at,
    )


def _shown(entry: families.LedgerEntry) -> FamilyPublication:
    return FamilyPublication(
        release_id=entry.release_id,
        method=entry.method,
        published_at=entry.at,
        base_release_id=entry.base_release_id,
        previous_release_id=entry.previous_release_id,
        composition=None if entry.composed is None else FamilyComposition.model_validate(entry.composed),
    )
