"""Staging: where the decoded bytes of an upload are until they are read."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from uuid import uuid4

from app.datasets.decoding import Decoder
from app.storage.protocol import Storage, Writer

STAGING = "staging/"


@dataclass(frozen=True, slots=True)
class Staged:
    """A whole upload in staging."""

    key: str
    bytes: int
    sha256: str


class _AbandonedError(Exception):
    """Informs a storage writer that what it has is not wanted."""


class Staging:
    """One upload on its way into staging. Every method blocks; call them one after the other, from any threads."""

    def __init__(self, storage: Storage, decoder: Decoder) -> None:
        self._decoder = decoder
        self._key = f"{STAGING}{uuid4().hex}"
        self._context: AbstractContextManager[Writer] | None = storage.writer(self._key)
        self._writer = self._context.__enter__()

    def write(self, data: bytes) -> None:
        """Take the next bytes of the body."""
        for piece in self._decoder.feed(data):
            self._writer.write(piece)

    def finish(self) -> Staged:
        """The body has ended: make what came durable and visible."""
        self._decoder.close()
        context, self._context = self._context, None
        if context is not None:
            context.__exit__(None, None, None)
        return Staged(self._key, self._decoder.bytes, self._decoder.sha256)

    def abandon(self) -> None:
        """Leave nothing of it."""
        context, self._context = self._context, None
        if context is not None:
            context.__exit__(_AbandonedError, _AbandonedError(), None)
