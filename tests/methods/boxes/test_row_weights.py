"""Design weights of rows: kept columns that k counts, and the weights that statistics have."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from app.contracts.inputs import Given
from app.contracts.releases import ReleaseFormat
from app.errors import InfeasibleError
from app.methods.boxes import check as rules
from app.methods.boxes.spec import BoxesSpec
from tests.methods.in_process import Bench

SPEC = {
    "method": "boxes", "dataset_id": "survey", "quasi_identifiers": ["age", "sex"], "k": 4, "survey_weight_column": "w",
    "released_weights": "row", "partition": "fast",
}  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench, draw = Bench(tmp_path_factory.mktemp("bench")), np.random.default_rng(3)
    weights = np.append(draw.choice([0.1, 1.0, 2.5], 297), [7.0, 7.0, 8.0])
    frame = pl.DataFrame({
        "age": draw.integers(18, 90, 300), "sex": draw.choice(["f", "m"], 300), "w": weights,
        "area": draw.choice(["a", "b"], 300),
    })  # fmt: skip
    bench.dataset("survey", frame)
    return bench


@pytest.mark.parametrize("bounds", ["cells", "tight"])
@pytest.mark.parametrize("keep", [(), ("area",)])
def test_k_counts_box_and_weight_and_statistics_have_the_weights_of_rows(
    bench: Bench, bounds: str, keep: tuple[str, ...]
) -> None:
    spec = SPEC | {"bounds": bounds, "keep": list(keep), "k_counts_kept": bool(keep)}
    done = bench.run(spec)
    assert done.release is not None
    rows = pl.read_parquet(done.release.files[ReleaseFormat.PARQUET].path)
    assert (rows["weight"] == rows["w"]).all(), "every row its own weight, to the last digit"
    assert 3 <= done.result["suppressed"]["rare_class"] < 7, "weights of three records fit in no box"
    assert not rows["w"].is_in([7.0, 8.0]).any()
    assert rows.group_by("box", "w", *keep).len()["len"].min() == done.result["k_with_kept"] >= 4
    assert rows.group_by("box").agg(pl.col("w").n_unique())["w"].max() == 1
    frame = pl.read_parquet(Path(bench.folder / "survey.parquet")).filter(~pl.col("w").is_in([7.0, 8.0]))
    assert rows.height == frame.height - (done.result["suppressed"]["rare_class"] - 3)
    for one in done.result["statistics"]:
        lo, hi = one["guaranteed"]
        assert lo <= one["true_value"] <= hi
        if one["kind"] == "mean" and done.result["suppressed"]["rare_class"] == 3:
            assert one["true_value"] == pytest.approx(np.average(frame["age"], weights=frame["w"]))
    assert {"survey-weights"} <= set(done.release.flags)


def test_weights_of_rows_are_kept_and_counted_with_what_else_is_kept(bench: Bench) -> None:
    given = Given(datasets={"dataset_id": bench.datasets["survey"]})

    def filled(**change: object) -> tuple[BoxesSpec, dict[str, str]]:
        spec = rules.fill_boxes(BoxesSpec.model_validate(SPEC | change), given)
        return spec, {error.pointer: error.detail for error in rules.check_boxes(spec, given)}

    spec, errors = filled()
    assert (spec.keep, spec.k_counts_kept, errors) == (("w",), True, {})
    assert filled(keep=["w"])[0].keep == ("w",)
    assert "/k_counts_kept" in filled(keep=["area"])[1], "other kept columns count only with `k_counts_kept`"
    assert "survey_weight_column" in filled(survey_weight_column=None)[1]["/released_weights"]


def test_weights_too_different_to_be_counted_are_told_what_would_do(bench: Bench) -> None:
    with pytest.raises(InfeasibleError, match="`released_weights: box`"):
        bench.run(SPEC | {"max_suppressed_classes": 0.0})
