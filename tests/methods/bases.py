"""A made-up country with bases: a microfile whose hidden group lives in few places and can be told by its habits.

Soldiers are young, work long hours and walk to work; elsewhere such people are rare. A base is a region with many of
them. What the tests expect comes from here, and from slow oracles in plain Python, never from the service.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

WAYS = ("car", "bus", "walk")
#: Regions per state.
STATE = 10

VARIABLES: list[dict[str, Any]] = [
    {
        "column": "age",
        "range": [18, 60],
        "terms": [
            {"name": "young", "shape": "pi", "points": [10, 18, 24, 30]},
            {"name": "middle", "shape": "gaussian", "sigma": 4, "centre": 35},
            {"name": "old", "shape": "s", "points": [38, 50]},
        ],
    },
    {
        "column": "hours",
        "range": [1, 80],
        "terms": [
            {"name": "part time", "shape": "z", "points": [20, 34]},
            {"name": "usual", "shape": "triangle", "points": [30, 40, 50]},
            {"name": "long", "shape": "trapezoid", "points": [40, 50, 80, 80]},
        ],
    },
    {
        "column": "way",
        "range": [1, 3],
        "terms": [
            {"name": "rides", "shape": "range", "points": [1, 2]},
            {"name": "walks", "shape": "range", "points": [3, 3]},
        ],
    },
    {"column": "income", "range": [0, 100_000]},
]


def microfile(
    seed: int, *, regions: int = 30, people: int = 150, bases: Mapping[int, int], background: int = 2
) -> pl.DataFrame:
    """People of regions R00, R01, …; `bases` gives soldiers by region, elsewhere there are up to `background`."""
    rng = np.random.default_rng(seed)
    parts = []
    for region in range(regions):
        soldiers = bases.get(region, int(rng.integers(0, background + 1)))
        is_soldier = np.arange(people) < soldiers
        rng.shuffle(is_soldier)
        drawn = {
            "age": np.where(is_soldier, rng.integers(18, 25, people), rng.integers(16, 66, people)),
            "hours": np.where(is_soldier, rng.integers(50, 70, people), rng.integers(10, 60, people)),
            "way": np.where(is_soldier, 3, rng.choice([1, 1, 1, 1, 1, 1, 2, 2, 2, 3], people)),
            "income": rng.integers(0, 90_000, people),
            "sex": rng.integers(1, 3, people),
        }
        parts.append(
            pl.DataFrame(drawn).with_columns(
                pl.lit(f"S{region // STATE}").alias("state"),
                pl.lit(f"R{region:02}").alias("region"),
                pl.Series("job", np.where(is_soldier, "army", "other")),
            )
        )
    whole = pl.concat(parts).sample(fraction=1.0, shuffle=True, seed=seed)
    holes = pl.Series(rng.random(whole.height) < 0.02)
    return whole.with_columns(pl.when(~holes).then(pl.col("hours")).alias("hours"))


def in_range(frame: pl.DataFrame, variables: Sequence[Mapping[str, Any]] = VARIABLES) -> pl.DataFrame:
    """The records that count, by polars."""
    for variable in variables:
        low, high = variable["range"]
        frame = frame.filter(pl.col(variable["column"]).is_between(low, high))
    return frame


def counts(frame: pl.DataFrame, region_columns: Sequence[str], regions: Sequence[Sequence[Any]]) -> list[int]:
    """Records per region, by polars."""
    sizes = {tuple(row[:-1]): row[-1] for row in frame.group_by(region_columns).len().rows()}
    return [sizes.get(tuple(region), 0) for region in regions]


def grade(term: Mapping[str, Any], x: float) -> float:
    """A membership function, straight from its definition, one value at a time."""
    shape = term["shape"]
    if shape == "gaussian":
        return math.exp(-((x - term["centre"]) ** 2) / (2 * term["sigma"] ** 2))
    p = term["points"]
    if shape == "range":
        return float(p[0] <= x <= p[1])
    rise, fall = {
        "s": ((p[0], p[1]), None),
        "z": (None, (p[0], p[1])),
        "triangle": ((p[0], p[1]), (p[1], p[-1])),
    }.get(shape, ((p[0], p[1]), (p[-2], p[-1])))
    curved = shape in {"s", "z", "pi"}
    up = 1.0 if rise is None else slope(x, *rise, curved=curved)
    down = 1.0 if fall is None else slope(-x, -fall[1], -fall[0], curved=curved)
    return min(up, down)


def slope(x: float, a: float, b: float, *, curved: bool) -> float:
    """From 0 at a to 1 at b; a vertical one belongs to the set."""
    if x >= b:
        return 1.0
    if x <= a:
        return 0.0
    t = (x - a) / (b - a)
    if not curved:
        return t
    return 2 * t * t if t <= 0.5 else 1 - 2 * (1 - t) ** 2


def member(record: Mapping[str, Any], rules: Sequence[Sequence[int]], variables: Sequence[Mapping[str, Any]]) -> float:
    """Highest product of grades of any rule that reaches 0.5."""
    named = [variable for variable in variables if variable.get("terms")]
    best = 0.0
    for rule in rules:
        product = 1.0
        for term, variable in zip(rule, named, strict=True):
            if term:
                product *= grade(variable["terms"][term - 1], record[variable["column"]])
        best = max(best, product if product >= 0.5 else 0.0)
    return best
