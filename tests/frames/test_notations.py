"""Numbers and days as people of other places write them, and what is said where nobody said so."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.contracts.advice import MISSING_WORDS
from app.errors import InvalidError
from tests.drawing import examples
from tests.frames.reading import read, types

SPACES = [" ", "\u00a0", "\u202f"]
some = settings(deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(number: Decimal, decimal: str, thousands: str) -> str:
    """A number as a person writes it, by Python's own grouping."""
    return f"{number:,f}".translate(str.maketrans({",": thousands, ".": decimal}))


@some
@given(
    numbers=st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=20),
    marks=st.sampled_from([(",", "."), (",", ""), (".", ","), (",", " "), (".", "'"), (",", "_")]),
    space=st.sampled_from(SPACES),
)
def test_numbers_of_every_notation(tmp_path: Path, numbers: list[Decimal], marks: tuple[str, str], space: str) -> None:
    decimal, thousands = marks
    lines = [written(n, decimal, space if thousands == " " else thousands) for n in numbers]
    body = "x;y\n" + "".join(f"{line};{line}\n" for line in lines)
    options = {"thousands": thousands} if thousands else {}
    profile, columns = read(
        tmp_path, body.encode(), format="csv", delimiter=";", decimal=decimal, type={"y": "string"}, **options
    )
    whole = all(n == n.to_integral_value() for n in numbers)
    assert types(profile) == {"x": "integer" if whole else "number", "y": "string"}
    assert columns["x"] == [float(n) for n in numbers]
    assert columns["y"] == lines, "what stays text stays as it was written"


@pytest.mark.parametrize("cell", ["1.5", "1,2,3", "12,34", "1.23,4", "1.2345", ".123", "1..234", "1.234.56"])
def test_a_cell_of_another_notation_is_text(tmp_path: Path, cell: str) -> None:
    body = f"x;y\n1.234,5;1\n{cell};2\n".encode()
    profile, columns = read(tmp_path, body, format="csv", delimiter=";", decimal=",", thousands=".")
    plain = cell == "12,34"
    assert types(profile)["x"] == ("number" if plain else "string")
    assert columns["x"] == ([1234.5, 12.34] if plain else ["1.234,5", cell])


@some
@given(
    days=st.lists(st.dates(date(1, 1, 1)), min_size=1, max_size=20),
    form=st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d-%b-%Y", "%Y/%m/%d", "%d %m %Y"]),
)
def test_days_of_every_format(tmp_path: Path, days: list[date], form: str) -> None:
    year = [form.replace("%Y", f"{day.year:04}") for day in days]
    lines = [day.strftime(text) for day, text in zip(days, year, strict=True)]
    body = "x;y\n" + "".join(f"{line};{day.isoformat()}\n" for line, day in zip(lines, days, strict=True))
    profile, columns = read(tmp_path, body.encode(), format="csv", delimiter=";", date_format=form)
    assert types(profile) == {"x": "date", "y": "date"}
    assert columns == {"x": days, "y": days}


@pytest.mark.parametrize(
    "cell", ["30.02.2020", "29.02.2021", "1.13.2020", "1.1.20", "01.01.02020", "0.1.2020", "1.1.0000", "1/1/2020", "x"]
)
def test_what_is_no_day_is_text(tmp_path: Path, cell: str) -> None:
    profile, columns = read(
        tmp_path, f"x,y\n1.2.2020,1\n{cell},2\n".encode(), format="csv", delimiter=",", date_format="%d.%m.%Y"
    )
    assert types(profile)["x"] == "string"
    assert columns["x"] == ["1.2.2020", cell]


def test_a_type_that_is_asked_for_is_read_in_its_notation(tmp_path: Path) -> None:
    body = b"x;y\n1.234;1,5\n2;2,5\n"
    options = {"format": "csv", "delimiter": ";", "decimal": ",", "thousands": "."}
    _, columns = read(tmp_path, body, type={"x": "integer", "y": "number"}, **options)
    assert columns == {"x": [1234, 2], "y": [1.5, 2.5]}
    with pytest.raises(InvalidError, match="line 3"):
        read(tmp_path, body.replace(b"2,5", b"2.5"), type={"y": "number"}, **options)


@pytest.mark.parametrize(
    ("body", "delimiter"),
    [
        (b"a;b\n1,5;2\n1,6;3\n", ";"),
        (b"1,5;2,5\n1,6;3,5\n", ";"),
        (b"a\tb\n1 2\t3\n", "\t"),
        (b"a|b\n1|2\n", "|"),
        (b"a,b\n1,2;3\n4,5\n", ","),
        (b'"a;x",b\n"1;2",3\n', ","),
        (b"note; made by hand\na,b\n1,2\n", ","),
        (b"a\n1\n2\n", ","),
        (b"# a;b\na,b\n1,2\n# c;d\n", ","),
        (b"\xef\xbb\xbfa;b\n1;2\n", ";"),
        (b'a;"b\nc"\n1;"x;\ny"\n', ";"),
    ],
)
def test_the_delimiter_is_found_out_and_said(tmp_path: Path, body: bytes, delimiter: str) -> None:
    more = {"skip_rows": 1} if body.startswith(b"note") else {"comment": "#"} if body.startswith(b"#") else {}
    header = not body.startswith(b"1,5;")
    profile, _ = read(tmp_path, body, format="csv", header=header, **more)
    assert profile.options is not None
    assert profile.options.delimiter == delimiter
    assert profile.options.decimal == "."
    _, columns = read(tmp_path, body, format="csv", header=header, delimiter=delimiter, **more)
    assert len(profile.columns) == len(columns)


