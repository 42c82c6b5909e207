"""An S3 bucket as storage, by `obstore` (the extra `s3`).

Bytes go up in parts with at most a few of them in memory; a writer that fails aborts its multipart upload. What a
killed process leaves is not an object and invisible here: a lifecycle rule of the bucket
(AbortIncompleteMultipartUpload) removes it. Credentials and region come from where AWS tools look for them.

The client runs threads of its own, which do not survive a fork: open the storage in the process that uses it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.errors import NotTrustedError, StorageFullError, StorageUnavailableError
from app.processes.tls import certificate_fault
from app.storage.protocol import CHUNK_BYTES, StoredObject, checked_key, checked_prefix, opened

if TYPE_CHECKING:
    from obstore import WritableFile
    from obstore.store import ClientConfig

#: Size of a part: S3 takes at most 10,000 parts, so an object may have up to 80 GB.
_PART_BYTES = 8 << 20
_PARTS_IN_FLIGHT = 2
#: What S3 services answer when their disks are full.
_FULL_CODES = ("XMinioStorageFull", "InsufficientStorage", "QuotaExceeded")


class S3Storage:
    """Objects of a bucket, below a prefix."""

    def __init__(
        self,
        *,
        bucket: str,
        prefix: str = "",
        endpoint: str | None = None,
        allow_http: bool = False,
        credentials: Mapping[str, str] | None = None,
        authorities: bytes | None = None,
    ) -> None:
        from obstore.store import S3Store

        options: dict[str, Any] = {} if endpoint is None else {"endpoint": endpoint}
        options |= credentials or {}
        client: ClientConfig = {"allow_http": allow_http, "timeout": "60s", "connect_timeout": "5s"}
        if authorities is not None:
            client["root_certificate"] = authorities
        self._store = S3Store(
            bucket,
            prefix=prefix or None,
            client_options=client,
            retry_config={"max_retries": 4, "retry_timeout": timedelta(seconds=20)},
            **options,
        )

    @contextmanager
    def writer(self, key: str) -> Iterator["WritableFile"]:
        """Write one object; see :class:`~app.storage.protocol.Storage`."""
        import obstore

        checked_key(key)
        with (
            _translated(),
            obstore.open_writer(self._store, key, buffer_size=_PART_BYTES, max_concurrency=_PARTS_IN_FLIGHT) as writer,
        ):
            yield writer

    def put_file(self, key: str, path: Path) -> None:
        """Store a copy of the file."""
        with path.open("rb", buffering=0) as file, self.writer(key) as writer:
            while data := file.read(CHUNK_BYTES):
                writer.write(data)

    def chunks(self, key: str, *, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Bytes of an object."""
        checked_key(key)
        if end is not None and end <= start:
            return iter(())
        return opened(self._read(key, start, end))

    def fetch(self, key: str, path: Path) -> None:
        """Download the object to `path`."""
        try:
            with path.open("wb") as file:
                for data in self._read(checked_key(key), 0, None):
                    file.write(data)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def delete(self, key: str) -> None:
        """Remove the object."""
        import obstore

        with _translated():
            try:
                obstore.delete(self._store, checked_key(key))
            except FileNotFoundError:
                return

    def move(self, key: str, to: str) -> None:
        """Copy the object inside the bucket, then remove it."""
        import obstore

        with _translated():
            try:
                obstore.copy(self._store, checked_key(key), checked_key(to))
            except FileNotFoundError:
                return
            obstore.delete(self._store, key)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Objects below a prefix."""
        import obstore

        with _translated():
            for batch in obstore.list(self._store, checked_prefix(prefix)):
                for meta in batch:
                    yield StoredObject(meta["path"], meta["size"], meta["last_modified"])

    def sweep(self, *, before: datetime) -> int:  # noqa: ARG002
        """Nothing: unfinished uploads are the bucket's lifecycle rule's."""
        return 0

    def check(self) -> None:
        """Ask for an object that need not exist."""
        import obstore

        with _translated():
            try:
                obstore.head(self._store, "check")
            except FileNotFoundError as error:
                # A bucket that does not exist answers HEAD like an absent key; listing distinguishes them.
                if not self._bucket_answers():
                    raise StorageUnavailableError(
                        "the storage bucket does not exist or refuses its credentials"
                    ) from error

    def _bucket_answers(self) -> bool:
        import obstore

        try:
            obstore.list_with_delimiter(self._store, "check/")
        except FileNotFoundError:
            return False
        return True

    def _read(self, key: str, start: int, end: int | None) -> Iterator[bytes]:
        import obstore

        with _translated():
            if start == 0 and end is None:
                answer = obstore.get(self._store, key)
            elif end is None:
                answer = obstore.get(self._store, key, options={"range": {"offset": start}})
            else:
                answer = obstore.get(self._store, key, options={"range": (start, end)})
            for data in answer.stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(data)


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of the client as errors of ours; absent objects stay `FileNotFoundError`."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError) as error:
        # The client's writer raises a plain OSError without a number; those of the operating system have one.
        if isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None):
            raise
        if any(code in str(error) for code in _FULL_CODES):
            raise StorageFullError("there is no room left in the storage; ask the operator for more room") from error
        if fault := certificate_fault(error):
            raise NotTrustedError(f"the storage's server {fault}", retry_after=5) from error
        raise StorageUnavailableError("the storage cannot be reached; try again in a moment", retry_after=5) from error
