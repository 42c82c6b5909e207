"""Newline-delimited JSON as cells: one flat object a line, columns in the order in which their keys appear.

A reader of our own: `json.JSONDecoder` with hooks, which keeps numbers as they were written, takes eight times the
CPU time before it has made any cells (200,000 objects of six keys: 1.1 s, this one 0.15 s with them).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.errors import TooLargeError, UnreadableError
from workers.frames.upload import objects_kernel as kernel
from workers.frames.upload.blocks import BLOCK_BYTES, Blocks
from workers.frames.upload.cells import Bytes, Cells
from workers.frames.upload.escapes import resolve_escapes
from workers.frames.upload.names import check_names

#: Cells of one run of objects: sparse objects have many more of them than bytes.
_MAX_CELLS = 1 << 24
_LF = 10
_STRING = re.compile(rb'"(?P<key>(?:[^"\\]|\\.)*)"(?P<colon>[ \t\r]*:)?', re.DOTALL)


class ObjectReader:
    """Reads newline-delimited JSON as cells; see :class:`~workers.frames.upload.cells.CellReader`.

    A key that is absent, `null` and the empty string are missing. NaN and infinities, which JSON does not have but
    programs write, are read as numbers.

    Parameters
    ----------
    path
        The file.
    max_columns, max_field_bytes
        Limits.
    block_bytes
        Size of the buffer.
    """

    def __init__(self, path: Path, *, max_columns: int, max_field_bytes: int, block_bytes: int = BLOCK_BYTES) -> None:
        self._path = path
        self._max_columns = max_columns
        self._max_field = max_field_bytes
        self._block_bytes = block_bytes
        self._spellings: dict[bytes, int] = {}
        self._positions: dict[str, int] = {}
        self._index_keys()
        self.names: list[str] = []
        self.trailing_blanks = 0

    def batches(self) -> Iterator[Cells]:
        """Runs of objects in the file's order."""
        blocks = Blocks(self._path, self._block_bytes)
        for buffer, final in blocks:
            cells = self._split(blocks, buffer, final)
            if cells.rows:
                yield cells

    def _split(self, blocks: Blocks, buffer: Bytes, final: bool) -> Cells:
        width = len(self.names)
        line_ends = int(np.count_nonzero(buffer == _LF)) + 1
        capacity = max(1, min(line_ends, _MAX_CELLS // max(1, width)))
        size = capacity * width
        start, end, kind = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint8)
        lines = np.empty(capacity, np.int64)
        report = kernel.split_objects(
            buffer, final, blocks.line, self._keys, self._offsets, self._columns, width, self._max_field,
            start, end, kind, lines,
        )  # fmt: skip
        rows, consumed, line, code = (
            int(report[slot]) for slot in (kernel.ROWS, kernel.CONSUMED, kernel.LINE, kernel.CODE)
        )
        if code == kernel.UNKNOWN_KEY:
            self._learn(buffer[consumed:], line)
            if not consumed:  # once: now every key of this line is known
                return self._split(blocks, buffer, final)
        elif code not in {kernel.OK, kernel.MANY}:
            raise self._problem(report)
        blocks.consume(consumed, line)
        size = rows * width
        cells = Cells(buffer, start[:size], end[:size], kind[:size], lines[:rows], rows, width, blocks.fraction)
        self._resolve(cells)
        return cells

    def _resolve(self, cells: Cells) -> None:
        wrong = resolve_escapes(cells.buffer, cells.start, cells.end, cells.kind)
        if wrong >= 0:
            row, column = divmod(wrong, cells.width)
            raise UnreadableError(
                f"Line {cells.line[row]}, key {self.names[column]!r}: the string has a wrong escape, or one for a "
                "character that text cannot hold (NUL, half a surrogate pair)."
            )

    def _learn(self, rest: Bytes, line: int) -> None:
        """Add the keys on this line that are new, by name or by spelling."""
        ends = np.flatnonzero(rest == _LF)[:1]
        text = rest[: ends[0] if ends.size else rest.size].tobytes()
        for match in _STRING.finditer(text):
            if match["colon"] and match["key"] not in self._spellings:
                name = _decode_key(match["key"], line)
                if name not in self._positions:
                    check_names([name], f"Line {line}")
                    self._positions[name] = len(self.names)
                    self.names.append(name)
                self._spellings[match["key"]] = self._positions[name]
        if len(self.names) > self._max_columns:
            raise TooLargeError(f"Line {line}: more than {self._max_columns} different keys (columns).")
        self._index_keys()

    def _index_keys(self) -> None:
        self._keys: Bytes = np.frombuffer(b"".join(self._spellings), np.uint8)
        self._offsets = np.cumsum([0, *map(len, self._spellings)]).astype(np.int64)
        self._columns = np.array(list(self._spellings.values()), np.int64)

    def _problem(self, report: npt.NDArray[np.int64]) -> Exception:
        code, line = report[kernel.CODE], report[kernel.LINE]
        if code == kernel.SYNTAX:
            return _not_an_object(int(line))
        where = f"Line {line}, key {self.names[report[kernel.COLUMN]]!r}"
        if code == kernel.NESTED:
            return UnreadableError(f"{where}: the value is an object or an array; flatten it to one value a key.")
        if code == kernel.DUPLICATE:
            return UnreadableError(f"{where}: the key stands twice in the object.")
        return TooLargeError(f"{where}: the value is longer than {self._max_field} bytes.")


def _not_an_object(line: int) -> UnreadableError:
    return UnreadableError(
        f"Line {line}: this is not one whole JSON object; NDJSON has one on every line, and no array."
    )


def _decode_key(spelling: bytes, line: int) -> str:
    try:
        name: str = json.loads(b'"%b"' % spelling)
        name.encode()  # half a surrogate pair is no text
    except ValueError:
        pass
    else:
        if "\0" not in name:
            return name
    raise UnreadableError(f"Line {line}: a key is no text in UTF-8.")
