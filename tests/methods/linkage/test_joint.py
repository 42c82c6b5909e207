"""The joint form of the audit `linkage`: all rows matched at once."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from tests.methods.in_process import Bench


def test_who_matches_all_rows_at_once_is_told_apart_from_who_matches_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    rng = np.random.default_rng(3)
    bench.dataset("people", pl.DataFrame(rng.normal(size=(300, 2)), schema=["x", "y"]))
    noise = {"method": "uncertain", "dataset_id": "people", "quasi_identifiers": ["x", "y"], "scales": "per_record"}
    bench.release("weak", noise | {"k": 1.5})
    bench.release("strong", noise | {"k": 30})
    bench.release("boxes", {"method": "boxes", "dataset_id": "people", "quasi_identifiers": ["x", "y"], "k": 5})
    weak, strong, boxes = (
        bench.run({"method": "linkage", "release_id": name}).result for name in ("weak", "strong", "boxes")
    )
    assert weak["share_posterior_above_half"] > 0.5
    assert weak["precision_above_half"] > 0.6
    assert weak["joint"]["mean_posterior"] > weak["mean_posterior"]  # who is behind one row is behind no other
    assert strong["share_posterior_above_half"] < 0.05
    assert strong["joint"]["mean_posterior"] < 0.2
    assert (boxes["share_posterior_above_half"], boxes["precision_above_half"], boxes["joint"]) == (0.0, None, None)


def test_boxes_and_noise_that_each_keep_k_leave_fewer_together(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(rng.normal(size=(400, 2)), schema=["x", "y"])
    bench.dataset("people", frame.with_columns(pl.Series("job", rng.choice(["a", "b"], 400))))
    shared = {"dataset_id": "people", "quasi_identifiers": ["x", "y"], "k": 10}
    bench.release("boxes", shared | {"method": "boxes", "least_widths": "none"})
    bench.release("noise", shared | {"method": "uncertain"})
    bench.release("sets", shared | {"method": "boxes", "quasi_identifiers": ["x", "job"]})
    alone, jointly, several, boxes = (
        bench.run({"method": "linkage"} | spec).result
        for spec in (
            {"release_id": "noise"},
            {"release_ids": ["noise"]},
            {"release_ids": ["boxes", "noise", "sets"]},
            {"release_ids": ["boxes"]},
        )
    )
    assert jointly["mean_rank"] == pytest.approx(alone["mean_rank"])
    assert jointly["share_rank_1"] == pytest.approx(alone["share_rank_1"])
    assert jointly["mean_posterior"] == pytest.approx(alone["mean_posterior"], rel=1e-3)
    assert boxes["share_below_k"] == 0.0
    assert (boxes["mean_posterior"], boxes["share_posterior_above_half"]) == (pytest.approx(1 / boxes["mean_rank"]), 0)
    assert several["release_count"] == 3
    assert several["share_below_k"] > 0.9
    assert several["mean_rank"] < min(boxes["mean_rank"], alone["mean_rank"]) / 2
    assert several["adversary_knows_90_percent"]["mean_rank"] <= several["mean_rank"] + 0.5


def test_what_cannot_be_attacked_jointly_is_refused_by_name(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    rng = np.random.default_rng(6)
    for name in ("people", "others"):
        bench.dataset(name, pl.DataFrame(rng.normal(size=(100, 2)), schema=["x", "y"]))
        bench.release(f"{name}-boxes", {"method": "boxes", "dataset_id": name, "quasi_identifiers": ["x", "y"], "k": 5})
    bench.release("groups", {"method": "condensation", "dataset_id": "people", "quasi_identifiers": ["x"], "k": 5})
    for others, message in ((["others-boxes"], "of one original"), (["groups"], "not condensation")):
        with pytest.raises(AssertionError, match=message):
            bench.run({"method": "linkage", "release_ids": ["people-boxes", *others]})
    with pytest.raises(AssertionError, match="who knows their original"):
        bench.run({"method": "linkage", "release_ids": ["people-boxes"], "knowledge_dataset_id": "others"})
    for body in ({}, {"release_id": "people-boxes", "release_ids": ["people-boxes"]}):
        with pytest.raises(ValidationError, match="release"):
            bench.run({"method": "linkage"} | body)
