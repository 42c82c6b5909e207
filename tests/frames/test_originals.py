"""Records of an original are found in the boxes of one table after another, as by looking at every box."""

from pathlib import Path

import numpy as np
import polars as pl

from workers.frames.generalized import Generalized, Meanings
from workers.frames.originals import Originals


def grid(columns: dict[str, float], nominal: dict[str, tuple[str, ...]]) -> Generalized:
    """Boxes of equal width in [0, 10) of each column, and one for each value of a nominal one."""
    axes = [np.arange(0, 10, width) for width in columns.values()]
    axes += [np.arange(len(book)) for book in nominal.values()]
    at = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    lower, rest = at[:, : len(columns)], at[:, len(columns) :].astype(int)
    books = tuple(nominal.values())
    return Generalized(
        tuple(columns), tuple(nominal), lower.copy(), lower + list(columns.values()),
        tuple(np.arange(len(book) + 1) == rest[:, j, None] for j, book in enumerate(books)), books, np.arange(len(at)),
    )  # fmt: skip


def test_places_do_not_hang_on_the_tables_before(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({
        "a": draw.uniform(0, 10, 3_000), "b": draw.uniform(0, 10, 3_000), "c": draw.choice(["x", "y", "z"], 3_000),
        "d": draw.choice(["low", "high"], 3_000),
    }).with_columns(pl.when(pl.col("a") < 0.5).then(None).otherwise(pl.col("a")).alias("a"))  # fmt: skip
    frame.write_parquet(tmp_path / "data.parquet")
    a, b = frame["a"].fill_null(-1.0).to_numpy(), frame["b"].to_numpy()
    c, d = (frame["c"] == "y").to_numpy().astype(int), (frame["d"] == "high").to_numpy().astype(int)
    orders = Meanings({"d": ["low", "high"]})
    cases = [
        (grid({}, {"c": ("x", "y")}), Meanings(), np.where(frame["c"] == "z", -1, c)),
        (grid({"b": 2.0}, {}), Meanings(), b // 2),
        (grid({"a": 2.5, "b": 5.0}, {"c": ("x", "y")}), Meanings(),
         np.where((a < 0) | (frame["c"] == "z").to_numpy(), -1, a // 2.5 * 4 + b // 5 * 2 + c)),
        (grid({"b": 2.0}, {}), Meanings(), b // 2),
        (grid({"d": 1.0, "b": 5.0}, {}), orders, d * 2 + b // 5),
    ]  # fmt: skip
    original = Originals(tmp_path / "data.parquet")
    for boxes, meanings, expected in cases:
        assert (original.places(boxes, meanings) == expected).all()
