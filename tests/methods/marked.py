"""Looking for marked values in all that is published, in every spelling and wrapping that a value may have there."""

import base64
import binascii
import gzip
import hashlib
import html
import io
import math
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote_plus

import numpy as np
import pyarrow.parquet as pq

from tests.methods.parquet_pages import chunks_of, pages

#: Digits of a number that tell it from all others: of those drawn by chance, two in some billions agree in so many.
DIGITS = 12
#: A number: with a decimal point, a decimal comma, thousands apart.
_NUMBERS = (
    re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"),
    re.compile(r"\d+,\d+"),
    *(re.compile(rf"\d{{1,3}}(?:{apart}\d{{3}})+(?:[.,]\d+)?") for apart in (",", r"\.", "[ '_\u00a0\u2009\u202f]")),
)
_HEXADECIMAL = re.compile(r"0x1\.[0-9a-f]+p[-+]\d+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")


@dataclass(frozen=True)
class Marks:
    """Values that must stand nowhere: texts of any case, and numbers of at least `DIGITS` digits."""

    texts: frozenset[str]
    numbers: frozenset[float]

    @classmethod
    def of(cls, values: Iterable[str | float]) -> "Marks":
        marks = list(values)
        numbers = frozenset(float(each) for each in marks if not isinstance(each, str))
        assert all(len(digits_of(repr(each))) >= DIGITS for each in numbers), "too short to be told from other numbers"
        return cls(frozenset(each.lower() for each in marks if isinstance(each, str)), numbers)

    def marks_in(self, content: bytes, seen: set[bytes] | None = None) -> set[str]:
        """Marks in some bytes, however they are wrapped; pieces that were seen before are passed over."""
        matches: set[str] = set()
        for piece in unwrapped(content, set() if seen is None else seen):
            matches |= {f"{self._binary[word]!r} in binary" for word in _words(piece, self._sought)}
            text = html.unescape(piece.decode(errors="ignore")).lower()
            for read in (text, unquote_plus(text), _plain(text)):
                matches |= set(self._named.findall(read))
            matches |= {repr(self._spelled[digits]) for digits in _numbers_in(text) if digits in self._spelled}
        return matches

    @cached_property
    def _named(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, sorted(self.texts, key=len, reverse=True))))

    @cached_property
    def _spelled(self) -> dict[str, float]:
        return {digits: number for number in self.numbers for digits in _spellings(number)}

    @cached_property
    def _binary(self) -> dict[int, float]:
        return {struct.unpack("<Q", pattern)[0]: number for number in self.numbers for pattern in _patterns(number)}

    @cached_property
    def _sought(self) -> np.ndarray:
        return np.sort(np.fromiter(self._binary, np.uint64))


def unwrapped(content: bytes, seen: set[bytes], depth: int = 6) -> Iterator[bytes]:
    """Some bytes, and all that lies inside: archives, compressed and encoded pieces, what Parquet files hold."""
    digest = hashlib.sha256(content).digest()
    if digest in seen:
        return
    seen.add(digest)
    yield content
    if depth > 0:
        for inner in _inner(content):
            yield from unwrapped(inner, seen, depth - 1)


def _inner(content: bytes) -> Iterator[bytes]:
    if content[:2] == b"\x1f\x8b":
        yield gzip.decompress(content)
    elif content[:4] == b"PAR1":
        yield from _of_parquet(content)
    elif content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.infolist():
                yield entry.filename.encode() + b"\n" + entry.comment + b"\n" + entry.extra
                yield archive.read(entry)
    else:
        for piece in _BASE64.findall(content):
            padded = piece.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
            try:
                yield base64.b64decode(padded + b"=" * (-len(padded) % 4))
            except binascii.Error:
                continue


def _of_parquet(content: bytes) -> Iterator[bytes]:
    """Metadata, statistics of columns, values, and every page unpacked: there is what no row refers to."""
    with pq.ParquetFile(io.BytesIO(content)) as file:
        for name, value in (file.metadata.metadata or {}).items():
            yield name + b"\n" + value
        texts = [str(file.schema_arrow), str(file.schema_arrow.metadata), str(file.metadata)]
        for chunk in chunks_of(file):
            texts.append("" if chunk.statistics is None else f"{chunk.statistics.min!r} {chunk.statistics.max!r}")
            yield from pages(content, chunk)
        yield "\n".join(texts).encode()
    for column in pq.read_table(io.BytesIO(content)).columns:
        yield "\n".join(map(str, column.to_pylist())).encode()


def _spellings(number: float) -> set[str]:
    """The first digits, cut off and rounded."""
    exact = digits_of(f"{number:.17e}".partition("e")[0])
    return {exact[:DIGITS], digits_of(f"{number:.{DIGITS - 1}e}".partition("e")[0])}


def _patterns(number: float) -> set[bytes]:
    """Eight bytes, in either order."""
    return {struct.pack("<d", number), struct.pack(">d", number)}


def _words(content: bytes, sought: np.ndarray) -> set[int]:
    """Which of some sorted words of eight bytes stand anywhere."""
    raw = np.frombuffer(content, np.uint8)
    matches: set[int] = set()
    for start in range(min(8, len(raw) - 7)):
        words = raw[start : start + (len(raw) - start) // 8 * 8].view("<u8")
        place = np.minimum(np.searchsorted(sought, words), len(sought) - 1)
        matches |= set(words[sought[place] == words].tolist())
    return matches


def _numbers_in(text: str) -> Iterator[str]:
    for pattern in _NUMBERS:
        for token in pattern.findall(text):
            digits = digits_of(token.partition("e")[0])
            if len(digits) >= DIGITS:
                yield digits[:DIGITS]
                yield digits_of(f"{int(digits[: DIGITS + 1]) / 10:.0f}")[:DIGITS]
    for token in _HEXADECIMAL.findall(text):
        if math.isfinite(value := float.fromhex(token)):
            yield from _spellings(abs(value))


def digits_of(text: str) -> str:
    """Its digits from the first that is not zero."""
    return re.sub(r"\D", "", text).lstrip("0")


def _plain(text: str) -> str:
    """The same with what JSON spells as an escape."""
    return re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match.group(1), 16)), text)
