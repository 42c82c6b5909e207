"""Families of counts and of the persons they count, where a job counts them while another table is compared."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sqlalchemy import insert

from app.contracts.base import new_id
from app.db.repositories import families
from app.db.tables.datasets import dataset
from app.settings import Settings
from tests.releases.conftest import Releases
from workers.engine.families import Recognised, join_family, recognised
from workers.engine.resources import WorkerResources
from workers.frames.expanded import rows_of_persons


@pytest.fixture
def at(published: Releases) -> Iterator[WorkerResources]:
    settings = published.processes.settings
    urls = {name: settings[name.upper()] for name in ("database_url", "redis_url", "storage_url")}
    made = WorkerResources.open(Settings(**urls, server_secret="s" * 40), threads=1)  # type: ignore[arg-type]
    yield made
    made.close()


class Tables:
    """Tables of one owner, as their readers and jobs compare them."""

    def __init__(self, at: WorkerResources, owner: str, folder: Path) -> None:
        self._at, self._owner, self._folder = at, owner, folder
        self._ids: dict[str, str] = {}

    def upload(self, name: str, frame: pl.DataFrame) -> None:
        frame.write_parquet(self._folder / f"{name}.parquet", use_pyarrow=True)
        self._ids[name] = new_id("ds")
        values = {
            "id": self._ids[name], "owner": self._owner, "name": name, "state": "ingesting",
            "options": {"format": "parquet"}, "bytes": 1, "sha256": name, "by_keeper": True,
        }  # fmt: skip
        with self._at.database.unit_of_work() as unit:
            unit.connection.execute(insert(dataset).values(**values))

    def compared(self, name: str, *, counted_by: str | None = None) -> Recognised:
        """Compare a table with those that are there by now; by a column of counts its persons."""
        path = self._folder / f"{name}.parquet"
        if counted_by is not None:
            path = rows_of_persons(path, counted_by)
        return recognised(path, dataset_id=self._ids[name], owner=self._owner, at=self._at, counted_by=counted_by)

    def join(self, signature: Recognised) -> None:
        with self._at.database.unit_of_work() as unit:
            join_family(unit.connection, signature)

    def families(self) -> set[str | None]:
        with self._at.database.read() as connection:
            return {families.of_dataset(connection, dataset_id=one) for one in self._ids.values()}


@pytest.fixture
def tables(at: WorkerResources, published: Releases, tmp_path: Path) -> Tables:
    return Tables(at, published.owner, tmp_path)


def persons() -> pl.DataFrame:
    """Groups of very different sizes: their rows and their persons do not look alike."""
    draw = np.random.default_rng(41)
    rows = 400
    groups = pl.DataFrame({
        "age": draw.integers(18, 70, rows), "wage": np.round(draw.lognormal(2, 0.5, rows)),
        "town": draw.choice(["a", "b", "c", "d"], rows), "job": draw.choice(["x", "y", "z"], rows),
    })  # fmt: skip
    return groups[np.repeat(np.arange(rows), draw.geometric(0.15, rows))]


def grouped(frame: pl.DataFrame, *by: str) -> pl.DataFrame:
    return frame.group_by(by, maintain_order=True).len("n").with_columns(pl.col("n").cast(pl.Int64))


def test_persons_that_are_compared_while_a_job_counts_them_are_of_one_family(tables: Tables) -> None:
    """The rows of the counts were compared, and nothing was the same; of the persons nothing was there yet."""
    everyone = persons()
    tables.upload("counts", grouped(everyone, "age", "wage", "town", "job"))
    tables.join(tables.compared("counts"))
    tables.upload("persons", everyone)
    as_they_were = tables.compared("persons")
    assert not as_they_were.agreements, "the test needs such data"
    tables.join(tables.compared("counts", counted_by="n"))
    tables.join(as_they_were)
    assert len(tables.families()) == 1


def test_two_groupings_that_jobs_count_at_once_are_of_one_family(tables: Tables) -> None:
    everyone = persons()
    for name, by in (("one", ("age", "job")), ("other", ("age", "wage", "town"))):
        tables.upload(name, grouped(everyone, *by))
        tables.join(tables.compared(name))
    assert len(tables.families()) == 2, "the test needs such data"
    both = [tables.compared(name, counted_by="n") for name in ("one", "other")]
    assert not any(one.agreements for one in both), "the test needs such data"
    for one in both:
        tables.join(one)
    assert len(tables.families()) == 1
