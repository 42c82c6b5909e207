"""API keys: `sb_` and 43 random characters. Only their HMAC under the server's secret is stored.

A key has 256 random bits, so a fast keyed hash is enough: a password hash per request would cost more than the
request, and would protect nothing that can be guessed.
"""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from pydantic import SecretStr

from app.auth.principal import Scope
from app.contracts.base import new_id, rfc3339
from app.contracts.log import LogAction
from app.contracts.releases import EVERYBODY
from app.db.repositories import api_keys, audit
from app.db.repositories.api_keys import KeyInfo
from app.db.session import Connection, Database
from app.errors import CannotStartError, FieldError, InvalidError
from app.settings import Settings

__all__ = [
    "KeyInfo", "add_key", "check_secret", "create_key", "digest_of", "list_keys", "name_of", "new_secret", "revoke_key",
    "secrets_of",
]  # fmt: skip

PREFIX: Final = "sb_"
LEAST_SECRET: Final = 32
_LONGEST_NAME: Final = 200
_RENEWED_ONES_EXPIRE: Final = (
    "a key that its holder renews expires: give the days until it does (`--expires-days`), no more of them than of "
    "renewals (`--renewable-days`)"
)


def new_secret() -> str:
    """A secret for a service."""
    return secrets.token_urlsafe(48)


def check_secret(secret: SecretStr) -> bytes:
    """The server's secret as the key of the HMAC.

    Raises
    ------
    CannotStartError
        When it is shorter than 32 characters.
    """
    value = secret.get_secret_value()
    if len(value) < LEAST_SECRET:
        detail = (
            f"SUREBOX_SERVER_SECRET has {len(value)} characters and needs at least {LEAST_SECRET}: "
            "set it to a random value that stays the same, e.g. of `openssl rand -hex 32`"
        )
        raise CannotStartError(detail)
    return value.encode()


def secrets_of(settings: Settings) -> tuple[bytes, ...]:
    """The secrets under which keys are looked up: the present one, then the former one while that is known.

    Raises
    ------
    CannotStartError
        When the present one is shorter than 32 characters.
    """
    previous = settings.previous_server_secret.get_secret_value()
    present = check_secret(settings.server_secret)
    return (present, previous.encode()) if previous else (present,)


def name_of(secret: bytes) -> bytes:
    """A name of a secret that reveals nothing of it."""
    return hmac.digest(secret, b"surebox: name of the secret of keys", "sha256")[:8]


def digest_of(key: str, *, secret: bytes) -> bytes:
    """HMAC-SHA256 of a key: the stored form, which is looked up."""
    return hmac.digest(secret, key.encode(), "sha256")


def create_key(
    *,
    database: Database,
    secret: SecretStr,
    owner: str,
    scopes: Sequence[str],
    name: str,
    now: datetime,
    expires_at: datetime | None = None,
    renewable_until: datetime | None = None,
) -> tuple[KeyInfo, str]:
    """Make a key for an owner.

    Parameters
    ----------
    database, secret
        Where keys are kept, and the service's secret, under which they are.
    owner, scopes, name
        Whose key it is, what it may do, and what it is for.
    now
        When it is made.
    expires_at
        When it ends; None: never.
    renewable_until
        When its renewals end at the latest; None: its holder cannot renew it. With it a key expires.

    Returns
    -------
    tuple[KeyInfo, str]
        What may be shown later, and the key itself, which is shown only now.

    Raises
    ------
    InvalidError
        Unknown or no scopes, an empty owner or name, renewals of a key that does not expire before them.
    """
    if renewable_until is not None and (expires_at is None or expires_at > renewable_until):
        raise InvalidError.at("/renewable_until", _RENEWED_ONES_EXPIRE)
    info = KeyInfo(
        id=new_id("key"),
        owner=owner,
        name=name,
        scopes=_checked(scopes, owner, name),
        created_at=now,
        revoked_at=None,
        expires_at=expires_at,
        renewable_until=renewable_until,
        lifetime=None if renewable_until is None or expires_at is None else expires_at - now,
    )
    facts = {"scopes": list(info.scopes), "expires_at": None if expires_at is None else rfc3339(expires_at)}
    if renewable_until is not None:
        facts["renewable_until"] = rfc3339(renewable_until)
    with database.unit_of_work() as unit:
        info, key = add_key(unit.connection, info=info, secret=secret)
        audit.record(
            unit.connection, owner=owner, action=LogAction.KEY_CREATED, subject=info.id, key_id=None, facts=facts
        )
    return info, key


def add_key(connection: Connection, *, info: KeyInfo, secret: SecretStr) -> tuple[KeyInfo, str]:
    """Store a new key under the service's present secret; gives it as it is kept, and the key, which is not."""
    under = check_secret(secret)
    key = PREFIX + secrets.token_urlsafe(32)
    stored = replace(info, hashed_under=name_of(under))
    api_keys.add(connection, info=stored, digest=digest_of(key, secret=under))
    return stored, key


def list_keys(*, database: Database, owner: str | None = None) -> list[KeyInfo]:
    """All keys, or those of one owner, revoked ones included."""
    with database.read() as connection:
        return api_keys.every(connection, owner=owner)


def revoke_key(*, database: Database, key_id: str, now: datetime) -> tuple[str, ...]:
    """Revoke a key and those that it was renewed to; they stop working within the seconds that processes cache them.

    Each is revoked before its successor is looked up: a renewal that goes on meanwhile has made one by then, or finds
    its key revoked.

    Returns
    -------
    tuple[str, ...]
        Ids of the keys that were not revoked before.
    """
    revoked = []
    with database.unit_of_work() as unit:
        this: str | None = key_id
        while this is not None:
            owner = api_keys.revoke(unit.connection, key_id=this, now=now)
            if owner is not None:
                revoked.append(this)
                audit.record(unit.connection, owner=owner, action=LogAction.KEY_REVOKED, subject=this, key_id=None)
            renewed = api_keys.successor(unit.connection, key_id=this)
            this = None if renewed is None else renewed.id
    return tuple(revoked)


def _checked(scopes: Sequence[str], owner: str, name: str) -> tuple[str, ...]:
    errors = [
        FieldError(pointer=f"/{field}", detail=f"1 to {_LONGEST_NAME} printable characters")
        for field, value in (("owner", owner), ("name", name))
        if not (0 < len(value) <= _LONGEST_NAME and value.isprintable())
    ]
    if owner == EVERYBODY:
        errors.append(FieldError("/owner", "in `readers` this word means everyone: call the owner otherwise"))
    known = [scope.value for scope in Scope]
    unknown = sorted(set(scopes).difference(known))
    if unknown or not scopes:
        detail = f"unknown: {', '.join(unknown)}" if unknown else "at least one is needed"
        errors.append(FieldError(pointer="/scopes", detail=f"{detail}; scopes are {', '.join(known)}"))
    if errors:
        raise InvalidError.of(errors)
    return tuple(scope for scope in known if scope in scopes)
