"""The signed envelope around a statement: DSSE, Ed25519, read strictly.

Notation
--------
PAE : the signed part of an envelope, "DSSEv1 <length of type> <type> <length of payload> <payload>", so that bytes
    which were signed as one type are no signature of another.

Base64 is accepted in one spelling only, and a name may occur once in an object: two readers see the same.
"""

import base64
import binascii
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LARGEST = 2**53 - 1
STATEMENT = "application/vnd.in-toto+json"
REVOCATIONS = "application/vnd.surebox.revocations+json"


class UnreadableError(ValueError):
    """The given data is not what it should be: no envelope, no key set, no certificate, no release."""


@dataclass(frozen=True)
class Signature:
    """One signature and the id of the key that is said to have made it."""

    key_id: str
    value: bytes


@dataclass(frozen=True)
class Envelope:
    """A payload with its type and signatures."""

    payload_type: str
    payload: bytes
    signatures: tuple[Signature, ...]

    @property
    def signed_bytes(self) -> bytes:
        """PAE, what each signature is of."""
        name = self.payload_type.encode()
        return b"DSSEv1 %d %s %d %s" % (len(name), name, len(self.payload), self.payload)

    @property
    def sha256(self) -> str:
        """What names the payload, in revocations and in the chain of an owner's releases."""
        return hashlib.sha256(self.payload).hexdigest()

    def body(self) -> dict[str, Any]:
        """The payload as JSON.

        Raises
        ------
        UnreadableError
            It is no JSON object.
        """
        return read_object(self.payload, what="the payload of the envelope")


def read_envelope(raw: bytes) -> Envelope:
    """Read an envelope.

    Parameters
    ----------
    raw : JSON with `payload`, `payloadType` and `signatures`.

    Raises
    ------
    UnreadableError
        It is none, or has no signature.
    """
    envelope = read_object(raw, what="the envelope")
    payload_type, payload, signatures = (envelope.get(name) for name in ("payloadType", "payload", "signatures"))
    if not isinstance(payload_type, str) or not isinstance(signatures, list) or not signatures:
        msg = "the envelope lacks `payloadType`, `payload` or `signatures`"
        raise UnreadableError(msg)
    return Envelope(
        payload_type=payload_type,
        payload=decoded(payload, what="`payload` of the envelope"),
        signatures=tuple(_signature(each) for each in signatures),
    )


def read_object(raw: bytes, *, what: str) -> dict[str, Any]:
    """A JSON object in which no name occurs twice; its numbers are doubles, as RFC 8785 has them."""
    try:
        document = json.loads(
            raw.decode(), object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite, parse_int=_whole
        )
    except (ValueError, RecursionError) as error:
        msg = f"{what} is no JSON: {type(error).__name__}"
        raise UnreadableError(msg) from None
    if not isinstance(document, dict):
        msg = f"{what} is no JSON object"
        raise UnreadableError(msg)
    return document


def decoded(text: object, *, what: str, urlsafe: bool = False) -> bytes:
    """Bytes from base64 in its one spelling: full padding (none where it is urlsafe), no other characters."""
    spelled = text if isinstance(text, str) else "?"
    padded = spelled + "=" * (-len(spelled) % 4) if urlsafe else spelled
    try:
        raw = base64.b64decode(padded, altchars=b"-_" if urlsafe else None, validate=True)
    except (ValueError, binascii.Error):
        msg = f"{what} is no base64"
        raise UnreadableError(msg) from None
    again = base64.b64encode(raw, altchars=b"-_" if urlsafe else None).decode()
    if (again.rstrip("=") if urlsafe else again) != text:
        msg = f"{what} is not the base64 that its bytes have"
        raise UnreadableError(msg)
    return raw


def _signature(entry: object) -> Signature:
    if not isinstance(entry, dict) or not isinstance(entry.get("keyid"), str):
        msg = "a signature of the envelope lacks `keyid` or `sig`"
        raise UnreadableError(msg)
    return Signature(entry["keyid"], decoded(entry.get("sig"), what="`sig` of a signature"))


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        msg = "a name occurs twice"
        raise ValueError(msg)
    return members


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        msg = "a number is too large"
        raise ValueError(msg)
    return value


def _whole(text: str) -> int | float:
    """What a double may not represent exactly was written from one: longer integers are as text."""
    value = _finite(text)
    return value if abs(value) > LARGEST else int(text)
