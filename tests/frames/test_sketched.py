"""Sketches as bytes: what is packed is read again, and so is an archive, as they were before."""

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.drawing import seeds
from workers.algorithms.tables.sketches import TableSketch
from workers.frames.hashed_cells import space_of
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


@pytest.mark.parametrize("seed", seeds(3))
def test_ids_of_several_records_are_read_again(tmp_path: Path, seed: int) -> None:
    """Beside columns that have none: the 512 smallest hashes, each once."""
    draw = np.random.default_rng([2, seed])
    persons = int(draw.integers(50, 900))
    ids = np.repeat(draw.choice(10**12, persons, replace=False), 3)
    frame = pl.DataFrame({"age": draw.integers(0, 90, len(ids)), "patient_id": ids, "town_id": ids, "x": ids})
    frame.write_parquet(tmp_path / "copy.parquet")
    again = unpacked(packed(hashed_table(tmp_path / "copy.parquet", key=KEY).sketch))
    kept = {one.name: one.persons for one in again.columns}
    assert [name for name, one in kept.items() if one is not None] == ["patient_id"]
    hashes = kept["patient_id"]
    assert hashes is not None
    assert len(hashes) == min(persons, 512)
    assert (hashes[1:] > hashes[:-1]).all()


@pytest.mark.parametrize("seed", seeds(3))
def test_the_space_that_ids_were_drawn_from(seed: int) -> None:
    """Of numbers how many there are between the ends; ids in turn have none, whatever stands before and after them."""
    draw = np.random.default_rng([3, seed])
    some, size = 5 * draw.choice(10**8, 300, replace=False), 300
    steps = (some.max() - some.min()) // 5 + 1
    assert space_of(pl.Series(some)) == steps
    assert space_of(pl.Series([f"P{one:010d}" for one in some])) == steps
    wanted = 1.0
    texts = [f"{one:08x}1" for one in draw.choice(1 << 32, size, replace=False)]
    for at in range(9):
        wanted *= len({one[at] for one in texts})
    assert space_of(pl.Series(texts)) == wanted
    for one in (
        np.arange(size), [1000 * (7 + at // 40) + at % 40 for at in range(size)], draw.random(size),
        [f"ann {chr(97 + at % 26)}" for at in range(26)], [f"P{at:05d}" for at in draw.permutation(size)],
    ):  # fmt: skip
        assert space_of(pl.Series(one)) in (0.0, float(len(one)))
