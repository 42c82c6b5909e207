"""Archives that one unpacker reads otherwise than another are no bundles."""

import io
import struct
import subprocess
import sys
import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from app.releases.bundle import Entry, zipped
from surebox_verify.bundle import unpacked
from surebox_verify.certificate import read_certificate
from surebox_verify.envelope import UnreadableError, read_envelope
from tests.drawing import seeds
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


FORGED = b"box,age_lo\n1,0\n"
STORED, DEFLATED, FOLLOWS = 0, 8, 8


def deflated(raw: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(raw) + packer.flush()


@dataclass(frozen=True)
class Stated:
    """An entry as its header or the directory states it."""

    name: bytes
    method: int = STORED
    flags: int = 0
    check: int = 0
    packed: int = 0
    size: int = 0

    def before(self) -> bytes:
        lengths = self.check, self.packed, self.size, len(self.name), 0
        return struct.pack("<4s5H3I2H", b"PK\3\4", 20, self.flags, self.method, 0, 33, *lengths) + self.name

    def listed(self, place: int) -> bytes:
        lengths = self.check, self.packed, self.size, len(self.name), *[0] * 5, place
        return struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, self.flags, self.method, 0, 33, *lengths) + self.name


def after(raw: bytes, packed: bytes) -> bytes:
    """The descriptor after an entry whose lengths are not before it."""
    return struct.pack("<4s3I", b"PK\x07\x08", zlib.crc32(raw), len(packed), len(raw))


def entry(name: bytes, raw: bytes, method: int = STORED, flags: int = 0) -> tuple[Stated, Stated, bytes]:
    """An honest entry: its header, its line in the directory, and its bytes."""
    packed = deflated(raw) if method else raw
    listed = Stated(name, method, flags, zlib.crc32(raw), len(packed), len(raw))
    before = replace(listed, check=0, packed=0, size=0) if flags & FOLLOWS else listed
    return before, listed, packed + (after(raw, packed) if flags & FOLLOWS else b"")


def archive(entries: list[tuple[Stated, Stated, bytes]], ahead: int = 0) -> bytes:
    """An archive whose end states its directory's place so many bytes ahead."""
    raw, listed = b"", b""
    for before, one, content in entries:
        listed += one.listed(len(raw) + ahead)
        raw += before.before() + content
    lengths = len(entries), len(entries), len(listed), len(raw) + ahead
    return raw + listed + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, *lengths, 0)


def from_the_beginning(raw: bytes) -> dict[str, bytes]:
    """The files of an archive, the last of each name, for a reader that sees its directory last or never."""
    place, files = 0, {}
    while raw[place : place + 4] == b"PK\3\4":
        flags, method, size, name, extra = struct.unpack_from("<2xHH12xIHH", raw, place + 4)
        called, begin = raw[place + 30 : place + 30 + name].decode(), place + 30 + name + extra
        if method == DEFLATED:
            stream = zlib.decompressobj(-15)
            content = stream.decompress(raw[begin:])
            place = len(raw) - len(stream.unused_data)
        else:
            end = raw.find(after(b"", b"")[:4], begin) if flags & FOLLOWS and not size else begin + size
            content, place = raw[begin:end], end
        files[called] = content
        place += 16 if flags & FOLLOWS else 0
    return files


