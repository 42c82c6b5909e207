"""Archives that are made while they are sent: what others unpack is what was put in, always in the same bytes."""

import io
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from app.releases.bundle import Entry, zipped

CONTENT = {"a.csv": b"x\n1\n" * 1000, "leer.txt": b"", "große Daten.bin": bytes(range(256)) * 300}


def archive(chunk: int) -> list[bytes]:
    return list(
        zipped(
            Entry(name, len(raw), [raw[at : at + chunk] for at in range(0, len(raw), chunk)])
            for name, raw in CONTENT.items()
        )
    )


def test_what_is_unpacked_is_what_was_put_in(tmp_path: Path) -> None:
    raw = b"".join(archive(1000))
    with zipfile.ZipFile(io.BytesIO(raw)) as bundle:
        assert bundle.testzip() is None
        assert {each.filename: bundle.read(each) for each in bundle.infolist()} == CONTENT
        assert {each.date_time for each in bundle.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    if shutil.which("unzip"):
        (tmp_path / "a.zip").write_bytes(raw)
        subprocess.run(["unzip", "-q", "a.zip"], cwd=tmp_path, check=True)
        assert (tmp_path / "a.csv").read_bytes() == CONTENT["a.csv"]


def test_the_same_content_has_the_same_bytes_however_it_comes() -> None:
    assert b"".join(archive(1000)) == b"".join(archive(77))


def test_it_is_sent_as_it_is_made() -> None:
    names = []

    def chunks(name: str) -> list[bytes]:
        names.append(name)
        return [b"1"]

    sent = zipped(Entry(name, 1, chunks(name)) for name in ("a", "b"))
    next(sent)
    assert names == ["a"]


@pytest.mark.parametrize("size", [1, 1 << 31])
def test_large_entries_have_long_lengths(size: int) -> None:
    """An entry that is said to be large may become so: its lengths have room, and it is unpacked all the same."""
    raw = b"".join(zipped([Entry("a", size, [b"x"])]))
    assert (b"\x01\x00\x10\x00" in raw) == (size > 1)  # the extra field of zip64, of two lengths
    with zipfile.ZipFile(io.BytesIO(raw)) as bundle:
        assert bundle.read("a") == b"x"
