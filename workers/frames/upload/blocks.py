"""Blocks of bytes of a text file, cut where records end, so that memory does not grow with the file."""

import codecs
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

import numpy as np

from app.errors import TooLargeError, UnreadableError
from workers.frames.upload.cells import Bytes

BLOCK_BYTES = 1 << 22
#: A record has to fit into the buffer; longer texts are a quote that was never closed, or no table.
MAX_RECORD_BYTES = 1 << 26
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class BadByteError(UnreadableError):
    """The file is not text in UTF-8."""

    def __init__(self, line: int, before: bytes, what: str, remedy: str) -> None:
        super().__init__(f"Line {line}: {what}; {remedy}")
        self.line = line
        #: The bytes before it, from the beginning of a record on; no message shows them.
        self.before = before
        self.what, self.remedy = what, remedy

    def at(self, where: str) -> UnreadableError:  # type: ignore[override] # reveals more of the same error
        """The same with the place on the line, such as a column."""
        return UnreadableError(f"Line {self.line}, {where}: {self.what}; {self.remedy}")


def count_lines(data: bytes) -> int:
    """Line ends in `data`: LF, CR LF, or a lone CR."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


class Blocks:
    """A file read through one buffer; whoever parses it states with :meth:`consume` how far the records went.

    Parameters
    ----------
    path
        The file.
    block_bytes
        First size of the buffer; it grows, up to `MAX_RECORD_BYTES`, for a record that does not fit.
    """

    def __init__(self, path: Path, block_bytes: int = BLOCK_BYTES) -> None:
        self._path = path
        self._size = max(1, path.stat().st_size)
        self._buffer: Bytes = np.empty(max(16, block_bytes), np.uint8)
        self._filled = 0
        self._consumed = 0
        self._taken = 0
        #: Physical line at the beginning of the current block.
        self.line = 1

    @property
    def fraction(self) -> float:
        """Share of the file consumed."""
        return min(1.0, self._taken / self._size)

    def consume(self, count: int, line: int) -> None:
        """Mark `count` bytes of the current block as done; the rest begins on `line`."""
        data = self._buffer[:count].tobytes()
        if not data.isascii():
            self._check_utf8(data)
        self._consumed = count
        self._taken += count
        self.line = line

    def __iter__(self) -> Iterator[tuple[Bytes, bool]]:
        """Blocks, each with whether it is the last; the part not consumed is at the head of the next one."""
        with self._path.open("rb", buffering=0) as file:
            self._skip_byte_order_mark(file)
            final = self._fill(file)
            while self._filled:
                self._consumed = 0
                yield self._buffer[: self._filled], final
                if self._consumed:
                    rest = self._filled - self._consumed
                    self._buffer[:rest] = self._buffer[self._consumed : self._filled].copy()
                    self._filled = rest
                elif final:
                    return
                else:
                    self._grow()
                final = final or self._fill(file)

    def _skip_byte_order_mark(self, file: FileIO) -> None:
        head = file.read(3)
        if head[:2] in _UTF16:
            raise UnreadableError("Line 1: the file is UTF-16; save it as UTF-8.")
        file.seek(len(codecs.BOM_UTF8) if head == codecs.BOM_UTF8 else 0)

    def _fill(self, file: FileIO) -> bool:
        """Read until the buffer is full; True at the end of the file."""
        begin = self._filled
        while self._filled < self._buffer.size:
            count = file.readinto(self._buffer[self._filled :].data)
            if not count:
                break
            self._filled += count
        fresh = self._buffer[begin : self._filled].tobytes()
        zero = fresh.find(b"\0")
        if zero >= 0:
            line = self.line + count_lines(self._buffer[: begin + zero].tobytes())
            raise BadByteError(
                line, self._buffer[: begin + zero].tobytes(), "there is a NUL byte, which no text has",
                "remove it, or state by `charset` what the file is (`utf-16` has such bytes).",
            )  # fmt: skip
        return self._filled < self._buffer.size

    def _grow(self) -> None:
        if self._buffer.size >= MAX_RECORD_BYTES:
            raise TooLargeError(
                f"Line {self.line}: the record that begins here is longer than {MAX_RECORD_BYTES} bytes; "
                "is a quote not closed?"
            )
        self._buffer = np.concatenate([self._buffer, np.empty_like(self._buffer)])

    def _check_utf8(self, data: bytes) -> None:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line, error_start = self.line + count_lines(data[: error.start]), error.start
        else:
            return
        raise BadByteError(
            line, data[: error_start], "there is a byte that is not UTF-8",
            "state by `charset` what the file is (such as `windows-1252`), or save it as UTF-8.",
        )  # fmt: skip
