"""Parquet uploads: types, limits, bombs, corrupt files."""

import datetime as dt
import io
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.errors import InvalidError, TooLargeError, UnreadableError
from tests.frames.reading import read, types


def encoded(table: pa.Table | dict[str, Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), buffer, **options)
    return buffer.getvalue()


DAY = dt.datetime(2024, 2, 29)  # noqa: DTZ001 (columns without a time zone)
NOON = DAY.replace(hour=12, minute=30)


@pytest.mark.parametrize(
    ("array", "kind", "values"),
    [
        (pa.array([1, None, -3], pa.int8()), "integer", [1, None, -3]),
        (pa.array([2**63 - 1, 0], pa.uint64()), "integer", [2**63 - 1, 0]),
        (pa.array([2**64 - 1, 0], pa.uint64()), "string", [str(2**64 - 1), "0"]),
        (pa.array(np.array([0.5, np.nan], np.float16)), "number", [0.5, None]),
        (pa.array([0.1, math.inf], pa.float32()), "number", [float(np.float32(0.1)), math.inf]),
        (pa.array([0.1, math.nan, None], pa.float64()), "number", [0.1, None, None]),
        (pa.array([Decimal("12.50"), None], pa.decimal128(20, 2)), "number", [12.5, None]),
        (pa.array([Decimal(12), None], pa.decimal128(30, 0)), "integer", [12, None]),
        (pa.array([Decimal(10**25), None], pa.decimal128(30, 0)), "string", [str(10**25), None]),
        (pa.array([True, None]), "boolean", [True, None]),
        (pa.array([DAY.date(), None]), "date", [DAY.date(), None]),
        (pa.array([DAY.date()], pa.date64()), "date", [DAY.date()]),
        (pa.array([DAY, None], pa.timestamp("ns")), "date", [DAY.date(), None]),
        (pa.array([dt.datetime(1900, 3, 1), DAY], pa.timestamp("ms")), "date", [dt.date(1900, 3, 1), DAY.date()]),  # noqa: DTZ001
        (pa.array([NOON, DAY], pa.timestamp("s")), "string", ["2024-02-29T12:30:00.000", "2024-02-29T00:00:00.000"]),
        (pa.array([NOON], pa.timestamp("ms", "Europe/Berlin")), "string", ["2024-02-29T12:30:00.000Z"]),
        (pa.array([dt.time(1, 2, 3)], pa.time32("s")), "string", ["01:02:03.000"]),
        (pa.array(["x", "", None]), "string", ["x", None, None]),
        (pa.array(["x", "é"], pa.large_string()), "string", ["x", "é"]),
        (pa.array([b"x", "é".encode()], pa.binary()), "string", ["x", "é"]),
        (pa.array(["x", None, "x"]).dictionary_encode(), "string", ["x", None, "x"]),
        (pa.array([5, 5, None]).dictionary_encode(), "integer", [5, 5, None]),
        (pa.nulls(2), "string", [None, None]),
        (pa.array([None, None], pa.string()), "string", [None, None]),
    ],
)
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_types_of_parquet_become_ours(
    tmp_path: Path, array: pa.Array, kind: str, values: list[Any], compression: str
) -> None:
    version = "1.0" if compression == "none" and not pa.types.is_float16(array.type) else "2.6"
    data = encoded({"a.b": array, "a": list(range(len(array)))}, compression=compression, version=version)
    profile, table = read(tmp_path, data, format="parquet")
    assert types(profile)["a.b"] == kind
    assert table["a.b"] == values


def test_int96_timestamps_and_old_page_versions_are_read(tmp_path: Path) -> None:
    data = encoded(
        {"t": pa.array([NOON], pa.timestamp("ns"))}, use_deprecated_int96_timestamps=True, data_page_version="2.0"
    )
    assert read(tmp_path, data, format="parquet")[1] == {"t": ["2024-02-29T12:30:00.000000"]}


@pytest.mark.parametrize(
    "array",
    [
        pa.array([[[1]], [[2]]]), pa.array([[{"x": 1}]]), pa.array([[b"12"]]), pa.array([{"x": 1}]),
        pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array([dt.timedelta(1)]), pa.array([b"12"], pa.binary(2)),
    ],
)  # fmt: skip
def test_nested_and_foreign_columns_are_refused_by_name(tmp_path: Path, array: pa.Array) -> None:
    with pytest.raises(UnreadableError, match="Column 'odd' has "):
        read(tmp_path, encoded({"good": pa.array([1] * len(array)), "odd": array}), format="parquet")


