"""The splitter of delimited text against Python's csv module."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.contracts.datasets import ReadOptions
from app.errors import UnreadableError
from tests.drawing import examples
from workers.frames.upload.delimited import DelimitedReader

SETTINGS = settings(deadline=None, max_examples=examples(300))
Rows = list[tuple[int, list[str]]]


def split(path: Path, text: str, block_bytes: int, **options: object) -> tuple[list[str], Rows]:
    """Names, and line and fields of each record."""
    path.write_text(text, encoding="utf-8", newline="")
    reader = DelimitedReader(
        path, ReadOptions(format="csv", **options), max_columns=100, max_field_bytes=1_000, block_bytes=block_bytes
    )
    rows: Rows = []
    for cells in reader.batches():
        fields = [bytes(cells.buffer[s:e]).decode() for s, e in zip(cells.start, cells.end, strict=True)]
        for row in range(cells.rows):
            rows.append((int(cells.line[row]), fields[row * cells.width : (row + 1) * cells.width]))
    return reader.names, rows[: len(rows) - reader.trailing_blanks]


def oracle(text: str, **dialect: object) -> Rows | None:
    """What the csv module reads, blank lines left out; None: it refuses, or rows differ in length."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, **dialect)
    rows, line = [], 1
    try:
        for fields in reader:
            rows.append((line, fields))
            line = reader.line_num + 1
    except csv.Error:
        return None
    while rows and not rows[-1][1]:
        rows.pop()
    while rows and not rows[0][1]:
        rows.pop(0)
    width = len(rows[0][1]) if rows else 0
    rows = [(line, fields or [""]) for line, fields in rows if fields or width == 1]
    return rows if all(len(fields) == width for _, fields in rows) else None


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("delimited") / "file.csv"


@SETTINGS
@given(
    text=st.text(alphabet='a1,";\n\r é', max_size=60),
    block_bytes=st.integers(16, 80),
    delimiter=st.sampled_from(",;"),
    quote=st.sampled_from(['"', "'", ""]),
)
@example(text='"a\r\nb",1\r2,"""x"""\n\n', block_bytes=16, delimiter=",", quote='"')
@example(text='a"b,c\n', block_bytes=16, delimiter=",", quote='"')
@example(text='""\n', block_bytes=16, delimiter=",", quote='"')
def test_any_text_is_split_as_the_csv_module_does(
    path: Path, text: str, block_bytes: int, delimiter: str, quote: str
) -> None:
    quoting = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    expected = oracle(text, delimiter=delimiter, **quoting)
    options = {"delimiter": delimiter, "quote": quote, "trim": False, "header": False}
    if expected is None:
        with pytest.raises(UnreadableError, match=r"^Line \d+"):
            split(path, text, block_bytes, **options)
    else:
        assert split(path, text, block_bytes, **options)[1] == expected


@SETTINGS
@given(
    table=st.integers(2, 5).flatmap(
        lambda width: st.lists(
            st.lists(st.text(alphabet='ab ,";|\n\r\té漢', max_size=12), min_size=width, max_size=width),
            min_size=1,
            max_size=8,
        )
    ),
    delimiter=st.sampled_from(",;|\t"),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    everything=st.booleans(),
    byte_order_mark=st.booleans(),
    last_end=st.booleans(),
    block_bytes=st.integers(16, 200),
)
def test_any_table_in_any_dialect_reads_back(
    path: Path, table: list[list[str]], delimiter: str, line_end: str, everything: bool, byte_order_mark: bool,
    last_end: bool, block_bytes: int,
) -> None:  # fmt: skip
    def field(text: str) -> str:  # the csv module of Python 3.11 leaves a lone CR unquoted
        plain = text and not everything and not set(text) & {delimiter, '"', "\r", "\n"}
        return text if plain else '"' + text.replace('"', '""') + '"'

    text = line_end.join(delimiter.join(map(field, row)) for row in table) + line_end * last_end
    _, rows = split(path, "\ufeff" * byte_order_mark + text, block_bytes, delimiter=delimiter, trim=False, header=False)
    assert [fields for _, fields in rows] == table


def test_blanks_around_fields_and_around_their_quotes_are_trimmed(path: Path) -> None:
    names, rows = split(path, ' a ,\t"b c" , d\n 1 , " 2 ""x"" " ,\t3\t\n', 64)
    assert names == ["a", "b c", "d"]
    assert rows == [(2, ["1", ' 2 "x" ', "3"])]


def test_a_tab_that_separates_is_not_a_blank(path: Path) -> None:
    assert split(path, "a\tb\tc\n\t \t1\n", 64, delimiter="\t")[1] == [(2, ["", "", "1"])]


def test_lines_to_skip_comments_and_blank_lines_do_not_count_as_records(path: Path) -> None:
    text = '# one\r\n"junk\rthird\n\n#c\na,b\n#"\n1,2\n\n#3,4\n5,"#6\n"\n\n\n'
    names, rows = split(path, text, 16, skip_rows=3, comment="#")
    assert names == ["a", "b"]
    assert rows == [(8, ["1", "2"]), (11, ["5", "#6\n"])]


def test_a_blank_line_in_a_file_of_one_column_is_a_missing_cell_unless_it_trails(path: Path) -> None:
    assert split(path, "a\n1\n\n  \n2\n\n\n", 16)[1] == [(2, ["1"]), (3, [""]), (4, [""]), (5, ["2"])]
    assert split(path, 'a\n1\n""\n', 16)[1] == [(2, ["1"]), (3, [""])]


def test_a_record_longer_than_the_buffer_is_read(path: Path) -> None:
    long = "x" * 900
    assert split(path, f"a,b\n{long},{long}\n1,2\n", 16)[1] == [(2, [long, long]), (3, ["1", "2"])]
