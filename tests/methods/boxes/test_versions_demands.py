"""New versions in boxes that count persons or kept values, or demand variety: what readers of two of them are told."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.methods.boxes.versioned import K, Versions, differences, people

#: What boxes of a base hold beside k rows.
DEMANDS: dict[str, dict[str, Any]] = {
    "persons": {"person_column": "who"},
    "variety": {"l": 2, "alpha": 0.9, "sensitive": ["job"]},
    "variety that is not shown": {"l": 2, "sensitive": ["job"], "keep": []},
    "kept": {"k_counts_kept": True},
    "persons and kept": {"person_column": "who", "k_counts_kept": True},
}


def households(seed: int, rows: int = 600, first: int = 0) -> pl.DataFrame:
    """Persons with two rows each."""
    return people(seed, rows).with_columns(pl.Series("who", first + np.arange(rows) // 2))


def many(frame: pl.DataFrame) -> pl.DataFrame:
    """One person with as many rows as k persons have, at the place of another one, of all kept values."""
    rows = pl.concat([frame.head(1)] * (4 * K)).with_columns(
        pl.lit(999_999, pl.Int64).alias("who"), pl.Series("job", ["x", "y"] * (2 * K))
    )
    return frame.vstack(rows)


def far(frame: pl.DataFrame) -> pl.DataFrame:
    """One person where nobody else is."""
    there = {"age": [119], "wage": [999.0], "town": ["d"], "job": ["x"], "who": [999_999]}
    return frame.vstack(pl.DataFrame(there, schema=frame.schema))


def gone(frame: pl.DataFrame) -> pl.DataFrame:
    """One person is there no more."""
    return frame.filter(pl.col("who") != 0)


def changed(frame: pl.DataFrame) -> pl.DataFrame:
    """One person is elsewhere, with another kept value."""
    first = pl.col("who") == 0
    return frame.with_columns(
        pl.when(first).then(119).otherwise(pl.col("age")).alias("age"),
        pl.when(first).then(pl.lit("y")).otherwise(pl.col("job")).alias("job"),
    )


ACTS = {"far": far, "gone": gone, "changed": changed, "many": many}


@pytest.fixture(scope="module", params=list(DEMANDS))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Versions]:
    demand = str(request.param)
    return demand, Versions(tmp_path_factory.mktemp("demands"), households(1), **DEMANDS[demand])


@pytest.mark.parametrize("act", list(ACTS))
def test_nothing_that_is_published_tells_of_one_person(made: tuple[str, Versions], act: str) -> None:
    """Twenty rows of one person are seen where rows are counted, and nowhere else."""
    demand, versions = made
    same, other = versions.add(households(1)), versions.add(ACTS[act](households(1)))
    order = [name for name in ("box", "job") if name in versions.tables[0].columns]
    first, second = (table.sort(order) for table in versions.tables[-2:])
    if act == "many" and "person_column" not in DEMANDS[demand]:  # the last act: what follows would be compared with it
        assert second.height == first.height + 4 * K
        return
    assert first.equals(second)
    assert first.equals(versions.tables[0].sort(order))
    assert same.release is not None
    assert other.release is not None
    for name in ("rows", "columns", "flags", "warnings", "statistics"):
        assert getattr(same.release, name) == getattr(other.release, name)


@pytest.mark.parametrize("demand", list(DEMANDS))
def test_what_enough_persons_did_is_shown_and_every_box_holds_what_it_promised(tmp_path: Path, demand: str) -> None:
    """Rows, persons and values of every box and of what came to it, counted from the tables of both versions."""
    base = households(2)
    crowd = pl.concat([base.head(60)] * 8).with_columns(pl.Series("who", 10_000 + np.arange(480) // 2))
    crowd = crowd.with_columns(pl.Series("job", np.tile(["x", "y"], 240)))
    versions = Versions(tmp_path, base, **DEMANDS[demand])
    versions.add(base.vstack(crowd))
    before, after = versions.tables
    assert any(differences(before, after)), "growth is seen"
    kept = [name for name in ("job",) if name in after.columns]
    cells = (
        after.group_by("box", *kept).len()
        .join(before.group_by("box", *kept).len(), on=["box", *kept], how="full", coalesce=True, suffix="_before")
        .fill_null(0)
        .with_columns((pl.col("len").cast(int) - pl.col("len_before").cast(int)).alias("d"))
    )  # fmt: skip
    assert (cells["d"] >= 0).all(), "nobody has left"
    came = cells.filter(pl.col("d") > 0)
    if "k_counts_kept" in DEMANDS[demand]:
        assert came["d"].min() >= K  # type: ignore[operator]
        assert cells.filter(pl.col("len") > 0)["len"].min() >= K  # type: ignore[operator]
    by_box = came.group_by("box").agg(pl.col("d").sum(), pl.col("d").max().alias("most"), pl.len().alias("values"))
    assert by_box["d"].min() >= K  # type: ignore[operator]
    if demand == "variety":
        assert by_box["values"].min() == 2
        assert (by_box["most"] <= 0.9 * by_box["d"]).all()


def test_rows_of_persons_who_left_wait_until_all_of_a_box_have(tmp_path: Path) -> None:
    """Half of the persons have left: no box has fewer rows, but such as nobody is in. Of one town all have left."""
    base = households(3)
    versions = Versions(tmp_path, base, person_column="who")
    fewer = versions.add(base.filter(pl.col("who") % 2 == 0))
    assert set(differences(*versions.tables)) == {0}
    assert fewer.result["pending"]["boxes"] > 0
    versions.add(base.filter(pl.col("town") != "a"))
    towns = versions.tables[-1].select(pl.col("town_set").list.sort().list.join(",").alias("town"), "box").unique()
    alone = versions.tables[0].filter(pl.col("town_set").list.join(",") == "a")["box"].unique()
    assert len(alone) > 0
    assert not set(alone) & set(towns["box"])