def test_all_columns_that_are_refused_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"Column 'x' has .*; column 'y' has ") as caught:
        read(tmp_path, encoded({"x": pa.array([{"a": 1}]), "y": pa.array([dt.timedelta(1)])}), format="parquet")
    assert "give each a column of its own" in caught.value.detail


def test_a_value_that_cannot_be_what_is_asked_is_named_by_its_record(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidError, match="column 'x' cannot be read as integer without loss, for the value in record 3"
    ):
        read(tmp_path, encoded({"x": [1.0, 2.0, 3.5]}), format="parquet", type={"x": "integer"})


@pytest.mark.parametrize(
    "lists",
    [
        pa.array([["b", "a", "b"], ["a", "b"], [], None, [None, "c"]]),
        pa.array([["b", "a", "b"], ["a", "b"], [], None, [None, "c"]], pa.large_list(pa.large_string())),
        pa.array([["b", "a", "b"], ["a", "b"], [], None, [None, "c"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    ],
)
def test_lists_of_plain_values_are_sets_written_as_a_release_writes_them(tmp_path: Path, lists: pa.Array) -> None:
    _, columns = read(tmp_path, encoded({"s": lists}), format="parquet")
    assert columns["s"] == ['["a", "b"]', '["a", "b"]', "[]", None, '["c", null]']


def test_sets_of_numbers_days_and_flags_have_an_order_of_their_own(tmp_path: Path) -> None:
    table = {
        "n": pa.array([[10, 9], [9, 10]]), "x": pa.array([[1.5, float("nan")], [None, 1.5]]),
        "d": pa.array([[dt.date(2020, 1, 2), dt.date(2020, 1, 1)], []]), "f": pa.array([[True, False], [False]]),
        "e": pa.array([[5, 4], [4, 4]], pa.list_(pa.int32(), 2)),
    }  # fmt: skip
    _, columns = read(tmp_path, encoded(table), format="parquet")
    assert columns == {
        "n": ["[9, 10]", "[9, 10]"], "x": ["[1.5, null]", "[1.5, null]"],
        "d": ['["2020-01-01", "2020-01-02"]', "[]"], "f": ["[false, true]", "[false]"], "e": ["[4, 5]", "[4]"],
    }  # fmt: skip


def test_lists_are_measured_before_they_are_expanded(tmp_path: Path) -> None:
    many = pa.ListArray.from_arrays(pa.array([0, 10_000_000]), pa.array(np.zeros(10_000_000, np.int64)))
    data = encoded({"s": many})
    assert len(data) < 100_000
    with pytest.raises(TooLargeError, match="at most 10000000 are accepted"):
        read(tmp_path, data, format="parquet", max_bytes=10_000_000)
    words = encoded({"s": pa.array([["x" * 90] * 1_000] * 100)})
    assert len(words) < 100_000
    with pytest.raises(TooLargeError, match="'s' has a value longer than 50000 bytes"):
        read(tmp_path, words, format="parquet", max_field_bytes=50_000)
    with pytest.raises(TooLargeError, match="once decoded"):
        read(tmp_path, words, format="parquet", max_bytes=1_000_000)


def test_a_day_outside_the_calendar_or_bytes_that_are_no_text_are_refused_by_column(tmp_path: Path) -> None:
    with pytest.raises(
        UnreadableError, match="Column 'a' cannot be held as date: the value in record 1 is a day outside"
    ):
        read(tmp_path, encoded({"a": pa.array([2**30], pa.int32()).cast(pa.date32())}), format="parquet")
    with pytest.raises(
        UnreadableError, match="Column 'a' cannot be held as string: the value in record 1 is no text"
    ) as caught:
        read(tmp_path, encoded({"a": pa.array([b"secret\xff"], pa.binary())}), format="parquet")
    assert "secret" not in caught.value.detail
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_missing_tokens_apply_to_values_of_every_type(tmp_path: Path) -> None:
    table = {"s": ["?", "x"], "i": [-9, 1], "x": [-9.0, 0.5]}
    columns = read(tmp_path, encoded(table), format="parquet", missing_values=["?", "-9"])[1]
    assert columns == {"s": [None, "x"], "i": [None, 1], "x": [None, 0.5]}


def test_types_asked_for_are_given_or_refused(tmp_path: Path) -> None:
    table = {"s": ["007", "?"], "i": [1, None], "x": [1.0, 2.0], "t": [DAY, DAY]}
    declared = {"s": "integer", "i": "string", "x": "integer", "t": "string"}
    columns = read(tmp_path, encoded(table), format="parquet", missing_values=["?"], type=declared)[1]
    assert columns["s"] == [7, None]
    assert columns["i"] == ["1", None]
    assert columns["x"] == [1, 2]
    assert columns["t"][0].startswith("2024-02-29T00:00:00")
    with pytest.raises(
        InvalidError, match="column 's': 2 cells cannot be read as integer, the first in record 2"
    ) as caught:
        read(tmp_path, encoded({"s": ["1", "secret", "secret"]}), format="parquet", type={"s": "integer"})
    assert "secret" not in repr(caught.value.problem())
    for column, kind in (([1.5], "integer"), ([NOON], "date"), ([True], "date")):
        with pytest.raises(InvalidError, match="column 'a' cannot be read as"):
            read(tmp_path, encoded({"a": column}), format="parquet", type={"a": kind})


def test_a_small_file_of_one_value_repeated_is_refused_by_its_metadata(tmp_path: Path) -> None:
    data = encoded({f"c{i}": pa.array(np.zeros(1_000_000)) for i in range(5)})
    assert len(data) < 100_000
    with pytest.raises(TooLargeError, match="takes 40000000 bytes"):
        read(tmp_path, data, format="parquet", max_bytes=39_999_999)


def test_a_small_file_whose_dictionary_expands_is_refused_while_reading(tmp_path: Path) -> None:
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3_000_000, np.int32)), pa.array(["x" * 90_000]))
    data = encoded({"a": words}, compression="zstd")
    assert len(data) < 100_000  # 270 GB of text
    with pytest.raises(TooLargeError, match="takes more than 1000000000 bytes"):
        read(tmp_path, data, format="parquet")


