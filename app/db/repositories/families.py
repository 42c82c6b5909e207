"""Families: which data of an owner are the same, and all publications of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Select, case, delete, func, insert, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.contracts.base import new_id
from app.contracts.datasets import DatasetState
from app.contracts.releases import ReleaseState
from app.db.repositories import recognition
from app.db.repositories.secrets import Sealed
from app.db.tables.access import idempotency, secret
from app.db.tables.datasets import counted_sketch, dataset, family, family_person, person_sketch, table_sketch
from app.db.tables.releases import ledger_file, publication, publication_entry, release

#: Namespace of the advisory locks that families of one owner are joined under.
_RECOGNISING: Final = 0x66616D


def _same_file() -> Select[tuple[str | None]]:
    """The typed copy of a dataset of the same bytes, where the one that a release was made from is gone."""
    again = dataset.alias("again")
    same = (again.c.owner == dataset.c.owner, again.c.sha256 == dataset.c.sha256, again.c.state == DatasetState.READY)
    return select(again.c.data_key).where(*same).order_by(again.c.created_at, again.c.id).limit(1).correlate(dataset)


#: The typed copy that a release was made from, while it is kept.
_DATA_KEY: Final = func.coalesce(
    case((dataset.c.state == DatasetState.READY, dataset.c.data_key)), _same_file().scalar_subquery()
).label("data_key")
#: Whether a series can be made from a release; false where it is no longer in the database.
_IS_PUBLISHED: Final = func.coalesce(
    (release.c.state == ReleaseState.PUBLISHED) & release.c.deleted_at.is_(None), False
).label("is_published")


@dataclass(frozen=True, slots=True)
class PersonColumn:
    """A column that states whose record each is; without a fingerprint its values are those of many data.

    Of the data of a release there is the sketch of their persons too.
    """

    name: str
    fingerprint: str | None
    sketch: Sealed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One release of a family as the ledger keeps it; `key` is None for those of before there were ledgers.

    `persons_key` leads to who was where in it, keyed by the secret of the name `persons_under`; None for those of
    before that was kept. `data_key` leads to the data that it was made from, while they are there. `is_published`: it
    has not been withdrawn since, nor deleted. `parameters`: the public part of its specification.
    """

    release_id: str
    method: str
    at: datetime
    base_release_id: str | None
    previous_release_id: str | None
    composed: Mapping[str, Any] | None
    key: str | None
    persons_key: str | None = None
    persons_under: str | None = None
    dataset_id: str | None = None
    data_key: str | None = None
    is_published: bool = True
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class KeptOf:
    """The stored record of the records that a release was made from; as of `LedgerEntry`."""

    persons_key: str | None = None
    persons_under: str | None = None
    data_key: str | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A dataset of a family, and why it is one of it; None: of before that was kept."""

    id: str
    name: str
    created_at: datetime
    joined_by: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Standing:
    """What a family is to others: see `app.db.tables.datasets`."""

    apart: bool
    confirmed: bool
    joined: bool


def create(connection: Connection, *, owner: str, apart: bool = False, confirmed: bool = True) -> str:
    """A family of its own; one that no keeper has confirmed is compared with none."""
    family_id = new_id("fam")
    values = {"id": family_id, "owner": owner, "apart": apart, "confirmed": confirmed, "joined": confirmed}
    connection.execute(insert(family).values(**values))
    return family_id


def standing(connection: Connection, *, family_id: str) -> Standing | None:
    """What a family is to others; None: there is none."""
    statement = select(family.c.apart, family.c.confirmed, family.c.joined).where(family.c.id == family_id)
    row = connection.execute(statement).first()
    return None if row is None else Standing(*row)


def is_confirmed(connection: Connection, *, dataset_id: str) -> bool:
    """Whether the data are compared with others; of before there were families they are."""
    statement = select(family.c.confirmed).join(dataset, dataset.c.family_id == family.c.id)
    return connection.execute(statement.where(dataset.c.id == dataset_id)).scalar_one_or_none() is not False


def confirm(connection: Connection, *, owner: str, family_id: str) -> bool:
    """A keeper vouches for a family: it is compared with others before anything of it is published."""
    mine = (family.c.id == family_id, family.c.owner == owner)
    changed = connection.execute(update(family).where(*mine, family.c.confirmed.is_(False)).values(confirmed=True))
    connection.execute(update(dataset).where(dataset.c.family_id == family_id).values(by_keeper=True))
    drafts = (release.c.family_id == family_id, release.c.published_at.is_(None))
    connection.execute(update(release).where(*drafts).values(composed_after=-1))  # as if others were published since
    return changed.rowcount == 1


def awaits_comparison(connection: Connection, *, family_id: str) -> bool:
    """Whether a family was confirmed and not compared with all others since: what was composed before is no more."""
    statement = select(family.c.id).where(family.c.id == family_id, family.c.confirmed, family.c.joined.is_(False))
    return connection.execute(statement).first() is not None


def set_joined(connection: Connection, *, family_id: str) -> None:
    """The family was compared with all others."""
    connection.execute(update(family).where(family.c.id == family_id).values(joined=True))


def has_older_secrets(connection: Connection, *, family_id: str) -> bool:
    """Whether the family is from before secrets of columns were a family's own."""
    return bool(connection.execute(select(family.c.older_secrets).where(family.c.id == family_id)).scalar())


