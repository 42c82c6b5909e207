"""A new signing key next to the old one, and keys that must not be trusted any more."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from app.certificates.issue import register
from app.certificates.signing import jwk, new_pem, open_keys, read_file, read_pem
from app.contracts.log import LogAction
from app.db.repositories import audit, signing_keys
from app.db.session import Database
from app.errors import CannotStartError, NotFoundError
from app.settings import Settings


def rotate(
    *, database: Database, settings: Settings, overlap: timedelta, write: Callable[[Path, str], None]
) -> tuple[str, str | None]:
    """Make a new key; for so long the old ones sign next to it, then they retire.

    Parameters
    ----------
    database, settings
        Where public halves are, and where the private ones are.
    overlap
        How long both sign: longer than readers keep the key set.
    write
        Writes a file of mode 0600, whole or not at all.

    Returns
    -------
    tuple
        The new key's id, and its PEM where keys are in the environment: the operator puts it before the others.
    """
    if settings.signing_key_service is not None:
        raise CannotStartError("The signing keys are in a key service: make the new one there.")
    made = new_pem()
    key = read_pem(made.encode(), where="the new key")[0]
    path = settings.signing_key_file if not settings.signing_key.get_secret_value() else None
    with database.unit_of_work() as unit:
        register(unit.connection, [*open_keys(_tolerant(settings)), key])
        signing_keys.retire_others(unit.connection, but=jwk(key)["kid"], after=overlap)
        audit.record(
            unit.connection, owner=audit.NO_OWNER, action=LogAction.SIGNING_KEY_ROTATED, subject=jwk(key)["kid"],
            key_id=None, facts={"overlap_days": overlap / timedelta(days=1)},
        )  # fmt: skip
        if path is not None:
            write(path, made + read_file(path))
    return jwk(key)["kid"], made if path is None else None


def revoke(*, database: Database, key_id: str, reason: str) -> None:
    """Trust a key no more, whatever it signed.

    Raises
    ------
    NotFoundError
        There is no such key, or it is revoked already.
    """
    with database.unit_of_work() as unit:
        if not signing_keys.revoke(unit.connection, key_id=key_id, reason=reason):
            raise NotFoundError(f"no key with the id {key_id} that is not revoked; /.well-known/jwks.json lists them")
        audit.record(
            unit.connection, owner=audit.NO_OWNER, action=LogAction.SIGNING_KEY_REVOKED, subject=key_id, key_id=None,
            facts={"reason": reason},
        )  # fmt: skip


def _tolerant(settings: Settings) -> Settings:
    """Settings whose file of keys is there; without the file there are no keys yet."""
    path = settings.signing_key_file
    return settings if path is None or path.exists() else settings.model_copy(update={"signing_key_file": None})
