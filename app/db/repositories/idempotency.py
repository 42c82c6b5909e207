"""Idempotency keys: one row per owner and key. It states what the key has made, and nothing of the answer."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import Connection, and_, delete, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.access import idempotency


class KeyState(StrEnum):
    """How far the first request with a key has come."""

    RESERVED = "reserved"
    ACCEPTED = "accepted"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class Guarded:
    """A key that someone holds; `resource_id` and `status` once what it asks for is there."""

    fingerprint: str
    state: KeyState
    resource_id: str | None
    status: int | None
    leased_until: datetime


def take(
    connection: Connection,
    *,
    owner: str,
    key: str,
    fingerprint: str,
    token: str,
    now: datetime,
    lease: timedelta,
    forgotten: timedelta,
) -> bool:
    """Take a key that is new, was left in flight beyond its lease, or is older than the remembered period."""
    values = {
        "fingerprint": fingerprint,
        "token": token,
        "leased_until": now + lease,
        "state": KeyState.RESERVED,
        "resource_id": None,
        "status": None,
        "created_at": now,
    }
    statement = insert(idempotency).values(owner=owner, key=key, **values)
    statement = statement.on_conflict_do_update(
        index_elements=[idempotency.c.owner, idempotency.c.key],
        set_=values,
        where=or_(
            and_(idempotency.c.state == KeyState.RESERVED, idempotency.c.leased_until <= now),
            idempotency.c.created_at <= now - forgotten,
        ),
    )
    return connection.execute(statement.returning(idempotency.c.token)).scalar_one_or_none() == token


def held(connection: Connection, *, owner: str, key: str) -> Guarded | None:
    """The known facts of a key."""
    statement = select(
        idempotency.c.fingerprint,
        idempotency.c.state,
        idempotency.c.resource_id,
        idempotency.c.status,
        idempotency.c.leased_until,
    ).where(idempotency.c.owner == owner, idempotency.c.key == key)
    row = connection.execute(statement).one_or_none()
    if row is None:
        return None
    return Guarded(
        fingerprint=row.fingerprint,
        state=KeyState(row.state),
        resource_id=row.resource_id,
        status=row.status,
        leased_until=row.leased_until,
    )


def complete(
    connection: Connection, *, owner: str, key: str, token: str, state: KeyState, status: int, resource_id: str
) -> bool:
    """Remember what the key has made; False when the lease was lost to another request."""
    statement = (
        update(idempotency)
        .where(idempotency.c.owner == owner, idempotency.c.key == key, idempotency.c.token == token)
        .values(state=state, status=status, resource_id=resource_id)
    )
    return connection.execute(statement).rowcount == 1


def release(connection: Connection, *, owner: str, key: str, token: str) -> None:
    """Give a key in flight back: the request failed and may be sent again."""
    connection.execute(
        delete(idempotency).where(
            idempotency.c.owner == owner,
            idempotency.c.key == key,
            idempotency.c.token == token,
            idempotency.c.state == KeyState.RESERVED,
        )
    )


def withdraw(connection: Connection, *, owner: str, key: str, token: str) -> None:
    """Forget a key whose object was taken back before its first answer: the request may be sent again."""
    connection.execute(
        delete(idempotency).where(idempotency.c.owner == owner, idempotency.c.key == key, idempotency.c.token == token)
    )
