"""Empty texts are missing in every format; where a file has missing values too, a warning says how many there were."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from app.contracts.datasets import FileFormat, Profile, ReadOptions
from tests.drawing import seeds
from workers.frames.upload.read import read_upload

SPELLED = {FileFormat.CSV: "csv", FileFormat.NDJSON: "ndjson", FileFormat.PARQUET: "parquet"}


def profile(frame: pl.DataFrame, kind: FileFormat, folder: Path) -> Profile:
    """Return the profile of a table in a format."""
    source = folder / f"sent.{SPELLED[kind]}"
    if kind is FileFormat.CSV:
        frame.write_csv(source, quote_style="always")
    elif kind is FileFormat.PARQUET:
        frame.write_parquet(source)
    else:
        source.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dicts()))
    return read_upload(
        source, ReadOptions(format=kind), folder / "copy.parquet", max_columns=20, max_field_bytes=1000,
        max_bytes=1 << 30, tick=lambda _: None,
    )  # fmt: skip


@pytest.mark.parametrize("seed", seeds(10))
def test_empty_texts_are_counted_in_a_warning_of_formats_that_have_missing_values(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(5, 60))
    columns = {
        f"c{place}": draw.choice(
            np.array(["x", "yy", "", None], dtype=object), rows, p=draw.dirichlet([1, 1, 1, 1])
        ).tolist()
        for place in range(3)
    }
    columns = {name: ["x", *cells] for name, cells in columns.items()} | {"words": ["a"] * (rows + 1)}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    if draw.random() < 0.5:
        frame = frame.with_columns(pl.col("c0").cast(pl.Categorical))
    empties = {name: cells.count("") for name, cells in columns.items()}
    for kind in SPELLED:
        noted = profile(frame, kind, tmp_path)
        for column, cells in zip(noted.columns, columns.values(), strict=True):
            assert column.missing == cells.count("") + cells.count(None)
        said = {one.pointer: one.detail for one in noted.warnings if one.code == "empty_texts"}
        expected = {f"/columns/{place}": number for place, number in enumerate(empties.values()) if number}
        if kind is FileFormat.CSV:
            assert not said, "CSV has no missing values apart from these"
        else:
            assert {pointer: int(detail.split()[0]) for pointer, detail in said.items()} == expected
