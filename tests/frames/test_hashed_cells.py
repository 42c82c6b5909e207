"""Cells as keyed hashes: what counts as equal, and that a wide file is opened once."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from workers.frames.hashed_cells import cell_hashes

KEY = bytes(range(32))


def written(folder: Path, **columns: list[Any]) -> Path:
    path = folder / "typed.parquet"
    pl.DataFrame(columns).write_parquet(path)
    return path


def test_numbers_hash_by_value_and_texts_by_a_keyed_hash(tmp_path: Path) -> None:
    path = written(tmp_path, whole=[1, 0, None], real=[1.0, -0.0, None], word=["ä", "b", None])
    cells = cell_hashes(path, ["word", "whole", "real"], key=KEY)

    assert list(cells) == ["word", "whole", "real"]
    assert cells["whole"].tolist() == cells["real"].tolist()
    assert cells["whole"][:2].tolist() == np.array([1.0, 0.0]).view(np.uint64).tolist()
    keyed = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=KEY).digest()) for text in ("ä", "b")]
    assert cells["word"].tolist() == [*keyed, cells["whole"][2]]
    assert cell_hashes(path, ["word"], key=KEY[::-1])["word"][0] != keyed[0]


@pytest.mark.parametrize("columns", [1, 40])
def test_a_file_is_opened_once_however_wide_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """To open it is to read what describes every column: once a column, 2,000 columns took 15 seconds."""
    path = written(tmp_path, **{f"c{number}": [number, 2] for number in range(columns)})
    opened = []

    class Counting(pq.ParquetFile):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            opened.append(args)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(pq, "ParquetFile", Counting)
    cells = cell_hashes(path, [f"c{number}" for number in range(columns)], key=KEY)

    assert len(opened) == 1
    assert [one.view(np.float64).tolist() for one in cells.values()] == [[number, 2.0] for number in range(columns)]
