"""Renewal: the holder of a key exchanges it for a new one, with the same owner and scopes.

A thief of a key can renew it too, so there is one working line of keys and never two: the key before ends
within an hour, and cannot be renewed again once the new one was used. Of the holder and a thief the one who comes
second is refused, which the log shows. A new key that was never used, because its answer was lost, is taken back by
the next renewal. Revoking a key revokes those that it was renewed to.
"""

from datetime import datetime, timedelta
from typing import Final

from pydantic import SecretStr

from app.auth.keys import KeyInfo, add_key
from app.contracts.base import new_id, rfc3339
from app.contracts.log import LogAction
from app.contracts.owners import ApiKey, RenewedKey
from app.db.repositories import api_keys, audit
from app.db.session import Connection, Database
from app.errors import KeyNotRenewableError, UnauthorizedError

#: For how long the key before still works: until then every program has the new one.
OVERLAP: Final = timedelta(hours=1)


def read_key(*, database: Database, owner: str, key_id: str) -> ApiKey:
    """Read the part of a key's row that its holder may know.

    Raises
    ------
    UnauthorizedError
        It is gone.
    """
    with database.read() as connection:
        info = api_keys.by_id(connection, owner=owner, key_id=key_id)
    if info is None:
        raise UnauthorizedError("the API key is unknown")
    return ApiKey(
        id=info.id,
        name=info.name,
        scopes=info.scopes,
        expires_at=info.expires_at,
        renewable_until=info.renewable_until,
    )


def renew_key(*, database: Database, secret: SecretStr, key_id: str, now: datetime) -> RenewedKey:
    """Make the key that replaces one; it is shown only now.

    Raises
    ------
    UnauthorizedError
        The key was revoked or has expired since the request was let in.
    KeyNotRenewableError
        It was made without renewals, or the key that replaces it was used or revoked.
    """
    with database.unit_of_work() as unit:
        connection = unit.connection
        former = api_keys.lock_working(connection, key_id=key_id)
        if former is None:
            raise UnauthorizedError("the API key is unknown, revoked or expired")
        replacement = _renewed(former, now)
        _make_way(connection, former, now)
        info, key = add_key(connection, info=replacement, secret=secret)
        ends = api_keys.end_by(connection, key_id=former.id, at=now + OVERLAP)
        facts = {"scopes": list(info.scopes), "expires_at": _instant(info.expires_at), "former_ends_at": rfc3339(ends)}
        audit.record(
            connection, owner=info.owner, action=LogAction.KEY_RENEWED, subject=info.id, key_id=former.id, facts=facts
        )
    return RenewedKey(
        id=info.id,
        name=info.name,
        scopes=info.scopes,
        expires_at=info.expires_at,
        renewable_until=info.renewable_until,
        key=key,
        former_key_id=former.id,
        former_ends_at=ends,
    )


def _renewed(former: KeyInfo, now: datetime) -> KeyInfo:
    """The key that replaces one: as long as that was, and never beyond the day that the operator gave."""
    if former.renewable_until is None or former.lifetime is None:
        raise KeyNotRenewableError("this key was made without renewals: request another one from the operator")
    return KeyInfo(
        id=new_id("key"),
        owner=former.owner,
        name=former.name,
        scopes=former.scopes,
        created_at=now,
        revoked_at=None,
        expires_at=min(now + former.lifetime, former.renewable_until),
        renewable_until=former.renewable_until,
        lifetime=former.lifetime,
        renewed_from=former.id,
    )


def _make_way(connection: Connection, former: KeyInfo, now: datetime) -> None:
    """Take back what a key was renewed to before, if that was never used."""
    earlier = api_keys.successor(connection, key_id=former.id)
    if earlier is None:
        return
    if earlier.revoked_at is not None or earlier.used_at is not None:
        state = "was revoked" if earlier.revoked_at is not None else "is in use"
        raise KeyNotRenewableError(
            f"this key was renewed at {rfc3339(earlier.created_at)}, and the new key, {earlier.id}, {state}: use the "
            f"new key. If you have not renewed it, have the operator revoke {former.id}, which ends both"
        )
    api_keys.take_back(connection, key_id=earlier.id, now=now)
    audit.record(connection, owner=earlier.owner, action=LogAction.KEY_REVOKED, subject=earlier.id, key_id=former.id)


def _instant(at: datetime | None) -> str | None:
    return None if at is None else rfc3339(at)
