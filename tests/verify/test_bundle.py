"""Archives that one unpacker reads otherwise than another are no bundles."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from app.releases.bundle import Entry, zipped
from surebox_verify.bundle import unpacked
from surebox_verify.certificate import read_certificate
from surebox_verify.envelope import UnreadableError, read_envelope
from tests.verify.made import Issuer, statement

FILES = {"release.csv": b"box,age_lo\n1,17\n", "report.html": b"<p>" + b"x" * 40, "certificate.dsse.json": b"{}"}
READ = {"release.csv": FILES["release.csv"]}


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
    bundle = unpacked(path)
    assert (bundle.files, bundle.envelope, bundle.others) == (READ, b"{}", ("report.html",))


@pytest.mark.parametrize("kind", OTHERS)
def test_what_has_room_for_other_files_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(OTHERS[kind])
    with pytest.raises(UnreadableError):
        unpacked(path)


@pytest.mark.parametrize("version", [1, 2])
def test_certificates_of_unreleased_versions_are_not_read_as_todays(version: int) -> None:
    """Their ordinal columns counted from 0: nothing of them is checked by what numbers mean now."""
    issuer = Issuer.new()
    body = statement({}, []) | {"predicateType": f"urn:surebox:certificate:{version}"}
    with pytest.raises(UnreadableError, match=rf"certificate:{version}\) is of an unreleased version"):
        read_certificate(read_envelope(issuer.sign(body)))


@pytest.mark.parametrize(("name", "predicate"), [("bundle", 1), ("ordinal", 2)])
def test_a_bundle_that_an_unreleased_version_made_is_refused_in_one_sentence(
    tmp_path: Path, name: str, predicate: int
) -> None:
    """The second has a mean of `education` of 1.0, whose values low, mid and high counted as 0, 1 and 2."""
    bundle = (Path(__file__).with_name("before") / name).with_suffix(".zip")
    keys = tmp_path / "jwks.json"
    keys.write_bytes(zipfile.ZipFile(bundle).read("jwks.json"))
    program = Path(sys.executable).with_name("surebox-verify")
    done = subprocess.run([program, bundle, "--keys", keys], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == (
        f"The certificate (urn:surebox:certificate:{predicate}) is of an unreleased version of Surebox, whose fields "
        "and numbers meant something else: the surebox-verify of that version reads it, this one checks nothing of it."
    )
