"""A zip file made while it is sent, the same bytes for the same content: nothing compressed, one time for all."""

import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

_TIME: Final = (1980, 1, 1, 0, 0, 0)
_UNIX: Final = 3
_PERMISSIONS: Final = 0o644 << 16
#: Above this many bytes an entry has lengths of 64 bits.
_LARGE: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of an archive: its name, its length, and where its bytes come from when their turn is there."""

    name: str
    size: int
    chunks: Iterable[bytes]


@dataclass(slots=True)
class _Sent:
    """What was written and not sent yet; nothing in it can be gone back to."""

    pieces: list[bytes] = field(default_factory=list)

    def write(self, data: bytes, /) -> int:
        self.pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Nothing is open."""

    def taken(self) -> bytes:
        chunk = b"".join(self.pieces)
        self.pieces.clear()
        return chunk


def zipped(entries: Iterable[Entry]) -> Iterator[bytes]:
    """The bytes of an archive, as they are made; no more than a chunk of an entry is held.

    Parameters
    ----------
    entries
        In their order; the chunks of each are asked for after those of the one before.
    """
    sent = _Sent()
    with zipfile.ZipFile(sent, "w", zipfile.ZIP_STORED) as archive:
        for entry in entries:
            member = zipfile.ZipInfo(entry.name, _TIME)
            member.create_system, member.external_attr = _UNIX, _PERMISSIONS
            with archive.open(member, "w", force_zip64=entry.size >= _LARGE) as target:
                for chunk in entry.chunks:
                    target.write(chunk)
                    yield sent.taken()
    yield sent.taken()
