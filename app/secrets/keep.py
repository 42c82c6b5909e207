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
from typing import Final

from app.db.repositories import entries, families, secrets
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


def seal_anew(database: Database, sealer: Sealer) -> int:
    """Seal under the service's present secret whatever the previous one has sealed; how many there were."""
    count = 0
    while True:
        with database.unit_of_work() as unit:
            due = secrets.sealed_otherwise(unit.connection, under=sealer.name, limit=_AT_ONCE)
            for kept in due:
                opened = sealer.open(kept.sealed, owner=kept.owner, name=kept.name)
                sealed = sealer.seal(opened, owner=kept.owner, name=kept.name)
                secrets.replace(unit.connection, kept=secrets.Kept(kept.owner, kept.name, sealed))
        if not due:
            if count:
                with database.unit_of_work() as unit:
                    entries.mark_all_stale(unit.connection)
            return count
        count += len(due)
