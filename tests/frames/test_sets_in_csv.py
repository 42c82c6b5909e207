"""Sets in CSV: plain by column or JSON arrays, read back as they were; and numbers of files for spreadsheets."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow.csv import read_csv

from app.contracts.releases import ReleaseFormat
from surebox_verify.envelope import UnreadableError
from surebox_verify.released.boxes import boxes_of
from surebox_verify.released.files import rows
from surebox_verify.released.formats import difference
from surebox_verify.released.frames import frame_of
from surebox_verify.released.listed import lists
from surebox_verify.released.singles import are_plain, array, plain, sets_of
from tests.drawing import seeds
from workers.frames.release import write_release
from workers.frames.rows import Taken

#: Texts that some reader of CSV, or a spreadsheet, has as something else; those that one has so where all are such; and
#: such that all have as they are.
ALIKE = [
    "true", "FALSE", "F", "t", "yes", "No", "y", "N", "2020-01-01", "01/02/2020", "12:30", "10:05:00 PM",
    "2020-01-01T10:00:00Z", "10-14",
]  # fmt: skip
STRANGE = [
    "", "[", "[1]", '["a"]', " lead", "trail ", "\ta", "=1+1", "@x", "-5", "+1", "'=x", "NA", "nan", "null", "None",
    "N/A", "1", "01", "1e5", "1.5", "inf", "1_0", "0x10", "1,5", ".5", "1 000", "1.000.000",
]  # fmt: skip
ORDINARY = [
    "a",
    "b c",
    "a,b",
    'say "x"',
    "line\nbreak",
    "é",
    "'quoted",
    "a]",
    "x=1",
    "12 Main St",
    "5%",
    "yes, often",
    "full-time",
    "2020W01",
    "🙂",
    "\ufeffa",
]
TEXT_FORMATS = [ReleaseFormat.CSV, ReleaseFormat.CSV_GZ, ReleaseFormat.CSV_EXCEL, ReleaseFormat.NDJSON]
KINDS = {"box": "integer", "job_set": "list", "age_lo": "number", "age_hi": "number", "text_set": "string"}

members = st.sampled_from([*STRANGE, *ALIKE, *ORDINARY]) | st.text(max_size=4)
texts = st.lists(st.none() | st.lists(members | st.none(), min_size=1, max_size=2, unique=True), min_size=1)
singles = st.lists(st.none() | st.lists(members, min_size=1, max_size=1), min_size=1)
ordinary = st.lists(st.none() | st.lists(st.sampled_from(ORDINARY), min_size=1, max_size=1), min_size=1)
others = [
    st.lists(st.none() | st.lists(kind, min_size=1, max_size=size, unique=True), min_size=1)
    for kind in (st.integers(-(2**63), 2**63 - 1), st.booleans())
    for size in (1, 2)
]


@given(st.one_of(texts, singles, ordinary, *others))
@example([["1"], ["2"]])
@example([["true"], None])
@example([[1], None, [-3]])
@example([["a"], ["[b"]])
@example([[True], [False]])
def test_sets_are_read_back_from_csv_without_a_word_about_the_column(sets: list[list[Any] | None]) -> None:
    spelled = plain if are_plain(sets) else array
    cells = [None if each is None else spelled(each) for each in sets]
    again = sets_of(cells)
    assert [(each, [type(one) for one in each or ()]) for each in again] == [
        (each, [type(one) for one in each or ()]) for each in sets
    ]
    assert "" not in cells


@given(st.one_of(singles, ordinary))
def test_a_plain_text_is_what_every_reader_has_and_no_spreadsheet_runs(sets: list[list[Any] | None]) -> None:
    if not are_plain(sets):
        return
    cells = [plain(each) for each in sets if each is not None]
    assert not [cell for cell in cells if cell != cell.strip() or cell[0] in "[=+-@\t"]
    text = "\n".join(["x,y", *(f'"{cell.replace(chr(34), chr(34) * 2)}",1' for cell in cells)])
    read = pd.read_csv(io.StringIO(text, newline=""), lineterminator="\n")["x"].tolist()
    assert [str(each) for each in read] == cells
    assert not cells or not all(isinstance(each, (bool, int, float)) for each in read)


@pytest.mark.parametrize("value", STRANGE)
def test_a_value_that_readers_have_as_another_keeps_its_column_in_arrays(value: str) -> None:
    assert not are_plain([[value]])
    assert not are_plain([*[["word"]] * 3, [value]]), "readers decide by the first rows, and these may be others"


@pytest.mark.parametrize("value", ALIKE)
def test_a_value_that_readers_have_as_another_beside_its_like_is_plain_beside_words(value: str) -> None:
    assert not are_plain([[value]])
    assert are_plain([["word"], [value]])


@pytest.mark.parametrize("values", [["F", "M"], ["0-9", "10-14", "80 and more"], ["Y", "N", "unknown"], ["1st", "2nd"]])
def test_usual_codes_are_plain(tmp_path: Path, values: list[str]) -> None:
    cells = [plain([values[row % len(values)]]) for row in range(30)]
    assert are_plain([[value] for value in values])
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["row,x", *(f"word,{cell}" for cell in cells), ""]))
    for read in READERS.values():
        assert read(path)[1] == cells


looks = st.text("0123456789abcdefxTZPM:/.,-+ _%", min_size=1, max_size=10)
words = st.sampled_from(
    [*STRANGE, *ALIKE, *ORDINARY, "on", "off", "1st", "Jan 2020", "infinity", "0b1", "(null)", "#a", "{a}"]
)
READERS: dict[str, Callable[[Path], list[list[Any]]]] = {
    "pandas": lambda path: [each.tolist() for _, each in pd.read_csv(path).items()],
    "polars": lambda path: [each.to_list() for each in pl.read_csv(path)],
    "polars, with days": lambda path: [each.to_list() for each in pl.read_csv(path, try_parse_dates=True)],
    "pyarrow": lambda path: [each.to_pylist() for each in read_csv(path).columns],
    "duckdb": lambda path: [list(each) for each in zip(*duckdb.read_csv(str(path)).fetchall(), strict=True)],
}


@pytest.mark.parametrize("library", READERS)
@given(st.lists(looks | words, min_size=4, max_size=12))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_column_of_one_plain_text_is_of_that_text_to_every_reader(
    tmp_path: Path, library: str, texts: list[str]
) -> None:
    cells = [plain([text]) for text in texts if are_plain([[text]]) and "\n" not in text]
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [["row", *(f"c{at}" for at in range(len(cells)))], *[["word", *cells]] * 3]
        )
    assert READERS[library](path)[1:] == [[cell] * 3 for cell in cells]


def test_numbers_with_a_fraction_two_values_and_missing_ones_keep_their_column_in_arrays() -> None:
    assert not are_plain([[1.5], [2.0]])
    assert not are_plain([["a"], ["a", "b"]])
    assert not are_plain([["a"], [None]])
    assert not are_plain([["a"], []])
    assert are_plain([["a"], None, ["b"]])


def test_a_column_that_has_both_is_refused_by_its_name() -> None:
    for cells in (['["a"]', "b"], ["[", "[1]"], ["[1", None]):
        with pytest.raises(UnreadableError, match="'job_set'"):
            lists(pa.chunked_array([pa.array(cells)]), "job_set")


def table(draw: Random, values: list[str]) -> dict[str, Any]:
    """Columns of a release: sets, bounds, and a text that is called like a column of sets."""
    boxes, count = draw.randint(1, 5), draw.randint(1, 40)
    held = [draw.sample(values, draw.choice([1, 1, 2])) if draw.random() < 0.5 else [draw.choice(values)]
            for _ in range(boxes)]  # fmt: skip
    sets = [None if draw.random() < 0.1 else each for each in held]
    units = np.array([draw.randrange(boxes) for _ in range(count)])
    ends = np.array([draw.choice([1.5, -0.0, 1e-7, 1e22, 2.0, float("nan"), float("inf")]) for _ in range(boxes)])
    return {
        "box": Taken(np.arange(boxes), units),
        "job_set": Taken(pa.array(sets, pa.large_list(pa.large_string())), units),
        "age_lo": Taken(ends, units),
        "age_hi": Taken(ends, units),
        "text_set": pa.array([draw.choice(["1,5", "[x", "", None, "y;z", "="]) for _ in range(count)]),
    }


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("seed", seeds(8))
def test_every_format_has_the_same_rows_whatever_separates(tmp_path: Path, seed: int, delimiter: str) -> None:
    draw = Random(seed)
    columns = table(draw, draw.sample([*ORDINARY, *STRANGE], draw.choice([2, 6])) if seed % 2 else ORDINARY[:3])
    formats = TEXT_FORMATS[: 4 if np.isfinite(columns["age_lo"].values).all() else 3]
    files = write_release(columns, tmp_path, formats, delimiter=delimiter)
    whole = files[ReleaseFormat.PARQUET].path.read_bytes()
    for name in formats:
        data = files[name].path.read_bytes()
        assert difference((whole, "parquet"), (data, name), KINDS) is None
        again = rows(data, name, KINDS)
        assert again.column("job_set").to_pylist() == pl.read_parquet(whole)["job_set"].to_list()
        assert again.column("text_set").to_pylist() == pl.read_parquet(whole)["text_set"].to_list()
        assert str(again.column("age_lo").cast(pa.float64()).to_pylist()) == str(
            pl.read_parquet(whole)["age_lo"].to_list()
        )


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_file_of_before_is_read_by_its_points_and_arrays(delimiter: str) -> None:
    text = pl.DataFrame({"box": [1, 2], "job_set": ['["a"]', '["b", "c"]'], "age_lo": [1.5, 2.0], "t": ["1,5", "x"]})
    buffer = io.BytesIO()
    buffer.write("\ufeff".encode())
    text.write_csv(buffer, separator=delimiter, quote_style="non_numeric")
    read = rows(
        buffer.getvalue(), "csv.excel", {"box": "integer", "job_set": "list", "age_lo": "number", "t": "string"}
    )
    assert read.to_pydict() == {"box": [1, 2], "job_set": [["a"], ["b", "c"]], "age_lo": [1.5, 2.0], "t": ["1,5", "x"]}


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize(
    "values", [[1.5, None, 1e-7], [2.0, 3.0, None], [float("inf"), -0.5, 1.0], [1.5e300, -2.5e-300, 1e22]]
)
def test_a_file_of_one_column_of_numbers_is_read_whatever_its_mark(
    tmp_path: Path, values: list[float | None], delimiter: str
) -> None:
    files = write_release({"x": pa.array(values)}, tmp_path, [ReleaseFormat.CSV_EXCEL], delimiter=delimiter)
    data = files[ReleaseFormat.CSV_EXCEL].path.read_bytes()
    parquet = files[ReleaseFormat.PARQUET].path.read_bytes()
    assert difference((parquet, "parquet"), (data, "csv.excel"), {"x": "number"}) is None
    if delimiter == ";":
        assert b"." not in data


def test_a_spreadsheet_that_has_decimal_commas_has_numbers(tmp_path: Path) -> None:
    """By the reader of Python, whose cells are as a spreadsheet splits them."""
    columns = {"x": pa.array([1.5, 1234567.25, None]), "n": pa.array([1, 2, 3]), "t": pa.array(["1.5", "a;b", None])}
    files = write_release(columns, tmp_path, [ReleaseFormat.CSV_EXCEL], delimiter=";")
    text = files[ReleaseFormat.CSV_EXCEL].path.read_text("utf-8-sig")
    assert list(csv.reader(io.StringIO(text), delimiter=";")) == [
        ["x", "n", "t"], ["1,5", "1", "1.5"], ["1234567,25", "2", "a;b"], ["", "3", ""],
    ]  # fmt: skip


@pytest.mark.parametrize("values", [["a", "b"], [1, 2], [True, False]])
def test_boxes_of_a_frame_that_another_library_read_from_plain_csv_are_the_same(
    tmp_path: Path, values: list[Any]
) -> None:
    kind = pa.large_list(pa.array(values).type)
    units = np.array([0, 0, 1, 1, 2])
    columns = {
        "box": Taken(np.array([1, 2, 3]), units),
        "job_set": Taken(pa.array([[values[0]], [values[1]], None], kind), units),
        "age_lo": Taken(np.array([1, 2, 3]), units),
        "age_hi": Taken(np.array([2, 3, 4]), units),
    }
    assert columns["job_set"].is_plain
    files = write_release(columns, tmp_path, [ReleaseFormat.CSV])
    path = files[ReleaseFormat.CSV].path
    assert "[" not in path.read_text()
    expected = boxes_of(rows(files[ReleaseFormat.PARQUET].path.read_bytes(), "parquet"), ["job", "age"])
    for frame in (str(path), pl.read_csv(path), pd.read_csv(path)):
        if isinstance(values[0], bool) and isinstance(frame, pd.DataFrame):
            continue  # truths with missing ones are objects there, which no column of a release is
        boxes = boxes_of(frame_of(frame), ["job", "age"])
        assert boxes.codebooks == expected.codebooks
        np.testing.assert_array_equal(boxes.sets[0], expected.sets[0])
        kinds = {"job_set": "list", "box": "integer", "age_lo": "integer", "age_hi": "integer"}
        again = boxes_of(frame_of(frame, kinds), ["job", "age"])
        np.testing.assert_array_equal(again.sets[0], expected.sets[0])


def test_a_list_that_no_row_has_does_not_decide() -> None:
    held = pa.array([["a"], ["b", "c"], ["d"]], pa.large_list(pa.large_string()))
    assert Taken(held, np.array([0, 2])).is_plain
    assert not Taken(held, np.array([0, 1])).is_plain
    assert Taken(held, np.array([0, 0, 1]), np.array([2, 0])).is_plain
    assert not Taken(held, np.array([0, 1]), np.array([2, 1])).is_plain
    text = Taken(held, np.array([0, 2])).as_text()
    assert text is not None
    assert text.of(np.array([0, 2])).to_pylist() == ["a", "d"]
