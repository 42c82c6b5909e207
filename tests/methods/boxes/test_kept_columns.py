"""Questions about columns that a release keeps: salary by sex, which a k-anonymous table is published for."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.errors import InvalidError
from surebox_verify.certify import certify
from surebox_verify.questions import question
from tests.methods.asking import anonymization, released, succeed, upload
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


STATISTICS: list[dict[str, Any]] = [
    {"kind": "mean", "of": ["salary"]},
    {"kind": "variance", "of": ["level"]},
    {"kind": "standard_deviation", "of": ["salary"]},
    {"kind": "quantile", "of": ["salary"], "p": 0.5},
    {"kind": "correlation", "of": ["salary", "level"]},
    {"kind": "covariance", "of": ["salary", "age"]},
    {"kind": "correlation", "of": ["age", "level"]},
    {"kind": "share", "of": ["grade"], "values": ["other"]},
    {"kind": "share", "of": ["manages"], "values": ["true"]},
    {"kind": "domain_mean", "of": ["salary", "sex"], "values": ["f"]},
    {"kind": "domain_mean", "of": ["salary", "grade"], "values": ["junior"]},
    {"kind": "domain_mean", "of": ["age", "grade"], "values": ["junior", "senior"]},
    {"kind": "crosstab", "of": ["sex", "grade"]},
    {"kind": "crosstab", "of": ["grade", "manages"]},
    {"kind": "regression", "of": ["salary", "age"]},
    {"kind": "regression", "of": ["level", "salary"]},
    {"kind": "mean", "of": ["age"]},
    {"kind": "prediction", "of": ["salary", "age"], "at": [40]},
    {"kind": "prediction", "of": ["age", "salary"], "at": [30000.5]},
]
KEPT = {"salary", "level", "grade", "manages"}


def truth(frame: pl.DataFrame, statistic: Mapping[str, Any]) -> Any:
    """A statistic over the records that have its columns, by numpy."""
    there = frame.drop_nulls(statistic["of"])
    columns = [there[name].to_numpy() for name in statistic["of"]]
    if statistic["kind"] in TRUTHS:
        return TRUTHS[statistic["kind"]](*columns)
    if statistic["kind"] == "quantile":
        return np.sort(columns[0])[int(np.ceil(0.5 * len(columns[0]))) - 1]
    if statistic["kind"] == "crosstab":
        cell = [
            there[name].cast(pl.String) == str(v).lower()
            for name, v in zip(statistic["of"], statistic["values"], strict=True)
        ]
        return (cell[0] & cell[1]).sum()
    if statistic["kind"] == "regression":
        slope, intercept = np.polyfit(columns[1], columns[0], 1)
        return [intercept, slope]
    if statistic["kind"] == "prediction":
        return np.polyval(np.polyfit(columns[1], columns[0], 1), statistic["at"][0])
    inside = there[statistic["of"][-1]].cast(pl.String).is_in(statistic["values"]).to_numpy()
    return inside.mean() if statistic["kind"] == "share" else columns[0][inside].mean()


def check(said: Mapping[str, Any], frame: pl.DataFrame) -> None:
    ranges, true = said["guaranteed"], truth(frame, said)
    if not isinstance(true, list):
        ranges, true = [ranges], [true]
    for bounds, value in zip(ranges, true, strict=True):
        if bounds is None:
            continue
        slack = 1e-9 * max(1.0, abs(value))
        assert bounds[0] - slack <= value <= bounds[1] + slack, (said, value)
        if set(said["of"]) <= KEPT and said["kind"] not in {"regression", "correlation"}:
            assert bounds == pytest.approx([value, value], rel=1e-6, abs=1e-9), "nothing of kept columns alone is open"


@pytest.mark.parametrize("bounds", ["cells", "tight"])
@pytest.mark.parametrize("box_means", ["none", "rounded"])
def test_every_range_of_kept_columns_holds_the_truth(
    tmp_path_factory: pytest.TempPathFactory, bounds: str, box_means: str
) -> None:
    frame = staff(90, seed=len(bounds + box_means))
    bench = Bench(tmp_path_factory.mktemp("kept"))
    bench.dataset("t", frame)
    spec = {"method": "boxes", "dataset_id": "t", "quasi_identifiers": ["age", "sex", "town"], "k": 3, "bounds": bounds}
    done = bench.run(spec | {"keep": sorted(KEPT), "box_means": box_means})
    bench.keep("r", done)
    answers = bench.run({"method": "statistics", "release_id": "r", "statistics": STATISTICS}).whole["statistics"]
    assert [one["kind"] for one in answers] == [
        one["kind"] for one in STATISTICS for _ in range(6 if one["kind"] == "crosstab" else 1)
    ]
    for one in answers:
        check(one, frame)
    offline = certify(done.rows(), [question(one) for one in STATISTICS])
    for one, other in zip(answers, offline, strict=True):
        assert (one["kind"], one["of"], one["values"]) == (other["kind"], other["of"], other["values"])
        check(other, frame)


def test_counts_of_kept_values_and_boxes_hold_the_truth(tmp_path_factory: pytest.TempPathFactory) -> None:
    frame = staff(120, seed=5)
    bench = Bench(tmp_path_factory.mktemp("kept"))
    bench.dataset("t", frame)
    spec = anonymization("boxes", "t", ["age", "sex", "town"], k=4, bounds="tight")
    bench.keep("r", bench.run(spec | {"keep": sorted(KEPT)}))
    parts: dict[str, list[Any]] = {
        "age": [[20, 45]], "sex": [{"values": ["f"]}], "salary": [[30_000, 50_000], [None, 40_000]],
        "grade": [{"values": ["other", "senior"]}, {"values": ["junior"]}], "manages": [{"values": [True]}],
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
        for name, condition in query.items():
            if isinstance(condition, list):
                low, high = (0 if condition[0] is None else condition[0]), condition[1]
                inside &= frame[name].is_between(low, high).fill_null(value=False).to_numpy()
            else:
                inside &= frame[name].is_in(condition["values"]).to_numpy()
        low, high = count["guaranteed"]
        assert low <= inside.sum() <= high, query
        if set(query) <= KEPT:  # every batch is asked together, and divided by all that it names
            assert low == high == inside.sum()


def test_salary_by_sex(client: httpx.Client) -> None:
    frame = staff(200, seed=9).with_columns(sex=pl.col("sex").replace("m", "x"))
    spec = anonymization("boxes", upload(client, frame.write_csv())["id"], ["age", "town"], k=5)
    job = succeed(client, spec | {"keep": ["salary", "sex"], "publish": "draft"})
    where = f"/v1/releases/{job['release_id']}"
    statistic = {"kind": "domain_mean", "of": ["salary", "sex"]}
    answer = client.post(f"{where}/statistics", json={"statistics": [statistic, {"kind": "mean", "of": ["age"]}]})
    assert answer.status_code == httpx.codes.OK, answer.text
    women, men, age = answer.json()["statistics"]
    for one in (women, men):
        true = frame.filter(pl.col("sex") == one["values"][0])["salary"].mean()
        assert one["guaranteed"] == pytest.approx([true, true])
    assert age["guaranteed"][0] <= frame["age"].mean() <= age["guaranteed"][1]
    assert certify(released(client, job), ["domain_mean(salary, sex=f)"])[0]["guaranteed"] == pytest.approx(
        women["guaranteed"]
    )
    answer = client.post(f"{where}/count", json={"queries": [{"sex": {"values": ["x"]}, "salary": [None, 40_000]}]})
    true = frame.filter((pl.col("sex") == "x") & (pl.col("salary") <= 40_000)).height
    assert answer.json()["counts"][0]["guaranteed"] == [true, true]
    wrong = [
        {"kind": "mean", "of": ["sex"]},
        {"kind": "share", "of": ["sex"], "interval": [1, 2]},
        {"kind": "mean", "of": ["x"]},
        {"kind": "share", "of": ["age"]},
    ]
    answer = client.post(f"{where}/statistics", json={"statistics": wrong})
    assert [error["pointer"] for error in answer.json()["errors"]] == [
        "/statistics/0/of/0", "/statistics/1/interval", "/statistics/2/of/0", "/statistics/3/of/0",
    ]  # fmt: skip


def test_weights_of_whole_boxes_leave_kept_columns_open_within_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Which records of a box weigh how much is not published: a kept column's share of the weights is a range."""
    draw = np.random.default_rng(1)
    frame = staff(90, seed=3).with_columns(design=pl.Series(draw.lognormal(1, 1.2, 90)))
    bench = Bench(tmp_path_factory.mktemp("kept"))
    bench.dataset("t", frame)
    spec = anonymization("boxes", "t", ["age", "town"], k=3, keep=["salary", "sex"])
    of_kept: list[dict[str, Any]] = [
        {"kind": "domain_mean", "of": ["salary", "sex"], "values": ["f"]},
        {"kind": "domain_mean", "of": ["salary", "sex"], "values": ["m"]},
        {"kind": "share", "of": ["sex"], "values": ["f"]},
        {"kind": "mean", "of": ["salary"]},
        {"kind": "domain_mean", "of": ["age", "salary"], "interval": [None, 45_000]},
        {"kind": "covariance", "of": ["age", "salary"]},
    ]
    done = bench.run(spec | {"survey_weight_column": "design", "statistics": of_kept})
    bench.keep("r", done)
    later = bench.run({"method": "statistics", "release_id": "r", "statistics": of_kept}).whole["statistics"]
    offline = certify(done.rows(), [question(one) for one in of_kept], weight=True)
    own = [one for one in done.whole["statistics"] if one["weight"] == 0.0]
    for one, other, alone in zip(own, later, offline, strict=True):
        there = frame.drop_nulls(one["of"])
        weights, values = there["design"].to_numpy(), there[one["of"][0]].to_numpy()
        inside = np.ones(there.height, dtype=bool)
        if one["values"]:
            inside = (there["sex"] == one["values"][0]).to_numpy()
        if one["interval"]:
            inside = (there["salary"] <= 45_000).to_numpy()
        if one["kind"] == "share":
            true = weights[inside].sum() / weights.sum()
        elif one["kind"] == "covariance":
            true = np.cov(values, there["salary"].to_numpy(), aweights=weights, ddof=0)[0, 1]
        else:
            true = np.average(values[inside], weights=weights[inside])
        for answer in (one, other, alone):
            assert answer["guaranteed"][0] <= true <= answer["guaranteed"][1], one
            assert not answer["value_known"]
            assert answer["guaranteed"] == pytest.approx(one["guaranteed"])
    query = {"sex": {"values": ["f"]}}
    (count,) = bench.run({"method": "count", "release_id": "r", "queries": [query]}).whole["counts"]
    assert count["guaranteed"] == [(frame["sex"] == "f").sum()] * 2


