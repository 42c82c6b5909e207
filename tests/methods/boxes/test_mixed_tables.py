"""A table as it comes over HTTP: Adult's numbers, texts and missing cells, from the raw file to questions."""

import base64
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.methods.asking import anonymization, succeed
from tests.methods.asking import released as rows_of
from tests.methods.expecting import share_of_interval, share_of_values

COLUMNS = ["age", "education", "occupation", "race", "sex", "hours-per-week"]
NUMBERS, TEXTS = ["age", "hours-per-week"], ["education", "occupation", "race", "sex"]
K = 5


@pytest.fixture(scope="module")
def published(client: httpx.Client, adult: tuple[str, pl.DataFrame]) -> dict[str, Any]:
    spec = anonymization("boxes", adult[0], COLUMNS, k=K, missing_policy="drop", keep=["income"])
    return succeed(client, spec)


@pytest.fixture(scope="module")
def complete(adult: tuple[str, pl.DataFrame]) -> pl.DataFrame:
    return adult[1].drop_nulls(COLUMNS)


@pytest.fixture(scope="module")
def released(client: httpx.Client, published: dict[str, Any]) -> pl.DataFrame:
    return rows_of(client, published)


def data(client: httpx.Client, job: Mapping[str, Any], kind: str) -> bytes:
    answer = client.get(f"/v1/releases/{job['release_id']}/data", params={"format": kind})
    assert answer.status_code == httpx.codes.OK
    return answer.content


def test_every_record_lies_in_one_box_and_every_box_has_k(released: pl.DataFrame, complete: pl.DataFrame) -> None:
    boxes = released.unique("box", keep="first").sort("box")
    counts = Counter(released["box"].to_list())
    inside = np.ones((complete.height, boxes.height), dtype=bool)
    for name in NUMBERS:
        value = complete[name].to_numpy()[:, None]
        assert boxes[f"{name}_lo"].dtype == pl.Int64
        inside &= (boxes[f"{name}_lo"].to_numpy() <= value) & (value <= boxes[f"{name}_hi"].to_numpy())
    for name in TEXTS:
        values = {value: place for place, value in enumerate(complete[name].unique().sort())}
        held = np.zeros((boxes.height, len(values)), dtype=bool)
        for box, members in enumerate(boxes[f"{name}_set"].to_list()):
            held[box, [values[value] for value in members]] = True
        inside &= held.T[[values[value] for value in complete[name]]]
    assert (inside.sum(axis=1) == 1).all()
    assert inside.sum(axis=0).tolist() == [counts[box] for box in boxes["box"]]
    assert min(counts.values()) >= K


def test_ranges_hold_the_values_of_the_records(published: dict[str, Any], complete: pl.DataFrame) -> None:
    result = published["result"]
    assert (result["records"], result["released"]) == (32_561, complete.height)
    shares = [one for one in result["statistics"] if one["kind"] == "share"]
    assert {one["of"][0] for one in shares} == set(TEXTS)
    for one in shares:
        truth = (complete[one["of"][0]] == one["values"][0]).mean()
        assert one["guaranteed"][0] <= truth <= one["guaranteed"][1]
        assert one["true_value"] == pytest.approx(truth)
    for one in result["statistics"]:
        if one["kind"] == "mean":
            assert one["guaranteed"][0] <= complete[one["of"][0]].mean() <= one["guaranteed"][1]
    assert set(result["ncp"]) == set(result["value_disclosure"]) == set(COLUMNS)
    assert set(result["mean_width"]) == set(NUMBERS)


def test_the_release_says_of_each_column_what_boxes_leave(published: dict[str, Any], released: pl.DataFrame) -> None:
    result = published["result"]
    for name in NUMBERS:
        width = released[f"{name}_hi"] - released[f"{name}_lo"]
        assert result["mean_width"][name] == pytest.approx(width.mean())
        assert result["value_disclosure"][name]["exact"] == pytest.approx((width == 0).mean())
    for name in TEXTS:
        size = released[f"{name}_set"].list.len()
        assert result["value_disclosure"][name]["exact"] == pytest.approx((size == 1).mean())


def test_all_formats_have_the_same_sets(
    client: httpx.Client, published: dict[str, Any], released: pl.DataFrame
) -> None:
    table = pd.read_csv(io.BytesIO(data(client, published, "csv")))
    lines = [json.loads(line) for line in data(client, published, "ndjson").splitlines()]
    for name in TEXTS:
        sets = released[f"{name}_set"].to_list()
        assert [json.loads(cell) for cell in table[f"{name}_set"]] == sets
        assert [line[f"{name}_set"] for line in lines] == sets
    assert table["age_lo"].tolist() == released["age_lo"].to_list()
    described = client.get(f"/v1/releases/{published['release_id']}").json()
    assert [column["name"] for column in described["columns"]] == released.columns
    assert {column["type"] for column in described["columns"] if column["name"].endswith("_set")} == {"list"}
    envelope = client.get(f"/v1/releases/{published['release_id']}/certificate").json()
    certified = json.loads(base64.b64decode(envelope["payload"]))["predicate"]["release"]["columns"]
    said = {column["name"]: column["plain_in_csv"] for column in certified if "plain_in_csv" in column}
    assert said == {f"{name}_set": (released[f"{name}_set"].list.len() == 1).all() for name in TEXTS}
    assert said == {one["name"]: one["plain_in_csv"] for one in described["columns"] if one["type"] == "list"}
    assert "codebook-from-data" in described["flags"]


