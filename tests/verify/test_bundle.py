"""Archives that one unpacker reads otherwise than another are no bundles."""

import io
import zipfile
from pathlib import Path

import pytest

from app.releases.archive import Entry, zipped
from surebox_verify.bundle import unpacked
from surebox_verify.envelope import UnreadableError

FILES = {"release.csv": b"box,age_lo\n1,17\n", "report.html": b"<p>" + b"x" * 40, "certificate.dsse.json": b"{}"}
READ = {name: raw for name, raw in FILES.items() if name != "report.html"}


def streamed(large: str = "") -> bytes:
    """As the service sends it: lengths after the entries, of 64 bits for a large one."""
    entries = [Entry(name, 1 << 40 if name == large else len(raw), [raw]) for name, raw in FILES.items()]
    return b"".join(zipped(entries))


def packed(*, unlisted: str = "", comment: bytes = b"") -> bytes:
    """As a program makes it that can go back; one entry may be left out of the directory."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
        archive.filelist = [each for each in archive.filelist if each.filename != unlisted]
        archive.comment = comment
    return raw.getvalue()


def shorter(raw: bytes) -> bytes:
    """The length that stands before the report, changed there alone."""
    place = raw.index(b"report.html") - 30 + 18
    return raw[:place] + (3).to_bytes(4, "little") + raw[place + 4 :]


HONEST = {"streamed": streamed(), "streamed, large": streamed("report.html"), "packed": packed()}
OTHERS = {
    "another name before an entry": streamed().replace(b"report.html", b"release.csv", 1),
    "an entry that the directory has not": packed(unlisted="report.html"),
    "the last that it has not": packed(unlisted="certificate.dsse.json"),
    "another archive in front": streamed() + streamed(),
    "bytes in front": b"x" + packed(),
    "bytes behind": streamed() + b"x",
    "a comment": packed(comment=streamed()),
    "another length before an entry": shorter(packed()),
}


@pytest.mark.parametrize("kind", HONEST)
def test_bundles_are_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(HONEST[kind])
    assert unpacked(path) == READ


@pytest.mark.parametrize("kind", OTHERS)
def test_what_has_room_for_other_files_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(OTHERS[kind])
    with pytest.raises(UnreadableError):
        unpacked(path)
