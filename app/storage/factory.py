"""Which storage the settings name."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.errors import CannotStartError
from app.settings import Settings
from app.storage.local import LocalStorage
from app.storage.protocol import Storage


def open_storage(settings: Settings) -> Storage:
    """Open the storage at `settings.storage_url`: `file:<folder>` or `s3://<bucket>/<prefix>`.

    Raises
    ------
    CannotStartError
        When the address names no storage we know, or its client is not installed.
    """
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
        )
    except ImportError as error:
        raise CannotStartError("S3 storage needs the extra: pip install 'surebox[s3]'") from error


def _credentials(settings: Settings) -> dict[str, str]:
    """Those that the settings name; without them the client looks where AWS tools do."""
    named = {"access_key_id": settings.s3_access_key_id, "secret_access_key": settings.s3_secret_access_key}
    return {name: secret.get_secret_value() for name, secret in named.items() if secret is not None}
