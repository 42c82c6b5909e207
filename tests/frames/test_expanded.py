"""Tables of counts: what their profiles add up, and that each row is written as often as it counts."""

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.drawing import seeds
from tests.frames.reading import read
from workers.frames import expanded as expanding
from workers.frames.expanded import expanded, missing_by_column, rows_of_persons


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
    missing = {name: sum(one[name] is None for one in expected) for name in ("x", "text")}
    assert missing_by_column(made) == missing


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
