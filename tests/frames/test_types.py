"""The types of text columns, against plain Python."""

import json
import math
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.errors import InvalidError
from tests.drawing import examples
from tests.frames.reading import read, types

_INTEGER = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)
_DECIMAL = re.compile(r"-?((0|[1-9]\d*)(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"-?(nan|inf|infinity)", re.IGNORECASE)


def expected(cells: list[str]) -> tuple[str, list[Any]]:
    """Type and values of a column by the documented rules, the slow way."""
    present = [c for c in cells if c]
    if present and all(map(_is_whole, present)):
        return "integer", [None if c.lower() in {"", "nan"} else int(Decimal(c)) for c in cells]
    wide = any(_INTEGER.fullmatch(c) and abs(int(c)) > 2**53 for c in present)
    if present and not wide and all(_DECIMAL.fullmatch(c) or _WORD.fullmatch(c) for c in present):
        numbers = [float(c) if c else None for c in cells]
        return "number", [None if x is None or math.isnan(x) else x for x in numbers]
    if present and all(c.lower() in {"true", "false"} for c in present):
        return "boolean", [c.lower() == "true" if c else None for c in cells]
    if present and all(_is_day(c) for c in present):
        return "date", [date.fromisoformat(c) if c else None for c in cells]
    return "string", [c or None for c in cells]


def _is_whole(cell: str) -> bool:
    if _INTEGER.fullmatch(cell):
        return -(2**63) <= int(cell) < 2**63
    if cell.lower() == "nan" or not _DECIMAL.fullmatch(cell):
        return cell.lower() == "nan"
    number = Decimal(cell)
    digits = re.sub("e.*", "", cell.lower()).lstrip("-")
    if int((digits.rstrip("0") if "." in digits else digits).replace(".", "") or "0") > 2**53:
        return False  # written with more digits than a double holds
    return number == 0 or (
        0 <= number.adjusted() < 17 and abs(number) <= 2**53 and number == number.to_integral_value()
    )


def _is_day(cell: str) -> bool:
    try:
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", cell, re.ASCII)) and bool(date.fromisoformat(cell))
    except ValueError:
        return False


integers = st.integers(-(2**66), 2**66).map(str) | st.integers(-99, 99).map(str)
floats = st.floats().map(repr) | st.floats(-1e6, 1e6).map(lambda x: f"{x:.3f}")
endings = st.sampled_from([".0", ".", "e0", "00e-2"])
whole = st.tuples(st.integers(-(2**54), 2**54).map(str), endings).map("".join)
odd = st.sampled_from([
    "62.0", "1e+05", "1.20e1", "1200e-2", "1250e-2", "0.0", "-0.0", ".0",
    "007", "0", "-0", "00", "0.5", "-.5", "5.", "+5", "1e5", "1E-400", "1e999", "-", ".", "e5", "NaN", "nan",
    "-Infinity", "INF", "in", "True", "FALSE", "truee", "2024-02-29", "2023-02-29", "0000-01-01", "2024-1-1",
    "9999-12-31", "0001-01-01", "2024-12-31x", "1_000", "0x10", "1e", "1.2.3", "--1", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "9007199254740993", "٣",
])  # fmt: skip
days = st.dates().map(str)
booleans = st.sampled_from(["true", "False", "TRUE"])
columns = st.one_of(
    *(st.lists(st.just("") | kind, min_size=1, max_size=8) for kind in (integers, floats, whole, odd, days, booleans)),
    st.lists(st.one_of(integers, floats, odd, days), min_size=1, max_size=4),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("types")


@settings(deadline=None, max_examples=examples(300))
@given(columns)
@example(["9007199254741000e-2"])
def test_a_column_has_the_type_and_values_plain_python_gives_it(folder: Path, cells: list[str]) -> None:
    text = "a,b\n" + "".join(f"{cell},x\n" for cell in cells)
    profile, table = read(folder, text.encode(), format="csv")
    kind, values = expected(cells)
    assert types(profile)["a"] == kind
    assert repr(table["a"]) == repr(values)  # repr tells -0.0 from 0.0


def test_whole_numbers_are_integers_however_a_gap_made_them_be_written(tmp_path: Path) -> None:
    """A column with a gap is one of doubles in pandas, R, SAS and SPSS: its numbers are whole all the same."""
    cells: list[Any] = [62.0, None, 3.0, 1e5, float("nan")]
    frame = pd.DataFrame({"a": cells, "b": [0.5, 1.0, None, 2.0, 3.0]})
    lines = "".join(
        json.dumps({"a": a, "b": b}) + "\n"
        for a, b in zip([62.0, None, 3.0, 1e5, None], [0.5, 1, 1, 1, 1], strict=True)
    )
    bodies = {
        "csv": frame.to_csv(index=False).encode(), "parquet": frame.to_parquet(index=False), "ndjson": lines.encode(),
    }  # fmt: skip
    for kind, body in bodies.items():
        profile, table = read(tmp_path, body, format=kind)
        assert types(profile) == {"a": "integer", "b": "number"}, kind
        assert table["a"] == [62, None, 3, 100_000, None]
        assert [(one.code, one.pointer) for one in profile.warnings] == [("whole_numbers", "/columns/0")]
        for declared in ("number", "integer"):
            profile, table = read(tmp_path, body, format=kind, type={"a": declared})
            assert (types(profile)["a"], table["a"]) == (declared, [62, None, 3, 100_000, None])
            assert not profile.warnings
        with pytest.raises(InvalidError, match="cannot be read as integer"):
            read(tmp_path, body, format=kind, type={"b": "integer"})
    profile, table = read(tmp_path, bodies["parquet"], format="parquet", missing_values=["62.0"])
    assert (types(profile)["a"], table["a"][0]) == ("integer", None)


def test_types_are_those_of_the_whole_column_not_of_its_beginning(tmp_path: Path) -> None:
    rows = 600_000
    text = "a,b\n" + "1,x\n" * rows + "1.5,x\n"
    profile, table = read(tmp_path, text.encode(), format="csv")
    assert types(profile) == {"a": "number", "b": "string"}
    assert table["a"][-2:] == [1.0, 1.5]


def test_missing_tokens_quoted_or_not_and_empty_fields_are_missing(tmp_path: Path) -> None:
    text = b'a,b,c\n?,"?",x\n-9,"",\n3,NA,""\n'
    profile, table = read(tmp_path, text, format="csv", missing_values=["?", "-9", "NA"])
    assert table == {"a": [None, None, 3], "b": [None, None, None], "c": ["x", None, None]}
    assert types(profile) == {"a": "integer", "b": "string", "c": "string"}


def test_infinities_are_values_and_counted_and_nan_is_missing(tmp_path: Path) -> None:
    profile, table = read(tmp_path, b"a\n1.5\ninf\n-Infinity\nNaN\n-2\n", format="csv")
    assert table["a"] == [1.5, math.inf, -math.inf, None, -2.0]
    summary = profile.numeric["a"]
    assert (summary.finite_minimum, summary.finite_maximum, summary.infinite) == (-2.0, 1.5, 2)


def test_integers_beyond_2_to_53_stay_exact(tmp_path: Path) -> None:
    profile, table = read(tmp_path, b"a\n9007199254740993\n-9223372036854775808\n", format="csv")
    assert types(profile) == {"a": "integer"}
    assert table["a"] == [2**53 + 1, -(2**63)]


def test_a_type_asked_for_overrules_what_would_be_inferred(tmp_path: Path) -> None:
    text = b"a,b,c,d\n007,1,+5,9007199254740993\n+8,2,00.5,1.5\n"
    declared = {"a": "integer", "b": "string", "c": "number", "d": "number"}
    profile, table = read(tmp_path, text, format="csv", type=declared)
    assert types(profile) == declared
    assert table == {"a": [7, 8], "b": ["1", "2"], "c": [5.0, 0.5], "d": [9007199254740992.0, 1.5]}


@pytest.mark.parametrize("kind", ["integer", "number", "boolean", "date"])
def test_cells_that_are_not_of_the_type_asked_for_are_counted_and_the_first_line_named(
    tmp_path: Path, kind: str
) -> None:
    good = {"integer": "4", "number": "4.5", "boolean": "true", "date": "2020-01-31"}[kind]
    text = f'a,b\n"{good}\n",{good}\n{good},\n{good},secret1\n{good},secret2\n'.encode()
    with pytest.raises(InvalidError) as caught:
        read(tmp_path, text, format="csv", type={"b": kind})
    assert "column 'b': 2 cells" in caught.value.detail
    assert "line 5" in caught.value.detail
    assert caught.value.errors[0].pointer == "?type"
    assert "secret" not in repr(caught.value.problem())


def test_a_type_for_a_column_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="no column is named 'zip'"):
        read(tmp_path, b"a\n1\n", format="csv", type={"zip": "string"})
