"""Questions about columns that a release keeps: salary by sex, which a k-anonymous table is published for."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from surebox_verify.certify import certify
from surebox_verify.envelope import UnreadableError
from surebox_verify.questions import question
from tests.methods.asking import released, succeed, upload
from tests.methods.in_process import Bench

TRUTHS: dict[str, Callable[..., float]] = {
    "mean": np.mean,
    "variance": np.var,
    "standard_deviation": np.std,
    "covariance": lambda x, y: np.cov(x, y, bias=True)[0, 1],
    "correlation": lambda x, y: np.corrcoef(x, y)[0, 1],
}


def staff(rows: int, seed: int) -> pl.DataFrame:
    """People, with a salary that some do not tell."""
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 70, rows)
    salary = draw.integers(20, 60, rows) * 1000 + 200 * age
    return pl.DataFrame({
        "age": age, "sex": draw.choice(["f", "m"], rows), "town": draw.choice(["Oslo", "Rom", "Umeå"], rows),
        "salary": pl.Series(salary).set(pl.Series(draw.random(rows) < 0.1), None),
        "level": draw.normal(3, 1, rows).round(2),
        "grade": draw.choice(["other", "junior", "senior"], rows), "manages": draw.random(rows) < 0.2,
    })  # fmt: skip


ASKED: list[dict[str, Any]] = [
    {"kind": "mean", "of": ["salary"]},
    {"kind": "variance", "of": ["level"]},
    {"kind": "standard_deviation", "of": ["salary"]},
    {"kind": "quantile", "of": ["salary"], "p": 0.5},
    {"kind": "correlation", "of": ["salary", "level"]},
    {"kind": "covariance", "of": ["salary", "age"]},
    {"kind": "correlation", "of": ["age", "level"]},
    {"kind": "share", "of": ["grade"], "values": ["other"]},
    {"kind": "share", "of": ["manages"], "values": ["true"]},
    {"kind": "share", "of": ["grade"], "values": ["nobody's"]},
    {"kind": "domain_mean", "of": ["salary", "sex"], "values": ["f"]},
    {"kind": "domain_mean", "of": ["salary", "grade"], "values": ["junior"]},
    {"kind": "domain_mean", "of": ["age", "grade"], "values": ["junior", "senior"]},
    {"kind": "crosstab", "of": ["sex", "grade"]},
    {"kind": "crosstab", "of": ["grade", "manages"]},
    {"kind": "regression", "of": ["salary", "age"]},
    {"kind": "regression", "of": ["level", "salary"]},
    {"kind": "mean", "of": ["age"]},
]
KEPT = {"salary", "level", "grade", "manages"}


def truth(frame: pl.DataFrame, asked: Mapping[str, Any]) -> Any:
    """A statistic over the records that have its columns, by numpy."""
    there = frame.drop_nulls(asked["of"])
    columns = [there[name].to_numpy() for name in asked["of"]]
    if asked["kind"] in TRUTHS:
        return TRUTHS[asked["kind"]](*columns)
    if asked["kind"] == "quantile":
        return np.sort(columns[0])[int(np.ceil(0.5 * len(columns[0]))) - 1]
    if asked["kind"] == "crosstab":
        cell = [
            there[name].cast(pl.String) == str(v).lower() for name, v in zip(asked["of"], asked["values"], strict=True)
        ]
        return (cell[0] & cell[1]).sum()
    if asked["kind"] == "regression":
        slope, intercept = np.polyfit(columns[1], columns[0], 1)
        return [intercept, slope]
    inside = there[asked["of"][-1]].cast(pl.String).is_in(asked["values"]).to_numpy()
    return inside.mean() if asked["kind"] == "share" else columns[0][inside].mean()


def check(said: Mapping[str, Any], frame: pl.DataFrame) -> None:
    ranges, true = said["guaranteed"], truth(frame, said)
    if not isinstance(true, list):
        ranges, true = [ranges], [true]
    for found, value in zip(ranges, true, strict=True):
        if found is None:
            continue
        slack = 1e-9 * max(1.0, abs(value))
        assert found[0] - slack <= value <= found[1] + slack, (said, value)
        if set(said["of"]) <= KEPT and said["kind"] not in {"regression", "correlation"}:
            assert found == pytest.approx([value, value], rel=1e-6, abs=1e-9), "nothing of kept columns alone is open"


@pytest.mark.parametrize("bounds", ["cells", "tight"])
@pytest.mark.parametrize("content", ["bounds", "rounded_means"])
def test_every_range_of_kept_columns_holds_the_truth(
    tmp_path_factory: pytest.TempPathFactory, bounds: str, content: str
) -> None:
    frame = staff(90, seed=len(bounds + content))
    bench = Bench(tmp_path_factory.mktemp("kept"))
    bench.dataset("t", frame)
    spec = {"method": "boxes", "dataset_id": "t", "columns": ["age", "sex", "town"], "k": 3, "bounds": bounds}
    done = bench.run(spec | {"keep": sorted(KEPT), "content": content})
    bench.keep("r", done)
    answers = bench.run({"method": "statistics", "release_id": "r", "statistics": ASKED}).whole["statistics"]
    assert [one["kind"] for one in answers] == [
        one["kind"] for one in ASKED for _ in range(6 if one["kind"] == "crosstab" else 1)
    ]
    for one in answers:
        check(one, frame)
    offline = certify(done.rows(), [question(one) for one in ASKED])
    for one, other in zip(answers, offline, strict=True):
        assert (one["kind"], one["of"], one["values"]) == (other["kind"], other["of"], other["values"])
        check(other, frame)


def test_counts_of_kept_values_and_boxes_hold_the_truth(tmp_path_factory: pytest.TempPathFactory) -> None:
    frame = staff(120, seed=5)
    bench = Bench(tmp_path_factory.mktemp("kept"))
    bench.dataset("t", frame)
    spec = {"method": "boxes", "dataset_id": "t", "columns": ["age", "sex", "town"], "k": 4, "bounds": "tight"}
    bench.keep("r", bench.run(spec | {"keep": sorted(KEPT)}))
    parts: dict[str, list[Any]] = {
        "age": [[20, 45]], "sex": [{"in": ["f"]}], "salary": [[30_000, 50_000], [None, 40_000]],
        "grade": [{"in": ["other", "senior"]}, {"in": ["nobody's"]}], "manages": [{"in": [True]}],
    }  # fmt: skip
    queries = [
        dict(zip(names, chosen, strict=True))
        for size in (1, 2, 3)
        for names in itertools.combinations(parts, size)
        for chosen in itertools.product(*(parts[name] for name in names))
    ]
    counts = bench.run({"method": "count", "release_id": "r", "queries": queries}).whole["counts"]
    for query, count in zip(queries, counts, strict=True):
        inside = np.ones(frame.height, dtype=bool)
        for name, asked in query.items():
            if isinstance(asked, list):
                low, high = (0 if asked[0] is None else asked[0]), asked[1]
                inside &= frame[name].is_between(low, high).fill_null(value=False).to_numpy()
            else:
                inside &= frame[name].is_in(asked["in"]).to_numpy()
        low, high = count["guaranteed"]
        assert low <= inside.sum() <= high, query
        if set(query) <= KEPT:  # every batch is asked together, and divided by all that it names
            assert low == high == inside.sum()


def test_salary_by_sex(client: httpx.Client) -> None:
    frame = staff(200, seed=9).with_columns(sex=pl.col("sex").replace("m", "x"))
    spec = {
        "method": "boxes",
        "dataset_id": upload(client, frame.write_csv())["id"],
        "columns": ["age", "town"],
        "k": 5,
    }
    job = succeed(client, spec | {"keep": ["salary", "sex"], "publish": "draft"})
    where = f"/v1/releases/{job['release_id']}"
    asked = {"kind": "domain_mean", "of": ["salary", "sex"]}
    answer = client.post(f"{where}/statistics", json={"statistics": [asked, {"kind": "mean", "of": ["age"]}]})
    assert answer.status_code == httpx.codes.OK, answer.text
    women, men, age = answer.json()["statistics"]
    for one in (women, men):
        true = frame.filter(pl.col("sex") == one["values"][0])["salary"].mean()
        assert one["guaranteed"] == pytest.approx([true, true])
    assert age["guaranteed"][0] <= frame["age"].mean() <= age["guaranteed"][1]
    assert certify(released(client, job), ["domain_mean(salary, sex=f)"])[0]["guaranteed"] == pytest.approx(
        women["guaranteed"]
    )
    answer = client.post(f"{where}/count", json={"queries": [{"sex": {"in": ["x"]}, "salary": [None, 40_000]}]})
    true = frame.filter((pl.col("sex") == "x") & (pl.col("salary") <= 40_000)).height
    assert answer.json()["counts"][0]["guaranteed"] == [true, true]
    wrong = [
        {"kind": "mean", "of": ["sex"]},
        {"kind": "share", "of": ["salary"], "values": [1]},
        {"kind": "mean", "of": ["x"]},
    ]
    answer = client.post(f"{where}/statistics", json={"statistics": wrong})
    assert [error["pointer"] for error in answer.json()["errors"]] == [
        f"/statistics/{place}/of/0" for place in range(3)
    ]


def test_weights_of_whole_boxes_say_nothing_certain_of_their_parts(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Which records of a box weigh how much is not published: a kept column's share of the weights is open."""
    frame = staff(60, seed=3).with_columns(design=pl.Series(np.random.default_rng(1).uniform(1, 9, 60)))
    bench = Bench(tmp_path_factory.mktemp("kept"))
    bench.dataset("t", frame)
    spec = {"method": "boxes", "dataset_id": "t", "columns": ["age", "town"], "k": 3, "keep": ["salary", "sex"]}
    done = bench.run(spec | {"survey_weight": "design"})
    bench.keep("r", done)
    asked = {"kind": "domain_mean", "of": ["salary", "sex"]}
    wrong = bench.accepted({"method": "statistics", "release_id": "r", "statistics": [asked]})[1]
    assert [error.pointer for error in wrong] == ["/statistics/0/of/0", "/statistics/0/of/1"]
    assert "weights: row" in wrong[0].detail
    with pytest.raises(UnreadableError, match="whole boxes"):
        certify(done.rows(), ["domain_mean(salary, sex=f)"], weight=True)
    count = bench.run({"method": "count", "release_id": "r", "queries": [{"sex": {"in": ["f"]}}]}).whole["counts"][0]
    assert count["guaranteed"] == [(frame["sex"] == "f").sum()] * 2


def test_a_column_that_is_called_as_the_weights_of_boxes_refuses_no_question(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Its bounds are `weight_mean_lo` and `weight_mean_hi`; nothing is weighed."""
    frame = staff(60, seed=4).with_columns(weight_mean=pl.Series(np.random.default_rng(2).uniform(50, 90, 60)))
    bench = Bench(tmp_path_factory.mktemp("named"))
    bench.dataset("t", frame)
    spec = {"method": "boxes", "dataset_id": "t", "columns": ["age", "weight_mean"], "k": 3, "keep": ["sex"]}
    bench.keep("r", bench.run(spec))
    asked = {"kind": "share", "of": ["sex"], "values": ["f"]}
    answer = bench.run({"method": "statistics", "release_id": "r", "statistics": [asked]}).whole["statistics"][0]
    assert answer["guaranteed"] == pytest.approx([(frame["sex"] == "f").mean()] * 2)
