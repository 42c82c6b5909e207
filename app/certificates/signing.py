"""The service's signing keys, and envelopes signed with them: DSSE (PAE), Ed25519.

The private keys are in a file or in a secret of the environment, newest first, or in a key service; never in the
database. There only their public halves are, with the times in which they sign. During a rotation both keys sign:
readers who have not fetched the new key set yet still find a key they know.
"""

import base64
import hashlib
import importlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from app.errors import CannotStartError
from app.settings import Settings

_END = b"-----END PRIVATE KEY-----"


class SigningKey(Protocol):
    """One key that signs: held here, or by a key service (SUREBOX_SIGNING_KEY_SERVICE names what returns them)."""

    @property
    def public(self) -> bytes:
        """The 32 bytes of its public half."""
        ...

    def sign(self, data: bytes, /) -> bytes:
        """The Ed25519 signature of bytes."""
        ...


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A key that is held in this process."""

    key: Ed25519PrivateKey

    @property
    def public(self) -> bytes:
        """The 32 bytes of its public half."""
        return self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sign(self, data: bytes, /) -> bytes:
        """The Ed25519 signature of bytes."""
        return self.key.sign(data)


def open_keys(settings: Settings) -> Sequence[SigningKey]:
    """The keys of the settings, newest first; none where none is set. A file is read anew each time.

    Raises
    ------
    CannotStartError
        The setting is no key.
    """
    if settings.signing_key_service is not None:
        module, _, name = settings.signing_key_service.partition(":")
        try:
            keys: Sequence[SigningKey] = getattr(importlib.import_module(module), name)()
        except (ImportError, AttributeError) as error:
            raise CannotStartError(
                f"SUREBOX_SIGNING_KEY_SERVICE={settings.signing_key_service} cannot be imported ({error}); it is "
                "`module:function`, and the function returns the keys, newest first"
            ) from None
        return keys
    secret = settings.signing_key.get_secret_value()
    if secret:
        return read_pem(secret.encode(), where="SUREBOX_SIGNING_KEY")
    if settings.signing_key_file is None:
        return ()
    try:
        return read_pem(settings.signing_key_file.read_bytes(), where=str(settings.signing_key_file))
    except OSError as error:
        raise CannotStartError(
            f"The signing key {settings.signing_key_file} cannot be read: {error.strerror}. Put it back from a backup, "
            "or set SUREBOX_SIGNING_KEY_FILE to where it is."
        ) from error


def read_pem(raw: bytes, *, where: str) -> tuple[PrivateKey, ...]:
    """Private keys in PEM (PKCS 8), one after the other.

    Raises
    ------
    CannotStartError
        There is none, or one that is not Ed25519.
    """
    keys = []
    for block in raw.split(_END)[:-1]:
        try:
            key = load_pem_private_key(block.strip() + b"\n" + _END + b"\n", password=None)
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise CannotStartError(f"{where} contains something that is no Ed25519 private key in PEM (PKCS 8).")
        keys.append(PrivateKey(key))
    if not keys:
        raise CannotStartError(f"{where} has no private key in PEM: `openssl genpkey -algorithm ed25519` prints one.")
    return tuple(keys)


def new_pem() -> str:
    """A new private key in PEM."""
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def read_file(path: Path) -> str:
    """The file of keys as text; empty where there is none yet."""
    return path.read_text(encoding="ascii") if path.exists() else ""


def jwk(key: SigningKey) -> dict[str, str]:
    """The public half as a JWK; its id is its RFC 7638 thumbprint."""
    x = base64.urlsafe_b64encode(key.public).decode().rstrip("=")
    thumbprint = hashlib.sha256(rfc8785.dumps({"crv": "Ed25519", "kty": "OKP", "x": x})).digest()
    key_id = base64.urlsafe_b64encode(thumbprint).decode().rstrip("=")
    return {"kty": "OKP", "crv": "Ed25519", "x": x, "use": "sig", "alg": "EdDSA", "kid": key_id}


def is_signed(raw: bytes, jwks: Sequence[Mapping[str, str]]) -> bool:
    """Whether one of the keys signed an envelope, and none of them signed something else under its name."""
    document = json.loads(raw)
    name, payload = document["payloadType"].encode(), base64.b64decode(document["payload"])
    known = {each["kid"]: each["x"] for each in jwks}
    good = 0
    for each in document["signatures"]:
        if each["keyid"] in known:
            x = base64.urlsafe_b64decode(known[each["keyid"]] + "=")
            try:
                Ed25519PublicKey.from_public_bytes(x).verify(base64.b64decode(each["sig"]), _signed(name, payload))
            except InvalidSignature:
                return False
            good += 1
    return good > 0


def envelope(keys: Sequence[SigningKey], *, payload_type: str, payload: bytes, signing: Collection[str]) -> bytes:
    """Sign a payload with every key that may still sign.

    Parameters
    ----------
    keys
        All that are there, newest first.
    payload_type, payload
        The signed payload, and its media type.
    signing
        Ids of those that are neither retired nor revoked.
    """
    signed = _signed(payload_type.encode(), payload)
    made = [
        {"keyid": key_id, "sig": base64.b64encode(key.sign(signed)).decode()}
        for key in keys
        if (key_id := jwk(key)["kid"]) in signing
    ]
    whole = {"payload": base64.b64encode(payload).decode(), "payloadType": payload_type, "signatures": made}
    return json.dumps(whole, separators=(",", ":")).encode()


def _signed(payload_type: bytes, payload: bytes) -> bytes:
    """PAE of DSSE: what a signature is of."""
    return b"DSSEv1 %d %s %d %s" % (len(payload_type), payload_type, len(payload), payload)
