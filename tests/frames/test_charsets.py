"""Text in other encodings than UTF-8, and files that are no text at all."""

import io
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.errors import UnreadableError
from tests.frames.reading import read, types

TABLE = "næme;pläce\nÅse;Übersee\n“Zoë”;naïve € x\n"
CELLS = {"næme": ["Åse", "“Zoë”"], "pläce": ["Übersee", "naïve € x"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_an_encoding_is_found_and_said(tmp_path: Path, encoding: str) -> None:
    profile, columns = read(tmp_path, TABLE.encode(encoding), format="csv", quote="")
    assert columns == CELLS
    expected = {"utf-8": None, "utf-8-sig": None, "cp1252": "windows-1252"}.get(encoding, encoding)
    assert profile.options is not None
    assert profile.options.charset == expected
    assert [one.code for one in profile.warnings] == (["charset_detected"] if expected else [])
    assert not list(tmp_path.glob("*.utf8")), "what was rewritten is gone"


@pytest.mark.parametrize(
    ("charset", "encoding"), [("windows-1252", "cp1252"), ("utf-16", "utf-16"), ("iso-8859-15", "iso-8859-15")]
)
def test_an_encoding_that_is_given_is_taken_without_a_warning(tmp_path: Path, charset: str, encoding: str) -> None:
    profile, columns = read(tmp_path, "a;b\né;1\nø;2\n".encode(encoding), format="csv", charset=charset)
    assert (columns, profile.warnings) == ({"a": ["é", "ø"], "b": [1, 2]}, ())


def test_characters_that_lie_across_pieces_are_whole(tmp_path: Path) -> None:
    rows = 400_000
    for encoding in ("utf-16", "cp1252"):
        body = ("x;y\n" + "é;1\n" * rows).encode(encoding)
        profile, columns = read(tmp_path, body, format="csv")
        assert (profile.rows, set(columns["x"])) == (rows, {"é"})


@pytest.mark.parametrize("line", ["sep=;\n", "sep=;\r\n", '"sep=;"\n', "\ufeffsep=;\n"])
def test_a_separator_in_the_first_line_is_heeded(tmp_path: Path, line: str) -> None:
    profile, columns = read(tmp_path, (line + "a;b\n1,5;2\n2,5;3\n").encode(), format="csv", decimal=",")
    assert (types(profile), columns["a"]) == ({"a": "number", "b": "integer"}, [1.5, 2.5])
    assert profile.options is not None
    assert (profile.options.delimiter, profile.options.skip_rows) == (";", 1)


def archive(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(name, "x")
    return file.getvalue()


def parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (archive("xl/workbook.xml"), "an Excel workbook"),
        (archive("table.csv"), "a ZIP archive"),
        (parquet(), "a Parquet file"),
        (b"$FL2@(#) SPSS DATA FILE" + bytes(100), "an SPSS file"),
        (b"<stata_dta><header><release>118" + bytes(100), "a Stata file"),
        (bytes([114, 2, 1, 0]) + bytes(200), "a Stata file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "an old Office document"),
        (b"BZh91AY" + bytes(100), "compressed with bzip2"),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "tsv", "ndjson"])
def test_a_file_of_another_format_is_named_for_what_it_is(tmp_path: Path, body: bytes, named: str, kind: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read(tmp_path, body, format=kind)
    assert caught.value.detail.startswith(f"The file is {named}")
