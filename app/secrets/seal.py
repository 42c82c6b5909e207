"""Sealing: AES-256-GCM under a key derived from the service's secret, bound to whose secret it is and what it is for.

While the service's secret is being changed there are two: what the previous one has sealed is still opened, and sealed
anew under the present one. This package alone imports `cryptography`, and only workers and the command line import it.
"""

import os
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.auth.keys import check_secret
from app.db.repositories.secrets import Sealed
from app.errors import SureboxError
from app.settings import Settings

_PURPOSE = b"surebox: sealed secrets, 1"
_KEY, _NAME, _NONCE = 32, 8, 12


@dataclass(frozen=True, slots=True, repr=False)
class _Key:
    name: bytes
    cipher: AESGCM


def service_sealer(settings: Settings) -> "Sealer":
    """The sealer of a service.

    Raises
    ------
    CannotStartError
        Without a secret of 32 characters.
    """
    previous = settings.previous_server_secret.get_secret_value()
    return Sealer(check_secret(settings.server_secret), previous.encode() or None)


class Sealer:
    """Seals under the service's present secret; opens what it or the previous one has sealed.

    Parameters
    ----------
    present, previous
        The service's secrets.
    """

    def __init__(self, present: bytes, previous: bytes | None = None) -> None:
        self._present = _derived(present)
        known = [self._present] if previous is None else [self._present, _derived(previous)]
        self._keys = {key.name: key for key in known}

    @property
    def name(self) -> bytes:
        """What distinguishes the present secret from others; reveals nothing of it."""
        return self._present.name

    def seal(self, secret: bytes, *, owner: str, name: str) -> Sealed:
        """Seal an owner's secret."""
        nonce = os.urandom(_NONCE)
        return Sealed(nonce + self._present.cipher.encrypt(nonce, secret, _about(owner, name)), self._present.name)

    def open(self, sealed: Sealed, *, owner: str, name: str) -> bytes:
        """Open an owner's secret.

        Raises
        ------
        SureboxError
            When neither of the service's secrets has sealed it, or the row was changed.
        """
        key = self._keys.get(sealed.under)
        if key is None:
            raise SureboxError(
                "the service's secret has changed, and what the old one has sealed cannot be opened: its operator sets "
                "SUREBOX_PREVIOUS_SERVER_SECRET to the old one"
            )
        nonce, body = sealed.body[:_NONCE], sealed.body[_NONCE:]
        try:
            return key.cipher.decrypt(nonce, body, _about(owner, name))
        except InvalidTag:
            raise SureboxError("a sealed secret in the database is not as written there") from None


def _derived(secret: bytes) -> _Key:
    out = HKDF(algorithm=SHA256(), length=_KEY + _NAME, salt=None, info=_PURPOSE).derive(secret)
    return _Key(out[_KEY:], AESGCM(out[:_KEY]))


def _about(owner: str, name: str) -> bytes:
    return f"{len(owner)} {owner} {name}".encode()
