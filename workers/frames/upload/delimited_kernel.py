"""The compiled splitter of delimited text.

One pass over the bytes, one branch per byte; semantics are those of Python's :mod:`csv`, except that text after a
closing quote is an error rather than part of the field, that a line end inside quotes counts as a line, and that
blanks around a field (and around its quotes) can be trimmed.
"""

from typing import Any, Final

import numpy as np

from surebox_core.compiling.kernels import kernel
from workers.frames.upload.cells import MISSING, QUOTED, TEXT

# Why a kernel stopped.
OK, UNTERMINATED, AFTER_QUOTE, TOO_LONG, RAGGED = 0, 1, 2, 3, 4
# Slots of a kernel's report.
ROWS, CONSUMED, LINE, CODE, ERROR_LINE, COLUMN, FOUND, TRAILING, BEGIN = range(9)
REPORT: Final = 9
#: In `kind` while splitting: a quoted field that still contains doubled quotes.
_ESCAPED: Final = 4
_CR, _LF, _TAB, _SPACE = 13, 10, 9, 32


@kernel
def skip_lines(buffer: Any, final: bool, lines: int) -> tuple[int, int]:
    """Bytes taken by up to `lines` physical lines, and how many of them ended."""
    n, i, ended = buffer.size, 0, 0
    while i < n and ended < lines:
        c = buffer[i]
        if c == _CR:
            if i + 1 == n and not final:
                break
            if i + 1 < n and buffer[i + 1] == _LF:
                i += 1
            ended += 1
        elif c == _LF:
            ended += 1
        i += 1
    return i, ended


@kernel
def split_records(  # noqa: C901 (a kernel)
    buffer: Any, final: bool, line: int, dialect: Any, comment: Any, width: int, limits: Any,
    start: Any, end: Any, kind: Any, lines: Any, trailing: int,
) -> Any:  # fmt: skip
    """Find the fields of the complete records of a block.

    Parameters
    ----------
    buffer
        Bytes, shape (n,).
    final
        No byte follows these.
    line
        Physical line of the first byte.
    dialect
        Delimiter, quote (-1: none), trim (0 or 1).
    comment
        Bytes that begin a line to leave out; empty for none.
    width
        Fields of a record; -1: as many as the first one has.
    limits
        Most records to read, most bytes of a field.
    start, end, kind, lines
        Filled: slices and kinds of the fields, first line of each record.
    trailing
        Blank records before this block that no other record followed yet (one-column files).

    Returns
    -------
    numpy.ndarray
        The report, see the slots above.
    """
    n = buffer.size
    delimiter, quote, trim = dialect[0], dialect[1], dialect[2]
    max_rows, max_field = limits[0], limits[1]
    report = np.zeros(REPORT, np.int64)
    i, row, f, consumed = 0, 0, 0, 0
    code, error_line, column, fields = OK, 0, 0, 0
    while i < n and row < max_rows and code == OK:
        # a comment line
        is_comment = comment.size > 0
        if is_comment:
            for j in range(comment.size):
                if i + j >= n or buffer[i + j] != comment[j]:
                    is_comment = False
                    break
        if is_comment:
            while i < n and buffer[i] != _LF and buffer[i] != _CR:
                i += 1
            if i + 1 >= n and not final and (i == n or buffer[i] == _CR):
                break
            if i < n:
                if buffer[i] == _CR and i + 1 < n and buffer[i + 1] == _LF:
                    i += 1
                i += 1
                line += 1
            consumed = i
            continue
        if comment.size > 0 and not final and i + comment.size > n:
            break
        # a record: fields until a line end
        first, record_line, complete, quoted_any = f, line, False, False
        begin = i
        while True:
            if trim:
                while i < n and buffer[i] != delimiter and (buffer[i] == _SPACE or buffer[i] == _TAB):
                    i += 1
            field_line = line
            if i < n and buffer[i] == quote:
                quoted_any = True
                i += 1
                s = i
                k = QUOTED
                closed = False
                while i < n:
                    c = buffer[i]
                    if c == quote:
                        if i + 1 < n and buffer[i + 1] == quote:
                            k = _ESCAPED
                            i += 2
                            continue
                        closed = final or i + 1 < n
                        break
                    if c == _LF or (c == _CR and not (i + 1 < n and buffer[i + 1] == _LF)):
                        line += 1
                    i += 1
                e = min(i, n)
                if not closed:
                    if e - s > max_field:
                        code, error_line, column = TOO_LONG, field_line, f - first + 1
                    elif final:
                        code, error_line, column = UNTERMINATED, field_line, f - first + 1
                    break
                i += 1
                if trim:
                    while i < n and buffer[i] != delimiter and (buffer[i] == _SPACE or buffer[i] == _TAB):
                        i += 1
                if i < n and buffer[i] != delimiter and buffer[i] != _LF and buffer[i] != _CR:
                    code, error_line, column = AFTER_QUOTE, line, f - first + 1
                    break
            else:
                s = i
                k = TEXT
                while i < n and buffer[i] != delimiter and buffer[i] != _LF and buffer[i] != _CR:
                    i += 1
                e = i
                if trim:
                    while e > s and (buffer[e - 1] == _SPACE or buffer[e - 1] == _TAB):
                        e -= 1
            if e - s > max_field:
                code, error_line, column = TOO_LONG, field_line, f - first + 1
                break
            start[f], end[f], kind[f] = s, e, k
            f += 1
            if i >= n:
                complete = final
                break
            if buffer[i] == delimiter:
                i += 1
                continue
            if buffer[i] == _CR:
                if i + 1 == n and not final:
                    break
                if i + 1 < n and buffer[i + 1] == _LF:
                    i += 1
            i += 1
            line += 1
            complete = True
            break
        if not complete:
            line = record_line
            break
        fields = f - first
        blank = fields == 1 and not quoted_any and start[first] == end[first]
        if blank and width != 1:
            f = first
            consumed = i
            continue
        if width >= 0 and fields != width:
            code, error_line = RAGGED, record_line
            break
        trailing = trailing + 1 if blank else 0
        lines[row] = record_line
        if row == 0:
            report[BEGIN] = begin
        row += 1
        consumed = i
    report[ROWS], report[CONSUMED], report[LINE], report[CODE] = row, consumed, line, code
    report[ERROR_LINE], report[COLUMN], report[FOUND], report[TRAILING] = error_line, column, fields, trailing
    return report


@kernel
def undouble_quotes(buffer: Any, quote: int, start: Any, end: Any, kind: Any, size: int) -> None:
    """Make one quote of two, in place, in the first `size` fields."""
    for f in range(size):
        if kind[f] == _ESCAPED:
            w = start[f]
            i = start[f]
            while i < end[f]:
                buffer[w] = buffer[i]
                i += 2 if buffer[i] == quote else 1
                w += 1
            end[f] = w
            kind[f] = QUOTED


@kernel
def mark_missing(buffer: Any, start: Any, end: Any, kind: Any, tokens: Any, offsets: Any) -> None:
    """Mark empty fields, and fields equal to one of the tokens, as missing."""
    for f in range(start.size):
        s, length = start[f], end[f] - start[f]
        if length == 0:
            kind[f] = MISSING
            continue
        for t in range(offsets.size - 1):
            o = offsets[t]
            if offsets[t + 1] - o == length:
                same = True
                for j in range(length):
                    if buffer[s + j] != tokens[o + j]:
                        same = False
                        break
                if same:
                    kind[f] = MISSING
                    break