def eldest_first(connection: Connection, *, family_ids: Collection[str]) -> list[str]:
    """Families in the order in which others become them: the published data of most, then the first that was there."""
    statement = select(family.c.id).where(family.c.id.in_(sorted(family_ids)))
    return list(
        connection.execute(statement.order_by(family.c.published.desc(), family.c.created_at, family.c.id)).scalars()
    )


def lock(connection: Connection, *, family_id: str) -> int | None:
    """How many releases were ever published of the family; no one else publishes until the transaction ends."""
    statement = select(family.c.published).where(family.c.id == family_id).with_for_update()
    return connection.execute(statement).scalar_one_or_none()


def lock_composed(connection: Connection, *, family_id: str) -> int | None:
    """Lock a family and those that may be of the same people, and count what was ever published of all of them.

    Until the transaction ends no one else publishes of any. None where the family is gone.
    """
    others = recognition.possibly_same(connection, family_id=family_id)
    counts = {one: lock(connection, family_id=one) for one in sorted({family_id, *others})}
    return None if counts[family_id] is None else sum(one or 0 for one in counts.values())


def lock_recognising(connection: Connection, *, owner: str) -> None:
    """Let one upload of the owner at a time find its family: the same data sent twice at once are one family.

    Whoever changes rows of a whole family takes this lock before any row, whoever locks rows of which some belong to
    families takes `lock_joining` before: then no two wait for each other's rows.
    """
    connection.execute(select(func.pg_advisory_xact_lock(_RECOGNISING, func.hashtext(owner))))


def lock_joining(connection: Connection, *, owner: str) -> None:
    """No family of the owner becomes another one until the transaction ends; any number may have this at once."""
    connection.execute(select(func.pg_advisory_xact_lock_shared(_RECOGNISING, func.hashtext(owner))))


def of_dataset(connection: Connection, *, dataset_id: str) -> str | None:
    """The family of a dataset, whatever its state."""
    return connection.execute(select(dataset.c.family_id).where(dataset.c.id == dataset_id)).scalar_one_or_none()


def is_published_from(connection: Connection, *, owner: str, dataset_id: str) -> bool:
    """Whether the owner ever published anything made from a dataset, which may be deleted by now."""
    made = select(publication.c.release_id).join(release, release.c.id == publication.c.release_id)
    named = (publication.c.owner == owner, release.c.dataset_id == dataset_id)
    return connection.execute(made.where(*named).limit(1)).first() is not None


def kept_word(connection: Connection, *, owner: str, dataset_id: str) -> str | None:
    """What the keeper said of a dataset at its upload."""
    statement = select(dataset.c.same_data_as_dataset_id).where(dataset.c.id == dataset_id, dataset.c.owner == owner)
    return connection.execute(statement).scalar_one_or_none()


