"""The compiled splitter of newline-delimited JSON: objects of plain values and flat arrays, one a line, as cells."""

from typing import Any, Final

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from workers.frames.upload.cells import LIST, MISSING, STRING, TEXT
from workers.frames.upload.escapes import ESCAPED

# Why the kernel stopped.
OK, SYNTAX, NESTED, DUPLICATE, UNKNOWN_KEY, TOO_LONG, MANY = range(7)
# Slots of the report.
ROWS, CONSUMED, LINE, CODE, COLUMN = range(5)
REPORT: Final = 5
_LF, _QUOTE, _BACKSLASH, _COMMA, _COLON, _OPEN, _CLOSE, _BRACKET, _MINUS = 10, 34, 92, 44, 58, 123, 125, 91, 45
_END_BRACKET: Final = 93
_DEEPER: Final = -2
_WORDS = np.frombuffer(b"truefalsenullNaNInfinity-Infinity", np.uint8)
_WORD_AT = np.array([0, 4, 9, 13, 16, 24, 33])
_NULL: Final = 2


@inner_kernel
def _after_blanks(buffer: Any, i: int, n: int) -> int:
    while i < n and (buffer[i] == 32 or buffer[i] == 9 or buffer[i] == 13):
        i += 1
    return i


@inner_kernel
def _after_string(buffer: Any, i: int, n: int) -> tuple[int, bool]:
    """Position of the quote that closes the string beginning at `i` (-1: none on this line); whether it has escapes."""
    escaped = False
    while i < n:
        c = buffer[i]
        if c == _QUOTE:
            return i, escaped
        if c < 32:
            return -1, escaped
        if c == _BACKSLASH:
            escaped = True
            i += 1
        i += 1
    return -1, escaped


@inner_kernel
def _after_list(buffer: Any, i: int, n: int) -> int:
    """Position after the array that begins at `i`; -1: it does not end on this line; -2: a value of it has parts."""
    i += 1
    while i < n:
        c = buffer[i]
        if c == _END_BRACKET:
            return i + 1
        if c in (_OPEN, _BRACKET):
            return _DEEPER
        if c == _QUOTE:
            i, _ = _after_string(buffer, i + 1, n)
            if i < 0:
                return -1
        i += 1
    return -1


@inner_kernel
def _after_digits(buffer: Any, i: int, n: int) -> int:
    while i < n and 48 <= buffer[i] <= 57:
        i += 1
    return i


@inner_kernel
def _is_number(buffer: Any, s: int, e: int) -> Any:
    """Whether ``buffer[s:e]`` is a number by JSON's grammar."""
    i = s + 1 if s < e and buffer[s] == _MINUS else s
    j = _after_digits(buffer, i, e)
    if j == i or (j > i + 1 and buffer[i] == 48):
        return False
    if j < e and buffer[j] == 46:
        i = j + 1
        j = _after_digits(buffer, i, e)
        if j == i:
            return False
    if j < e and (buffer[j] | 32) == 101:
        i = j + 1
        if i < e and (buffer[i] == _MINUS or buffer[i] == 43):
            i += 1
        j = _after_digits(buffer, i, e)
        if j == i:
            return False
    return j == e


@inner_kernel
def _literal(buffer: Any, s: int, e: int) -> int:
    """Kind of a value that is neither string, object nor array; -1: no JSON (NaN and infinities are let pass)."""
    for w in range(_WORD_AT.size - 1):
        o = _WORD_AT[w]
        if e - s == _WORD_AT[w + 1] - o:
            same = True
            for j in range(e - s):
                if buffer[s + j] != _WORDS[o + j]:
                    same = False
                    break
            if same:
                return MISSING if w == _NULL else TEXT
    return TEXT if _is_number(buffer, s, e) else -1


@inner_kernel
def _find_key(buffer: Any, s: int, e: int, keys: Any, offsets: Any, guess: int) -> int:
    """Index of the key spelled ``buffer[s:e]``, looked for from `guess` on, as keys mostly come in order; -1: new."""
    count = offsets.size - 1
    for step in range(count):
        k = guess + step
        if k >= count:
            k -= count
        o = offsets[k]
        if offsets[k + 1] - o == e - s:
            same = True
            for j in range(e - s):
                if buffer[s + j] != keys[o + j]:
                    same = False
                    break
            if same:
                return k
    return -1


