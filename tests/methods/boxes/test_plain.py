"""What rare records may be weighed with: the front refuses, before a job exists, what the algorithm cannot weigh."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.methods.in_process import Bench
from workers.engine.registry import runner_for

OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "l": {"sensitive": ["word"], "l": 2},
    "l of a number": {"sensitive": ["income"], "l": 2, "min_separation": {"income": 0.1}},
    "t": {"sensitive": ["word"], "t": 0.9},
    "alpha": {"sensitive": ["word"], "alpha": 0.9},
    "persons": {"person_column": "person"},
    "weights": {"survey_weight_column": "weight"},
    "kept": {"keep": ["word"]},
    "kept and counted": {"keep": ["word"], "k_counts_kept": True},
    "least width": {"min_width": {"x": 0.01}},
    "least width within attained bounds": {"min_width": {"x": 0.01}, "bounds": "tight"},
    "missing left out": {"missing_policy": "drop"},
    "patterns": {"missing_policy": "pattern"},
    "values": {"quasi_identifiers": ["x", "y", "word"]},
    "ordered values": {"quasi_identifiers": ["x", "y", "word"], "ordinal": {"word": ["a", "b", "c"]}},
    "covariance": {"statistics": [{"kind": "covariance", "of": ["x", "y"]}]},
    "regression": {"statistics": [{"kind": "regression", "of": ["x", "y"]}]},
    "quantile": {"statistics": [{"kind": "quantile", "of": ["x"], "p": 0.5}]},
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(Path(tmp_path_factory.mktemp("plain")))
    rng = np.random.default_rng(1)
    columns = {"x": rng.normal(size=90), "y": rng.normal(size=90), "income": rng.normal(size=90)}
    others = {
        "word": ["a", "b", "c"] * 30,
        "person": [f"p{at % 45}" for at in range(90)],
        "weight": [1.0, 2.0, 3.0] * 30,
    }
    made.dataset("d", pl.DataFrame(columns | others))
    return made


@pytest.mark.parametrize("name", list(OPTIONS))
def test_front_and_algorithm_have_one_rule(bench: Bench, name: str) -> None:
    body = {"method": "boxes", "dataset_id": "d", "quasi_identifiers": ["x", "y"], "k": 5} | OPTIONS[name]
    spec, wrong = bench.accepted(body)
    assert wrong == []
    request = runner_for("boxes").init(bench.context(spec)).algorithm.request
    refused = [one.pointer for one in bench.accepted(body | {"rare_records": "weigh"})[1]]
    assert refused == ([] if request.plain else ["/rare_records"])
