"""An S3 bucket as storage, by `obstore` (the extra `s3`).

Bytes go up in parts with at most a few of them in memory; a writer that fails aborts its multipart upload. What a
killed process leaves is not an object and invisible here: a lifecycle rule of the bucket
(AbortIncompleteMultipartUpload) removes it. Credentials and region come from where AWS tools look for them.

The client runs threads of its own, which do not survive a fork: open the storage in the process that uses it.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.errors import NotTrustedError, StorageFullError, StorageUnavailableError
from app.processes.tls import certificate_fault
from app.storage.protocol import CHUNK_BYTES, StoredObject, checked_key, checked_prefix, opened, write_file

if TYPE_CHECKING:
    from obstore import WritableFile
    from obstore.store import ClientConfig

#: Size of a part: S3 takes at most 10,000 parts, so an object may have up to 80 GB.
_PART_BYTES = 8 << 20
_PARTS_IN_FLIGHT = 2
#: Objects up to this size are written by one request, which has a quarter of a minute.
_SMALL_BYTES = 1 << 20
#: A service that has not answered a write for so long hangs.
_HANGS_SECONDS = 10.0
#: What S3 services answer when their disks are full.
_FULL_CODES = ("XMinioStorageFull", "InsufficientStorage", "QuotaExceeded")
#: What they answer to a range that begins behind the end of the object: an object that was cut off has no such bytes.
_BEHIND_THE_END = ("InvalidRange", "Range Not Satisfiable")


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
        client: ClientConfig = {"allow_http": allow_http, "connect_timeout": "5s"}
        if authorities is not None:
            client["root_certificate"] = authorities

        def patient(seconds: int) -> "S3Store":
            return S3Store(
                bucket,
                prefix=prefix or None,
                client_options={**client, "timeout": f"{seconds}s"},
                retry_config={"max_retries": 4, "retry_timeout": timedelta(seconds=min(seconds, 20))},
                **options,
            )

        self._store, self._small = patient(60), patient(15)
        self._writes = _Writes()

    @contextmanager
    def writer(self, key: str) -> Iterator["_ObjectWriter"]:
        """Write one object; see :class:`~app.storage.protocol.Storage`."""
        import obstore

        def stream() -> "AbstractContextManager[WritableFile]":
            return obstore.open_writer(self._store, key, buffer_size=_PART_BYTES, max_concurrency=_PARTS_IN_FLIGHT)

        checked_key(key)
        with _translated(), ExitStack() as ending:
            writer = _ObjectWriter(self._writes, lambda: ending.enter_context(stream()))
            yield writer
            with self._writes.waiting():
                if writer.small is not None:
                    obstore.put(self._small, key, bytes(writer.small), use_multipart=False)
                ending.close()
            self._writes.note_answer()

    def put_file(self, key: str, path: Path) -> None:
        """Store a copy of the file."""
        write_file(self.writer(key), path)

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
        """Ask for an object that need not exist; what this process is writing says whether objects are stored."""
        import obstore

        if self._writes.hang():
            raise StorageUnavailableError("the storage accepts objects and does not answer", retry_after=5)
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
        from obstore.exceptions import BaseError

        with _translated():
            try:
                if start == 0 and end is None:
                    answer = obstore.get(self._store, key)
                elif end is None:
                    answer = obstore.get(self._store, key, options={"range": {"offset": start}})
                else:
                    answer = obstore.get(self._store, key, options={"range": (start, end)})
            except BaseError as error:
                if any(sign in str(error) for sign in _BEHIND_THE_END):
                    return
                raise
            for data in answer.stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(data)


class _Writes:
    """The requests that write, and since when each waits for its answer."""

    def __init__(self) -> None:
        self._began: dict[object, float] = {}
        self._answered_at = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for the service."""
        mine = object()
        self._began[mine] = time.monotonic()
        try:
            yield
        finally:
            del self._began[mine]

    def note_answer(self) -> None:
        """An object is stored."""
        self._answered_at = time.monotonic()

    def hang(self) -> bool:
        """Return whether one has waited for too long, and none was answered since it began."""
        oldest = min(list(self._began.values()), default=None)
        return oldest is not None and time.monotonic() - oldest > _HANGS_SECONDS and self._answered_at < oldest


class _ObjectWriter:
    """Keeps the bytes of a small object until it ends, streams those of a larger one.

    Attributes
    ----------
    small
        The bytes so far; None where they are streamed.
    """

    def __init__(self, writes: _Writes, open_stream: "Callable[[], WritableFile]") -> None:
        self._writes, self._open = writes, open_stream
        self._stream: WritableFile | None = None
        self.small: bytearray | None = bytearray()

    def write(self, data: bytes, /) -> int:
        """Append `data`."""
        size = len(data)
        if self.small is not None:
            self.small += data
            if len(self.small) <= _SMALL_BYTES:
                return size
            data, self.small, self._stream = bytes(self.small), None, self._open()
        if self._stream is not None:
            with self._writes.waiting():
                self._stream.write(data)
        return size


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
