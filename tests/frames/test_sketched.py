"""Sketches as bytes: what is packed is read again, and so is an archive, as they were before."""

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.drawing import seeds
from workers.algorithms.tables.sketches import TableSketch
from workers.frames.sketched import hashed_table, packed, unpacked

KEY = bytes(range(32))


def archive(sketch: TableSketch) -> bytes:
    """A sketch in the layout of before: arrays in an archive of numpy."""
    columns = [[one.name, int(one.kind), one.values, len(one.least.hashes)] for one in sketch.columns]
    about = {"rows": sketch.rows, "columns": columns, "samples": [[one.anchor, one.below] for one in sketch.samples]}
    arrays = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
    arrays["hashes"] = np.concatenate([one.least.hashes for one in sketch.columns]).astype(np.uint32)
    arrays["counts"] = np.concatenate([one.least.counts for one in sketch.columns]).astype(np.uint32)
    for at, sample in enumerate(sketch.samples):
        arrays |= {f"codes {at}": np.asfortranarray(sample.codes), f"without {at}": sample.without}
    target = io.BytesIO()
    np.savez_compressed(target, **arrays)  # type: ignore[arg-type]
    return target.getvalue()


@pytest.mark.parametrize("seed", seeds(5))
def test_sketches_are_read_in_both_layouts(tmp_path: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(1, 2_000))
    columns = {f"c{at}": draw.integers(0, draw.integers(1, 50), rows) for at in range(int(draw.integers(1, 7)))}
    pl.DataFrame(columns).write_parquet(tmp_path / "copy.parquet")
    sketch = hashed_table(tmp_path / "copy.parquet", key=KEY).sketch
    for body in (packed(sketch), archive(sketch)):
        again = unpacked(body)
        assert again.rows == sketch.rows == rows
        for one, other in zip(again.columns, sketch.columns, strict=True):
            assert (one.name, one.kind, one.values) == (other.name, other.kind, other.values)
            np.testing.assert_array_equal(one.least.hashes, other.least.hashes)
            np.testing.assert_array_equal(one.least.counts, other.least.counts)
        for mine, theirs in zip(again.samples, sketch.samples, strict=True):
            assert (mine.anchor, mine.below) == (theirs.anchor, theirs.below)
            np.testing.assert_array_equal(mine.codes, theirs.codes)
            np.testing.assert_array_equal(mine.without, theirs.without)
