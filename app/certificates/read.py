"""What readers of releases verify by: certificates, the service's public keys, what is revoked."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import rfc8785

from app.certificates.issue import register
from app.certificates.signing import envelope, jwk, open_keys
from app.db.repositories import certificates, releases, signing_keys
from app.db.repositories.release_access import Viewer
from app.db.session import Database
from app.errors import NotFoundError
from app.settings import Settings

REVOCATIONS: Final = "application/vnd.surebox.revocations+json"


@dataclass(frozen=True, slots=True)
class Signed:
    """An envelope as it is served, and the digest that is its ETag."""

    body: bytes
    sha256: str


def read_certificate(*, database: Database, viewer: Viewer, release_id: str) -> Signed:
    """The certificate of a release.

    Raises
    ------
    NotFoundError
        If there is no such release, or it has no certificate yet.
    """
    with database.read() as connection:
        known = "\x00" not in release_id and releases.get(connection, viewer=viewer, release_id=release_id) is not None
        found = certificates.get_envelope(connection, release_id=release_id) if known else None
    if not known:
        raise NotFoundError("there is no release with this id")
    if found is None:
        raise NotFoundError(
            "this release has no certificate: it gets one when it is published, once the service's operator has set a "
            "signing key (SUREBOX_SIGNING_KEY_FILE)"
        )
    return Signed(found, hashlib.sha256(found).hexdigest())


def read_key_set(*, database: Database) -> dict[str, Any]:
    """All keys that ever signed as a JWK set: since when each signs, until when, and whether it is revoked."""
    with database.read() as connection:
        found = signing_keys.list_keys(connection)
    keys = []
    for each in found:
        key: dict[str, Any] = {**each.jwk, "iat": int(each.created_at.timestamp())}
        if each.retires_at is not None:
            key["exp"] = int(each.retires_at.timestamp())
        if each.revoked_at is not None:
            key["revoked"] = {"revoked_at": int(each.revoked_at.timestamp()), "reason": each.revoked_because or ""}
        keys.append(key)
    return {"keys": keys}


def read_revocations(*, database: Database, settings: Settings) -> Signed:
    """Certificates of releases that are no longer published, as a signed list, made anew each minute.

    The list is of all owners and holds digests only: they say nothing to whoever does not hold the certificate.

    Raises
    ------
    NotFoundError
        If this service has no signing key.
    """
    keys = open_keys(settings)
    with database.unit_of_work() as unit:
        signing = register(unit.connection, keys)
        listed = certificates.revoked(unit.connection)
        at = certificates.now(unit.connection)
    if not any(jwk(key)["kid"] in signing for key in keys):
        raise NotFoundError("this service signs nothing: its operator sets a signing key (SUREBOX_SIGNING_KEY_FILE)")
    minute = at.replace(second=0, microsecond=0)
    youngest = max((each.created_at for each in _known(database) if each.id in signing), default=minute)
    body: dict[str, Any] = {
        "issued_at": _text(max(minute, youngest)),
        "revoked": [{"certificate": digest, "revoked_at": _text(since)} for digest, since in listed],
    }
    raw = envelope(keys, payload_type=REVOCATIONS, payload=rfc8785.dumps(body), signing=signing)
    return Signed(raw, hashlib.sha256(raw).hexdigest())


def _known(database: Database) -> list[signing_keys.KnownKey]:
    with database.read() as connection:
        return signing_keys.list_keys(connection)


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
