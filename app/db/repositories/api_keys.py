"""API keys. `by_digest` is the one question that is not scoped by owner: it finds the owner."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from sqlalchemy import Connection, RowMapping, func, insert, select, update

from app.db.tables.access import api_key


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A key as it may be shown: without its digest."""

    id: str
    owner: str
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None
    expires_at: datetime | None = None
    used_at: datetime | None = None
    hashed_under: bytes | None = None
    renewable_until: datetime | None = None
    lifetime: timedelta | None = None
    renewed_from: str | None = None


_SHOWN = tuple(api_key.c[each.name] for each in fields(KeyInfo))
_NOW = func.clock_timestamp()
_WORKS = (api_key.c.revoked_at.is_(None), api_key.c.expires_at.is_(None) | (api_key.c.expires_at > _NOW))
#: The last use is noted to the hour: a write a request would cost more than the request.
_UNNOTED = api_key.c.used_at.is_(None) | (api_key.c.used_at < _NOW - timedelta(hours=1))
_BY_DIGEST = select(api_key.c.id, api_key.c.owner, api_key.c.scopes, api_key.c.digest, _UNNOTED.label("unnoted")).where(
    *_WORKS
)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """What a valid key represents."""

    id: str
    owner: str
    scopes: frozenset[str]
    digest: bytes
    unnoted: bool


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
            expires_at=info.expires_at,
            hashed_under=info.hashed_under,
            renewable_until=info.renewable_until,
            lifetime=info.lifetime,
            renewed_from=info.renewed_from,
        )
    )


def by_digest(connection: Connection, *, digests: Sequence[bytes]) -> KeyHolder | None:
    """The holder of a key that works, by its digest under any of the service's secrets."""
    row = connection.execute(_BY_DIGEST.where(api_key.c.digest.in_(digests))).first()
    return None if row is None else KeyHolder(**{**row._mapping, "scopes": frozenset(row.scopes)})  # noqa: SLF001


def note_use(connection: Connection, *, key_id: str, digest: bytes, hashed_under: bytes) -> None:
    """The key was used, and its digest is under the service's present secret from now on."""
    values = {"used_at": _NOW, "digest": digest, "hashed_under": hashed_under}
    connection.execute(update(api_key).where(api_key.c.id == key_id).values(**values))


def scopes_of(connection: Connection, *, key_id: str) -> frozenset[str] | None:
    """The scopes of a key, revoked or not; None: there is none such."""
    scopes = connection.execute(select(api_key.c.scopes).where(api_key.c.id == key_id)).scalar_one_or_none()
    return None if scopes is None else frozenset(scopes)


def every(connection: Connection, *, owner: str | None = None) -> list[KeyInfo]:
    """All keys, or those of one owner, oldest first."""
    statement = select(*_SHOWN).order_by(api_key.c.created_at, api_key.c.id)
    if owner is not None:
        statement = statement.where(api_key.c.owner == owner)
    return [_info(row) for row in connection.execute(statement).mappings()]


def by_id(connection: Connection, *, owner: str, key_id: str) -> KeyInfo | None:
    """A key of an owner, whether it works or not."""
    statement = select(*_SHOWN).where(api_key.c.owner == owner, api_key.c.id == key_id)
    row = connection.execute(statement).mappings().first()
    return None if row is None else _info(row)


def lock_working(connection: Connection, *, key_id: str) -> KeyInfo | None:
    """A key that works by the database's clock, which nobody else renews or revokes until the transaction ends."""
    statement = select(*_SHOWN).where(api_key.c.id == key_id, *_WORKS).with_for_update()
    row = connection.execute(statement).mappings().first()
    return None if row is None else _info(row)


def successor(connection: Connection, *, key_id: str) -> KeyInfo | None:
    """The key that a key was renewed to; locked until the transaction ends."""
    statement = select(*_SHOWN).where(api_key.c.renewed_from == key_id).with_for_update()
    row = connection.execute(statement).mappings().first()
    return None if row is None else _info(row)


def take_back(connection: Connection, *, key_id: str, now: datetime) -> None:
    """Revoke a key that replaced another one and was never used; the other one may be renewed again."""
    values = {"revoked_at": now, "renewed_from": None}
    connection.execute(update(api_key).where(api_key.c.id == key_id).values(**values))


def end_by(connection: Connection, *, key_id: str, at: datetime) -> datetime:
    """End a key by its own renewal at an instant, unless it ends sooner; gives when it ends.

    So it was used, even where a process that let it in could not note that.
    """
    values = {"expires_at": func.least(api_key.c.expires_at, at), "used_at": _NOW}
    statement = update(api_key).where(api_key.c.id == key_id).values(**values)
    ends: datetime = connection.execute(statement.returning(api_key.c.expires_at)).scalar_one()
    return ends


def revoke(connection: Connection, *, key_id: str, now: datetime) -> str | None:
    """Revoke a key, and state whose it was; None when there is none or it was revoked before."""
    statement = update(api_key).where(api_key.c.id == key_id, api_key.c.revoked_at.is_(None)).values(revoked_at=now)
    owner: str | None = connection.execute(statement.returning(api_key.c.owner)).scalar_one_or_none()
    return owner


def _info(row: RowMapping) -> KeyInfo:
    return KeyInfo(**{**row, "scopes": tuple(row["scopes"])})
