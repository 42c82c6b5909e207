"""Two hidden groups masked by one job: their signals before and after, record by record, and what is refused."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from app.jobs.submit import echo
from tests.methods.bases import VARIABLES, counts, in_range, member, microfile
from tests.methods.in_process import Bench, Done
from tests.methods.refusing import refused

BASES, CLOISTERS = {4: 40, 11: 34}, {"R07": 38, "R11": 30}


@pytest.fixture(scope="module")
def home() -> pl.DataFrame:
    """Bases, and cloisters of monks, who are old, work part time and walk; one region has both."""
    frame = microfile(2, bases=BASES).with_row_index("person")
    others = frame.filter(job="other")
    monks = [person for region, count in CLOISTERS.items() for person in others.filter(region=region)["person"][:count]]
    is_monk = pl.col("person").is_in(monks)
    return frame.with_columns(
        pl.when(is_monk).then(pl.lit("monk")).otherwise(pl.col("job")).alias("job"),
        pl.when(is_monk).then(58).otherwise(pl.col("age")).alias("age"),
        pl.when(is_monk).then(15).otherwise(pl.col("hours")).alias("hours"),
        pl.when(is_monk).then(3).otherwise(pl.col("way")).alias("way"),
    ).drop("person")


def group(job: str, **more: Any) -> dict[str, Any]:
    return {
        "method": "group", "auxiliary_dataset_id": "home", "hidden_group": {"column": "job", "values": [job]},
        "region_columns": ["region"], "variables": VARIABLES, "search": {"method": "exhaustive"},
    } | more  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, home: pl.DataFrame) -> Bench:
    made = Bench(tmp_path_factory.mktemp("several"))
    made.dataset("home", home)
    made.job("army", group("army"))
    made.job("monk", group("monk"))
    made.job("elsewhere", group("monk", variables=VARIABLES[:3]))
    return made


def swaps(**more: Any) -> dict[str, Any]:
    return {
        "method": "swaps", "dataset_id": "home", "region_columns": ["region"], "model_job_id": "army",
        "more_model_job_ids": ["monk"], "search": {"method": "assignment"}, "drop": ["state"], "learn_again": False,
    } | more  # fmt: skip


@pytest.fixture(scope="module")
def masked(bench: Bench) -> Done:
    return bench.run(swaps())


def test_both_groups_are_masked_by_the_same_swaps(bench: Bench, home: pl.DataFrame, masked: Done) -> None:
    result, spec = masked.result, echo(masked.spec)
    assert (spec["protected_alphas"], spec["decoys"], spec["drop"]) == ([0.5], 0.0, ["state", "job"])
    region = home["region"].to_list()
    for one, other in result["swap_list"]:
        assert region[one] != region[other]
        region[one], region[other] = region[other], region[one]
    after = in_range(home.with_columns(region=pl.Series(region)))
    (monks,) = result["more_groups"]
    assert monks["model_job_id"] == "monk"
    for name, said in (("army", result), ("monk", monks)):
        rules = [rule["terms"] for rule in bench.run(group(name)).result["rules"]]
        for frame, which in ((in_range(home), "signal_before"), (after, "signal_after")):
            fits = pl.Series([member(record, rules, VARIABLES) > 0 for record in frame.iter_rows(named=True)])
            assert said[which] == counts(frame.filter(fits), ["region"], result["regions"])
        assert said["masked_regions"]
        for place, (least, most) in zip(said["masked_regions"], said["bounds"], strict=True):
            now = said["signal_after"][place]
            assert (least is None or now >= least) and (most is None or now <= most)  # noqa: PT018
        assert not set(said["outliers_before"]) & set(said["outliers_after"])
    both = result["regions"].index(["R11"])
    assert both in result["masked_regions"]
    assert both in monks["masked_regions"]
    assert result["valid"]
    assert monks["valid"]


def test_several_groups_cost_what_the_program_says_and_no_less_than_one(bench: Bench, masked: Done) -> None:
    alone = [bench.run(swaps(model_job_id=name, more_model_job_ids=[])).result for name in ("army", "monk")]
    most = max(one["members_distortion"] for one in alone)
    assert masked.result["distortion"] >= masked.result["assignment_distortion"] >= most - 1e-9
    people = np.array(masked.result["swap_list"])
    assert len(np.unique(people)) == people.size == 2 * masked.result["swap_count"]


@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({"search": {"method": "memetic"}}, "/search", "`assignment` only"),
        ({"decoys": 0.5}, "/decoys", "several groups"),
        ({"protected_alphas": [0.5, 0.2]}, "/protected_alphas", "members alone"),
        ({"more_model_job_ids": ["monk", "monk"]}, "/more_model_job_ids/1", ""),
        ({"more_model_job_ids": ["monk", "army"]}, "/more_model_job_ids/1", "the first group"),
        ({"more_model_job_ids": ["elsewhere"]}, "/more_model_job_ids/0", "other `variables`"),
        ({"targets": ["R01"]}, "/targets", "leave this out"),
        ({"model_job_id": None, "rules_model": {"variables": VARIABLES, "rules": [{"terms": [1, 3, 2]}]}},
         "/rules_model", "model_job_id"),
    ],
)  # fmt: skip
def test_what_several_groups_cannot_have_is_refused(
    bench: Bench, change: dict[str, Any], pointer: str, says: str
) -> None:
    refused(bench, swaps(**change), pointer, says)
