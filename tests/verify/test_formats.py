"""Files of one release are the same rows whatever is in their cells, and other rows as soon as one cell is another."""

import datetime as dt
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.contracts.releases import ReleaseFormat
from surebox_verify.released.formats import difference
from tests.drawing import seeds
from workers.frames.release import write_release
from workers.frames.rows import Taken

TEXTS = [
    "a",
    "b",
    "",
    "null",
    "NULL",
    "NA",
    "nan",
    "None",
    "other",
    "*",
    "true",
    "1",
    "1.0",
    "a,b",
    'c"d',
    "e;f",
    "é",
    " ",
]
NUMBERS = [0.0, -1.5, 1e300, 2.0**-1074, float("inf"), 3.0]
DAYS = [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29)]
KINDS: dict[str, tuple[str, Any, Sequence[Any]]] = {
    "text": ("string", pl.String, TEXTS),
    "number": ("number", pl.Float64, NUMBERS),
    "whole": ("integer", pl.Int64, [0, -7, 2**62, 5]),
    "day": ("date", pl.Date, DAYS),
    "truth": ("boolean", pl.Boolean, [False, True]),
    "texts": ("list", pl.List(pl.String), TEXTS),
    "wholes": ("list", pl.List(pl.Int64), [0, -7, 5]),
    "days": ("list", pl.List(pl.Date), DAYS),
    "truths": ("list", pl.List(pl.Boolean), [False, True]),
}


def cell(chance: random.Random, name: str) -> Any:
    """A value, or none; of lists some values, the missing one among them."""
    kind, _, values = KINDS[name]
    if chance.random() < 0.25:
        return None
    if kind != "list":
        return chance.choice(values)
    return chance.sample([*values, None], chance.randrange(1, 4))[: len(values)]


def files(rows: pl.DataFrame, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    whole = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    places = np.arange(rows.height)
    columns = {one: Taken(whole.column(one).combine_chunks(), places) for one in whole.column_names}
    written = write_release(columns, folder, list(ReleaseFormat))
    return {str(name): file.path.read_bytes() for name, file in written.items()}


@pytest.mark.parametrize("seed", seeds(12))
def test_files_differ_where_one_cell_does_and_nowhere_else(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    names = chance.sample(sorted(KINDS), chance.randrange(2, len(KINDS)))
    cells = {name: [cell(chance, name) for _ in range(30)] for name in names}
    schema, types = {name: KINDS[name][1] for name in names}, {name: KINDS[name][0] for name in names}
    honest = files(pl.DataFrame(cells, schema), tmp_path / "honest")
    parquet = honest["parquet"], "parquet"
    for name, data in honest.items():
        assert difference(parquet, (data, name), types) is None, name
    for turn in range(12):
        column, row = chance.choice(names), chance.randrange(30)
        before, after = cells[column][row], cell(chance, column)
        if before == after:
            continue
        changed = cells | {column: [*cells[column][:row], after, *cells[column][row + 1 :]]}
        for name, data in files(pl.DataFrame(changed, schema), tmp_path / f"{turn}").items():
            none = {before, after} == {None, float("inf")} if KINDS[column][0] == "number" else False
            if name == "ndjson" and none:  # JSON has no infinite numbers
                continue
            assert difference(parquet, (data, name), types) == f"other cells of {column!r}", (name, before, after)


def test_in_a_file_of_one_column_a_missing_text_is_an_empty_one(tmp_path: Path) -> None:
    honest = files(pl.DataFrame({"text": ["a", None, "", "null"]}), tmp_path / "honest")
    for name, data in honest.items():
        assert difference((honest["parquet"], "parquet"), (data, name), {"text": "string"}) is None, name
    other = files(pl.DataFrame({"text": ["a", None, "", None]}), tmp_path / "other")
    for name, data in other.items():
        assert difference((honest["parquet"], "parquet"), (data, name), {"text": "string"}) is not None, name
