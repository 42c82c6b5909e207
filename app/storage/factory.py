"""Which storage the settings name."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.errors import CannotStartError
from app.settings import Settings
from app.storage.digested import DigestedStorage, Digests
from app.storage.local import LocalStorage
from app.storage.protocol import Storage
from app.storage.sealed import SealedStorage, StorageKeys


def open_storage(settings: Settings, digests: Digests | None = None, *, as_stored: bool = False) -> Storage:
    """Open the storage at `settings.storage_url`: `file:<folder>` or `s3://<bucket>/<prefix>`.

    Parameters
    ----------
    settings
        They name it, and the key under which its objects are sealed.
    digests
        What the objects are compared with as they are read; None for marks, listings and copies as they are stored.
    as_stored
        Whether to hand out objects as they are stored, sealed or not: for copying them.

    Raises
    ------
    CannotStartError
        When the address names no storage we know, its client is not installed, or a key is too short.
    """
    keys = storage_keys(settings)
    inner = _open_inner(settings)
    if as_stored:
        return inner
    opening = inner if keys is None else SealedStorage(inner, keys, sealed_only=settings.storage_sealed_only)
    return opening if digests is None else DigestedStorage(opening, digests)


def storage_keys(settings: Settings) -> StorageKeys | None:
    """The keys that objects are sealed under; None where they are stored as they are.

    Raises
    ------
    CannotStartError
        When a key is too short, or is missing besides other settings that need it.
    """
    present, previous = settings.storage_key.get_secret_value(), settings.previous_storage_key.get_secret_value()
    if present:
        return StorageKeys(present, previous)
    if previous or settings.storage_sealed_only:
        raise CannotStartError(
            "SUREBOX_PREVIOUS_STORAGE_KEY and SUREBOX_STORAGE_SEALED_ONLY need SUREBOX_STORAGE_KEY next to them"
        )
    return None


def _open_inner(settings: Settings) -> Storage:
    address = urlsplit(settings.storage_url)
    if address.scheme == "file" and address.netloc in ("", "localhost"):
        return LocalStorage(Path(unquote(address.path)))
    if address.scheme == "s3" and address.netloc:
        return _open_s3(settings, bucket=address.netloc, prefix=address.path.strip("/"))
    raise CannotStartError("STORAGE_URL is not file:<folder> or s3://<bucket>/<prefix>")


def _open_s3(settings: Settings, *, bucket: str, prefix: str) -> Storage:
    from app.storage.s3 import S3Storage

    try:
        return S3Storage(
            bucket=bucket,
            prefix=prefix,
            endpoint=settings.s3_endpoint,
            allow_http=settings.s3_allow_http,
            credentials=_credentials(settings),
            authorities=_authorities(settings.s3_ca_file),
        )
    except ValueError as error:
        raise CannotStartError(f"the client of S3 does not take its settings: {error}") from error
    except ImportError as error:
        raise CannotStartError("S3 storage needs the extra: pip install 'surebox[s3]' from your index") from error


def _authorities(path: Path | None) -> bytes | None:
    """Who may sign the certificate of the S3 service, besides those that the system trusts."""
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise CannotStartError(f"the file of SUREBOX_S3_CA_FILE cannot be read: {error.strerror}") from error


def _credentials(settings: Settings) -> dict[str, str]:
    """Those that the settings name; without them the client looks where AWS tools do."""
    named = {"access_key_id": settings.s3_access_key_id, "secret_access_key": settings.s3_secret_access_key}
    return {name: secret.get_secret_value() for name, secret in named.items() if secret}