def warnings_of(tmp_path: Path, cells: list[str], **options: object) -> list[tuple[str, str | None, str]]:
    body = "name;x\n" + "".join(f"n{i % 3};{cell}\n" for i, cell in enumerate(cells))
    profile, _ = read(tmp_path, body.encode(), **({"format": "csv", "delimiter": ";"} | options))
    known = {*MISSING_WORDS, "true"}
    assert not any(
        cell in w.detail for w in profile.warnings for cell in cells if len(cell) > 2 and cell not in known
    ), "no cell is told"
    return [(w.code, w.pointer, w.detail) for w in profile.warnings]


@pytest.mark.parametrize(
    ("cells", "code", "says"),
    [
        (["17"] * 8 + ["NA", "n/a"], "nearly_numeric", ["8 of its 10", "`missing_values=NA`", "`missing_values=n/a`"]),
        (["17"] * 8 + ["of age"], "nearly_numeric", ["8 of its 9", "Name those", "`missing_values`"]),
        (["17,25"] * 8 + ["NA"], "nearly_numeric", ["`decimal=,`", "8 of its 9", "1 is `NA`", "`missing_values=NA`"]),
        (["1,234.5", "2"], "nearly_numeric", ["`thousands=,`", "all of its 2"]),
        (["1.234,5", "2"], "nearly_numeric", ["`decimal=,` and `thousands=.`", "all of its 2"]),
        (["1 234", "2"], "nearly_numeric", ["`thousands= ` (a space)"]),
        (["1,234", "2"], "nearly_numeric", ["`thousands=,`", "`decimal=,`", "Only you know"]),
        (["2020-01-01"] * 3 + ["unsaid"], "nearly_date", ["3 of its 4", "`missing_values`"]),
        (["13.1.2020", "1.2.2020"], "nearly_date", ["`date_format=%d.%m.%Y`", "all of its 2"]),
        (["1/13/2020", "1/2/2020"], "nearly_date", ["`date_format=%m/%d/%Y`"]),
        (["1/12/2020", "1/2/2020"], "nearly_date", ["`date_format=%m/%d/%Y`", "`date_format=%d/%m/%Y`", "Only you"]),
        (["13.1.2020", "1.13.2020"], "nearly_date", ["several ways"]),
        (["true", "False", "perhaps"], "nearly_boolean", ["2 of its 3"]),
        (["=cmd", "word", "@x", "-", "+SUM"], "spreadsheet_cells", ["3 cells of column 2", "csv.excel"]),
    ],
)
def test_what_looks_wrong_is_said_with_the_option_that_mends_it(
    tmp_path: Path, cells: list[str], code: str, says: list[str]
) -> None:
    ((actual, pointer, detail),) = warnings_of(tmp_path, cells)
    assert (actual, pointer) == (code, "/columns/1")
    assert all(text in detail for text in says), detail


@pytest.mark.parametrize(
    "cells",
    [
        ["94110", "07030", "10001"],  # codes
        ["a", "b", "17"],
        ["12 Main St", "3rd Av"],
        ["-", "+", "-5"],
    ],
)
def test_nothing_is_said_of_text(tmp_path: Path, cells: list[str]) -> None:
    assert warnings_of(tmp_path, cells) == []


def test_nothing_is_said_of_a_type_that_was_asked_for(tmp_path: Path) -> None:
    assert warnings_of(tmp_path, ["17", "18", "NA"], type={"x": "string"}) == []


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (b"39,Private,2020-01-01\n17,State,2020-01-02\n", ["header_like_data"]),
        (b"country,2019,2020\nA,1,2\n", []),
        (b"a,b\n1,x\n", []),
        (b"word,text\na,b\n", []),
        (b"a\n1\n", ["one_column"]),
        (b"=a,-b\n1,2\n", ["spreadsheet_cells"]),
    ],
)
def test_headers_and_single_columns(tmp_path: Path, body: bytes, codes: list[str]) -> None:
    profile, _ = read(tmp_path, body, format="csv")
    assert [w.code for w in profile.warnings] == codes
    headless, _ = read(tmp_path, body, format="csv", header=False)
    assert "header_like_data" not in [w.code for w in headless.warnings]


def test_the_other_delimiter_is_named(tmp_path: Path) -> None:
    profile, _ = read(tmp_path, b"a;b;c\n1;2;3\n", format="csv", delimiter=",")
    (warning,) = profile.warnings
    assert warning.code == "one_column"
    assert "`delimiter=;`" in warning.detail
    assert "3" in warning.detail


def test_many_columns_of_one_kind_are_counted(tmp_path: Path) -> None:
    header = ",".join(f"c{i}" for i in range(30))
    rows = "".join(",".join([cell] * 30) + "\n" for cell in ("1", "2", "NA"))
    profile, _ = read(tmp_path, f"{header}\n{rows}".encode(), format="csv")
    assert len(profile.warnings) == 21
    assert "10 more columns" in profile.warnings[-1].detail