def by_keeper(connection: Connection, *, dataset_id: str) -> bool:
    """Whether a dataset came by a key that reads jobs."""
    return bool(connection.execute(select(dataset.c.by_keeper).where(dataset.c.id == dataset_id)).scalar_one_or_none())


def declared(connection: Connection, *, dataset_id: str) -> bool:
    """Whether the keeper has said what a dataset is the same as; of a new version its releases state it themselves."""
    statement = select(dataset.c.same_data_as_dataset_id).where(
        dataset.c.id == dataset_id, dataset.c.version_of_dataset_id.is_(None)
    )
    return connection.execute(statement).scalar_one_or_none() is not None


def assign(
    connection: Connection, *, dataset_id: str, family_id: str, because: Mapping[str, Any] | None = None
) -> None:
    """State which family a dataset is of, and why."""
    why = {} if because is None else {"joined_by": dict(because)}
    connection.execute(update(dataset).where(dataset.c.id == dataset_id).values(family_id=family_id, **why))


def merge(connection: Connection, *, family_id: str, others: Collection[str]) -> None:
    """Make several families one: data turned up that are the same as both."""
    for other in sorted(others):
        moved = lock(connection, family_id=other) or 0
        published = select(publication.c.release_id).where(publication.c.family_id == other)
        entries = update(publication_entry).where(publication_entry.c.release_id.in_(published))
        connection.execute(entries.values(stale=True))
        held = select(secret.c.fingerprint).where(secret.c.family_id == family_id)
        connection.execute(delete(secret).where(secret.c.family_id == other, secret.c.fingerprint.in_(held)))
        mine = select(family_person.c.name).where(family_person.c.family_id == family_id)
        connection.execute(
            delete(family_person).where(family_person.c.family_id == other, family_person.c.name.in_(mine))
        )
        for table in (
            family_person, table_sketch, counted_sketch, person_sketch, publication, dataset, release, secret,
        ):  # fmt: skip
            connection.execute(update(table).where(table.c.family_id == other).values(family_id=family_id))
        older = has_older_secrets(connection, family_id=other)
        more = update(family).where(family.c.id == family_id)
        connection.execute(
            more.values(published=family.c.published + moved, older_secrets=or_(family.c.older_secrets, literal(older)))
        )
        connection.execute(delete(family).where(family.c.id == other))


def count(
    connection: Connection,
    *,
    family_id: str,
    release_id: str,
    owner: str,
    method: str,
    base_release_id: str | None,
    previous_release_id: str | None,
    composed: Mapping[str, Any] | None,
) -> None:
    """A release of the family is published: it counts from now on, whatever becomes of it."""
    connection.execute(
        insert(publication).values(
            family_id=family_id, owner=owner, release_id=release_id, method=method, base_release_id=base_release_id,
            previous_release_id=previous_release_id, composed=None if composed is None else dict(composed),
        )
    )  # fmt: skip
    connection.execute(update(family).where(family.c.id == family_id).values(published=family.c.published + 1))
    connection.execute(update(ledger_file).where(ledger_file.c.release_id == release_id).values(kept=True))


def ledger(connection: Connection, *, owner: str, family_id: str) -> list[LedgerEntry]:
    """Every publication of the owner's family, in order."""
    statement = (
        select(
            publication.c.release_id, publication.c.method, publication.c.at, publication.c.base_release_id,
            publication.c.previous_release_id, publication.c.composed, ledger_file.c.key, ledger_file.c.persons_key,
            ledger_file.c.persons_under, release.c.dataset_id, release.c.parameters,
            _DATA_KEY, _IS_PUBLISHED,
        )
        .outerjoin(ledger_file, ledger_file.c.release_id == publication.c.release_id)
        .outerjoin(release, release.c.id == publication.c.release_id)
        .outerjoin(dataset, dataset.c.id == release.c.dataset_id)
        .where(publication.c.family_id == family_id, publication.c.owner == owner)
        .order_by(publication.c.id)
    )  # fmt: skip
    return [LedgerEntry(**row) for row in connection.execute(statement).mappings()]


