"""Sealed secrets of owners. Anyone with the service's secret opens them; this module does not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.access import secret


@dataclass(frozen=True, slots=True)
class Sealed:
    """A secret as it is in the database, and which of the service's secrets opens it."""

    body: bytes
    under: bytes


@dataclass(frozen=True, slots=True)
class Kept:
    """A sealed secret with whose it is and what it is for."""

    owner: str
    name: str
    sealed: Sealed


def of_owner(connection: Connection, *, owner: str, names: Sequence[str]) -> dict[str, Sealed]:
    """Those of the owner's secrets that exist, by name."""
    statement = select(secret.c.name, secret.c.sealed, secret.c.sealed_under)
    rows = connection.execute(statement.where(secret.c.owner == owner, secret.c.name.in_(names)))
    return {row.name: Sealed(row.sealed, row.sealed_under) for row in rows}


def of_family(connection: Connection, *, family_id: str, fingerprints: Sequence[str]) -> dict[str, Kept]:
    """Those of the columns of a family's data that exist, by their fingerprints; of two the first that was made."""
    statement = (
        select(secret)
        .where(secret.c.family_id == family_id, secret.c.fingerprint.in_(fingerprints))
        .order_by(secret.c.created_at.desc(), secret.c.name)
    )
    rows = connection.execute(statement)
    return {row.fingerprint: Kept(row.owner, row.name, Sealed(row.sealed, row.sealed_under)) for row in rows}


def insert_missing(
    connection: Connection,
    *,
    owner: str,
    made: Mapping[str, Sealed],
    family_id: str | None = None,
    fingerprints: Mapping[str, str] | None = None,
) -> None:
    """Keep secrets, but for those that another process has made by now: the first one stays.

    Parameters
    ----------
    connection, owner
        Where, and whose.
    made
        By name.
    family_id, fingerprints
        Of columns: whose data they are of, and the fingerprint of each by the name of its secret.
    """
    prints = fingerprints or {}
    values = [
        {
            "owner": owner, "name": name, "sealed": one.body, "sealed_under": one.under, "family_id": family_id,
            "fingerprint": prints.get(name),
        }
        for name, one in sorted(made.items())
    ]  # fmt: skip
    connection.execute(insert(secret).values(values).on_conflict_do_nothing())


def sealed_otherwise(connection: Connection, *, under: bytes, limit: int) -> list[Kept]:
    """Secrets of whatever owner that another of the service's secrets has sealed; locked until the transaction ends."""
    statement = select(secret).where(secret.c.sealed_under != under).order_by(secret.c.owner, secret.c.name)
    rows = connection.execute(statement.limit(limit).with_for_update())
    return [Kept(row.owner, row.name, Sealed(row.sealed, row.sealed_under)) for row in rows]


def replace(connection: Connection, *, kept: Kept) -> None:
    """The same secret, sealed anew."""
    connection.execute(
        update(secret)
        .where(secret.c.owner == kept.owner, secret.c.name == kept.name)
        .values(sealed=kept.sealed.body, sealed_under=kept.sealed.under)
    )
