"""Reading and erasing one's families."""

from app.contracts.families import Composition, Family, FamilyPublication
from app.contracts.log import LogAction
from app.db.repositories import families, log
from app.db.session import Database
from app.errors import NotFoundError


def read_family(*, database: Database, owner: str, family_id: str) -> Family:
    """The owner's family.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    with database.read() as connection:
        if "\x00" in family_id or not families.exists(connection, owner=owner, family_id=family_id):
            raise NotFoundError("there is no family with this id")
        entries = families.ledger(connection, owner=owner, family_id=family_id)
        dataset_ids = families.datasets_of(connection, owner=owner, family_id=family_id)
    return Family(id=family_id, dataset_ids=tuple(dataset_ids), published=tuple(_shown(one) for one in entries))


def erase_family(*, database: Database, owner: str, key_id: str, family_id: str) -> None:
    """Forget by what the owner's data are recognised and what was published of them; the log says that it was done.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    with database.unit_of_work() as unit:
        families.lock_recognising(unit.connection, owner=owner)
        forgotten = None if "\x00" in family_id else families.erase(unit.connection, owner=owner, family_id=family_id)
        if forgotten is None:
            raise NotFoundError("there is no family with this id")
        log.append(
            unit.connection, owner=owner, action=LogAction.ERASED, subject=family_id, key_id=key_id,
            facts={"publications": forgotten},
        )  # fmt: skip


def _shown(entry: families.LedgerEntry) -> FamilyPublication:
    return FamilyPublication(
        release_id=entry.release_id,
        method=entry.method,
        published_at=entry.at,
        base_release_id=entry.base_release_id,
        previous_release_id=entry.previous_release_id,
        composition=None if entry.composed is None else Composition.model_validate(entry.composed),
    )