def least_widths(connection: Connection, *, owner: str, family_id: str) -> dict[str, float]:
    """Least width of each column in the first boxes of a family that were published with it; 0 where they had none."""
    widths: dict[str, float] = {}
    for entry in ledger(connection, owner=owner, family_id=family_id):
        said = entry.parameters or {}
        if entry.method == "boxes":
            for name in said.get("quasi_identifiers", ()):
                widths.setdefault(name, float((said.get("min_width") or {}).get(name, 0.0)))
    return widths


def is_new_version(connection: Connection, *, dataset_id: str) -> bool:
    """Whether a dataset was declared a new version of another one."""
    statement = select(dataset.c.version_of_dataset_id).where(dataset.c.id == dataset_id)
    return connection.execute(statement).scalar() is not None


def kept_of(connection: Connection, *, owner: str, release_id: str) -> KeptOf:
    """The stored record of the records that a release of the owner's was made from."""
    statement = (
        select(ledger_file.c.persons_key, ledger_file.c.persons_under, _DATA_KEY)
        .select_from(release)
        .outerjoin(ledger_file, ledger_file.c.release_id == release.c.id)
        .join(dataset, dataset.c.id == release.c.dataset_id)
        .where(release.c.id == release_id, release.c.owner == owner)
    )
    row = connection.execute(statement).first()
    return KeptOf() if row is None else KeptOf(*row)


def composed_of(connection: Connection, *, owner: str, release_id: str) -> Mapping[str, Any] | None:
    """What a release left together with all that was published before it; None where it was not composed."""
    mine = select(publication.c.composed).where(publication.c.release_id == release_id, publication.c.owner == owner)
    return connection.execute(mine.order_by(publication.c.id.desc()).limit(1)).scalar_one_or_none()


def owner_of(connection: Connection, *, family_id: str) -> str | None:
    """The owner of a family."""
    return connection.execute(select(family.c.owner).where(family.c.id == family_id)).scalar_one_or_none()


def published_of(connection: Connection, *, family_id: str) -> list[str]:
    """Releases of a family that are published now, locked, oldest first."""
    there = (
        release.c.family_id == family_id,
        release.c.state == ReleaseState.PUBLISHED,
        release.c.deleted_at.is_(None),
    )
    statement = select(release.c.id).where(*there).order_by(release.c.published_at, release.c.id).with_for_update()
    return [str(one) for one in connection.execute(statement).scalars()]


def exists(connection: Connection, *, owner: str, family_id: str) -> bool:
    """Whether the owner has this family."""
    statement = select(family.c.id).where(family.c.id == family_id, family.c.owner == owner)
    return connection.execute(statement).first() is not None


def datasets_of(connection: Connection, *, owner: str, family_id: str) -> list[Member]:
    """The datasets of a family that are still there, oldest first."""
    statement = select(dataset.c.id, dataset.c.name, dataset.c.created_at, dataset.c.joined_by)
    mine = (dataset.c.family_id == family_id, dataset.c.owner == owner, dataset.c.deleted_at.is_(None))
    return [Member(*row) for row in connection.execute(statement.where(*mine).order_by(dataset.c.created_at))]


def of_owner(connection: Connection, *, owner: str, limit: int) -> list[str]:
    """The owner's families, newest first."""
    statement = select(family.c.id).where(family.c.owner == owner)
    return list(connection.execute(statement.order_by(family.c.created_at.desc(), family.c.id).limit(limit)).scalars())


def keep_file(connection: Connection, *, release_id: str, owner: str, key: str, size: int, kept: bool = False) -> None:
    """Where the data are that composing needs of a release."""
    connection.execute(insert(ledger_file).values(release_id=release_id, owner=owner, key=key, bytes=size, kept=kept))


