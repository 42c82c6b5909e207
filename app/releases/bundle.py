"""A release as one download: an RO-Crate of its files and of all that it takes to read and verify them offline.

The zip file is made while it is sent, the same bytes for the same content: nothing compressed, one time for all.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import rfc8785

from app.certificates.issue import canonical_statistics, issued_at
from app.certificates.read import read_certificate, read_key_set, read_revocations, read_timestamp
from app.contracts.releases import Release, ReleaseFormat, ReleaseState, ending_of
from app.db.repositories.release_access import Viewer
from app.db.session import Database
from app.errors import NotFoundError
from app.releases.read import ReleaseFile, read_file, read_provenance, read_release, read_statistics_of
from app.settings import Settings
from app.storage.protocol import Storage

_JSON: Final = "application/json"
_ENVELOPE: Final = "application/vnd.dsse.envelope.v1+json"
_TIMESTAMP: Final = "application/timestamp-reply"
_CRATE: Final = "https://w3id.org/ro/crate/1.2"
_MADE_ABOUT: Final = "ro-crate-metadata.json"
_TIME: Final = (1980, 1, 1, 0, 0, 0)
_UNIX: Final = 3
_PERMISSIONS: Final = 0o644 << 16
#: Above this many bytes an entry has lengths of 64 bits.
_LARGE: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """One file of a bundle: held here, or in storage under its key."""

    name: str
    description: str
    media_type: str
    sha256: str
    size: int
    content: bytes | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a bundle contains, in order, and the digest of that, which its bytes follow from."""

    parts: tuple[BundleEntry, ...]
    restricted: bool
    owner: str

    @property
    def sha256(self) -> str:
        """Of the names and digests of all parts."""
        return hashlib.sha256(rfc8785.dumps([[part.name, part.sha256] for part in self.parts])).hexdigest()

    def chunks(self, storage: Storage) -> Iterator[bytes]:
        """The archive, as it is made."""
        return zipped(Entry(part.name, part.size, _bytes_of(part, storage)) for part in self.parts)


def read_bundle(
    *,
    database: Database,
    settings: Settings,
    viewer: Viewer,
    release_id: str,
    report: bytes,
    media_types: Callable[[ReleaseFormat], str],
) -> Bundle:
    """Gather what the bundle of a release contains.

    Parameters
    ----------
    database, settings
        Where all is read, and what signs the list of revocations.
    viewer
        Who asks; the content is the same for all who may read the release.
    release_id
        The release.
    report
        Its public page.
    media_types
        Media type of a data file.

    Raises
    ------
    NotFoundError
        If there is no such release.
    """
    mine: dict[str, Any] = {"database": database, "viewer": viewer, "release_id": release_id}
    release = read_release(**mine)
    files = [read_file(**mine, release_format=each) for each in ReleaseFormat if each in release.files]
    parts = [_stored(file, media_types(ReleaseFormat(file.format))) for file in files]
    statistics = canonical_statistics(*read_statistics_of(**mine))
    parts.append(_held("statistics.json", "What the release states about its statistics", _JSON, statistics))
    provenance = _plain(read_provenance(**mine))
    parts.append(_held("provenance.json", "How the release came to be: W3C PROV-JSON", _JSON, provenance))
    parts.append(_held("report.html", "The report of the release, for people", "text/html", report))
    parts += _signed(database, settings, mine)
    about = _held(_MADE_ABOUT, "What this bundle contains: RO-Crate", "application/ld+json", _crate(release, parts))
    return Bundle((about, *parts), restricted=release.state is not ReleaseState.PUBLISHED, owner=release.owner)


def _signed(database: Database, settings: Settings, mine: dict[str, Any]) -> Iterator[BundleEntry]:
    """What readers verify by, as far as it is there: a draft has no certificate."""
    keys = _plain(read_key_set(database=database))
    yield _held("jwks.json", "Public keys of the service; get them from the service itself to trust them", _JSON, keys)
    try:
        certificate = read_certificate(**mine).body
        yield _held("certificate.dsse.json", "The certificate of the release", _ENVELOPE, certificate)
        made: dict[str, Any] = {"database": database, "settings": settings, "not_before": issued_at(certificate)}
        revoked = read_revocations(**made, at_last_change=True).body
        yield _held("revocations.dsse.json", "Certificates revoked by then", _ENVELOPE, revoked)
        stamp = read_timestamp(**mine).body
        yield _held("certificate.tsr", "When an authority saw the certificate (RFC 3161)", _TIMESTAMP, stamp)
    except NotFoundError:  # not published, a service that signs nothing, or one without an authority
        return


def _stored(file: ReleaseFile, media_type: str) -> BundleEntry:
    description = f"The rows of the release in {file.format}"
    return BundleEntry(
        f"release.{ending_of(file.format)}", description, media_type, file.sha256, file.bytes, key=file.key
    )


def _held(name: str, description: str, media_type: str, content: bytes) -> BundleEntry:
    return BundleEntry(
        name, description, media_type, hashlib.sha256(content).hexdigest(), len(content), content=content
    )


def _bytes_of(part: BundleEntry, storage: Storage) -> Iterable[bytes]:
    """Requested when the turn of the part is there."""
    if part.content is not None:
        yield part.content
    else:
        yield from storage.chunks(str(part.key))


def _plain(content: Any) -> bytes:
    return json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def _crate(release: Release, parts: list[BundleEntry]) -> bytes:
    """The description of the bundle as RO-Crate has it."""
    published = release.published_at or release.created_at
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": release.name or release.id,
        "description": f"An anonymized release of {release.rows} rows, made by the method {release.method}.",
        "identifier": release.id,
        "datePublished": published.isoformat(),
        "license": "No licence is stated here; ask whoever published the release.",
        "hasPart": [{"@id": part.name} for part in parts],
    }
    about = {
        "@id": _MADE_ABOUT, "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": _CRATE},
    }  # fmt: skip
    files = [
        {
            "@id": part.name, "@type": "File", "name": part.description, "encodingFormat": part.media_type,
            "contentSize": str(part.size), "sha256": part.sha256,
        }
        for part in parts
    ]  # fmt: skip
    return _plain({"@context": f"{_CRATE}/context", "@graph": [about, root, *files]})


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of an archive: its name, its length, and where its bytes come from when their turn is there."""

    name: str
    size: int
    chunks: Iterable[bytes]


@dataclass(slots=True)
class _Sent:
    """Data written and not sent yet; nothing in it can be gone back to."""

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
        In their order; the chunks of each are requested after those of the one before.
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
