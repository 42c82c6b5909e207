"""The joint form of the audit `linkage`: all rows matched at once."""

from pathlib import Path

import numpy as np
import polars as pl

from tests.methods.in_process import Bench


def test_who_matches_all_rows_at_once_is_told_apart_from_who_matches_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    rng = np.random.default_rng(3)
    bench.dataset("people", pl.DataFrame(rng.normal(size=(300, 2)), schema=["x", "y"]))
    noise = {"method": "uncertain", "dataset_id": "people", "columns": ["x", "y"], "scales": "per_record"}
    bench.release("weak", noise | {"k": 1.5})
    bench.release("strong", noise | {"k": 30})
    bench.release("boxes", {"method": "boxes", "dataset_id": "people", "columns": ["x", "y"], "k": 5})
    weak, strong, boxes = (
        bench.run({"method": "linkage", "release_id": name}).result for name in ("weak", "strong", "boxes")
    )
    assert weak["share_posterior_above_half"] > 0.5
    assert weak["share_of_these_right"] > 0.6
    assert weak["joint"]["mean_posterior"] > weak["mean_posterior"]  # who is behind one row is behind no other
    assert strong["share_posterior_above_half"] < 0.05
    assert strong["joint"]["mean_posterior"] < 0.2
    assert (boxes["share_posterior_above_half"], boxes["share_of_these_right"], boxes["joint"]) == (0.0, None, None)
