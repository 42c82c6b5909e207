"""`t` holds for the values as they are, also where the search counted the outermost as one."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.errors import InfeasibleError
from tests.methods.asking import anonymization
from tests.methods.in_process import Bench


def table(seed: int) -> pl.DataFrame:
    """Half of the values alike, a few common ones, and four far from all others."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(30, 80))
    y = np.where(rng.random(rows) < 0.5, 0, rng.integers(0, 4, rows))
    y[rng.choice(rows, 4, replace=False)] = rng.integers(50, 90, 4)
    return pl.DataFrame({"x": rng.permutation(rows) * 1.5, "z": rng.normal(size=rows).round(2), "y": y})


def furthest(released: pl.DataFrame, y: np.ndarray, distance: str) -> float:
    """Largest distance of a box's distribution from that of all: earth mover's over ranks, or half the differences."""
    values = np.unique(y)
    whole = np.array([(y == value).mean() for value in values])
    distances = []
    for _, box in released.group_by([name for name in released.columns if name != "y"]):
        share = np.array([(box["y"].to_numpy() == value).mean() for value in values]) - whole
        moved = np.abs(np.cumsum(share))[:-1].sum() / (len(values) - 1)
        distances.append(moved if distance == "ordered" else 0.5 * np.abs(share).sum())
    return max(distances)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("distance", ["ordered", "equal"])
def test_every_box_is_as_close_as_was_asked(tmp_path: Path, seed: int, distance: str) -> None:
    frame, bench, t = table(seed), Bench(tmp_path, seed=seed), 0.25
    bench.dataset("d", frame)
    done = bench.run(
        {
            "method": "boxes", "dataset_id": "d", "quasi_identifiers": ["x", "z"], "k": 3, "t": t, "sensitive": ["y"],
            "t_distance": {"y": distance}, "keep": ["y"], "statistics": [{"kind": "mean", "of": ["x"]}],
        }
    )  # fmt: skip
    assert furthest(done.rows(), frame["y"].to_numpy(), distance) <= t + 1e-9


def test_a_t_of_nothing_leaves_one_box(tmp_path: Path) -> None:
    """Distance 0 needs boxes of the same shares as the table: with values that occur once, only the whole table."""
    frame = pl.DataFrame({"x": [float(one) for one in range(20)], "y": [float(one**2) for one in range(20)]})
    bench = Bench(tmp_path)
    bench.dataset("d", frame)
    spec = anonymization("boxes", "d", ["x"], k=2, t=0.0, sensitive=["y"], keep=["y"])
    assert furthest(bench.run(spec).rows(), frame["y"].to_numpy(), "ordered") <= 1e-9


def test_where_the_search_sees_one_value_the_true_ones_still_decide(tmp_path: Path) -> None:
    """Values beyond the tenth count as it, with a tie in the middle all as one: no cut would be refused."""
    values = [*range(9), 9, 9, *range(10, 19)]
    frame = pl.DataFrame({"x": [float(one) for one in range(20)], "y": values})
    bench = Bench(tmp_path)
    bench.dataset("d", frame)
    spec = {"method": "boxes", "dataset_id": "d", "quasi_identifiers": ["x"], "k": 10, "t": 0.1, "sensitive": ["y"]}
    assert furthest(bench.run(spec | {"keep": ["y"]}).rows(), frame["y"].to_numpy(), "ordered") <= 0.1 + 1e-9


def test_rows_with_weights_of_their_own_are_no_one_box(tmp_path: Path) -> None:
    """Boxes have one weight whatever is cut: where those of two weights differ by more than `t`, that is said."""
    frame = pl.DataFrame({"x": range(20), "y": range(20), "w": [1.0] * 10 + [2.0] * 10})
    bench = Bench(tmp_path)
    bench.dataset("d", frame)
    spec: dict[str, Any] = {"method": "boxes", "dataset_id": "d", "quasi_identifiers": ["x"], "k": 4, "t": 0.1}
    spec |= {"sensitive": ["y"], "withheld": ["y"]}
    with pytest.raises(InfeasibleError, match=r"t = 0\.1"):
        bench.run(spec | {"survey_weight_column": "w", "released_weights": "row"})
