"""Texts of an upload: kept in one normal form, with the number of those that are spelled otherwise than another."""

import unicodedata
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from app.contracts.datasets import FileFormat, Profile, ReadOptions
from app.errors import UnreadableError
from surebox_core.spellings import spelling_classes
from tests.drawing import seeds
from workers.frames.spellings import spelled_otherwise
from workers.frames.upload.read import read_upload


def read(folder: Path, frame: pl.DataFrame, kind: FileFormat, **options: object) -> tuple[Profile, pl.DataFrame]:
    """Read a file of a format: the profile, and its typed copy."""
    source, copy = folder / "source", folder / "copy"
    {"csv": frame.write_csv, "ndjson": frame.write_ndjson, "parquet": frame.write_parquet}[kind](source)
    profile = read_upload(
        source, ReadOptions(format=kind, **options), copy, max_columns=100, max_field_bytes=10_000,
        max_bytes=1 << 30, tick=lambda _: None,
    )  # type: ignore[arg-type]  # fmt: skip
    return profile, pl.read_parquet(copy)


@pytest.mark.parametrize("kind", [FileFormat.CSV, FileFormat.NDJSON, FileFormat.PARQUET])
@pytest.mark.parametrize("seed", seeds(4))
def test_texts_and_tokens_compare_in_one_form(tmp_path: Path, kind: FileFormat, seed: int) -> None:
    draw = np.random.default_rng(seed)
    words = ["né", "n\u00e4", "Ångström", "a\u0323\u0307", "x"]
    cells = [unicodedata.normalize(draw.choice(["NFC", "NFD"]), draw.choice(words)) for _ in range(100)]
    frame = pl.DataFrame({"\u0065\u0301": cells, "n": np.arange(100)})
    profile, copy = read(tmp_path, frame, kind, missing_values=("na\u0308",))
    normal = [unicodedata.normalize("NFC", cell) for cell in cells]
    expected = [None if cell == "n\u00e4" else cell for cell in normal]
    assert copy.columns == ["\u00e9", "n"]
    assert copy["\u00e9"].to_list() == expected
    assert profile.columns[0].distinct == len({*expected} - {None})
    rewritten = sum(raw != cell and cell != "n\u00e4" for raw, cell in zip(cells, normal, strict=True))
    (warning,) = [one for one in profile.warnings if one.code == "normal_form"]
    assert warning.detail.startswith(f"{rewritten} cells of column 1 ")


@pytest.mark.parametrize("kind", [FileFormat.CSV, FileFormat.PARQUET])
def test_columns_of_one_name_are_refused_and_of_names_that_look_alike_are_named(
    tmp_path: Path, kind: FileFormat
) -> None:
    with pytest.raises(UnreadableError, match="columns 1 and 3 have the same name in Unicode's normal form C"):
        read(tmp_path, pl.DataFrame({"\u00e9": [1], "b": [2], "e\u0301": [3]}), kind)
    profile, _ = read(tmp_path, pl.DataFrame({"Age": [1, 2], "b": [3, 4], "\u0410ge": [5, 6]}), kind)
    (warning,) = [one for one in profile.warnings if one.code == "other_spellings"]
    assert warning.pointer == "/columns/2/name"


@pytest.mark.parametrize("seed", seeds(10))
def test_the_number_of_other_spellings_is_that_of_all_values_compared(seed: int) -> None:
    draw = np.random.default_rng(seed)
    letters = [*"aA1Il|O0o \t'`é-", "\u0410", "\u0430", "\u200b", "\u03bd", "v", "\u039d", "N"]
    drawn = {"".join(draw.choice(letters, draw.integers(1, 4))) for _ in range(draw.integers(0, 60))}
    values = sorted(drawn)
    expected = len(values) - len(set(spelling_classes(values)))
    assert spelled_otherwise(pl.Series(values, dtype=pl.String)) == expected
