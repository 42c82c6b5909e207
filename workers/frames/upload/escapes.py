"""Escapes of JSON strings, resolved in place by compiled code."""

from typing import Any, Final

from surebox_core.compiling.kernels import inner_kernel, kernel
from workers.frames.upload.cells import STRING

#: Kind of a string that still contains escapes.
ESCAPED: Final = 5
_QUOTE, _BACKSLASH, _SLASH = 34, 92, 47


@inner_kernel
def _hex(buffer: Any, i: int, e: int) -> int:
    """The code unit of four hexadecimal digits; -1: they are none."""
    if i + 4 > e:
        return -1
    unit = 0
    for j in range(i, i + 4):
        c = buffer[j]
        low = c | 32
        if 48 <= c <= 57:
            unit = unit * 16 + c - 48
        elif 97 <= low <= 102:
            unit = unit * 16 + low - 87
        else:
            return -1
    return unit


@inner_kernel
def _simple_escape(c: int) -> int:
    if c in (_QUOTE, _BACKSLASH, _SLASH):
        return c
    if c == 98:
        return 8
    if c == 102:
        return 12
    if c == 110:
        return 10
    if c == 114:
        return 13
    return 9 if c == 116 else -1


@kernel
def resolve_escapes(buffer: Any, start: Any, end: Any, kind: Any) -> int:  # noqa: C901 (a kernel)
    """Write strings with escapes as UTF-8, in place (it is never longer); the first cell where that fails, or -1.

    A NUL character and half a surrogate pair fail: neither can be stored as text.
    """
    for f in range(start.size):
        if kind[f] != ESCAPED:
            continue
        w = i = start[f]
        e = end[f]
        while i < e:
            if buffer[i] != _BACKSLASH:
                buffer[w] = buffer[i]
                w += 1
                i += 1
                continue
            if buffer[i + 1] != 117:
                c = _simple_escape(buffer[i + 1])
                if c < 0:
                    return f
                buffer[w] = c
                w += 1
                i += 2
                continue
            code = _hex(buffer, i + 2, e)
            i += 6
            if 0xD800 <= code < 0xDC00 and i + 1 < e and buffer[i] == _BACKSLASH and buffer[i + 1] == 117:
                low = _hex(buffer, i + 2, e)
                if 0xDC00 <= low < 0xE000:
                    code = 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
                    i += 6
            if code <= 0 or 0xD800 <= code < 0xE000:
                return f
            if code < 0x80:
                buffer[w] = code
                w += 1
            elif code < 0x800:
                buffer[w], buffer[w + 1] = 0xC0 | code >> 6, 0x80 | code & 63
                w += 2
            elif code < 0x10000:
                buffer[w], buffer[w + 1], buffer[w + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63
                w += 3
            else:
                buffer[w], buffer[w + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 63
                buffer[w + 2], buffer[w + 3] = 0x80 | code >> 6 & 63, 0x80 | code & 63
                w += 4
        end[f] = w
        kind[f] = STRING
    return -1
