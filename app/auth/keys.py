"""API keys: `sb_` and 43 random characters. Only their HMAC under the server's secret is stored.

A key has 256 random bits, so a fast keyed hash is enough: a password hash per request would cost more than the
request, and would protect nothing that can be guessed.
"""

import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from pydantic import SecretStr

from app.auth.principal import Scope
from app.contracts.base import new_id, rfc3339
from app.contracts.log import LogAction
from app.contracts.releases import EVERYBODY
from app.db.repositories import api_keys, audit
from app.db.repositories.api_keys import KeyInfo
from app.db.session import Database
from app.errors import CannotStartError, FieldError, InvalidError
from app.settings import Settings

__all__ = [
    "KeyInfo", "check_secret", "create_key", "digest_of", "list_keys", "name_of", "new_secret", "revoke_key",
    "secrets_of",
]  # fmt: skip

PREFIX: Final = "sb_"
LEAST_SECRET: Final = 32
_LONGEST_NAME: Final = 200


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
) -> tuple[KeyInfo, str]:
    """Make a key for an owner.

    Returns
    -------
    tuple[KeyInfo, str]
        What may be shown later, and the key itself, which is shown only now.

    Raises
    ------
    InvalidError
        Unknown or no scopes, an empty owner or name.
    """
    under = check_secret(secret)
    info = KeyInfo(
        id=new_id("key"),
        owner=owner,
        name=name,
        scopes=_checked(scopes, owner, name),
        created_at=now,
        revoked_at=None,
        expires_at=expires_at,
        hashed_under=name_of(under),
    )
    key = PREFIX + secrets.token_urlsafe(32)
    with database.unit_of_work() as unit:
        api_keys.add(unit.connection, info=info, digest=digest_of(key, secret=under))
        audit.record(
            unit.connection, owner=owner, action=LogAction.KEY_CREATED, subject=info.id, key_id=None,
            facts={"scopes": list(info.scopes), "expires_at": None if expires_at is None else rfc3339(expires_at)},
        )  # fmt: skip
    return info, key


def list_keys(*, database: Database, owner: str | None = None) -> list[KeyInfo]:
    """All keys, or those of one owner, revoked ones included."""
    with database.read() as connection:
        return api_keys.every(connection, owner=owner)


def revoke_key(*, database: Database, key_id: str, now: datetime) -> bool:
    """Revoke a key; it stops working within the seconds that processes cache it. False when there was nothing to do."""
    with database.unit_of_work() as unit:
        owner = api_keys.revoke(unit.connection, key_id=key_id, now=now)
        if owner is not None:
            audit.record(unit.connection, owner=owner, action=LogAction.KEY_REVOKED, subject=key_id, key_id=None)
        return owner is not None


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