OWN = [
    {"kind": "domain_mean", "of": ["salary", "sex"]},
    {"kind": "mean", "of": ["age"]},
    {"kind": "share", "of": ["salary"], "interval": [None, 40_000]},
    {"kind": "crosstab", "of": ["town", "grade"]},
    {"kind": "share", "of": ["town"]},
    {"kind": "correlation", "of": ["salary", "grade"]},
    {"kind": "domain_mean", "of": ["salary", "age"], "interval": [30, 45]},
]


@pytest.mark.parametrize("rare", ["keep", "mark"])
def test_statistics_of_kept_columns_are_in_the_job_and_steer_nothing(
    tmp_path_factory: pytest.TempPathFactory, rare: str
) -> None:
    """They have the ranges of a later question, in their places, and boxes are what they are without them."""
    frame = staff(90, seed=8)
    bench = Bench(tmp_path_factory.mktemp("own"))
    bench.dataset("t", frame)
    spec = {"method": "boxes", "dataset_id": "t", "quasi_identifiers": ["age", "town"], "k": 3, "rare_records": rare}
    spec |= {"keep": ["salary", "sex", "grade"], "partition": "fast"}
    whole = bench.run(spec | {"statistics": OWN}, seed=5)
    plain = bench.run(spec | {"statistics": [OWN[1], OWN[4]]}, seed=5)
    assert whole.rows().equals(plain.rows())
    entries = whole.whole["statistics"]
    kinds = [one["kind"] for one in entries]
    assert kinds == ["domain_mean"] * 2 + ["mean", "share"] + ["crosstab"] * 9 + ["share"] * 3 + [
        "correlation", "domain_mean",
    ]  # fmt: skip
    assert [one for one in entries if one["weight"]] == plain.whole["statistics"]
    bench.keep("r", whole)
    later = bench.run({"method": "statistics", "release_id": "r", "statistics": [
        one for one in OWN if one["kind"] != "correlation"
    ]}).whole["statistics"]  # fmt: skip
    answered = [one for one in entries if one["kind"] != "correlation"]
    assert [one["guaranteed"] for one in answered] == [one["guaranteed"] for one in later]
    for one in answered:
        if one["interval"] is None and one["kind"] != "crosstab":
            check(one, frame)
    there = frame.drop_nulls("salary")
    assert entries[3]["guaranteed"] == pytest.approx([(there["salary"] <= 40_000).mean()] * 2)
    within = there.filter(pl.col("age").is_between(30, 45))["salary"].mean()
    assert entries[-1]["guaranteed"][0] <= within <= entries[-1]["guaranteed"][1]
    assert entries[-2]["guaranteed"] is None
    assert "'grade' is nominal with 3 values" in entries[-2]["reason"]
    assert (entries[0]["core"] is None) is (rare == "keep")
    assert whole.release is not None
    assert [one["kind"] for one in whole.release.parameters["statistics"]] == [one["kind"] for one in OWN]


