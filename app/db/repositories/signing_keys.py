"""Public halves of the signing keys, and when they sign."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.access import signing_key

_NOW = func.clock_timestamp()


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key that signed or signs."""

    id: str
    jwk: Mapping[str, Any]
    created_at: datetime
    retires_at: datetime | None
    revoked_at: datetime | None
    revoked_because: str | None


def register(connection: Connection, *, jwks: Sequence[Mapping[str, Any]]) -> None:
    """Note keys that are there now; those that are known already stay as they are."""
    if jwks:
        values = [{"id": each["kid"], "jwk": dict(each)} for each in jwks]
        connection.execute(insert(signing_key).values(values).on_conflict_do_nothing())


def list_keys(connection: Connection) -> list[KnownKey]:
    """All keys that ever signed, newest first."""
    return [KnownKey(**row) for row in connection.execute(_ALL).mappings()]


def signing(connection: Connection) -> frozenset[str]:
    """Ids of the keys that sign now."""
    wanted = select(signing_key.c.id).where(
        signing_key.c.revoked_at.is_(None),
        signing_key.c.retires_at.is_(None) | (signing_key.c.retires_at > _NOW),
    )
    return frozenset(connection.execute(wanted).scalars())


def retire_others(connection: Connection, *, but: str, after: timedelta) -> list[str]:
    """Let every key but one sign for so long only; the ids of those that had no end yet."""
    others = update(signing_key).where(signing_key.c.id != but, signing_key.c.retires_at.is_(None))
    return list(connection.execute(others.values(retires_at=_NOW + after).returning(signing_key.c.id)).scalars())


def revoke(connection: Connection, *, key_id: str, reason: str) -> bool:
    """Trust a key no more, whatever it signed; False when there is none."""
    mine = update(signing_key).where(signing_key.c.id == key_id, signing_key.c.revoked_at.is_(None))
    return connection.execute(mine.values(revoked_at=_NOW, revoked_because=reason)).rowcount == 1


_ALL = select(
    signing_key.c.id,
    signing_key.c.jwk,
    signing_key.c.created_at,
    signing_key.c.retires_at,
    signing_key.c.revoked_at,
    signing_key.c.revoked_because,
).order_by(signing_key.c.created_at.desc(), signing_key.c.id)
