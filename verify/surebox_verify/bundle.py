"""The files of a bundle, by an exact list of names.

What unpacks a bundle may take `./release.csv`, `Release.csv` or a link for `release.csv` and write over the file that
was verified. So every entry has a name once, is a plain file, and is spelled as the service spells names; a bundle with
anything else is not read. An entry that this version does not know stays packed: only its digest is computed, where the
certificate has one. Some read an archive from its beginning, by the names before its entries, and others by the
directory at its end: so both name the same, and nothing else has room.
"""

import hashlib
import lzma
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
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
_BEFORE: Final = struct.Struct("<4s2xH10xI4xHH")  # of an entry: mark, flags, length, and lengths of name and extra
_AFTER: Final = 24  # bytes that may follow an entry whose length was not known before it
_LENGTH_FOLLOWS: Final = 0x08
_LENGTH_IN_EXTRA: Final = 0xFFFFFFFF
_END: Final = 22  # bytes of the end of an archive that reveals nothing there
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
        if _is_named_twice(each.extra):
            return f"has an entry {each.filename!r} with a second name"
    if sum(each.file_size for each in entries) > _LARGEST:
        return f"unpacks to more than {_LARGEST} bytes"
    return None


def _hidden(opened: BinaryIO, directory: int, entries: list[zipfile.ZipInfo]) -> str | None:
    """Why reading an archive from its beginning may give other files than its directory; None where it does not."""
    end = 0
    for each in sorted(entries, key=lambda one: one.header_offset):
        opened.seek(each.header_offset)
        mark, flags, length, name, extra = _BEFORE.unpack(opened.read(_BEFORE.size))
        if mark != b"PK\x03\x04" or opened.read(name) != each.orig_filename.encode():
            return f"has another name before the entry {each.filename!r} than in its directory"
        if _is_named_twice(opened.read(extra)):
            return f"has an entry {each.filename!r} with a second name"
        known = length in (each.compress_size, _LENGTH_IN_EXTRA) or flags & _LENGTH_FOLLOWS
        if not known or not 0 <= each.header_offset - end <= (_AFTER if end else 0):
            return f"has something before or in the entry {each.filename!r} that its directory does not list"
        end = each.header_offset + _BEFORE.size + name + extra + each.compress_size
    opened.seek(-_END, 2)
    last = opened.read()
    if not 0 <= directory - end <= _AFTER or not last.startswith(b"PK\x05\x06") or last[-2:] != bytes(2):
        return "has something at its end that its directory does not list"
    return None


def _is_named_twice(extra: bytes) -> bool:
    """Whether an extra field gives an entry another name, or cannot be read."""
    place = 0
    while place < len(extra):
        if len(extra) - place < 4:
            return True
        number, length = struct.unpack_from("<HH", extra, place)
        if number in _OTHER_NAMES:
            return True
        place += 4 + int(length)
    return place != len(extra)
