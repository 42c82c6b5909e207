"""The service's public keys as it serves them (`/.well-known/jwks.json`), and what their signatures are worth.

A key states from when it signs (`iat`) and, once it has been replaced, until when it did (`exp`); `revoked` is there
when it must not be trusted any more, whatever it signed. Its id is its RFC 7638 thumbprint: an id that is not is
refused.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from surebox_verify.envelope import Envelope, Signature, UnreadableError, decoded, read_object


class KeyStatus(StrEnum):
    """What a signature is worth."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown key"
    NOT_YET = "key not valid yet"
    EXPIRED = "expired key"
    REVOKED = "revoked key"


@dataclass(frozen=True)
class PublicKey:
    """One public key, and the times (seconds since 1970) in which it signs."""

    id: str
    key: Ed25519PublicKey
    from_time: float
    until: float | None
    revoked: bool


@dataclass(frozen=True)
class Signed:
    """One signature of an envelope and what it is worth."""

    key_id: str
    status: KeyStatus


def read_keys(raw: bytes) -> dict[str, PublicKey]:
    """Read a key set.

    Parameters
    ----------
    raw : a JWK set; keys that are not Ed25519 are passed over.

    Raises
    ------
    UnreadableError
        It is none, or a key of it is damaged.
    """
    entries = read_object(raw, what="the key set").get("keys")
    if not isinstance(entries, list):
        msg = "the key set lacks `keys`"
        raise UnreadableError(msg)
    keys = [_key(each) for each in entries if isinstance(each, dict) and each.get("crv") == "Ed25519"]
    return {key.id: key for key in keys}


def thumbprint(x: str) -> str:
    """RFC 7638 of an Ed25519 key by its `x`, SHA-256."""
    digest = hashlib.sha256(rfc8785.dumps({"crv": "Ed25519", "kty": "OKP", "x": x})).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def signed_by(envelope: Envelope, keys: Mapping[str, PublicKey], *, at: datetime) -> list[Signed]:
    """What each signature of an envelope is worth.

    Parameters
    ----------
    envelope : the signed payload.
    keys : the service's, by id.
    at : when the payload states that it was signed.
    """
    return [Signed(each.key_id, _status(envelope, each, keys.get(each.key_id), at)) for each in envelope.signatures]


def overall_status(signatures: list[Signed]) -> KeyStatus:
    """What all of them are worth together: one valid one, and none that is wrong."""
    statuses = {each.status for each in signatures}
    for status in (KeyStatus.INVALID, KeyStatus.VALID, KeyStatus.REVOKED, KeyStatus.EXPIRED, KeyStatus.NOT_YET):
        if status in statuses:
            return status
    return KeyStatus.UNKNOWN


def _status(envelope: Envelope, signature: Signature, key: PublicKey | None, at: datetime) -> KeyStatus:
    if key is None:
        return KeyStatus.UNKNOWN
    try:
        key.key.verify(signature.value, envelope.signed_bytes)
    except InvalidSignature:
        return KeyStatus.INVALID
    if key.revoked:
        return KeyStatus.REVOKED
    seconds = int(at.timestamp())
    if seconds < key.from_time:
        return KeyStatus.NOT_YET
    return KeyStatus.EXPIRED if key.until is not None and seconds > key.until else KeyStatus.VALID


def _key(jwk: Mapping[str, Any]) -> PublicKey:
    x, key_id, since, until = (jwk.get(name) for name in ("x", "kid", "iat", "exp"))
    raw = decoded(x, what="`x` of a key", urlsafe=True)
    if jwk.get("kty") != "OKP" or len(raw) != 32 or not isinstance(x, str) or key_id != thumbprint(x):
        msg = "a key of the key set is damaged: its `kid` is not the thumbprint of what it is"
        raise UnreadableError(msg)
    if since is None or not all(_is_time(each) for each in (since, until) if each is not None):
        msg = "a key of the key set lacks `iat`, or its `exp` is no time"
        raise UnreadableError(msg)
    return PublicKey(str(key_id), Ed25519PublicKey.from_public_bytes(raw), since, until, "revoked" in jwk)


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
