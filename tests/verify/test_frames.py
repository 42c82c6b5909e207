"""A release's file, a frame that pandas or polars read from it, and its path: one answer, or a refusal with why."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from surebox_verify.certify import certify
from surebox_verify.envelope import UnreadableError
from surebox_verify.released.files import rows
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


def test_texts_that_a_library_read_as_numbers_are_no_texts(tmp_path: Path) -> None:
    from surebox_verify.released.frames import frame_of

    text = "box,age_lo,age_hi,code\n" + "1,2,3,01\n" * 5
    for frame in (pd.read_csv(io.StringIO(text)), pl.read_csv(io.StringIO(text))):
        with pytest.raises(UnreadableError, match="'code' has texts, and the frame has numbers"):
            frame_of(frame, {"code": "string"})