def test_long_texts_are_read_in_pieces_and_too_long_ones_refused(tmp_path: Path) -> None:
    words = ["x" * 90_000 + str(i % 7) for i in range(2_000)]
    assert read(tmp_path, encoded({"a": words}), format="parquet")[1]["a"] == words
    with pytest.raises(TooLargeError, match="Column 'a' has a value longer than 90000 bytes"):
        read(tmp_path, encoded({"a": words}), format="parquet", max_field_bytes=90_000)


def test_tables_without_records_or_with_bad_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="no records"):
        read(tmp_path, encoded({"a": pa.array([], pa.int64())}), format="parquet")
    with pytest.raises(UnreadableError, match="columns 1 and 2 have the same name"):
        read(tmp_path, encoded(pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"])), format="parquet")
    with pytest.raises(TooLargeError, match="2 columns; at most 1"):
        read(tmp_path, encoded({"a": [1], "b": [1]}), format="parquet", max_columns=1)


def test_corrupt_files_are_clear_problems(tmp_path: Path) -> None:
    data = encoded({"a": list(range(10_000)), "s": [f"secret{i}" for i in range(10_000)]}, compression="zstd")
    for broken in (b"", b"PAR1", b"a,b\n1,2\n", data[:-1], data[: len(data) // 2], data[8:]):
        with pytest.raises(UnreadableError):
            read(tmp_path, broken, format="parquet")
    rng = np.random.default_rng(1)
    for _ in range(150):
        changed = bytearray(data)
        for position in rng.integers(0, len(data), 3):
            changed[position] ^= int(rng.integers(1, 256))
        detail = ""
        try:
            read(tmp_path, bytes(changed), format="parquet")
        except (UnreadableError, TooLargeError) as error:
            detail = error.detail
        assert "secret" not in detail


def test_words_that_occur_often_are_warned_of_as_in_text(tmp_path: Path) -> None:
    """Words of a dictionary are looked at once, the cells of text one by one: both count alike."""
    words = ["1,5", "=cmd", "-", "NA", "", "2,25", "word"]
    cells = np.random.default_rng(3).choice([*words, "1,5", "2,25", "2,25"], 2000).tolist()
    nearly = ["7" if cell in words[1:3] else cell for cell in cells]
    body = "a;b\n" + "".join(f'"{one}";"{other}"\n' for one, other in zip(cells, nearly, strict=True))
    table = {"a": pa.array([cell or None for cell in cells]), "b": pa.array([cell or None for cell in nearly])}
    expected, _ = read(tmp_path, body.encode(), format="csv", missing_values=["NA"], delimiter=";")
    profile, _ = read(tmp_path, encoded(table), format="parquet", missing_values=["NA"])
    both = [[one for one in each.warnings if one.code == "spreadsheet_cells"] for each in (expected, profile)]
    assert both[0] == both[1]
    assert len(both[0]) == 1
    pointers = [[one.pointer for one in each.warnings] for each in (expected, profile)]
    assert pointers[0] == pointers[1]