def hiding(name: bytes, content: bytes, *, hidden: bytes = b"release.csv") -> dict[str, bytes]:
    """Archives whose directory has honest files, and in one entry of which a reader from the beginning has another."""
    honest = [
        entry(b"certificate.dsse.json", b"{}"),
        *([] if name == b"release.csv" else [entry(b"release.csv", TRUE)]),
    ]
    forged = entry(hidden, FORGED, DEFLATED, FOLLOWS)
    inner = forged[0].before() + forged[2]
    before, listed, packed = entry(name, content, DEFLATED, FOLLOWS)
    body = packed + inner[:-16]
    plain = content + after(content, content) + inner
    short = Stated(name, STORED, 0, zlib.crc32(content), len(content), len(content))
    whole = content + inner
    of_whole = replace(short, check=zlib.crc32(whole), packed=len(whole), size=len(whole))
    of_plain = replace(of_whole, check=zlib.crc32(plain), packed=len(plain), size=len(plain))
    as_packed = packed + inner
    of_packed = replace(of_whole, check=zlib.crc32(as_packed), packed=len(as_packed), size=len(as_packed))
    longer = deflated(content + FORGED)
    of_longer = Stated(name, DEFLATED, FOLLOWS, zlib.crc32(content), len(longer), len(content))
    return {
        "after what is packed": archive([*honest, (before, replace(listed, packed=len(body)), body + inner[-16:])]),
        "after a shorter length": archive(
            [*honest, (replace(of_whole, check=short.check, size=short.size), of_whole, whole)]
        ),
        "after the end that is searched for": archive(
            [*honest, (Stated(name, STORED, FOLLOWS), replace(of_plain, flags=FOLLOWS), plain + after(plain, plain))]
        ),
        "behind another method": archive([*honest, (before, replace(of_packed, flags=FOLLOWS), as_packed)]),
        "after the length of the directory": archive(
            [*honest, (before, of_longer, longer + after(content + FORGED, longer))]
        ),
    }  # fmt: skip


TRUE = FILES["release.csv"]
FORGERIES = {
    f"{name.decode()}: {kind}": raw
    for name in (b"notes.txt", b"report.html")
    for kind, raw in hiding(name, b"<p>hello").items()
} | {f"release.csv: {kind}": raw for kind, raw in hiding(b"release.csv", TRUE).items() if "searched" not in kind}


@pytest.mark.parametrize("kind", FORGERIES)
def test_an_entry_in_which_a_reader_from_the_beginning_has_another_file_is_refused(tmp_path: Path, kind: str) -> None:
    raw, path = FORGERIES[kind], tmp_path / "bundle.zip"
    path.write_bytes(raw)
    with zipfile.ZipFile(path) as listed:
        files = {name: listed.read(name) for name in listed.namelist() if name in from_the_beginning(raw)}
    assert from_the_beginning(raw) != files, "this archive hides nothing"
    with pytest.raises(UnreadableError):
        unpacked(path)


def test_an_end_that_states_the_directory_elsewhere_is_refused(tmp_path: Path) -> None:
    """Some read where it states, and others right before it."""
    honest = [entry(b"certificate.dsse.json", b"{}"), entry(b"release.csv", TRUE)]
    path = tmp_path / "bundle.zip"
    path.write_bytes(archive(honest))
    assert unpacked(path).files == READ
    path.write_bytes(archive(honest, ahead=len(honest[0][1].listed(0))))
    with pytest.raises(UnreadableError):
        unpacked(path)


@pytest.mark.parametrize("seed", seeds(6))
def test_one_reads_from_the_beginning_what_the_directory_has_whatever_was_changed(tmp_path: Path, seed: int) -> None:
    draw, path = Random(seed), tmp_path / "bundle.zip"
    contents = {"release.csv": TRUE * draw.randint(1, 3000), "report.html": bytes(draw.choice([0, 1 << 20, 2_000_003]))}
    honest = archive([
        entry(name.encode(), raw, draw.choice([STORED, DEFLATED]), draw.choice([0, FOLLOWS]))
        for name, raw in contents.items()
    ])  # fmt: skip
    path.write_bytes(honest)
    assert unpacked(path).files == {"release.csv": contents["release.csv"]}
    assert from_the_beginning(honest) == contents
    heads = [place + at for place in (0, honest.index(b"report.html") - 30) for at in range(4, 30)]
    for _ in range(200):
        changed = bytearray(honest)
        changed[draw.choice(heads)] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        try:
            read = unpacked(path)
        except UnreadableError:
            continue
        assert from_the_beginning(bytes(changed)) == contents
        assert read.files == {"release.csv": contents["release.csv"]}


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
