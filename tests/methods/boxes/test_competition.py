"""Statistics that compete for the same boxes, and those that no boxes make narrow: warnings say so, and what helps."""

import re
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.methods.boxes.check import foreseen_boxes
from app.methods.boxes.spec import BoxesSpec
from tests.drawing import seeds
from tests.methods.asking import anonymization, succeed, upload
from tests.methods.in_process import Bench, Done

MEAN = {"kind": "mean", "of": ["wage"]}
REGRESSION = {"kind": "regression", "of": ["edu", "age"]}
CORRELATION = {"kind": "correlation", "of": ["age", "hours"]}
NONE = {"least_widths": "none"}
FAST = NONE | {"partition": "fast"}


def people(seed: int, rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "wage": np.round(rng.lognormal(10, 0.8, rows), 2),
            "hours": rng.integers(1, 60, rows),
            "edu": rng.integers(1, 16, rows),
            "sex": rng.choice(["f", "m"], rows),
            "design": rng.integers(1, 4, rows),
        }
    )


def warned(done: Done, code: str) -> dict[str | None, str]:
    return {one.pointer: one.detail for one in done.outcome.warnings if one.code == code}


def width(done: Done, kind: str) -> float:
    (bounds,) = (one["guaranteed"] for one in done.result["statistics"] if one["kind"] == kind)
    return float(bounds[1] - bounds[0])


@pytest.mark.parametrize("seed", seeds(2, 10))
def test_what_a_statistic_costs_another_is_said_and_is_so(tmp_path: Path, seed: int) -> None:
    bench = Bench(tmp_path, seed=seed)
    rows = int(np.random.default_rng(seed).integers(800, 2900))
    dataset = bench.upload("people", people(seed, rows), type={"wage": "number"})
    columns = ["age", "wage", "hours", "edu"]

    def made(*statistics: dict[str, Any]) -> Done:
        spec = {"method": "boxes", "dataset_id": dataset, "quasi_identifiers": columns, "k": 5} | FAST
        return bench.run(spec | {"statistics": list(statistics)})

    alone, two, three = made(MEAN), made(MEAN, REGRESSION), made(CORRELATION, MEAN, REGRESSION)
    assert warned(alone, "statistics_compete") == {}
    for done, place in ((two, 0), (three, 1)):
        detail = warned(done, "statistics_compete")[f"/spec/statistics/{place}"]
        (share,) = re.findall(r"alone, mean of 'wage' would have a range about ([\d.e-]+) times as wide", detail)
        assert float(share) == pytest.approx(width(alone, "mean") / width(done, "mean"), rel=0.1)
        assert "`weight`" in detail
    without = width(two, "mean") / width(three, "mean")
    shares = re.findall(r"without correlation of 'age', 'hours' ([\d.e-]+) times as wide", detail)
    assert without > 0.7 or [float(share) for share in shares] == [pytest.approx(without, rel=0.1)]
    heavier = made(MEAN | {"weight": 1.0}, REGRESSION | {"weight": 0.001})
    assert width(heavier, "mean") < 0.7 * width(two, "mean"), "the remedy works"
    assert not [one for one in two.outcome.release.warnings if one.code == "statistics_compete"], "from the records"


def test_weights_of_boxes_leave_statistics_of_kept_columns_wide(client: httpx.Client) -> None:
    dataset = upload(client, people(1, 600).write_csv(), type=["wage:number"])["id"]
    crosstab = {"kind": "crosstab", "of": ["sex", "edu"]}
    weighted = {"survey_weight_column": "design", "keep": ["edu"], "statistics": [crosstab], "k": 5}
    spec = anonymization("boxes", dataset, ["age", "sex"], **weighted)
    accepted = client.post("/v1/anonymizations", json=spec).json()
    job = succeed(client, spec)
    for one in (accepted, job):
        (detail,) = [warning["detail"] for warning in one["warnings"] if warning["code"] == "range_stays_wide"]
        assert "crosstab of 'sex', 'edu'" in detail
    ways = [
        spec | {"released_weights": "row", "k_counts_kept": True, "k": 2},
        anonymization("boxes", dataset, ["age", "sex", "edu"], **(weighted | {"keep": [], "nominal": {"edu": {}}})),
    ]
    for way in ways:
        helped = succeed(client, way)
        assert "range_stays_wide" not in [one["code"] for one in helped["warnings"]]
        assert _relative(helped) < 0.5 * _relative(job)


def _relative(job: dict[str, Any]) -> float:
    """Mean width of the cells of the cross-table, of the total weight of 600 people."""
    cells = [one["guaranteed"] for one in job["result"]["statistics"] if one["kind"] == "crosstab"]
    return float(np.mean([high - low for low, high in cells])) / 1200


