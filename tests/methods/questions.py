"""People, their releases, and what tests of questions to releases share."""

import math
from collections.abc import Mapping
from typing import Any

import httpx
import numpy as np
import polars as pl

from tests.methods.asking import released, succeed, upload

Release = tuple[str, pl.DataFrame]
COLUMNS = ["age", "hours"]


def people(rows: int = 600, *, seed: int = 5) -> pl.DataFrame:
    """Ages and hours without missing values, towns that follow age, a hobby that some do not tell."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 70, rows)
    hobby = pl.Series("hobby", rng.choice(["chess", "ski"], rows))
    return pl.DataFrame(
        {
            "age": age,
            "hours": np.round(rng.normal(38, 6, rows), 1),
            "town": np.where(age + rng.normal(0, 4, rows) > 45, "Bergen", "Ålesund"),
            "number": rng.integers(1, 4, rows),
            "nothing": pl.Series([None] * rows, dtype=pl.String),
        }
    ).with_columns(pl.when(pl.Series(rng.random(rows) < 0.8)).then(hobby).alias("hobby"))


def publish(client: httpx.Client, frame: pl.DataFrame, **spec: Any) -> Release:
    """A release, and its rows as anybody sees them."""
    dataset = upload(client, frame.write_csv())
    common = {} if spec["method"] == "swaps" else {"quasi_identifiers": COLUMNS, "k": 5}
    job = succeed(client, {"dataset_id": dataset["id"]} | common | spec)
    return job["release_id"], released(client, job)


def log_density(row: Mapping[str, float], point: Mapping[str, float], *, density: str) -> float:
    """Logarithm of a published density at a point, straight from its definition."""
    total = 0.0
    for name, x in point.items():
        z, scale = row[name], row[f"{name}_scale"]
        if density == "gaussian":
            total += -0.5 * ((x - z) / scale) ** 2 - math.log(scale * math.sqrt(2 * math.pi))
        else:
            total += -math.log(scale) if abs(x - z) <= scale / 2 else -math.inf
    return total
