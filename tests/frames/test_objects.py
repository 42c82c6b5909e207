"""Newline-delimited JSON against Python's json module."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.contracts.datasets import ReadOptions
from app.errors import TooLargeError, UnreadableError
from tests.drawing import examples
from tests.frames.reading import read, types
from workers.frames.upload.cells import MISSING
from workers.frames.upload.objects import ObjectReader
from workers.frames.upload.text import read_text

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
keys = st.sampled_from(["a", "b", "ä", 'q"', "long key", "\n", "a\\"])
values = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | texts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("objects")


@settings(deadline=None, max_examples=examples(300))
@given(
    rows=st.lists(st.dictionaries(keys, values, max_size=5), min_size=1, max_size=6),
    ascii_only=st.booleans(),
    separators=st.sampled_from([(",", ":"), (" , ", " :\t"), (", ", ": ")]),
    line_end=st.sampled_from(["\n", "\r\n", "\n \n"]),
    block_bytes=st.integers(16, 200),
)
def test_any_flat_objects_give_the_cells_the_json_module_reads(
    folder: Path,
    rows: list[dict[str, Any]],
    ascii_only: bool,
    separators: tuple[str, str],
    line_end: str,
    block_bytes: int,
) -> None:
    lines = [json.dumps(row, ensure_ascii=ascii_only, separators=separators) for row in rows]
    path = folder / "file.ndjson"
    path.write_bytes(line_end.join(lines).encode())
    reader = ObjectReader(path, max_columns=9, max_field_bytes=1_000, block_bytes=block_bytes)
    for _ in range(2):
        records = []
        for cells in reader.batches():
            for row in range(cells.rows):
                record = {}
                for column in range(cells.width):
                    f = row * cells.width + column
                    if cells.kind[f] != MISSING:
                        record[reader.names[column]] = bytes(cells.buffer[cells.start[f] : cells.end[f]]).decode()
                records.append(record)
        assert records == [
            {
                key: value if isinstance(value, str) else json.dumps(value)
                for key, value in row.items()
                if value is not None
            }
            for row in rows
        ]
    assert reader.names == list(dict.fromkeys(key for row in rows for key in row))


def test_types_come_from_the_values_and_absent_keys_are_missing(tmp_path: Path) -> None:
    rows = [
        {"i": 1, "x": 1, "s": "5", "b": True, "d": "2024-02-29", "m": 1},
        {"x": 2.5, "s": "", "b": None, "d": "2023-01-01", "m": "x"},
        {"i": 2**63 - 1, "late": 7, "x": math.inf, "m": True, "s": "é\u0001"},
        {"x": math.nan},
    ]
    data = "\n".join(json.dumps(row) for row in rows).encode()
    profile, table = read(tmp_path, data, format="ndjson")
    assert types(profile) == {
        "i": "integer", "x": "number", "s": "string", "b": "boolean", "d": "date", "m": "string", "late": "integer",
    }  # fmt: skip
    assert table["i"] == [1, None, 2**63 - 1, None]
    assert table["x"] == [1.0, 2.5, math.inf, None]
    assert table["s"] == ["5", None, "é\u0001", None]
    assert table["b"] == [True, None, None, None]
    assert table["m"] == ["1", "x", "true", None]
    assert table["late"] == [None, None, 7, None]


def test_one_key_in_two_spellings_is_one_column(tmp_path: Path) -> None:
    _, table = read(tmp_path, b'{"a":1}\n{"\\u0061":2}\n', format="ndjson")
    assert table == {"a": [1, 2]}


def test_texts_can_be_read_as_the_type_asked_for(tmp_path: Path) -> None:
    _, table = read(
        tmp_path, b'{"a":"007","b":12,"c":"-"}\n{"a":"8","b":1.50,"c":"3"}\n', format="ndjson",
        type={"a": "integer", "b": "string", "c": "integer"}, missing_values=["-"],
    )  # fmt: skip
    assert table == {"a": [7, 8], "b": ["12", "1.50"], "c": [None, 3]}


def test_arrays_of_plain_values_are_sets_in_any_order_and_block(tmp_path: Path) -> None:
    lines = [
        '{"a":["b","a"],"n":[10,9.5],"x":1}', '{"a":["a", "b","a"],"n":[],"x":2}', '{"a":null,"n":[null,true],"x":3}',
        '{"a":["]","\\"[","\\u00e9"],"n":7,"x":4}',
    ]  # fmt: skip
    profile, table = read(tmp_path, ("\n".join(lines) + "\n").encode() * 500, format="ndjson")
    first = ['["a", "b"]', '["a", "b"]', None, json.dumps(['"[', "]", "é"], ensure_ascii=False)]
    assert table["a"] == first * 500
    assert table["n"] == ["[9.5, 10]", "[]", "[true, null]", "7"] * 500
    assert table["x"] == [1, 2, 3, 4] * 500
    assert types(profile) == {"a": "string", "n": "string", "x": "integer"}


def test_sets_of_numbers_that_are_equal_or_beyond_any_double_have_one_order(tmp_path: Path) -> None:
    long = "1" + "0" * 400
    _, table = read(tmp_path, f'{{"a":[1.0,{long},1]}}\n{{"a":[{long},1,1.0]}}\n'.encode(), format="ndjson")
    assert table["a"] == [f"[1, 1.0, {long}]"] * 2


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ('{"a":{"secret":1}}', "Line 3, key 'a': the value is an object"),
        ('{"a":["secret",["secret"]]}', "Line 3, key 'a': the value is an object, or an array with values inside"),
        ('{"a":[{"secret":1}]}', "Line 3, key 'a': the value is an object, or an array with values inside"),
        ('{"new":[[]]}', "Line 3, key 'new': the value is an object, or an array with values inside"),
        ('{"a":["secret",]}', "Line 3, key 'a': this is no JSON array of plain values"),
        ('{"a":["secret" "b"]}', "Line 3, key 'a': this is no JSON array of plain values"),
        ('{"a":["secret\\ud800"]}', "Line 3, key 'a': this is no JSON array of plain values"),
        ('{"a":["secret"', "Line 3, key 'a': this is not one whole JSON object"),
        ('{"a":1,"a":2}', "Line 3, key 'a': the key occurs twice"),
        ('{"a":1,"\\u0061":2}', "Line 3, key 'a': the key occurs twice"),
        ('{"a":"secret\\ud800"}', "Line 3, key 'a': the string has a wrong escape"),
        ('{"a":"secret\\u0000"}', "Line 3, key 'a': the string has a wrong escape"),
        ('{"a":"secret\\x"}', "Line 3, key 'a': the string has a wrong escape"),
        ('{"a":"secret\\u12"}', "Line 3, key 'a': the string has a wrong escape"),
        ('{"\\ud800":1}', "Line 3: a key is no text"),
        ('{"":1}', "Line 3: column 1 has no name"),
        ("[1]", "Line 3: this is not one whole JSON object"),
        ('{"a":1', "Line 3, key 'a': this is not"),
        ('{"a":1,}', "Line 3, key 'a': this is not"),
        ('{"a":1}{"a":2}', "Line 3, key 'a': this is not"),
        ('{"a":01}', "Line 3, key 'a': this is not"),
        ('{"a":+1}', "Line 3, key 'a': this is not"),
        ('{"a":1.}', "Line 3, key 'a': this is not"),
        ('{"a":tru}', "Line 3, key 'a': this is not"),
        ('{"a" 1}', "Line 3: this is not"),
        ('{"a":"secret}', "Line 3, key 'a': this is not"),
        ('{a:1}', "Line 3: this is not"),
        ("secret", "Line 3: this is not"),
        ('{"a":"secret\x00"}', "Line 3, key 'a': there is a NUL byte"),
    ],
)  # fmt: skip
def test_what_is_not_one_flat_object_a_line_is_refused_with_its_line(tmp_path: Path, second: str, message: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read(tmp_path, b'{"a":1}\n\n' + second.encode() + b"\n", format="ndjson")
    assert caught.value.detail.startswith(message)
    assert "secret" not in caught.value.detail


def test_too_many_keys_and_too_long_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TooLargeError, match="Line 2: more than 2 different keys"):
        read(tmp_path, b'{"a":1}\n{"b":1,"c":1}\n', format="ndjson", max_columns=2)
    with pytest.raises(TooLargeError, match="Line 1, key 'a': the value is longer than 5 bytes"):
        read(tmp_path, b'{"a":"secret"}\n', format="ndjson", max_field_bytes=5)


def test_objects_without_keys_hold_no_table(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        read(tmp_path, b"{}\n{}\n", format="ndjson")


def test_many_sparse_objects_are_read_in_small_blocks(tmp_path: Path) -> None:
    path = tmp_path / "sparse.ndjson"
    path.write_text("\n".join(json.dumps({f"k{i % 50}": i, "all": i}) for i in range(2_000)))
    options = ReadOptions(format="ndjson")
    reader = ObjectReader(path, max_columns=51, max_field_bytes=99, block_bytes=64)
    profile = read_text(reader, options, tmp_path / "out.parquet", lambda _: None)
    assert profile.rows == 2_000
    assert {c.missing for c in profile.columns} == {0, 1_960}