def _joined(rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any], str]:
    """A statistic of a kept column and a quasi-identifier, a statistic of the latter alone, and the latter."""
    if rng.random() < 0.5:
        return {"kind": "crosstab", "of": ["sex", "edu"]}, {"kind": "share", "of": ["sex"]}, "sex"
    kind = str(rng.choice(["correlation", "covariance"]))
    return {"kind": kind, "of": ["wage", "hours"]}, {"kind": "mean", "of": ["wage"]}, "wage"


@pytest.mark.parametrize("seed", seeds(4, 20))
def test_a_statistic_that_joins_kept_columns_with_one_that_boxes_ignore_is_told_at_once(
    tmp_path: Path, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    joined, alone, column = _joined(rng)
    bench = Bench(tmp_path, seed=seed)
    dataset = bench.upload("people", people(seed, int(rng.integers(500, 1500))), type={"wage": "number"})
    spec = {
        "method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["age", "wage", "sex"], "nominal": {"sex": {}},
        "k": int(rng.integers(3, 12)), "keep": ["edu", "hours"],
    } | FAST  # fmt: skip
    listed = [joined, {"kind": "mean", "of": ["age"]}]
    silent, helped = spec | {"statistics": listed}, spec | {"statistics": [*listed, alone]}
    (early,) = foreseen_boxes(BoxesSpec.model_validate(silent))
    wide, narrow = bench.run(silent), bench.run(helped)
    assert warned(wide, "range_stays_wide") == {"/spec/statistics/0": early.detail}
    assert repr(column) in early.detail
    assert warned(narrow, "range_stays_wide") == {}
    assert _mean_width(narrow, joined) < 0.5 * _mean_width(wide, joined), "the remedy works"
    by_default = bench.accepted(spec | {"statistics": [joined]})[0]
    assert foreseen_boxes(by_default) == (), "boxes are made narrow for all columns"  # type: ignore[arg-type]


def _mean_width(done: Done, statistic: dict[str, Any]) -> float:
    numbers = [one["guaranteed"] for one in done.result["statistics"] if one["kind"] == statistic["kind"]]
    return float(np.mean([high - low for low, high in numbers]))


@pytest.mark.parametrize("seed", seeds(3, 12))
@pytest.mark.parametrize("kind", ["nominal", "many"])
def test_what_many_statistics_cost_is_said_and_is_so(tmp_path: Path, seed: int, kind: str) -> None:
    bench = Bench(tmp_path, seed=seed)
    rows = int(np.random.default_rng(seed).integers(800, 2900))
    dataset = bench.upload("people", people(seed, rows), type={"wage": "number"})
    spec = {"method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["age", "wage", "hours"], "k": 5} | NONE
    spec |= {"partition": "fast"}
    if kind == "nominal":
        spec |= {"quasi_identifiers": ["age", "wage", "sex"], "nominal": {"sex": {}}}
        spec |= {
            "statistics": [MEAN, {"kind": "mean", "of": ["age"]}, {"kind": "share", "of": ["sex"], "values": ["f"]}]
        }
    if kind == "many":
        pairs = [["age", "wage"], ["age", "hours"], ["wage", "hours"]]
        others = [{"kind": each, "of": pair} for each in ("correlation", "covariance") for pair in pairs]
        spec |= {"statistics": [MEAN, *others]}
    done = bench.run(spec)
    details = warned(done, "statistics_compete")
    assert ("/spec/statistics" in details) == (kind == "many")
    alone = bench.run(spec | {"statistics": [MEAN]})
    (share,) = re.findall(
        r"mean of 'wage' (?:would have a range about )?([\d.e-]+) times as wide", "; ".join(details.values())
    )[:1]
    assert float(share) == pytest.approx(_of_wage(alone) / _of_wage(done), rel=0.1)
    assert _of_wage(alone) <= 0.5 * _of_wage(done), "to list it alone, as advised, makes it narrow"
    assert all("`weight`" in detail for detail in details.values())


@pytest.mark.parametrize("seed", seeds(3, 12))
def test_who_lists_no_statistics_is_not_warned_of_those_that_are_made(tmp_path: Path, seed: int) -> None:
    """Default statistics always compete: no one has said which of them matters."""
    bench = Bench(tmp_path, seed=seed)
    rng = np.random.default_rng(seed)
    dataset = bench.upload("people", people(seed, int(rng.integers(800, 2900))), type={"wage": "number"})
    columns = [str(name) for name in rng.choice(["age", "wage", "hours", "edu"], 3, replace=False)]
    spec = {"method": "boxes", "dataset_id": dataset, "quasi_identifiers": columns, "k": 5} | FAST
    if rng.random() < 0.5:
        spec |= {"quasi_identifiers": [*columns, "sex"], "nominal": {"sex": {}}}
    assert warned(bench.run(spec), "statistics_compete") == {}


def _of_wage(done: Done) -> float:
    (bounds,) = (
        one["guaranteed"] for one in done.result["statistics"] if (one["kind"], list(one["of"])) == ("mean", ["wage"])
    )
    return float(bounds[1] - bounds[0])