QUERIES: list[dict[str, Any]] = [
    {},
    {"sex": {"values": ["Female"]}},
    {"age": [30, 40], "sex": {"values": ["Male"]}, "occupation": {"values": ["Sales", "Tech-support"]}},
    {"race": {"values": ["White", "Black"]}, "hours-per-week": [40, 40]},
    {"education": {"values": ["Preschool"]}},
    {"age": [30.2, 30.8]},
]


def test_counts_by_values_hold_the_truth(
    client: httpx.Client, published: dict[str, Any], complete: pl.DataFrame, released: pl.DataFrame
) -> None:
    answer = client.post(f"/v1/releases/{published['release_id']}/count", json={"queries": QUERIES})
    assert answer.status_code == httpx.codes.OK, answer.text
    for query, count in zip(QUERIES, answer.json()["counts"], strict=True):
        truth = complete
        even, expected = np.ones((2, released.height))
        for name, condition in query.items():
            if isinstance(condition, dict):
                truth = truth.filter(pl.col(name).is_in(condition["values"]))
                sets = released[f"{name}_set"].to_list()
                evenly = np.array([len(set(one) & set(condition["values"])) / len(one) for one in sets])
                likely = share_of_values(released[f"{name}_set"], set(condition["values"]))
            else:
                truth = truth.filter(pl.col(name).is_between(*condition))
                lower, upper = released[f"{name}_lo"], released[f"{name}_hi"]
                evenly = whole(lower, upper, condition)
                likely = share_of_interval(lower.to_numpy(), upper.to_numpy(), *condition, whole=True)
            even, expected = even * evenly, expected * likely
        least, most = count["guaranteed"]
        assert least <= truth.height <= most
        assert (least, most) == ((even == 1).sum(), (even > 0).sum())
        assert count["estimate"] == pytest.approx(expected.sum(), rel=1e-4, abs=1e-3)


def test_a_value_that_no_box_shows_is_refused_where_it_stands(client: httpx.Client, published: dict[str, Any]) -> None:
    queries = [{"age": [30, 40]}, {"sex": {"values": ["Male"]}, "education": {"values": ["Bachelors", "no such"]}}]
    answer = client.post(f"/v1/releases/{published['release_id']}/count", json={"queries": queries})
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert [one["pointer"] for one in answer.json()["errors"]] == ["/queries/1/education/values/1"]


def test_rare_boxes_of_all_kinds_of_columns_are_marked_or_left_out(
    client: httpx.Client, adult: tuple[str, pl.DataFrame], complete: pl.DataFrame
) -> None:
    spec = {"method": "boxes", "dataset_id": adult[0], "quasi_identifiers": COLUMNS, "k": 10, "missing_policy": "drop"}
    spec |= {"partition": "fast", "keep": ["income"], "k_counts_kept": True, "l": 2, "sensitive": ["workclass"]}
    marked = succeed(client, spec | {"rare_records": "mark"})
    rows, result = rows_of(client, marked), marked["result"]
    assert result["suppressed"]["rare"] == 0
    assert rows.height == complete.height - result["suppressed"]["rare_class"]
    assert rows.group_by("box").agg(pl.col("core").n_unique())["core"].max() == 1
    core = rows.filter("core")
    assert 0.95 * rows.height <= core.height < rows.height
    for one in result["statistics"]:
        if one["kind"] == "share":
            held = core[f"{one['of'][0]}_set"].list.contains(one["values"][0])
            alone = held & (core[f"{one['of'][0]}_set"].list.len() == 1)
            assert one["core"]["guaranteed"] == pytest.approx([alone.mean(), held.mean()])
    left = succeed(client, spec | {"rare_records": "suppress"})
    assert left["result"]["released"] == core.height, "the boxes that are left are those of the core"
    assert left["result"]["suppressed"]["rare"] == rows.height - core.height
    assert left["result"]["smallest_box"] >= left["result"]["k_with_kept"] >= 10
    for one in left["result"]["statistics"]:
        assert one["guaranteed"] is None or one["guaranteed"][0] <= one["true_value"] <= one["guaranteed"][1]


