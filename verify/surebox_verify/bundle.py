"""The files of a bundle, by an exact list of names.

What unpacks a bundle may take `./release.csv`, `Release.csv` or a link for `release.csv` and write over the file that
was verified. So every entry is one of the names that a bundle of the service has, once, spelled as the service spells
it, and a plain file; a bundle with anything else is not read.
"""

import lzma
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Final

from surebox_verify.envelope import UnreadableError

ENVELOPE: Final = "certificate.dsse.json"
REVOCATIONS: Final = "revocations.dsse.json"
TIMESTAMP: Final = "certificate.tsr"
STATISTICS: Final = "statistics.json"
DATA: Final = tuple(f"release.{name}" for name in ("parquet", "csv", "ndjson", "csv.gz", "csv.excel", "csv.escaped"))
_READ: Final = frozenset({ENVELOPE, REVOCATIONS, TIMESTAMP, STATISTICS, *DATA})
_BESIDE: Final = frozenset({"ro-crate-metadata.json", "provenance.json", "report.html", "jwks.json"})
_LARGEST: Final = 20_000_000_000  # bytes, unpacked
_OTHER_NAMES: Final = (0x7075, 0x6375)  # extra fields by which others read another name or comment
_DAMAGED: Final = (
    zipfile.BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, ValueError, lzma.LZMAError,
    struct.error, zlib.error,
)  # fmt: skip


def unpacked(path: Path) -> dict[str, bytes]:
    """Data files, statistics, envelope, revocations and timestamp of a bundle; its keys are no reason to trust it.

    Parameters
    ----------
    path : a zip file.

    Raises
    ------
    UnreadableError
        It is none, or has an entry that no bundle of the service has.
    """
    try:
        with path.open("rb") as opened, zipfile.ZipFile(opened) as bundle:
            entries = bundle.infolist()
            fault = _fault(entries)
            files = {} if fault else {each.filename: bundle.read(each) for each in entries if each.filename in _READ}
    except FileNotFoundError:
        raise
    except _DAMAGED as error:
        raise UnreadableError(f"{path} is no bundle ({type(error).__name__})") from None
    if fault is not None:
        raise UnreadableError(f"{path} {fault}")
    return files


def _fault(entries: list[zipfile.ZipInfo]) -> str | None:
    """Why an archive is not read as a bundle; None where it is."""
    names = [each.filename for each in entries]
    if len(set(names)) < len(names):
        return "has two files of one name"
    for each in entries:
        if each.filename not in _READ | _BESIDE or each.orig_filename != each.filename:
            return f"has an entry {each.orig_filename!r}, which no bundle has: unpacking it may write over another file"
        kind = stat.S_IFMT(each.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or each.is_dir():
            return f"has an entry {each.filename!r} that is no plain file"
        if _is_named_twice(each.extra):
            return f"has an entry {each.filename!r} with a second name"
    if sum(each.file_size for each in entries) > _LARGEST:
        return f"unpacks to more than {_LARGEST} bytes"
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
