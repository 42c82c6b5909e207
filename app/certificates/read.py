"""What readers of releases verify by: certificates, the service's public keys, the revocations."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import rfc8785

from app.certificates.issue import register
from app.certificates.signing import envelope, jwk, open_keys
from app.contracts.base import rfc3339
from app.db.repositories import certificates, releases, signing_keys, timestamps
from app.db.repositories.release_access import Viewer
from app.db.session import Database
from app.errors import NotFoundError
from app.settings import Settings

REVOCATIONS: Final = "application/vnd.surebox.revocations+json"


@dataclass(frozen=True, slots=True)
class Signed:
    """An envelope, or a timestamp of one, as it is served, and the digest that is its ETag."""

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
        known = releases.get(connection, viewer=viewer, release_id=release_id) is not None
        certificate = certificates.get_envelope(connection, release_id=release_id) if known else None
    if not known:
        raise NotFoundError("there is no release with this id")
    if certificate is None:
        raise NotFoundError(
            "this release has no certificate: it gets one when it is published, once the service's operator has set a "
            "signing key (SUREBOX_SIGNING_KEY_FILE)"
        )
    return Signed(certificate, hashlib.sha256(certificate).hexdigest())


def read_timestamp(*, database: Database, viewer: Viewer, release_id: str) -> Signed:
    """When an authority saw the certificate of a release, as the authority said it (RFC 3161).

    Raises
    ------
    NotFoundError
        If there is no such release, or its certificate has no timestamp yet.
    """
    read_certificate(database=database, viewer=viewer, release_id=release_id)
    with database.read() as connection:
        timestamp = timestamps.get(connection, release_id=release_id)
    if timestamp is None:
        raise NotFoundError(
            "the certificate of this release has no timestamp: it gets one soon after publication, once the service's "
            "operator has named an authority (SUREBOX_TIMESTAMP_URL)"
        )
    return Signed(timestamp.token, hashlib.sha256(timestamp.token).hexdigest())


def certified_at(*, database: Database, release_id: str) -> dict[str, str]:
    """When the certificate of a release was issued, and when an authority saw it, as far as there are both."""
    with database.read() as connection:
        issued, stamped = timestamps.times(connection, release_id=release_id)
    times = {"certified_at": issued, "timestamped_at": stamped}
    return {name: rfc3339(at) for name, at in times.items() if at is not None}


def read_key_set(*, database: Database) -> dict[str, Any]:
    """All keys that ever signed as a JWK set: since when each signs, until when, and whether it is revoked."""
    with database.read() as connection:
        records = signing_keys.list_keys(connection)
    keys = []
    for each in records:
        key: dict[str, Any] = {**each.jwk, "iat": int(each.created_at.timestamp())}
        if each.retires_at is not None:
            key["exp"] = int(each.retires_at.timestamp())
        if each.revoked_at is not None:
            key["revoked"] = {"revoked_at": int(each.revoked_at.timestamp()), "reason": each.revoked_because or ""}
        keys.append(key)
    return {"keys": keys}


def read_revocations(
    *, database: Database, settings: Settings, at_last_change: bool = False, not_before: datetime | None = None
) -> Signed:
    """Certificates of releases that are no longer published, and signing keys, as a signed list, made anew each minute.

    The list is of all owners and contains digests only: they reveal nothing without the certificate.

    Parameters
    ----------
    database, settings
        The revocations, and what signs.
    at_last_change
        State that it is as of the last change rather than of this minute: the same list has the same bytes.
    not_before
        When a certificate was issued that the list is read with: it is no older than that.

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
        raise NotFoundError(
            "This service does not sign releases. Its operator can enable signing with SUREBOX_SIGNING_KEY_FILE."
        )
    minute = at.replace(second=0, microsecond=0)
    known = _known(database)
    lost = sorted((each.id, each.revoked_at) for each in known if each.revoked_at is not None)
    changes = [each.created_at for each in known if each.id in signing]
    changes += [since for _, since in (*listed, *lost)] if at_last_change else [minute]
    changes += [] if not_before is None else [not_before]
    body: dict[str, Any] = {
        "issued_at": _text(max(changes)),
        "revoked_keys": [{"key": key_id, "revoked_at": _text(since)} for key_id, since in lost],
        "revoked": [{"certificate": digest, "revoked_at": _text(since)} for digest, since in listed],
    }
    raw = envelope(keys, payload_type=REVOCATIONS, payload=rfc8785.dumps(body), signing=signing)
    return Signed(raw, hashlib.sha256(raw).hexdigest())


def _known(database: Database) -> list[signing_keys.KnownKey]:
    with database.read() as connection:
        return signing_keys.list_keys(connection)


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
