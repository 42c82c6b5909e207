"""Tables of counts: what their profiles add up, and that each row is written as often as it counts."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.drawing import seeds
from tests.frames.reading import read
from workers.frames import expanded as expanding
from workers.frames.codes import coded_columns
from workers.frames.expanded import expanded, missing_by_column, rows_of_persons
from workers.frames.hashed_cells import cell_hashes
from workers.frames.sketched import hashed_table


@pytest.mark.parametrize("seed", seeds(6))
def test_each_row_stands_as_often_as_it_counts_in_groups_of_any_size(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng([33, seed])
    rows = int(draw.integers(1, 60))
    counts = draw.geometric(draw.choice([0.05, 0.5, 1.0]), rows)
    table = pa.table({
        "x": pa.array(draw.integers(0, 9, rows), mask=draw.random(rows) < 0.2), "n": counts,
        "text": pa.array([None if one == 0 else "ab" * one for one in draw.integers(0, 4, rows)], pa.string()),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "counts.parquet", row_group_size=int(draw.integers(1, rows + 1)))
    monkeypatch.setattr(expanding, "_ROWS", int(draw.integers(1, 20)))
    made = expanded(tmp_path / "counts.parquet", "n", tmp_path / "persons.parquet")
    plain = table.drop_columns(["n"]).to_pylist()
    expected = [one for one, times in zip(plain, counts.tolist(), strict=True) for _ in range(times)]
    assert pq.read_table(made).to_pylist() == expected
    assert pq.read_schema(made).equals(table.schema.remove(1)), "readers see texts, however these are written"
    missing = {name: sum(one[name] is None for one in expected) for name in ("x", "text")}
    assert missing_by_column(made) == missing


#: Writes the persons of a table, and prints the most bytes that arrays took meanwhile.
EXPANDING = """
import sys
from pathlib import Path
import pyarrow as pa
from workers.frames.expanded import expanded
expanded(Path(sys.argv[1]), "n", Path(sys.argv[2]))
print(pa.default_memory_pool().max_memory())
"""


def test_a_long_text_of_many_persons_takes_its_length_once(tmp_path: Path) -> None:
    """Among short ones: their mean says nothing of it. As often as it counts it would take 2.4 GB."""
    texts = ["short", *["brief"] * 998, "x" * 60_000]
    counts = [1] * 999 + [40_000]
    source, made = tmp_path / "counts.parquet", tmp_path / "persons.parquet"
    pq.write_table(pa.table({"text": texts, "n": counts}), source)
    command = [sys.executable, "-c", EXPANDING, str(source), str(made)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) < 16 << 20
    assert pq.read_metadata(made).row_group(0).total_byte_size < 1 << 20
    (column,) = coded_columns(made, ["text"])
    assert [one.as_py() for one in column.values] == sorted(set(texts))
    assert np.bincount(column.codes).tolist() == [998, 1, 40_000]


def test_texts_are_hashed_however_long_they_are_over_all_persons(tmp_path: Path) -> None:
    """Over all persons the notes are longer than one array of arrow holds; of a column that no request names, too."""
    notes, counts = ["a" * 1_100, "b" * 1_100], [1, 2_000_000]
    pq.write_table(pa.table({"note": notes, "age": [30, 40], "n": counts}), tmp_path / "counts.parquet")
    key = bytes(range(32))
    made = expanded(tmp_path / "counts.parquet", "n", tmp_path / "persons.parquet")
    cells, plain = cell_hashes(made, key=key), cell_hashes(tmp_path / "counts.parquet", key=key)
    for name in ("note", "age"):
        assert np.array_equal(cells[name], np.repeat(plain[name], counts))
    table = hashed_table(made, key=key)
    assert [(one.sketch.name, one.sketch.values) for one in table.columns] == [("age", 2), ("note", 2)]


def test_a_table_is_written_once_for_each_column_that_counts(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    pl.DataFrame({"a": [1, 2], "n": [2, 3], "m": [1, 1]}).write_parquet(path)
    first, other = rows_of_persons(path, "n"), rows_of_persons(path, "m")
    assert pl.read_parquet(first)["a"].to_list() == [1, 1, 2, 2, 2]
    assert pl.read_parquet(other).to_dicts() == [{"a": 1, "n": 2}, {"a": 2, "n": 3}]
    written = first.stat().st_mtime_ns
    assert rows_of_persons(path, "n").stat().st_mtime_ns == written


@pytest.mark.parametrize("counts", [[1, 0], [1.5, 1.0], [None, 1], [2, -1]])
def test_a_count_of_no_persons_is_not_written(tmp_path: Path, counts: list[float | None]) -> None:
    pl.DataFrame({"a": [1, 2], "n": counts}).write_parquet(tmp_path / "counts.parquet")
    with pytest.raises(ValueError, match="counts no persons"):
        expanded(tmp_path / "counts.parquet", "n", tmp_path / "persons.parquet")


@pytest.mark.parametrize(
    ("cells", "total", "divisor"),
    [
        ([1, 2, 3], 6, 1),
        ([10, 20, 50], 80, 10),
        ([6, 9, 15], 30, 3),
        ([2**53] * 3000, 3000 * 2**53, 2**53),
        ([2**31, 2**31], 2**32, 2**31),
        ([0, 1], None, None),
        ([-1, 2], None, None),
        (["1.5", "2.5"], None, None),
        (["2.0", "4.0"], 6, 2),
        ([2**53 + 2, 1], None, None),
        (["Infinity", "1.0"], None, None),
        (["", "3", "6"], 9, 3),
    ],
)
def test_a_profile_adds_up_counts_exactly_and_states_what_divides_all_of_them(
    tmp_path: Path, cells: list[object], total: int | None, divisor: int | None
) -> None:
    body = "n,a\n" + "".join(f"{cell},{at}\n" for at, cell in enumerate(cells))
    profile, _ = read(tmp_path, body.encode(), format="csv", type={"n": "number"} if "Infinity" in cells else {})
    summary = profile.numeric["n"]
    assert (summary.total, summary.divisor) == (total, divisor)
