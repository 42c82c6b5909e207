"""The body of an upload: its type by its headers, and its way into staging in constant memory."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import anyio
from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from app.contracts.datasets import CHARSETS, FileFormat
from app.datasets.decoding import Decoder
from app.datasets.staging import Staged, Staging
from app.errors import BadRequestError, FieldError, InvalidError, TooLargeError, UnsupportedMediaTypeError
from app.settings import Settings
from app.storage.protocol import Storage

MEDIA_TYPES: Final = {
    "text/csv": FileFormat.CSV,
    "text/tab-separated-values": FileFormat.TSV,
    "application/vnd.apache.parquet": FileFormat.PARQUET,
    "application/x-ndjson": FileFormat.NDJSON,
}
#: For clients that can send bytes only, as generated ones do: the query names their format.
BYTES: Final = "application/octet-stream"
_PLAIN: Final = frozenset({"", "identity"})
_GZIP: Final = frozenset({"gzip", "x-gzip"})
#: Bytes gathered before a thread is requested to decode and write them: fewer hops between threads.
_BLOCK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class BodyKind:
    """A body as its headers describe it."""

    format: FileFormat
    gzipped: bool
    charset: str | None = None


def body_kind(request: Request, *, named: FileFormat | None, max_bytes: int) -> BodyKind:
    """Read the headers; `named` is the format that the query names.

    Raises
    ------
    UnsupportedMediaTypeError
        For a Content-Type, charset or Content-Encoding that cannot be read.
    InvalidError
        When the query names another format than the Content-Type.
    TooLargeError
        When the declared length is over the limit already.
    BadRequestError
        When the declared length is no number.
    """
    file_format, charset = _format(request.headers.get("content-type", ""), named)
    encoding = ",".join(request.headers.getlist("content-encoding")).strip().lower()
    if encoding not in _PLAIN | _GZIP:
        raise UnsupportedMediaTypeError("Content-Encoding can be gzip, or left out for a body that is not compressed")
    declared = request.headers.get("content-length", "0")
    if not (declared.isascii() and declared.isdigit()):
        raise BadRequestError("Content-Length is not a number")
    if int(declared) > max_bytes:
        raise TooLargeError(f"the body has {int(declared)} bytes; at most {max_bytes} (decoded) are accepted here")
    return BodyKind(file_format, encoding in _GZIP, charset)


async def stage(request: Request, kind: BodyKind, *, storage: Storage, settings: Settings) -> Staged:
    """Decode the body into staging; nothing remains there when this raises.

    Raises
    ------
    UnreadableError, TooLargeError, StorageFullError, BadRequestError
        For a body that is empty or damaged, too large, has no room, or was not sent to its end.
    """
    decoder = Decoder(gzipped=kind.gzipped, max_bytes=settings.max_upload_bytes, max_ratio=settings.max_gzip_ratio)
    staging = await run_in_threadpool(Staging, storage, decoder)
    try:
        async for block in _blocks(request, max_bytes=settings.max_upload_bytes):
            await run_in_threadpool(staging.write, block)
        return await run_in_threadpool(staging.finish)
    except ClientDisconnect as error:
        raise BadRequestError("the connection was closed before the end of the body") from error
    finally:
        with anyio.CancelScope(shield=True):
            await run_in_threadpool(staging.abandon)


async def _blocks(request: Request, *, max_bytes: int) -> AsyncIterator[bytes]:
    """The body in blocks, and at once where it has more bytes than may be decoded."""
    held: list[bytes] = []
    size = received = 0
    async for chunk in request.stream():
        held.append(chunk)
        size += len(chunk)
        received += len(chunk)
        if size >= _BLOCK_BYTES or received > max_bytes:
            yield b"".join(held)
            held.clear()
            size = 0
    if size:
        yield b"".join(held)


def _format(content_type: str, named: FileFormat | None) -> tuple[FileFormat, str | None]:
    """The format of a body, and the encoding of its text where that is not UTF-8."""
    media_type, *parameters = (part.strip().lower() for part in content_type.split(";"))
    file_format = named if media_type == BYTES else MEDIA_TYPES.get(media_type)
    if file_format is None:
        raise UnsupportedMediaTypeError(
            f"Content-Type must be one of {', '.join(MEDIA_TYPES)}, or {BYTES} with `format` in the query"
        )
    if named not in {None, file_format}:
        detail = f"the Content-Type is that of {file_format.value}: leave `format` out, or send {BYTES}"
        raise InvalidError(f"format: {detail}", errors=[FieldError("?format", detail)])
    charset = None
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            given = value.strip().strip('"')
            if given not in CHARSETS:
                raise UnsupportedMediaTypeError(f"charset in the Content-Type can be one of {', '.join(CHARSETS)}")
            charset = CHARSETS[given]
    return file_format, charset
