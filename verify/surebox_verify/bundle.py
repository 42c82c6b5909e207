"""The files of a bundle, by an exact list of names.

What unpacks a bundle may take `./release.csv`, `Release.csv` or a link for `release.csv` and write over the file that
was verified. So every entry has a name once, is a plain file, and is spelled as the service spells names; a bundle with
anything else is not read. Of an entry that this version does not know only the length is computed, and its digest where
one is certified. Some read an archive from its beginning, by the headers of its entries, and others by the directory at
its end: so both state the same of every entry, each ends where its content does, and nothing else has room.
"""

import hashlib
import lzma
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from surebox_verify.certificate import DATA, STATISTICS, read_certificate
from surebox_verify.envelope import UnreadableError, read_envelope

ENVELOPE: Final = "certificate.dsse.json"
REVOCATIONS: Final = "revocations.dsse.json"
TIMESTAMP: Final = "certificate.tsr"
_READ: Final = frozenset({ENVELOPE, REVOCATIONS, TIMESTAMP, STATISTICS, *DATA})
#: Names that no system takes for another one: no folder, no other case, nothing that is left out at an end.
_PLAIN: Final = re.compile(r"[a-z0-9](?:[a-z0-9_.-]{0,98}[a-z0-9])?", re.ASCII)
_AT_ONCE: Final = 1 << 20
_LARGEST: Final = 20_000_000_000  # bytes, unpacked
#: Before an entry: mark, flags, method, CRC-32, length packed and as it is, and lengths of name and extra.
_BEFORE: Final = struct.Struct("<4s2xHH4xIIIHH")
_MARK: Final = b"PK\x03\x04"
_AFTER: Final = 24  # bytes that may follow an entry whose length was not known before it
_LENGTH_FOLLOWS: Final = 0x08
_LENGTH_IN_EXTRA: Final = 0xFFFFFFFF
_LONG_LENGTHS: Final = 0x0001  # extra field with lengths of 64 bits
#: End of an archive without a comment: mark, number of entries, length and place of the directory.
_END: Final = struct.Struct("<4s6xHII2x")
#: The same of 64 bits, between the directory and the end, and the place of it.
_LONG_END: Final = struct.Struct("<4s28xQQQ4s4xQ4x")
_LINK: Final = b"PK\x06\x07"
_OTHER_NAMES: Final = (0x7075, 0x6375)  # extra fields by which others read another name or comment
_DAMAGED: Final = (
    zipfile.BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, ValueError, lzma.LZMAError,
    struct.error, zlib.error,
)  # fmt: skip


@dataclass(frozen=True)
class Bundle:
    """A bundle that was read.

    Attributes
    ----------
    files : data files and statistics, by name.
    envelope, revocations, timestamp : the certificate, and what there is next to it; None where it is not there.
    others : names of all other entries.
    """

    files: Mapping[str, bytes]
    envelope: bytes | None
    revocations: bytes | None = None
    timestamp: bytes | None = None
    others: Sequence[str] = ()


def unpacked(path: Path) -> Bundle:
    """Read a bundle; its keys are no reason to trust it.

    Parameters
    ----------
    path : a zip file.

    Raises
    ------
    UnreadableError
        It is none, or has an entry that may be unpacked as another one.
    """
    try:
        with path.open("rb") as opened, zipfile.ZipFile(opened) as bundle:
            entries = bundle.infolist()
            fault = _fault(entries) or _hidden(opened, bundle.start_dir, entries)
            files = {} if fault else {each.filename: bundle.read(each) for each in entries if each.filename in _READ}
    except FileNotFoundError:
        raise
    except _DAMAGED as error:
        raise UnreadableError(f"{path} is no bundle ({type(error).__name__})") from None
    if fault is not None:
        raise UnreadableError(f"{path} {fault}")
    envelope, revocations, timestamp = (files.pop(name, None) for name in (ENVELOPE, REVOCATIONS, TIMESTAMP))
    others = tuple(each.filename for each in entries if each.filename not in _READ)
    return Bundle(files, envelope, revocations, timestamp, others)


def others_of(path: Path, bundle: Bundle) -> dict[str, str | None]:
    """Entries that this version does not read, each with its SHA-256 where the certificate names it.

    Parameters
    ----------
    path, bundle : a bundle, and what was read of it.

    Raises
    ------
    UnreadableError
        The certificate cannot be read, or such an entry is damaged.
    """
    if not bundle.others:
        return {}
    named = read_certificate(read_envelope(bundle.envelope or b"")).digests
    try:
        with zipfile.ZipFile(path) as packed:
            return {name: _digest(packed, name) if name in named else None for name in bundle.others}
    except _DAMAGED as error:
        raise UnreadableError(f"{path} is no bundle ({type(error).__name__})") from None