def test_pandas_reads_sets_from_every_format(
    client: httpx.Client, published: dict[str, Any], released: pl.DataFrame
) -> None:
    sets = {name: released[f"{name}_set"].to_list() for name in TEXTS}
    parquet = pd.read_parquet(io.BytesIO(data(client, published, "parquet")))
    lines = pd.read_json(io.BytesIO(data(client, published, "ndjson")), lines=True)
    for name, wanted in sets.items():
        assert [list(one) for one in parquet[f"{name}_set"]] == wanted
        assert lines[f"{name}_set"].tolist() == wanted
    text = pl.read_csv(data(client, published, "csv"))
    assert text["sex_set"].str.json_decode(pl.List(pl.String)).to_list() == sets["sex"]


def whole(lower: pl.Series, upper: pl.Series, bounds: Sequence[float]) -> np.ndarray:
    """Share of the whole numbers of each box that a query asks for."""
    lo, hi = lower.to_numpy(), upper.to_numpy()
    common = np.floor(np.minimum(hi, bounds[1])) - np.ceil(np.maximum(lo, bounds[0])) + 1
    return np.maximum(common, 0) / (hi - lo + 1)


def test_a_point_of_numbers_and_values_is_classified(client: httpx.Client, published: dict[str, Any]) -> None:
    people = [
        [45, "Doctorate", "Exec-managerial", "White", "Male", 60],
        [19, "11th", "Other-service", "Black", "Female", 20],
    ]
    points = [dict(zip(COLUMNS, person, strict=True)) for person in people]
    body = {"target": "income", "neighbours": 25, "points": points}
    answer = client.post(f"/v1/releases/{published['release_id']}/classify", json=body)
    assert answer.status_code == httpx.codes.OK, answer.text
    assert answer.json()["classes"] == [">50K", "<=50K"]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"queries": [{"sex": [0, 1]}]}, "/queries/0/sex"),
        ({"queries": [{"age": {"values": [30]}}]}, "/queries/0/age"),
        ({"queries": [{"age": ["2020-01-01", None]}]}, "/queries/0/age"),
        ({"queries": [{"sex": {"values": []}}]}, "/queries/0/sex/values"),
    ],
)
def test_a_question_of_the_wrong_kind_is_refused(
    client: httpx.Client, published: dict[str, Any], change: dict[str, Any], where: str
) -> None:
    answer = client.post(f"/v1/releases/{published['release_id']}/count", json=change)
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert where in [error["pointer"] for error in answer.json()["errors"]]


@pytest.mark.parametrize(
    ("change", "where", "says"),
    [
        ({"statistics": [{"kind": "mean", "of": ["sex"]}]}, "/statistics/0/of/0", "`share`"),
        ({"statistics": [{"kind": "share", "of": ["age"]}]}, "/statistics/0/of/0", "nominal"),
        ({"missing_policy": "refuse"}, "/quasi_identifiers/2", "missing_is_value"),
        ({"domains": {"sex": [0, 1]}}, "/domains/sex", "nominal"),
        ({"nominal": {"sex": {"values": ["Male"]}}}, "/nominal/sex", "2 values"),
        ({"nominal": {"sex": {"values": ["Male", 1]}}}, "/nominal/sex/values/1", "string"),
        ({"ordinal": {"sex": ["Male"]}}, "/ordinal/sex", "list all"),
        ({"nominal": {"income": {}}}, "/nominal/income", "add it to `quasi_identifiers`"),
        ({"bounds": "grid"}, "/bounds", "domains"),
        ({"keep": ["sex_set"]}, "/keep/0", "own columns"),
        ({"person_column": "nobody"}, "/person_column", "no column"),
        ({"survey_weight_column": "income"}, "/survey_weight_column", "not numeric"),
        ({"rare_records": "weigh"}, "/rare_records", "use `mark` or `suppress`"),
        ({"rare_records": "suppress", "objective": "paper"}, "/objective", "bias_aware"),
        ({"rare_records": "weigh", "missing_policy": "pattern"}, "/rare_records", "complete columns"),
        ({"rare_records": "weigh", "survey_weight_column": "fnlwgt"}, "/rare_records", "`survey_weight_column`"),
        (
            {"rare_records": "suppress", "survey_weight_column": "fnlwgt", "objective": "paper"},
            "/objective",
            "bias_aware",
        ),
        ({"rare_records": "suppress", "t": 0.3, "sensitive": ["income"]}, "/rare_records", "use `mark`"),
        (
            {
                "rare_records": "mark",
                "statistics": [{"kind": "crosstab", "of": ["fnlwgt", "sex"]}],
                "quasi_identifiers": [*COLUMNS, "fnlwgt"],
                "nominal": {"fnlwgt": {}},
            },
            "/statistics",
            "1,000",
        ),
    ],
)
def test_what_cannot_become_boxes_is_said_at_its_place(
    client: httpx.Client, adult: tuple[str, pl.DataFrame], change: dict[str, Any], where: str, says: str
) -> None:
    spec = {"method": "boxes", "dataset_id": adult[0], "quasi_identifiers": COLUMNS, "k": K, "missing_policy": "drop"}
    answer = client.post("/v1/anonymizations", json=spec | change)
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    details = {error["pointer"]: error["detail"] for error in answer.json()["errors"]}
    assert says in details[where]
