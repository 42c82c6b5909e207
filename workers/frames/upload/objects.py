"""Newline-delimited JSON as cells: one flat object a line, columns in the order in which their keys appear.

Arrays of plain values are sets, as texts (see `lists`).

A reader of our own: `json.JSONDecoder` with hooks, which keeps numbers as they were written, takes eight times the
CPU time before it has made any cells (200,000 objects of six keys: 1.1 s, this one 0.15 s with them).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.errors import TooLargeError, UnreadableError
from surebox_core.spellings import in_normal_form
from workers.frames.upload import objects_kernel as kernel
from workers.frames.upload.blocks import BLOCK_BYTES, BadByteError, Blocks
from workers.frames.upload.cells import LIST, STRING, Bytes, Cells
from workers.frames.upload.escapes import resolve_escapes
from workers.frames.upload.lists import text_of
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
        self.path = path
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
        blocks = Blocks(self.path, self._block_bytes)
        try:
            for buffer, final in blocks:
                cells = self._split(blocks, buffer, final)
                if cells.rows:
                    yield cells
        except BadByteError as error:
            name = _key_after(error.before[error.before.rfind(b"\n") + 1 :])
            raise (error if name is None else error.at(f"key {name!r}")) from None

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
            raise self._problem(report, buffer)
        blocks.consume(consumed, line)
        size = rows * width
        cells = Cells(buffer, start[:size], end[:size], kind[:size], lines[:rows], rows, width, blocks.fraction)
        self._resolve(cells)
        return self._with_sets(cells)

    def _with_sets(self, cells: Cells) -> Cells:
        """The cells with arrays as texts, which follow the block's bytes."""
        places = np.flatnonzero(cells.kind == LIST)
        if not places.size:
            return cells
        texts: dict[bytes, bytes] = {}
        where: dict[bytes, int] = {}
        size = len(cells.buffer)
        for place in places.tolist():
            array = cells.buffer[cells.start[place] : cells.end[place]].tobytes()
            if array not in texts:
                text = text_of(array)
                if text is None:
                    row, column = divmod(place, cells.width)
                    raise UnreadableError(
                        f"Line {cells.line[row]}, key {self.names[column]!r}: this is no JSON array of plain values; "
                        "write one such as [1, 2], or leave the key out."
                    )
                texts[array], where[array] = text.encode(), size
                size += len(texts[array])
            cells.start[place] = where[array]
            cells.end[place] = where[array] + len(texts[array])
            cells.kind[place] = STRING
        buffer = np.concatenate([cells.buffer, np.frombuffer(b"".join(texts.values()), np.uint8)])
        return replace(cells, buffer=buffer)

    def _resolve(self, cells: Cells) -> None:
        wrong = resolve_escapes(cells.buffer, cells.start, cells.end, cells.kind)
        if wrong >= 0:
            row, column = divmod(wrong, cells.width)
            raise UnreadableError(
                f"Line {cells.line[row]}, key {self.names[column]!r}: the string has a wrong escape, or one for a "
                "character that text cannot contain (NUL, half a surrogate pair); leave that character out."
            )

    def _learn(self, rest: Bytes, line: int) -> None:
        """Add the keys on this line that are new, by name or by spelling."""
        ends = np.flatnonzero(rest == _LF)[:1]
        text = rest[: ends[0] if ends.size else rest.size].tobytes()
        for match in _STRING.finditer(text):
            if match["colon"] and match["key"] not in self._spellings:
                name = in_normal_form(_decode_key(match["key"], line))
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

    def _problem(self, report: npt.NDArray[np.int64], buffer: Bytes) -> Exception:
        code, line = report[kernel.CODE], report[kernel.LINE]
        if code == kernel.SYNTAX:
            rest = buffer[int(report[kernel.CONSUMED]) :]
            ends = np.flatnonzero(rest == _LF)[:1]
            return _not_an_object(int(line), rest[: ends[0] if ends.size else rest.size].tobytes())
        where = f"Line {line}, key {self.names[report[kernel.COLUMN]]!r}"
        if code == kernel.NESTED:
            return UnreadableError(
                f"{where}: the value is an object, or an array with values inside its values; give each value a key of "
                "its own. An array of plain values is read as a set."
            )
        if code == kernel.DUPLICATE:
            return UnreadableError(f"{where}: the key occurs twice in the object; give each value a key of its own.")
        return TooLargeError(f"{where}: the value is longer than {self._max_field} bytes; shorten it or leave it out.")


def _not_an_object(line: int, text: bytes) -> UnreadableError:
    name = _key_after(text)
    where = f"Line {line}" if name is None else f"Line {line}, key {name!r}"
    return UnreadableError(
        f"{where}: this is not one whole JSON object; NDJSON has one on every line, without commas or brackets between."
    )


def _key_after(line: bytes) -> str | None:
    """The last key before the place from which on a line, or the first part of one, is no JSON; None: there is none."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        sound = error.doc[: error.pos].encode()
        keys = [match["key"] for match in _STRING.finditer(sound) if match["colon"]]
        return str(json.loads(b'"%b"' % keys[-1])) if keys else None
    except (ValueError, RecursionError):
        pass
    return None


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
