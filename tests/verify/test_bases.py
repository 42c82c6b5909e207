"""Records that a statistic counts: by hand from the rows of random releases, and the same in every output."""

from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from surebox_verify.certify import certify
from tests.drawing import seeds
from tests.methods.asking import succeed, upload

COLUMNS = {"x": ["x_lo", "x_hi"], "town": ["town_set"], "ill": ["ill"], "dose": ["dose"]}
STATISTICS = {
    "mean(x)": ["x"], "variance(x)": ["x"], "quantile(x, 0.5)": ["x"], "share(town=a)": ["town"], "share(ill)": ["ill"],
    "mean(dose)": ["dose"], "correlation(x, dose)": ["x", "dose"], "crosstab(town, ill)": ["town", "ill"],
    "domain_mean(x, ill=p)": ["x", "ill"], "domain_mean(dose, town=a)": ["dose", "town"],
    "regression(dose, x)": ["dose", "x"],
}  # fmt: skip


def release(seed: int) -> tuple[pl.DataFrame, bool]:
    """Boxes of which some lack a column, kept columns with missing values; perhaps with weights of rows."""
    draw = np.random.default_rng([909, seed])
    boxes, rows = int(draw.integers(3, 9)), []
    lacking = draw.random() < 0.7
    weighted = bool(draw.random() < 0.5)
    for box in range(boxes):
        low = float(draw.integers(0, 50))
        x = None if lacking and draw.random() < 0.3 else (low, low + float(draw.integers(1, 9)))
        town: list[str | None] | None = [None, ["a"], ["a", "b"], ["b", None]][
            int(draw.integers(0 if lacking else 1, 4))
        ]
        rows += [
            {
                "box": box, "x_lo": x and x[0], "x_hi": x and x[1], "town_set": town,
                "ill": draw.choice(["p", "q"]) if draw.random() < 0.8 else None,
                "dose": float(draw.integers(1, 9)) if draw.random() < 0.8 else None,
                **({"weight": float(draw.integers(1, 5))} if weighted else {}),
            }
            for _ in range(int(draw.integers(3, 9)))
        ]  # fmt: skip
    schema = {"x_lo": pl.Float64, "x_hi": pl.Float64, "town_set": pl.List(pl.String), "dose": pl.Float64}
    frame = pl.DataFrame(rows, schema_overrides=schema)
    if weighted:  # a weight is a box's
        frame = frame.with_columns(pl.col("weight").first().over("box"))
    return frame, weighted


def by_hand(frame: pl.DataFrame, columns: list[str], *, weighted: bool) -> tuple[str, int]:
    """The base of a statistic, and its records."""
    sides = [side for name in columns for side in COLUMNS[name]]
    n = sum(all(row[side] is not None for side in sides) for row in frame.iter_rows(named=True))
    return ("weighted" if weighted else "records") + ("" if n == frame.height else "_with_value"), n


@pytest.mark.parametrize("seed", seeds(12, 200))
def test_every_statistic_names_the_records_that_it_counts(seed: int) -> None:
    frame, weighted = release(seed)
    entries = [
        (wording, entry)
        for wording in STATISTICS
        for entry in certify(frame, [wording], columns=["x", "town"], weight=weighted)
    ]
    assert len(entries) > len(STATISTICS)
    for wording, entry in entries:
        assert (entry["base"], entry["n"]) == by_hand(frame, STATISTICS[wording], weighted=weighted), wording


@pytest.mark.parametrize("weighted", [False, True])
def test_job_release_question_certificate_and_pages_have_the_same_base(client: httpx.Client, *, weighted: bool) -> None:
    draw = np.random.default_rng(910)
    frame = pl.DataFrame({
        "age": [None if draw.random() < 0.1 else int(draw.integers(18, 80)) for _ in range(400)],
        "sex": draw.choice(["m", "f"], 400), "school": draw.choice(["a", "b"], 400),
        "ill": [None if draw.random() < 0.2 else str(draw.choice(["p", "q"])) for _ in range(400)],
        "weight": draw.integers(50, 150, 400).astype(float) * draw.choice([1.0, 2.0], 400),
    })  # fmt: skip
    dataset = upload(client, frame.write_csv())["id"]
    statistics: list[dict[str, Any]] = [
        {"kind": "mean", "of": ["age"]}, {"kind": "crosstab", "of": ["sex", "school"]},
        {"kind": "domain_mean", "of": ["age", "sex"]},
    ]  # fmt: skip
    job = succeed(client, {
        "method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["age", "sex", "school"], "k": 5,
        "missing_policy": "pattern", "keep": ["ill"], "statistics": statistics, "accept_findings": ["composition"],
        "domains": {"age": [0, 100]}, **({"survey_weight_column": "weight"} if weighted else {}),
    })  # fmt: skip
    path = f"/v1/releases/{job['release_id']}"
    rows = pl.read_parquet(client.get(f"{path}/data", params={"format": "parquet"}).content)
    of_age = rows.filter(pl.col("age_lo").is_not_null()).height
    assert 0 < of_age < rows.height
    what = "weighted" if weighted else "records"
    right = {"mean": (f"{what}_with_value", of_age), "domain_mean": (f"{what}_with_value", of_age)}
    right["crosstab"] = (what, rows.height)
    answer = client.post(f"{path}/statistics", json={"statistics": [*statistics, {"kind": "share", "of": ["ill"]}]})
    answered = answer.json()["statistics"]
    right["share"] = (f"{what}_with_value", rows["ill"].drop_nulls().len())
    published = client.get(f"{path}/statistics").json()["statistics"]
    for entries in (job["result"]["statistics"], published, answered):
        assert {one["kind"]: (one["base"], one["n"]) for one in entries}.items() <= right.items()
        assert len(entries) >= 7
    for page in (path, f"/v1/jobs/{job['id']}"):
        text = client.get(f"{page}/report", headers={"Accept": "text/html"}).text
        assert f"{of_age} records with a value{', weighted' if weighted else ''}" in text
        assert ("sum of weights of records with sex and school = f, a" in text) == weighted
        assert (">records with sex and school = f, a" in text) != weighted
    counts = client.post(f"{path}/count", json={"queries": [{"age": [30, 40]}]}).json()
    assert (counts["base"], counts["n"]) == ("records", rows.height), "a count weighs no record"
    _check_audits(client, job, right)


def _check_audits(client: httpx.Client, job: dict[str, Any], right: dict[str, tuple[str, int]]) -> None:
    """Check the bases of a release that the frontier tries at this k, and of figures that follow single records."""
    of_boxes = {name: job["spec"][name] for name in (
        "dataset_id", "quasi_identifiers", "missing_policy", "keep", "statistics", "domains", "survey_weight_column",
    )}  # fmt: skip
    points = succeed(client, {"method": "frontier", "k": [5]} | of_boxes, kind="audits")["result"]["points"]
    assert {one["kind"]: (one["base"], one["n"]) for one in points[0]["statistics"]}.items() <= right.items()
    audit = succeed(client, {"method": "influence", "release_ids": [job["release_id"]], "records": 1}, kind="audits")
    (release,) = audit["result"]["releases"]
    figures = {one["published_figure"]: (one["base"], one["n"]) for one in release["numbers"]}
    assert figures["mean(age) estimate"] == right["mean"]
    assert figures["age_hi, greatest"] == (None, None)
