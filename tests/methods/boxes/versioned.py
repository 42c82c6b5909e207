"""Versions of made-up data, each in the boxes of the one before, in this process; what readers of them can compare."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from app.contracts.releases import ReleaseFormat
from tests.methods.in_process import Bench, Done
from workers.methods.context import InputFile

K = 5
SPEC: dict[str, Any] = {
    "method": "boxes", "quasi_identifiers": ["age", "wage", "town"], "k": K,
    "domains": {"age": [0, 120], "wage": [0, 1000]},
    "keep": ["job"], "nominal": {"town": {"values": ["a", "b", "c", "d"]}},
}  # fmt: skip
SIDES = ["age_lo", "age_hi", "wage_lo", "wage_hi"]


def people(seed: int, rows: int = 400) -> pl.DataFrame:
    draw = np.random.default_rng([120, seed])
    return pl.DataFrame({
        "age": draw.integers(18, 90, rows), "wage": np.minimum(draw.lognormal(3, 1, rows), 900.0),
        "town": draw.choice(["a", "b", "c"], rows), "job": draw.choice(["x", "y"], rows),
    })  # fmt: skip


class Versions:
    """A base, and one version after the other."""

    def __init__(self, folder: Path, frame: pl.DataFrame, **more: Any) -> None:
        self.bench, self.spec, self.tables = Bench(folder), SPEC | more, [pl.DataFrame()]
        self.bench.dataset("v0", frame)
        self.bench.release("r0", self.spec | {"dataset_id": "v0"})
        self.tables = [pl.read_parquet(self.bench.files[InputFile.RELEASE, "r0"])]

    def add(self, frame: pl.DataFrame, **more: Any) -> Done:
        number = len(self.tables)
        name = self.bench.dataset(f"v{number}", frame)
        earlier = tuple(reversed(self.bench.releases.values()))
        self.bench.datasets[name] = replace(self.bench.datasets[name], earlier=earlier)
        spec = self.spec | {"dataset_id": name, "previous_release_id": f"r{number - 1}"} | more
        outcome = self.bench.run(spec, seed=number)
        assert outcome.release is not None
        self.bench.release(f"r{number}", spec, seed=number)
        self.tables.append(pl.read_parquet(outcome.release.files[ReleaseFormat.PARQUET].path))
        return outcome


def boxes(table: pl.DataFrame) -> pl.DataFrame:
    return table.group_by("box", *SIDES).agg(pl.col("town_set").first().list.sort().list.join(","), pl.len())


def differences(first: pl.DataFrame, second: pl.DataFrame) -> list[int]:
    """By how many rows boxes differ that both have; a number is a box for ever."""
    both = boxes(first).join(boxes(second), on="box", suffix="_later")
    for side in (*SIDES, "town_set"):
        assert both[side].equals(both[f"{side}_later"])
    return [int(one) for one in (both["len_later"].cast(int) - both["len"].cast(int)).abs()]
