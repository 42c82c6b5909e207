"""Columns as codes, and lists in a release's files."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from app.contracts.releases import ReleaseFormat
from workers.frames.codes import coded
from workers.frames.release import write_release
from workers.frames.rows import Taken

DAYS = [dt.date(2020, 1, 2), None, dt.date(1999, 12, 31), dt.date(2020, 1, 2)]


@pytest.mark.parametrize(
    "cells", [["b", None, "ä", "b"], [True, None, False, True], [3, None, -1, 3], [2.5, None, 0.1, 2.5], DAYS]
)
def test_codes_say_which_value_each_row_has(cells: list[Any]) -> None:
    encoded = coded(pa.chunked_array([pa.array(cells[:1]), pa.array(cells[1:])]))
    values = encoded.values.to_pylist()
    assert values == sorted({cell for cell in cells if cell is not None})
    assert [None if code < 0 else values[code] for code in encoded.codes.tolist()] == cells


def test_codes_by_a_codebook_count_what_it_does_not_have() -> None:
    encoded = coded(pa.chunked_array([pa.array(["b", None, "a", "c", "c"])]))
    assert [part if isinstance(part, int) else part.tolist() for part in encoded.among(["z", "c", None, "a"])] == [
        [-2, 2, 3, 1, 1],
        1,
    ]
    assert [part if isinstance(part, int) else part.tolist() for part in encoded.among(["a", "b", "c"])] == [
        [1, -1, 0, 2, 2],
        0,
    ]


def test_lists_are_lists_and_in_csv_json_arrays(tmp_path: Path) -> None:
    sets = [["a", 'é"=,', None], ["=x"], None]
    places = np.array([0, 2, 1, 1, 0])
    columns = {
        "n": np.arange(5),
        "of_set": Taken(pa.array(sets, pa.large_list(pa.large_string())), places),
        "self": Taken(pa.array([[1, 2], [3]]), np.array([0, 1, 1, 0, 0])),
        "day": Taken(pa.array([0, None], pa.date32()), np.array([0, 1, 1, 0, 0])),
    }
    files = write_release(columns, tmp_path, list(ReleaseFormat))
    expected = [sets[place] for place in places]
    assert pl.read_parquet(files[ReleaseFormat.PARQUET].path)["of_set"].to_list() == expected
    whole = pd.read_parquet(files[ReleaseFormat.PARQUET].path)
    assert [None if cell is None else list(cell) for cell in whole["of_set"]] == expected
    lines = files[ReleaseFormat.NDJSON].path.read_text().splitlines()
    assert [json.loads(line)["of_set"] for line in lines] == expected
    for name in (ReleaseFormat.CSV, ReleaseFormat.CSV_GZ, ReleaseFormat.CSV_EXCEL):
        table = pd.read_csv(files[name].path, keep_default_na=False, compression="gzip" if name == "csv.gz" else None)
        disarmed = {'é"=,': "é\"'=,", "=x": "'=x"} if name == "csv.excel" else {}
        shown = [cell and [disarmed.get(one, one) for one in cell] for cell in expected]
        assert [json.loads(cell) if cell else None for cell in table["of_set"]] == shown
        assert [json.loads(cell) for cell in table["self"]] == [[1, 2], [3], [3], [1, 2], [1, 2]]
        assert table["day"].tolist() == ["1970-01-01", "", "", "1970-01-01", "1970-01-01"]
