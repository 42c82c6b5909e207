"""A release's file, a frame that pandas or polars read from it, and its path: one answer, or a refusal with why."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from surebox_verify.certify import certify
from surebox_verify.envelope import UnreadableError
from surebox_verify.released.files import rows
from surebox_verify.released.frames import frame_of
from tests.drawing import seeds

QUESTIONS = ["mean(age)", "share(town=a)", "share(town)", "quantile(day, 0.5)", "share(note=plain)", "mean(visits)"]
NOTES = ["plain", "NA", "null", "", "nan", "a,b", "None", 'say "x"', "1"]


def released(draw: np.random.Generator) -> pl.DataFrame:
    """Boxes of a number, a town and a day, with a text and a number that were kept; cells of both may be missing."""
    boxes = int(draw.integers(2, 8))
    low, days = draw.integers(10, 60, boxes), draw.integers(0, 300, boxes)
    towns = [sorted(map(str, draw.choice(list("abc"), int(draw.integers(1, 4)), replace=False))) for _ in range(boxes)]
    box = np.repeat(np.arange(boxes), 5)
    start = np.datetime64("2020-01-01")
    notes = [str(note) if draw.random() < 0.8 else None for note in draw.choice(NOTES, len(box))]
    visits = [int(each) if draw.random() < 0.8 else None for each in draw.integers(0, 5, len(box))]
    return pl.DataFrame({
        "box": box, "age_lo": low[box], "age_hi": (low + 7)[box],
        "town_set": ["[" + ",".join(f'"{town}"' for town in towns[at]) + "]" for at in box],
        "day_lo": (start + days[box]).astype("datetime64[D]"),
        "day_hi": (start + days[box] + 9).astype("datetime64[D]"),
        "note": notes, "visits": visits,
    })  # fmt: skip


def answered(frame: Any, question: str) -> Any:
    try:
        return certify(frame, [question])
    except UnreadableError as error:
        return str(error)


@pytest.mark.parametrize("seed", seeds(12))
def test_frames_that_were_read_from_csv_are_understood_as_the_file_is(tmp_path: Path, seed: int) -> None:
    text = released(np.random.default_rng(seed)).write_csv(quote_style="non_numeric", null_value="")
    text = text.replace('""""', '""')
    path = tmp_path / "release.csv"
    path.write_text(text)
    file = rows(path.read_bytes(), "csv")
    frames = {"polars": pl.read_csv(io.StringIO(text)), "path": path, "its name": str(path)}
    by_pandas = pd.read_csv(io.StringIO(text))
    for question in QUESTIONS:
        expected = answered(file, question)
        assert not isinstance(expected, str) or "is shown" in expected, expected
        for name, frame in frames.items():
            assert answered(frame, question) == expected, (name, question)
        other = answered(by_pandas, question)
        assert other == expected or "pandas reads texts such as" in str(other), question
        if "note" not in question and "visits" not in question:
            assert other == expected, question


@pytest.mark.parametrize("seed", seeds(4))
def test_frames_that_have_few_values_by_their_numbers_are_understood_as_the_file_is(tmp_path: Path, seed: int) -> None:
    """Categories of pandas and polars, and dictionaries of Arrow, whose words may be views."""
    table = released(np.random.default_rng(seed))
    path = tmp_path / "release.csv"
    table.drop("note").write_csv(path, null_value="")
    texts = ["town_set"]
    arrow = pl.read_csv(path).to_arrow(compat_level=pl.CompatLevel.oldest())

    def by_numbers(rows: pa.Table) -> pa.Table:
        at = rows.column_names.index("town_set")
        return rows.set_column(at, "town_set", rows.column("town_set").dictionary_encode())

    coded = by_numbers(arrow)
    pq.write_table(coded, tmp_path / "release.parquet")
    frames = {
        "pandas": pd.read_csv(path, dtype=dict.fromkeys(texts, "category")),
        "polars": pl.read_csv(path).with_columns(pl.col(texts).cast(pl.Categorical)),
        "polars, an enumeration": pl.read_csv(path).with_columns(
            pl.col("town_set").cast(pl.Enum(pl.read_csv(path)["town_set"].unique()))
        ),
        "pyarrow": coded,
        "pyarrow, in parts": pa.concat_tables([by_numbers(arrow.slice(0, 3)), by_numbers(arrow.slice(3))]),
        "a file": tmp_path / "release.parquet",
    }
    kinds = {"town_set": "list"}
    for question in ("share(town)", "mean(age)", "share(town=a)"):
        expected = answered(path, question)
        assert not isinstance(expected, str) or "is shown" in expected, expected
        for name, frame in frames.items():
            assert answered(frame, question) == expected, (name, question)
    for name, frame in frames.items():
        assert frame_of(frame, kinds).column("town_set").to_pylist() == (
            frame_of(path, kinds).column("town_set").to_pylist()
        ), name


@pytest.mark.parametrize("value", [2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1])
def test_whole_numbers_that_pandas_has_rounded_beside_missing_ones_are_refused(tmp_path: Path, value: int) -> None:
    path = tmp_path / "release.csv"
    path.write_text(f"box,code_set,age_lo,age_hi\n1,{value},1,2\n2,5,3,4\n3,,5,6\n")
    assert {value, 5} == {one["values"][0] for one in certify(path, ["share(code)"])}
    with pytest.raises(UnreadableError, match="'code_set' has sets of numbers that the frame may have rounded"):
        certify(pd.read_csv(path), ["share(code)"])
    path.write_text("box,code_set,age_lo,age_hi\n1,7,1,2\n2,5,3,4\n3,,5,6\n")
    assert answered(pd.read_csv(path), "share(code)") == answered(path, "share(code)")


def test_a_column_without_any_set_has_no_values(tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    path.write_text("box,code_set,age_lo,age_hi\n" + "".join(f"{box},,{box},{box + 1}\n" for box in (1, 2, 3)))
    pq.write_table(pa.table(pl.read_csv(path)), tmp_path / "release.parquet")
    for frame in (path, pl.read_csv(path), pd.read_csv(path), tmp_path / "release.parquet"):
        for question in ("share(code)", "mean(age)"):
            assert answered(frame, question) == answered(path, question)
        assert answered(frame, "mean(age)")[0]["guaranteed"] is not None


def test_texts_that_a_library_read_as_numbers_are_no_texts(tmp_path: Path) -> None:
    text = "box,age_lo,age_hi,code\n" + "1,2,3,01\n" * 5
    for frame in (pd.read_csv(io.StringIO(text)), pl.read_csv(io.StringIO(text))):
        with pytest.raises(UnreadableError, match="'code' has texts, and the frame has numbers"):
            frame_of(frame, {"code": "string"})
