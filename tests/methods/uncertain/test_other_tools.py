"""The page on other tools: its code clusters a release and learns a tree from it, as well as it claims."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import adjusted_rand_score

from tests.meta.project import ROOT
from tests.methods.in_process import Bench

BLOCKS = re.findall(
    r"^```python\n(.+?)^```$", (ROOT / "docs/how-to/uncertain-tools.md").read_text(), re.MULTILINE | re.DOTALL
)
COLUMNS = ["age", "hours", "wage"]


def people(rng: np.random.Generator, each: int) -> pl.DataFrame:
    centers = np.array([[25.0, 20.0, 15.0], [45.0, 40.0, 30.0], [60.0, 25.0, 50.0]])
    x = np.repeat(centers, each, axis=0) + rng.normal(size=(3 * each, 3)) * [3.0, 3.0, 4.0]
    return pl.DataFrame(x, schema=COLUMNS).with_columns(kind=pl.Series(np.repeat(["young", "full", "late"], each)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the page's code makes of a release."""
    folder: Path = tmp_path_factory.mktemp("tools")
    bench = Bench(folder)
    bench.dataset("people", people(np.random.default_rng(1), 300))
    done = bench.run(
        {"method": "uncertain", "dataset_id": "people", "quasi_identifiers": COLUMNS, "keep": ["kind"], "k": 10}
    )
    done.rows().write_csv(folder / "release.csv")
    names: dict[str, Any] = {}
    code = "\n".join(BLOCKS).replace('"release.csv"', repr(str(folder / "release.csv")))
    exec(compile(code, "uncertain-tools.md", "exec"), names)
    return names


def test_clusters_of_draws_are_those_of_the_original(made: dict[str, Any]) -> None:
    original = people(np.random.default_rng(1), 300)
    predicted = made["clusters"].predict(original[COLUMNS].to_numpy() / made["spread"])
    assert adjusted_rand_score(original["kind"].to_list(), predicted) > 0.9


def test_a_tree_of_draws_classifies_people_whom_the_release_never_had(made: dict[str, Any]) -> None:
    others = people(np.random.default_rng(2), 300)
    assert made["tree"].score(others[COLUMNS].to_numpy(), others["kind"].to_numpy()) > 0.9


def test_draws_keep_the_weight_and_the_means_of_the_rows(made: dict[str, Any]) -> None:
    assert made["weights"].sum() == pytest.approx(900)
    error = 5.0 * made["scales"].mean(axis=0) / np.sqrt(len(made["points"]))
    assert (np.abs(made["points"].mean(axis=0) - made["centers"].mean(axis=0)) < error).all()
