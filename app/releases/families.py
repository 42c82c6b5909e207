"""Reading, confirming and erasing one's families."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from app.contracts.families import Family, FamilyComposition, FamilyDataset, FamilyPublication
from app.contracts.log import LogAction
from app.db.repositories import families, log
from app.db.session import Connection, Database
from app.errors import NotFoundError

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


def erase_family(*, database: Database, owner: str, key_id: str | None, family_id: str) -> None:
    """Forget by what the owner's data are recognised and the published part of them; the log states that it was done.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    with _locked(database, owner=owner, family_id=family_id) as connection:
        forgotten = families.erase(connection, owner=owner, family_id=family_id)
        log.append(
            connection, owner=owner, action=LogAction.ERASED, subject=family_id, key_id=key_id,
            facts={"publications": forgotten},
        )  # fmt: skip


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
            FamilyDataset(dataset_id=one.id, name=one.name, created_at=one.created_at, because=reason(one.joined_by))
            for one in members
        ),
        published=tuple(_shown(one) for one in entries),
    )


def reason(joined_by: Mapping[str, Any] | None) -> str:
    """Why a dataset is of its family, in words."""
    why = {} if joined_by is None else joined_by
    match why.get("by"):
        case "first":
            return "it was the first of its family"
        case "apart":
            return "its keeper has set it apart (`new_family=true`)"
        case "word":
            return f"its keeper has said so: the same data as {why['dataset_id']}"
        case "columns":
            return f"{why['columns']} of its columns have the same values as columns of the family's data"
        case "rows":
            names = ", ".join(map(repr, why["over"]))
            return f"more of its rows agree with rows of the family's data over {names} than would by chance"
    return "it was read before reasons were kept"


def _shown(entry: families.LedgerEntry) -> FamilyPublication:
    return FamilyPublication(
        release_id=entry.release_id,
        method=entry.method,
        published_at=entry.at,
        base_release_id=entry.base_release_id,
        previous_release_id=entry.previous_release_id,
        composition=None if entry.composed is None else FamilyComposition.model_validate(entry.composed),
    )