def test_answers_stay_with_their_statistics_where_the_same_columns_are_named_with_and_without_values(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    bench = Bench(tmp_path_factory.mktemp("places"))
    bench.dataset("t", staff(60, seed=8))
    spec = anonymization("boxes", "t", ["age", "town"], k=3, keep=["salary", "sex"])
    share = {"kind": "share", "of": ["town"]}
    of_two = share | {"values": ["Oslo", "Rom"]}
    of_kept = {"kind": "domain_mean", "of": ["salary", "sex"], "values": ["f"]}
    done = bench.run(spec | {"statistics": [share, of_two, of_kept, share, of_two]})
    values = [None if one["values"] is None else list(one["values"]) for one in done.whole["statistics"]]
    each = [["Oslo"], ["Rom"], ["Umeå"]]
    assert values == [*each, ["Oslo", "Rom"], ["f"], *each, ["Oslo", "Rom"]]
    kinds = [one["kind"] for one in done.whole["statistics"]]
    assert kinds == ["share"] * 4 + ["domain_mean"] + ["share"] * 4


def test_statistics_of_what_is_not_there_are_refused_by_name(tmp_path_factory: pytest.TempPathFactory) -> None:
    bench = Bench(tmp_path_factory.mktemp("refused"))
    bench.dataset("t", staff(60, seed=8))
    spec = anonymization("boxes", "t", ["age", "town"], k=3, keep=["salary", "sex"])
    wrong = bench.accepted(spec | {"statistics": [
        {"kind": "mean", "of": ["age"]},
        {"kind": "mean", "of": ["level"]},
        {"kind": "mean", "of": ["sex"]},
        {"kind": "mean", "of": ["salary"], "weight": 2.0},
        {"kind": "share", "of": ["sex"], "interval": [1, 2]},
        {"kind": "share", "of": ["age"]},
    ]})[1]  # fmt: skip
    assert [error.pointer for error in wrong] == [
        "/statistics/1/of/0", "/statistics/2/of/0", "/statistics/3/weight", "/statistics/4/interval",
        "/statistics/5/of/0",
    ]  # fmt: skip
    assert "`keep`" in wrong[0].detail
    alone, _ = bench.accepted(spec | {"statistics": [{"kind": "domain_mean", "of": ["salary", "sex"]}]})
    assert [one.kind for one in alone.statistics][:3] == ["domain_mean", "mean", "variance"], "boxes need some to steer"


def test_a_question_about_too_many_values_is_refused_by_its_place(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of numbers and of texts; the other questions of the same request are not to blame."""
    rows = 1_004
    frame = staff(rows, seed=8).with_columns(code=pl.int_range(rows), name=pl.format("p{}", pl.int_range(rows)))
    bench = Bench(tmp_path_factory.mktemp("many"))
    bench.dataset("t", frame)
    spec = {"method": "boxes", "dataset_id": "t", "quasi_identifiers": ["age"], "k": 5, "keep": ["code", "name"]}
    bench.keep("r", bench.run(spec | {"partition": "mondrian"}))
    for column in ("code", "name"):
        several = [{"kind": "mean", "of": ["age"]}, {"kind": "share", "of": [column]}]
        with pytest.raises(InvalidError) as refused:
            bench.run({"method": "statistics", "release_id": "r", "statistics": several})
        assert [error.pointer for error in refused.value.errors] == ["/statistics/1"]
        assert "1,004 different values" in refused.value.detail
        assert "name `values`" in refused.value.detail


def test_a_column_that_is_called_as_the_weights_of_boxes_refuses_no_question(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Its bounds are `weight_mean_lo` and `weight_mean_hi`; nothing is weighed."""
    frame = staff(60, seed=4).with_columns(weight_mean=pl.Series(np.random.default_rng(2).uniform(50, 90, 60)))
    bench = Bench(tmp_path_factory.mktemp("named"))
    bench.dataset("t", frame)
    spec = {"method": "boxes", "dataset_id": "t", "quasi_identifiers": ["age", "weight_mean"], "k": 3, "keep": ["sex"]}
    bench.keep("r", bench.run(spec))
    statistic = {"kind": "share", "of": ["sex"], "values": ["f"]}
    answer = bench.run({"method": "statistics", "release_id": "r", "statistics": [statistic]}).whole["statistics"][0]
    assert answer["guaranteed"] == pytest.approx([(frame["sex"] == "f").mean()] * 2)
