"""What reading refuses, and that it does so without showing a cell or leaving a file."""

import gzip
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from app.errors import InvalidError, SureboxError, TooLargeError, UnreadableError
from tests.frames.reading import read

CSV = {"format": "csv"}


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"", CSV, "The file is empty."),
        (b"\n \n\r\n", CSV, "The file is empty."),
        (b"\xef\xbb\xbf", CSV, "The file is empty."),
        (b"a,b\n", CSV, "The file has a header but no records."),
        (b"a,b", CSV, "The file has a header but no records."),
        (b"a\n\n\n", CSV, "The file has a header but no records."),
        (
            b"a,b\n1,2\n3\n",
            CSV,
            "Line 3: expected 2 fields, found 1: there is none for column 2 ('b')",
        ),
        (
            b'a,b\n"x\ny",2\n\nsecret,4,5\n',
            CSV,
            "Line 5: expected 2 fields, found 3: there is more",
        ),
        (
            b'a,b\r\n"x\r\ny",2\r\nsecret,4,5\r\n',
            CSV,
            "Line 4: expected 2 fields, found 3: there is more",
        ),
        (
            b'a,b\r"x\ry",2\rsecret,4,5',
            CSV,
            "Line 4: expected 2 fields, found 3: there is more",
        ),
        (b'a,b\n1,2\n3,"secret\n\n', CSV, "Line 3, column 2 ('b'): the quote opened here is never closed; close it"),
        (b'a,b\n1,2\n"secret"secret,2\n', CSV, "Line 3, column 1 ('a'): there is text after the closing quote"),
        (
            b"a,b\n\xc3\xa9,2\nsecret\xe9,2\n",
            CSV,
            "Line 3, column 1 ('a'): there is a byte that is not",
        ),
        (b"\xc3\xa9,\xe9\n1,2\n", CSV, "Line 1, column 2: there is a byte that is not UTF-8"),
        (
            b"a,b\n1,2\nsecret\x81,2\n",
            CSV,
            "Line 3, column 1 ('a'): there is a byte that is not",
        ),
        (
            b"a,b\n1,2\nsecret\x81,2\n",
            {"format": "csv", "charset": "windows-1252"},
            "Line 3: a byte that is not windows",
        ),
        (b"a,b\n1,\x002\n", CSV, "Line 2, column 2: there is a NUL byte"),
        pytest.param(gzip.compress(b"a,b\n1,2\n", mtime=0), CSV, "The file is compressed with gzip", id="gzip"),
        (b"a,secret,secret\n1,2,3\n", CSV, "Line 1: columns 2 and 3 have the same name"),
        (b"\n#c\na,,b\n1,2,3\n", {"format": "csv", "comment": "#"}, "Line 3: column 2 has no name"),
        (b"a," + b"n" * 1001 + b"\n1,2\n", CSV, "Line 1: the name of column 2 is longer than 1000 characters"),
        (b"1,2\n", {"format": "csv", "header": False, "column": ["a", "a"]}, "`column`: columns 1 and 2"),
        (
            b"a\tb\n1\t2\t3\n",
            {"format": "tsv"},
            "Line 2: expected 2 fields, found 3: there is more",
        ),
    ],
)
def test_an_unreadable_file_is_refused_with_the_place_and_never_a_cell(
    tmp_path: Path, data: bytes, options: dict[str, object], message: str
) -> None:
    with pytest.raises(UnreadableError) as caught:
        read(tmp_path, data, **options)
    assert caught.value.detail.startswith(message)
    assert "secret" not in caught.value.detail
    assert sorted(path.name for path in tmp_path.iterdir()) == ["upload"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": "é"}, "`delimiter` must be one ASCII character"),
        ({"delimiter": "\n"}, "`delimiter` must be one ASCII character"),
        ({"quote": "«"}, "`quote` must be one ASCII character"),
        ({"delimiter": ";", "quote": ";"}, "`quote` must differ from the delimiter"),
        ({"quote": " "}, "`quote` cannot be a blank"),
        ({"column": ["a", "b"]}, "`column` names columns of a file without a header"),
        ({"header": False, "column": ["a"]}, "`column` names 1 columns, and line 1 has 2"),
        ({"format": "ndjson", "delimiter": ";"}, "`delimiter` applies to CSV and TSV only"),
        ({"format": "parquet", "header": False}, "`header` applies to CSV and TSV only"),
        ({"format": "ndjson", "skip_rows": 2}, "`skip_rows` applies to CSV and TSV only"),
    ],
)
def test_options_that_cannot_be_applied_are_refused_by_name(
    tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidError) as caught:
        read(tmp_path, b"a,b\n1,2\n", **{"format": "csv", **options})
    assert caught.value.detail.startswith(message)
    assert caught.value.errors[0].pointer == "?" + message.split("`")[1]