def keep_persons(connection: Connection, *, release_id: str, key: str, size: int, under: str) -> None:
    """Where it is stored who was where in a release, and the name of the secret that it is keyed by."""
    persons = {"persons_key": key, "persons_bytes": size, "persons_under": under}
    connection.execute(update(ledger_file).where(ledger_file.c.release_id == release_id).values(**persons))


def persons_secret(family_id: str) -> str:
    """Name of the secret by which the records of a family's data are keyed."""
    return f"persons {family_id}"


def name_person(connection: Connection, *, owner: str, family_id: str, name: str, fingerprint: str | None) -> None:
    """The records of a family's data are some persons': k counts these from now on."""
    values = {"family_id": family_id, "name": name, "owner": owner, "fingerprint": fingerprint}
    connection.execute(upsert(family_person).values(values).on_conflict_do_nothing())


def persons_of(connection: Connection, *, family_id: str) -> list[PersonColumn]:
    """The columns that state whose record one of the family's is, by name."""
    statement = select(family_person.c.name, family_person.c.fingerprint).where(family_person.c.family_id == family_id)
    return [PersonColumn(*row) for row in connection.execute(statement.order_by(family_person.c.name))]


def drop_file(connection: Connection, *, release_id: str) -> None:
    """A draft is gone that was never published: nothing of it is kept. Its object is removed as an orphan."""
    connection.execute(delete(ledger_file).where(ledger_file.c.release_id == release_id, ledger_file.c.kept.is_(False)))


def erase(connection: Connection, *, owner: str, family_id: str) -> int:
    """Forget a family of the owner: by what its data are recognised, and the published part of them. How many.

    Idempotency keys of the jobs that made its releases are forgotten too: who starts clean wants no old draft again.
    """
    connection.execute(select(family.c.id).where(family.c.id == family_id).with_for_update())
    # Every entry of the owner may contain the secrets that go with the family.
    connection.execute(update(publication_entry).where(publication_entry.c.owner == owner).values(stale=True))
    published = select(publication.c.release_id).where(publication.c.family_id == family_id)
    drafts = select(release.c.id).where(release.c.family_id == family_id)
    its = (ledger_file.c.release_id.in_(published) | ledger_file.c.release_id.in_(drafts),)
    keyed = select(ledger_file.c.persons_under).where(*its)
    named = secret.c.name.in_(keyed) | (secret.c.name == persons_secret(family_id))
    connection.execute(delete(secret).where(secret.c.owner == owner, named))
    no_persons = {"persons_key": None, "persons_bytes": None, "persons_under": None}
    connection.execute(update(ledger_file).where(*its).values(**no_persons))
    made = select(release.c.job_id).where(release.c.family_id == family_id)
    connection.execute(delete(idempotency).where(idempotency.c.owner == owner, idempotency.c.resource_id.in_(made)))
    forgotten = connection.execute(delete(ledger_file).where(ledger_file.c.release_id.in_(published))).rowcount
    recognition.forget_questions(connection, family_id=family_id)
    for table in (dataset, release):
        connection.execute(update(table).where(table.c.family_id == family_id).values(family_id=None))
    connection.execute(delete(family).where(family.c.id == family_id))
    return forgotten


def forget_if_unpublished(connection: Connection, *, dataset_id: str) -> None:
    """A dataset was deleted: where nothing was published of its family and nothing else is in it, nothing is kept."""
    family_id = of_dataset(connection, dataset_id=dataset_id)
    if family_id is None or lock(connection, family_id=family_id) != 0:
        return
    there = select(dataset.c.id).where(dataset.c.family_id == family_id, dataset.c.deleted_at.is_(None)).limit(1)
    made = select(release.c.id).where(release.c.family_id == family_id, release.c.deleted_at.is_(None)).limit(1)
    if connection.execute(there).first() is None and connection.execute(made).first() is None:
        connection.execute(update(dataset).where(dataset.c.family_id == family_id).values(family_id=None))
        connection.execute(delete(secret).where(secret.c.name == persons_secret(family_id)))
        recognition.forget_questions(connection, family_id=family_id)
        connection.execute(delete(family).where(family.c.id == family_id))