@kernel
def split_objects(  # noqa: C901 (a kernel)
    buffer: Any, final: bool, line: int, keys: Any, offsets: Any, columns: Any, width: int, max_field: int,
    start: Any, end: Any, kind: Any, lines: Any,
) -> Any:  # fmt: skip
    """Find the values of the complete lines of a block.

    Parameters
    ----------
    buffer
        Bytes, shape (n,).
    final
        No byte follows these.
    line
        Physical line of the first byte.
    keys, offsets, columns
        Known spellings of keys, one after the other, where each begins, and the column each one names.
    width
        Columns known.
    max_field
        Most bytes of a value.
    start, end, kind, lines
        Filled: slices and kinds of the values, first line of each object.

    Returns
    -------
    numpy.ndarray
        The report, see the slots above. After `UNKNOWN_KEY` the block is consumed up to the line with that key.
    """
    n = buffer.size
    report = np.zeros(REPORT, np.int64)
    seen = np.zeros(width, np.int64)
    i, row, consumed, code, column = 0, 0, 0, OK, 0
    capacity = lines.size
    while i < n:
        stop = i
        while stop < n and buffer[stop] != _LF:
            stop += 1
        if stop == n and not final:
            break
        i = _after_blanks(buffer, i, stop)
        if i < stop:
            if row == capacity:
                code = MANY
                break
            base = row * width
            for j in range(base, base + width):
                start[j], end[j], kind[j] = 0, 0, MISSING
            code = OK if buffer[i] == _OPEN else SYNTAX
            i = _after_blanks(buffer, i + 1, stop)
            guess = 0
            if code == OK and i < stop and buffer[i] == _CLOSE:
                i += 1
            else:
                while code == OK:
                    if i >= stop or buffer[i] != _QUOTE:
                        code = SYNTAX
                        break
                    s = i + 1
                    e, _ = _after_string(buffer, s, stop)
                    i = _after_blanks(buffer, e + 1, stop)
                    if e < 0 or i >= stop or buffer[i] != _COLON:
                        code = SYNTAX
                        break
                    key = _find_key(buffer, s, e, keys, offsets, guess)
                    if key < 0:
                        code = UNKNOWN_KEY
                        break
                    column = columns[key]
                    guess = key + 1
                    if seen[column] == row + 1:
                        code = DUPLICATE
                        break
                    seen[column] = row + 1
                    i = _after_blanks(buffer, i + 1, stop)
                    if i >= stop:
                        code = SYNTAX
                        break
                    if buffer[i] == _OPEN:
                        code = NESTED
                        break
                    if buffer[i] == _BRACKET:
                        s = i
                        e = _after_list(buffer, s, stop)
                        if e == _DEEPER:
                            code = NESTED
                            break
                        i = e
                        k = LIST if e >= 0 else -1
                    elif buffer[i] == _QUOTE:
                        s = i + 1
                        e, escaped = _after_string(buffer, s, stop)
                        i = e + 1
                        k = ESCAPED if escaped else STRING
                        if e < 0:
                            k = -1
                    else:
                        s = i
                        while i < stop and buffer[i] > 32 and buffer[i] != _COMMA and buffer[i] != _CLOSE:
                            i += 1
                        e = i
                        k = _literal(buffer, s, e)
                    if k < 0:
                        code = SYNTAX
                        break
                    if e - s > max_field:
                        code = TOO_LONG
                        break
                    start[base + column], end[base + column], kind[base + column] = s, e, k
                    i = _after_blanks(buffer, i, stop)
                    if i < stop and buffer[i] == _COMMA:
                        i = _after_blanks(buffer, i + 1, stop)
                        continue
                    if i < stop and buffer[i] == _CLOSE:
                        i += 1
                        break
                    code = SYNTAX
            if code == OK and _after_blanks(buffer, i, stop) != stop:
                code = SYNTAX
            if code != OK:
                break
            lines[row] = line
            row += 1
        i = stop
        if i < n:
            i += 1
            line += 1
        consumed = i
    report[ROWS], report[CONSUMED], report[LINE], report[CODE], report[COLUMN] = row, consumed, line, code, column
    return report