def _digest(bundle: zipfile.ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    with bundle.open(name) as entry:
        while part := entry.read(_AT_ONCE):
            digest.update(part)
    return digest.hexdigest()


def _fault(entries: list[zipfile.ZipInfo]) -> str | None:
    """Why an archive is not read as a bundle; None where it is."""
    names = [each.filename for each in entries]
    if len(set(names)) < len(names):
        return "has two files of one name"
    for each in entries:
        if not _PLAIN.fullmatch(each.filename) or each.orig_filename != each.filename:
            return f"has an entry {each.orig_filename!r}, which no bundle has: unpacking it may write over another file"
        kind = stat.S_IFMT(each.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or each.is_dir():
            return f"has an entry {each.filename!r} that is no plain file"
        if _is_read_twice(each.extra):
            return f"has an entry {each.filename!r} with a second name or length"
    if sum(each.file_size for each in entries) > _LARGEST:
        return f"unpacks to more than {_LARGEST} bytes"
    return None


def _hidden(opened: BinaryIO, directory: int, entries: list[zipfile.ZipInfo]) -> str | None:
    """Why reading an archive from its beginning may give other files than its directory; None where it does not."""
    end = 0
    for each in sorted(entries, key=lambda one: one.header_offset):
        opened.seek(each.header_offset)
        before = _BEFORE.unpack(opened.read(_BEFORE.size))
        mark, name, extra = before[0], opened.read(before[-2]), opened.read(before[-1])
        if mark != _MARK or name != each.orig_filename.encode():
            return f"has another name before the entry {each.filename!r} than in its directory"
        if _is_read_twice(extra):
            return f"has an entry {each.filename!r} with a second name or length"
        if not 0 <= each.header_offset - end <= (_AFTER if end else 0) or not _is_alike(before[1:-2], extra, each):
            return f"has something before or in the entry {each.filename!r} that its directory does not list"
        if not _is_exact(opened, each):
            return f"has more or less in the entry {each.filename!r} than its content"
        end = each.header_offset + _BEFORE.size + len(name) + len(extra) + each.compress_size
    if not 0 <= directory - end <= _AFTER or not _is_end(opened, directory, len(entries)):
        return "has something at its end that its directory does not list"
    return None


def _is_alike(before: Sequence[int], extra: bytes, entry: zipfile.ZipInfo) -> bool:
    """Return whether an entry's method, check sum and lengths are before it as in the directory, or left out.

    Lengths and check sum may be left out where they follow the entry.
    """
    flags, method, check, *lengths = before
    expected = [entry.compress_size, entry.file_size]
    if _LENGTH_IN_EXTRA in lengths:
        long = dict(_fields(extra)).get(_LONG_LENGTHS, b"")
        if len(long) != 16 or set(lengths) != {_LENGTH_IN_EXTRA}:
            return False
        lengths = [*reversed(struct.unpack("<QQ", long))]
    stated = (check, *lengths) == (entry.CRC, *expected)
    follows = bool(flags & _LENGTH_FOLLOWS) and (check, *lengths) == (0, 0, 0)
    return (flags, method) == (entry.flag_bits, entry.compress_type) and (stated or follows)


def _is_exact(opened: BinaryIO, entry: zipfile.ZipInfo) -> bool:
    """Return whether the content of an entry, read from here, has the directory's lengths, and hides no other entry.

    Some search stored content for its end, where its length follows: so no other entry begins in there. One may in
    a data file, whose content the certificate covers.
    """
    if entry.compress_type == zipfile.ZIP_STORED:
        is_searched = entry.flag_bits & _LENGTH_FOLLOWS and entry.filename not in DATA
        return entry.compress_size == entry.file_size and not (is_searched and _has_mark(opened, entry.file_size))
    return entry.compress_type == zipfile.ZIP_DEFLATED and _is_inflated(opened, entry.compress_size, entry.file_size)


def _is_inflated(opened: BinaryIO, left: int, expected: int) -> bool:
    """Return whether so many bytes from here are a deflated stream to its end, and give as many as expected."""
    stream, size = zlib.decompressobj(-zlib.MAX_WBITS), 0
    while left and not stream.eof and (part := opened.read(min(left, _AT_ONCE))):
        left -= len(part)
        while not stream.eof and size <= expected and (more := stream.decompress(part, _AT_ONCE)):
            size, part = size + len(more), stream.unconsumed_tail
        if size > expected:
            return False
    return stream.eof and not left and not stream.unused_data and size == expected


def _has_mark(opened: BinaryIO, left: int) -> bool:
    """Return whether the beginning of an entry stands in the next bytes."""
    last = b""
    while left > 0 and (part := opened.read(min(left, _AT_ONCE))):
        left -= len(part)
        if _MARK in last + part:
            return True
        last = part[1 - len(_MARK) :]
    return False


def _is_end(opened: BinaryIO, directory: int, count: int) -> bool:
    """Return whether the directory ends where the archive does, and every way to it leads to the same place."""
    end = opened.seek(-_END.size, 2)
    last = opened.read()
    mark, stated, size, place = _END.unpack(last)
    if mark != b"PK\x05\x06" or last[-2:] != bytes(2):
        return False
    opened.seek(max(end - _LONG_END.size, 0))
    mark, *long, link, at = _LONG_END.unpack(opened.read(_LONG_END.size).ljust(_LONG_END.size))
    end -= _LONG_END.size if link == _LINK else 0
    directory_size = end - directory
    if link == _LINK and (mark, *long, at) != (b"PK\x06\x06", count, directory_size, directory, end):
        return False
    elsewhere = {0xFFFF, 0xFFFFFFFF} if link == _LINK else set()
    return stated in {count} | elsewhere and size in {directory_size} | elsewhere and place in {directory} | elsewhere


def _is_read_twice(extra: bytes) -> bool:
    """Return whether an extra field gives an entry another name, is there twice, or cannot be read."""
    try:
        numbers = [number for number, _ in _fields(extra)]
    except struct.error:
        return True
    return len(set(numbers)) < len(numbers) or not set(numbers).isdisjoint(_OTHER_NAMES)


def _fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """The extra fields of an entry, each with its number."""
    place = 0
    while place < len(extra):
        number, length = struct.unpack_from("<HH", extra, place)
        (data,) = struct.unpack_from(f"{length}s", extra, place + 4)
        yield number, data
        place += 4 + length
