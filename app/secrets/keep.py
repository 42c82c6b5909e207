"""Secrets that an owner's data have: made at random when they are first requested, kept sealed.

A column's secret belongs to the multiset of its values in a family of data, whatever the dataset or the name: the same
values, in another order or uploaded again, have the same secret, one value more has another. A column of data that are
a family of their own has one of its own: whoever uploads a guess apart learns from no cut whether it is right. A
secret is there for as long as its family is. The database has an HMAC of the values under a random key
of the owner, sealed as well: neither another owner nor a reader of the database can try out values.
"""

import hmac
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from app.db.repositories import entries, families, recognition, secrets
from app.db.repositories.recognition import KnownTable
from app.db.session import Connection, Database
from app.errors import ConflictError
from app.secrets.seal import Sealer

_BYTES: Final = 32
_FINGERPRINTS: Final = "fingerprints"
_AT_ONCE: Final = 500


def column_secrets(
    database: Database, sealer: Sealer, *, owner: str, family_id: str, digests: Sequence[bytes]
) -> list[bytes]:
    """The secrets of columns, by the digests of their values.

    Parameters
    ----------
    database, sealer
        Where they are, and what opens them.
    owner, family_id
        Whose data they are, and of which family.
    digests
        A digest of each column's multiset of values; it leaves this process only under the owner's key.

    Raises
    ------
    ConflictError
        If the family was erased, or became another one, just now.
    """
    key = _kept(database, sealer, owner=owner, names=[_FINGERPRINTS])[0]
    prints = [hmac.digest(key, digest, "sha256").hex() for digest in digests]
    with database.unit_of_work() as unit:
        families.lock_joining(unit.connection, owner=owner)
        if not families.exists(unit.connection, owner=owner, family_id=family_id):
            raise ConflictError("the family of the data was erased or joined while this job began: ask again")
        known = secrets.of_family(unit.connection, family_id=family_id, fingerprints=prints)
        if missing := sorted(set(prints).difference(known)):
            _make(unit.connection, sealer, owner=owner, family_id=family_id, fingerprints=missing)
            known = secrets.of_family(unit.connection, family_id=family_id, fingerprints=prints)
    return [sealer.open(known[one].sealed, owner=owner, name=known[one].name) for one in prints]


def _make(connection: Connection, sealer: Sealer, *, owner: str, family_id: str, fingerprints: Sequence[str]) -> None:
    """Make secrets of columns; a family of before they were its own takes over those that its owner has."""
    older: dict[str, secrets.Sealed] = {}
    if families.has_older_secrets(connection, family_id=family_id):
        older = secrets.of_owner(connection, owner=owner, names=[f"column:{one}" for one in fingerprints])
    made, of = {}, {}
    for one in fingerprints:
        name = f"column:{family_id}:{one}"
        before = older.get(f"column:{one}")
        opened = os.urandom(_BYTES) if before is None else sealer.open(before, owner=owner, name=f"column:{one}")
        made[name], of[name] = sealer.seal(opened, owner=owner, name=name), one
    secrets.insert_missing(connection, owner=owner, made=made, family_id=family_id, fingerprints=of)


def owner_secret(database: Database, sealer: Sealer, *, owner: str, name: str) -> bytes:
    """A secret of the owner by what it is for; made when it is first requested."""
    return _kept(database, sealer, owner=owner, names=[name])[0]


def _kept(database: Database, sealer: Sealer, *, owner: str, names: Sequence[str]) -> list[bytes]:
    """Secrets by name; those that are missing are made."""
    with database.unit_of_work() as unit:
        sealed = secrets.of_owner(unit.connection, owner=owner, names=names)
        missing = {name for name in names if name not in sealed}
        if missing:
            made = {name: sealer.seal(os.urandom(_BYTES), owner=owner, name=name) for name in missing}
            secrets.insert_missing(unit.connection, owner=owner, made=made)
            sealed = secrets.of_owner(unit.connection, owner=owner, names=names)
    return [sealer.open(sealed[name], owner=owner, name=name) for name in names]


def seal_sketch(
    sealer: Sealer,
    sketch: bytes,
    *,
    owner: str,
    dataset_id: str,
    name: str | None = None,
    counted_by: str | None = None,
) -> secrets.Sealed:
    """Seal by what a dataset is recognised, or with the name of a column its persons.

    Parameters
    ----------
    sealer
        The service's.
    sketch
        As workers pack it.
    owner, dataset_id, name, counted_by
        What it is about, and the column that counts its rows.
    """
    return sealer.seal(sketch, owner=owner, name=_about_sketch(dataset_id, name, counted_by))


def open_sketch(sealer: Sealer, known: KnownTable, *, owner: str) -> bytes:
    """Open what `seal_sketch` has sealed; what is not sealed yet is as it is."""
    if not known.sealed.under:
        return known.sealed.body
    return sealer.open(known.sealed, owner=owner, name=_about_sketch(known.dataset_id, known.name, known.counted_by))


def _about_sketch(dataset_id: str, name: str | None, counted_by: str | None) -> str:
    if counted_by is not None:
        return f"counted sketch {dataset_id} {counted_by}"
    return f"sketch {dataset_id}" if name is None else f"persons' sketch {dataset_id} {name}"


def seal_anew(database: Database, sealer: Sealer) -> int:
    """Seal under the service's present secret whatever it has not sealed; how many there were."""
    count = _seal_secrets(database, sealer) + _seal_sketches(database, sealer)
    if count:
        with database.unit_of_work() as unit:
            entries.mark_all_stale(unit.connection)
    return count


def _seal_secrets(database: Database, sealer: Sealer) -> int:
    """Seal secrets anew, some at a time."""
    count = 0
    while True:
        with database.unit_of_work() as unit:
            due = secrets.sealed_otherwise(unit.connection, under=sealer.name, limit=_AT_ONCE)
            for kept in due:
                opened = sealer.open(kept.sealed, owner=kept.owner, name=kept.name)
                sealed = sealer.seal(opened, owner=kept.owner, name=kept.name)
                secrets.replace(unit.connection, kept=secrets.Kept(kept.owner, kept.name, sealed))
        if not due:
            return count
        count += len(due)


def _seal_sketches(database: Database, sealer: Sealer) -> int:
    """Seal sketches anew, some of one owner at a time."""
    with database.read() as connection:
        left = recognition.owners_sealed_otherwise(connection, under=sealer.name)
    count = 0
    while left:
        owner = left[-1]
        with database.unit_of_work() as unit:
            families.lock_recognising(unit.connection, owner=owner)
            due = recognition.sealed_otherwise(unit.connection, owner=owner, under=sealer.name)
            for known in due:
                opened = open_sketch(sealer, known, owner=owner)
                sealed = seal_sketch(
                    sealer, opened, owner=owner, dataset_id=known.dataset_id, name=known.name,
                    counted_by=known.counted_by,
                )  # fmt: skip
                recognition.replace_sketch(unit.connection, kept=replace(known, sealed=sealed))
        count += len(due)
        left = left if due else left[:-1]
    return count
