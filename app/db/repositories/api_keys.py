"""API keys. `by_digest` is the one question that is not scoped by owner: it finds the owner."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from app.db.models.api_key import api_key


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A key as it may be shown: without its digest."""

    id: str
    owner: str
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None


_SHOWN = (api_key.c.id, api_key.c.owner, api_key.c.name, api_key.c.scopes, api_key.c.created_at, api_key.c.revoked_at)
_BY_DIGEST = select(api_key.c.id, api_key.c.owner, api_key.c.scopes)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """What a valid key stands for."""

    id: str
    owner: str
    scopes: frozenset[str]


def add(connection: Connection, *, info: KeyInfo, digest: bytes) -> None:
    """Insert a key."""
    connection.execute(
        insert(api_key).values(
            id=info.id,
            owner=info.owner,
            name=info.name,
            scopes=list(info.scopes),
            created_at=info.created_at,
            digest=digest,
        )
    )


def by_digest(connection: Connection, *, digest: bytes) -> KeyHolder | None:
    """The holder of a key that is not revoked."""
    row = connection.execute(_BY_DIGEST.where(api_key.c.digest == digest, api_key.c.revoked_at.is_(None))).one_or_none()
    return None if row is None else KeyHolder(id=row.id, owner=row.owner, scopes=frozenset(row.scopes))


def scopes_of(connection: Connection, *, key_id: str) -> frozenset[str] | None:
    """The scopes of a key, revoked or not; None: there is none such."""
    found = connection.execute(select(api_key.c.scopes).where(api_key.c.id == key_id)).scalar_one_or_none()
    return None if found is None else frozenset(found)


def every(connection: Connection, *, owner: str | None = None) -> list[KeyInfo]:
    """All keys, or those of one owner, oldest first."""
    statement = select(*_SHOWN).order_by(api_key.c.created_at, api_key.c.id)
    if owner is not None:
        statement = statement.where(api_key.c.owner == owner)
    rows = connection.execute(statement).mappings()
    return [KeyInfo(**{**row, "scopes": tuple(row["scopes"])}) for row in rows]


def revoke(connection: Connection, *, key_id: str, now: datetime) -> bool:
    """Revoke a key; False when there is none or it was revoked before."""
    statement = update(api_key).where(api_key.c.id == key_id, api_key.c.revoked_at.is_(None)).values(revoked_at=now)
    return connection.execute(statement).rowcount == 1