@pytest.mark.parametrize(
    ("data", "limits", "message"),
    [
        (b"a,b,c\n1,2,3\n", {"max_columns": 2}, "Line 1 has 3 columns; at most 2"),
        (b"a,b\n1,2\n3,secret\n", {"max_field_bytes": 5}, "Line 3, column 2 ('b'): the field is longer than 5 bytes"),
        (b'a,b\n1,2\n3,"secret', {"max_field_bytes": 5}, "Line 3, column 2 ('b'): the field is longer than 5 bytes"),
        (b"a,b\n1,2\n", {"max_bytes": 7}, "The file has 8 bytes; at most 7"),
    ],
)
def test_limits_are_kept(tmp_path: Path, data: bytes, limits: dict[str, int], message: str) -> None:
    with pytest.raises(TooLargeError) as caught:
        read(tmp_path, data, format="csv", **limits)
    assert caught.value.detail.startswith(message)


def test_a_quote_never_closed_in_a_large_file_is_found_at_its_line_before_the_file_is_in_memory(tmp_path: Path) -> None:
    data = b'a,b\n1,2\n3,"4\n' + b"5,6\n" * 5_000_000
    with pytest.raises(TooLargeError, match="Line 3, column 2"):
        read(tmp_path, data, format="csv", max_field_bytes=1_000_000)


def test_names_without_a_header_are_given_or_numbered(tmp_path: Path) -> None:
    assert read(tmp_path, b"1,x\n2,y", format="csv", header=False)[1] == {"column_1": [1, 2], "column_2": ["x", "y"]}
    assert read(tmp_path, b"1,x\n2,y", format="csv", header=False, column=["n", "t"])[1] == {
        "n": [1, 2],
        "t": ["x", "y"],
    }


class _CancelledError(Exception):
    pass


@pytest.mark.parametrize("after", [0.0, 0.3, 0.6, 0.95])
def test_what_a_tick_raises_ends_the_reading_and_removes_the_copy(tmp_path: Path, after: float) -> None:
    def tick(fraction: float) -> None:
        if fraction >= after:
            raise _CancelledError

    with pytest.raises(_CancelledError):
        read(tmp_path, b"a,b,c\n" + b"12345,67890,text\n" * 1_500_000, format="csv", tick=tick)


def test_ticks_come_often_and_rise(tmp_path: Path) -> None:
    seen: list[tuple[float, float]] = []
    read(tmp_path, b"a,b\n1,2\n", format="csv")  # compiled code is loaded now
    read(
        tmp_path, b"a,b,c\n" + b"12345,67890,text\n" * 1_500_000, format="csv",
        tick=lambda fraction: seen.append((time.process_time(), fraction)),
    )  # fmt: skip
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions)
    assert fractions[-1] <= 1
    assert max(b[0] - a[0] for a, b in pairwise(seen)) < 2


_MEASURE = """
import sys
from pathlib import Path
from app.contracts.datasets import ReadOptions
from workers.frames.upload.read import read_upload
source = Path(sys.argv[1])
read_upload(source, ReadOptions(format=source.suffix[1:]), source.with_suffix(".parquet"), max_columns=99,
            max_field_bytes=10**6, max_bytes=10**9, tick=lambda _: None)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize("format_", ["csv", "ndjson"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, format_: str) -> None:
    head, row = (
        (b"a,b,c\n", b'1234.5,"a ""quoted"" text",2020-01-01\n')
        if format_ == "csv"
        else (b"", b'{"a":1.5,"b":"text"}\n')
    )
    peaks = []
    for rows in (500_000, 4_000_000):
        path = tmp_path / f"{rows}.{format_}"
        path.write_bytes(head + row * rows)
        out = subprocess.run(
            [sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True, check=True, cwd=Path.cwd()
        )
        peaks.append(int(out.stdout) / 1024)
    assert peaks[1] - peaks[0] < 100
    assert peaks[1] < 700


def test_no_problem_shows_a_cell_whatever_bytes_are_changed(tmp_path: Path) -> None:
    """Every single-byte change of a file is read or refused, and no refusal shows what stood in a cell."""
    data = b'name,age\n"secretone",31\nsecrettwo,32\n'
    for position in range(len(data)):
        for byte in (0, 34, 44, 10, 13, 0xFF, 57):
            detail = ""
            try:
                read(
                    tmp_path,
                    data[:position] + bytes([byte]) + data[position + 1 :],
                    format="csv",
                    type={"age": "integer"},
                )
            except SureboxError as error:
                detail = error.detail
            assert not {"secretone", "secrettwo", "31", "32"} & set(detail.replace("'", " ").split())
