"""`boxes` over HTTP, on real data: what a release promises, checked by other means than ours."""

import io
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import anonymization, released, run, succeed, upload

NUMBERS = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
RESTRICTED = {"true_value", "shift", "delta_at_records"}


def true_value(frame: pl.DataFrame, statistic: dict[str, Any]) -> float:
    """The statistic by numpy, population form."""
    x = frame.select(statistic["of"]).to_numpy().astype(float)
    match statistic["kind"]:
        case "mean":
            return float(x.mean())
        case "variance":
            return float(x.var())
        case "standard_deviation":
            return float(x.std())
        case "covariance":
            return float(np.cov(x.T, ddof=0)[0, 1])
        case _:
            return float(np.corrcoef(x.T)[0, 1])


@pytest.mark.parametrize("partition", ["optimal", "fast", "mondrian"])
@pytest.mark.parametrize("bounds", ["cells", "tight"])
def test_every_promise_of_a_release_of_adult_holds(
    client: httpx.Client, adult: tuple[str, pl.DataFrame], partition: str, bounds: str
) -> None:
    dataset_id, frame = adult
    spec = anonymization("boxes", dataset_id, NUMBERS, k=5, keep=["income", "sex"])
    job = succeed(client, spec | {"partition": partition, "bounds": bounds})
    result, rows = job["result"], released(client, job)

    assert rows.columns == ["box", *(f"{c}_{end}" for c in NUMBERS for end in ("lo", "hi")), "income", "sex"]
    assert rows.height == result["records"] == result["released"] == frame.height
    per_box = rows.group_by("box").agg(pl.len(), pl.exclude("income", "sex").n_unique())
    assert per_box["len"].min() == result["smallest_box"] >= 5
    assert per_box["len"].max() == result["largest_box"]
    assert per_box.height == result["box_count"]
    bounds_per_box = per_box.select(pl.exclude("box", "len").max()).row(0)
    assert set(bounds_per_box) == {1}, "the rows of a box share its bounds"
    k_with_kept = rows.group_by("box", "income", "sex").len()["len"].min()
    assert result["k_with_kept"] == k_with_kept
    for kept in ("income", "sex"):
        assert rows[kept].value_counts().sort(kept).rows() == frame[kept].value_counts().sort(kept).rows()

    for statistic in result["statistics"]:
        value = true_value(frame, statistic)
        assert statistic["true_value"] == pytest.approx(value, rel=1e-9)
        lo, hi = statistic["guaranteed"]
        assert lo <= value <= hi
        assert lo <= statistic["estimate"] <= hi
        if statistic["kind"] == "mean":
            column = statistic["of"][0]
            assert statistic["sharp"]
            assert [lo, hi] == pytest.approx(extreme_means(rows, column, bounds), rel=1e-12)


def extreme_means(rows: pl.DataFrame, column: str, bounds: str) -> list[float]:
    """Means with all records at one end; tight ends are attained, so that one record of each box is at the other."""
    boxes = rows.group_by("box").agg(pl.len(), pl.col(f"{column}_lo", f"{column}_hi").first())
    lo, hi, others = boxes[f"{column}_lo"], boxes[f"{column}_hi"], boxes["len"] - 1
    if bounds == "tight":
        return [(lo * others + hi).sum() / rows.height, (hi * others + lo).sum() / rows.height]
    return [(lo * boxes["len"]).sum() / rows.height, (hi * boxes["len"]).sum() / rows.height]


def test_the_sample_form_is_said_and_held(client: httpx.Client, adult: tuple[str, pl.DataFrame]) -> None:
    names, few = ["age", "hours-per-week"], adult[1].head(200)
    dataset_id = upload(client, few.select(names).write_csv())["id"]
    kinds = ("mean", "variance", "standard_deviation", "covariance", "correlation")
    statistics = [{"kind": kind, "of": names if kind.startswith("co") else names[:1]} for kind in kinds]
    spec = anonymization("boxes", dataset_id, names, k=5, partition="fast", seed=7)
    job = succeed(client, spec | {"statistics": statistics, "ddof": 1})
    assert job["spec"]["ddof"] == 1
    x = few.select(names).to_numpy().astype(float)
    wanted = [x[:, 0].mean(), x[:, 0].var(ddof=1), x[:, 0].std(ddof=1), np.cov(x.T)[0, 1], np.corrcoef(x.T)[0, 1]]
    for statistic, value in zip(job["result"]["statistics"], wanted, strict=True):
        assert statistic["true_value"] == pytest.approx(value, rel=1e-12)
        lo, hi = statistic["guaranteed"]
        assert lo <= value <= hi
    said = client.get(f"/v1/releases/{job['release_id']}/statistics").json()["statistics"]
    assert [one["ddof"] for one in said] == [None, 1, 1, 1, None]
    assert '"ddof": 1' in client.get(f"/v1/releases/{job['release_id']}/provenance").text.replace("\\", "")
    plain = succeed(client, spec | {"statistics": statistics})["result"]["statistics"]
    assert [one["ddof"] for one in plain] == [None, 0, 0, 0, None]
    for before, after in zip(plain, said, strict=True):  # the same boxes: the seed places their cuts
        factor = {"variance": 200 / 199, "standard_deviation": np.sqrt(200 / 199), "covariance": 200 / 199}
        widths = [one["first_order"][1] - one["first_order"][0] for one in (before, after)]
        assert widths[1] / widths[0] == pytest.approx(factor.get(before["kind"], 1.0), rel=1e-9)


def test_records_lie_in_boxes_of_equal_counts(client: httpx.Client, adult: tuple[str, pl.DataFrame]) -> None:
    """Cells are disjoint: counting true records per published box gives the published counts."""
    dataset_id, frame = adult
    columns = ["age", "hours-per-week"]
    spec = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": columns, "k": 50, "partition": "fast"}
    boxes = released(client, succeed(client, spec)).group_by(pl.all()).len()
    x = frame.select(columns).to_numpy()
    for box in boxes.iter_rows(named=True):
        inside = np.ones(len(x), dtype=bool)
        for i, column in enumerate(columns):
            lo, hi = box[f"{column}_lo"], box[f"{column}_hi"]
            inside &= (lo <= x[:, i]) & (x[:, i] <= hi)  # whole numbers: both ends are in the box
        assert inside.sum() == box["len"] >= 50


def test_the_order_of_rows_does_not_repeat_and_no_cut_is_a_value(
    client: httpx.Client, adult: tuple[str, pl.DataFrame]
) -> None:
    frame = adult[1].select("age", "fnlwgt")
    numbers = [f"{name}:number" for name in frame.columns]  # bounds of whole numbers are whole, values or not
    dataset_id = upload(client, frame.write_csv(), type=numbers)["id"]
    spec = anonymization("boxes", dataset_id, ["age", "fnlwgt"], k=10, partition="fast")
    spec["domains"] = {"age": [0, 120], "fnlwgt": [0, 2e6]}
    jobs = [succeed(client, spec) for _ in range(2)]
    one, other = (released(client, job) for job in jobs)
    assert one["fnlwgt_lo"].to_list() != other["fnlwgt_lo"].to_list(), "order is drawn anew"
    cuts = set(one["fnlwgt_lo"]) - {0.0}
    assert cuts
    assert not cuts & set(frame["fnlwgt"].cast(float)), "a cut is a point of an open gap, nobody's value"
    order = frame.with_row_index().select("index", pl.col("fnlwgt").cast(float))
    centre = (one["fnlwgt_lo"] + one["fnlwgt_hi"]) / 2
    assert abs(np.corrcoef(centre, order["fnlwgt"])[0, 1]) < 0.05, "rows do not stand in the order of the records"


def test_public_parts_hold_nothing_restricted(client: httpx.Client, adult: tuple[str, pl.DataFrame]) -> None:
    spec = anonymization("boxes", adult[0], ["age", "fnlwgt"], k=5, partition="fast")
    job = succeed(client, spec)
    for part in ("", "/statistics", "/provenance"):
        answer = client.get(f"/v1/releases/{job['release_id']}{part}")
        assert answer.status_code == httpx.codes.OK
        assert not RESTRICTED & _names(answer.json())
        for statistic in job["result"]["statistics"]:
            assert repr(statistic["true_value"]) not in answer.text
    assert {s["kind"] for s in client.get(f"/v1/releases/{job['release_id']}/statistics").json()["statistics"]} == {
        "mean", "variance", "correlation",
    }  # fmt: skip


def _names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {name for inner in value.values() for name in _names(inner)}
    return {name for inner in value for name in _names(inner)} if isinstance(value, list) else set()


def test_a_given_seed_makes_the_release_reproducible_and_marks_it(
    client: httpx.Client, adult: tuple[str, pl.DataFrame]
) -> None:
    spec = anonymization("boxes", adult[0], ["age"], k=5, partition="fast", seed=7)
    jobs = [succeed(client, spec) for _ in range(2)]
    one, other = (client.get(f"/v1/releases/{job['release_id']}").json() for job in jobs)
    assert one["files"] == other["files"]
    assert "reproducible" in one["flags"]
    assert jobs[0]["spec"]["seed"] == "given"


SMALL = "größe,Wert,leer,text,fest\n" + "".join(
    f"{i},{i * i / 7},{'' if i % 4 == 0 else i},t{i % 3},5\n" for i in range(40)
)


@pytest.fixture(scope="module")
def small(client: httpx.Client) -> str:
    return str(upload(client, SMALL)["id"])


@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({"quasi_identifiers": ["größe", "nein"]}, "/quasi_identifiers/1", "no column 'nein'"),
        (
            {"quasi_identifiers": ["text"], "statistics": [{"kind": "mean", "of": ["text"]}]},
            "/statistics/0/of/0",
            "`share`",
        ),
        ({"quasi_identifiers": ["leer"]}, "/quasi_identifiers/0", "10 missing values"),
        ({"quasi_identifiers": ["größe", "größe"]}, "/quasi_identifiers/1", "twice"),
        ({"k": 41}, "/k", "the largest k is 40"),
        ({"k": 31, "quasi_identifiers": ["leer"], "missing_policy": "drop"}, "/k", "the largest k is 30"),
        ({"domains": {"größe": ["0", 100]}}, "/domains/größe/0", ""),
        ({"keep": ["größe"]}, "/keep/0", "cannot be kept"),
        ({"keep": ["nein"]}, "/keep/0", "no column"),
        ({"domains": {"größe": [9, 1]}}, "/domains/größe", "lo below hi"),
        ({"domains": {"text": [1, 9]}}, "/domains/text", "add it to"),
        ({"statistics": [{"kind": "mean", "of": ["Wert"]}]}, "/statistics/0/of/0", "add it to"),
        ({"statistics": [{"kind": "covariance", "of": ["größe"]}]}, "/statistics/0/of", "2"),
        ({"l": 2}, "/l", "`sensitive` or `min_separation`"),
        ({"sensitive": ["text"]}, "/l", "need `l`"),
        ({"rare_records": "hide"}, "/rare_records", "weigh"),
        ({"l": 2, "sensitive": ["nein"]}, "/sensitive/0", "no column"),
        ({"ddof": 1, "rare_records": "weigh"}, "/ddof", "no sample size"),
        ({"dataset_id": "ds_absent"}, "/dataset_id", ""),
        ({"method": "magic"}, "/method", "boxes"),
    ],
)
def test_what_cannot_be_done_is_refused_at_its_place(
    client: httpx.Client, small: str, change: dict[str, Any], pointer: str, says: str
) -> None:
    spec = {"method": "boxes", "dataset_id": small, "quasi_identifiers": ["größe"], "k": 5, "partition": "fast"}
    answer = client.post("/v1/anonymizations", json=spec | change)
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert answer.headers["content-type"] == "application/problem+json"
    errors = answer.json()["errors"]
    assert pointer in {error["pointer"] for error in errors}, errors
    assert says in " ".join(error["detail"] for error in errors)


def test_missing_values_are_dropped_when_asked(client: httpx.Client, small: str) -> None:
    spec = {"method": "boxes", "dataset_id": small, "quasi_identifiers": ["größe", "leer"], "k": 3, "partition": "fast"}
    job = succeed(client, spec | {"missing_policy": "drop", "keep": ["text"]})
    assert (job["result"]["records"], job["result"]["released"], job["result"]["suppressed"]["missing"]) == (40, 30, 10)
    rows = released(client, job)
    wanted = pl.read_csv(io.StringIO(SMALL)).drop_nulls("leer")["text"]
    assert sorted(rows["text"]) == sorted(wanted)


@pytest.mark.parametrize(("k", "boxes"), [(40, 1), (21, 1), (20, 2), (1, 40)])
def test_the_number_of_boxes_follows_k(client: httpx.Client, small: str, k: int, boxes: int) -> None:
    spec = {"method": "boxes", "dataset_id": small, "quasi_identifiers": ["größe"], "k": k, "partition": "fast"}
    job = succeed(client, spec | {"least_widths": "none"})
    assert job["result"]["box_count"] == boxes


def test_a_constant_column_spans_one_value(client: httpx.Client, small: str) -> None:
    spec = {"method": "boxes", "dataset_id": small, "quasi_identifiers": ["größe", "fest"], "k": 5, "partition": "fast"}
    job = succeed(client, spec)
    assert {tuple(s["of"]) for s in job["result"]["statistics"]} == {("größe",), ("fest",), ("größe", "fest")}
    assert released(client, job)["fest_lo"].unique().to_list() == [5.0]


def test_a_statistic_that_a_single_value_leaves_undefined_is_asked_in_vain(client: httpx.Client, small: str) -> None:
    """A refusal would tell a column of one value from one in which a single record differs."""
    spec = {"method": "boxes", "dataset_id": small, "quasi_identifiers": ["größe", "fest"], "k": 5, "partition": "fast"}
    statistics = [{"kind": kind, "of": ["größe", "fest"]} for kind in ("correlation", "covariance", "regression")]
    job = succeed(client, spec | {"statistics": [{"kind": "mean", "of": ["größe"]}, *statistics]})
    _, correlation, covariance, regression = job["result"]["statistics"]
    assert correlation["true_value"] is None
    assert correlation["guaranteed"] in (None, [-1.0, 1.0])
    assert covariance["guaranteed"] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert regression["true_value"] == [None, None]
    assert "range_says_nothing" in [one["code"] for one in job["warnings"]]


def test_one_record_is_one_box(client: httpx.Client) -> None:
    dataset = upload(client, "x\n42.5\n")
    spec = {"method": "boxes", "dataset_id": dataset["id"], "quasi_identifiers": ["x"], "k": 1, "partition": "fast"}
    result = succeed(client, spec | {"statistics": [{"kind": "mean", "of": ["x"], "weight": 1}]})["result"]
    assert (result["box_count"], result["released"]) == (1, 1)
    sample = {"statistics": [{"kind": "variance", "of": ["x"], "weight": 1}], "ddof": 1}
    answer = client.post("/v1/anonymizations", json=spec | sample)
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert answer.json()["errors"][0]["pointer"] == "/ddof"
    two = upload(client, "x,y\n42.5,1\n1.5,\n,2\n")["id"]
    sparse = spec | sample | {"dataset_id": two, "quasi_identifiers": ["x", "y"], "missing_policy": "drop"}
    job = run(client, sparse)
    assert job["state"] == "failed", "only the records tell that one is complete"
    assert "two records or more" in job["error"]["detail"]


def test_regression_has_a_list_intercept_first(client: httpx.Client, adult: tuple[str, pl.DataFrame]) -> None:
    of = ["hours-per-week", "age", "education-num"]
    frame = adult[1].select(of)
    numbers = [f"{name}:number" for name in of]  # of whole numbers no data that reach the ends are looked for
    dataset_id = upload(client, frame.write_csv(), type=numbers)["id"]
    spec = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": of, "k": 5, "partition": "fast"}
    (statistic,) = succeed(client, spec | {"statistics": [{"kind": "regression", "of": of}]})["result"]["statistics"]
    x = frame.select(of).to_numpy().astype(float)
    wanted, *_ = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x[:, 1:]]), x[:, 0], rcond=None)
    assert statistic["true_value"] == pytest.approx(wanted.tolist(), rel=1e-9)
    for interval, value in zip(statistic["guaranteed"], wanted, strict=True):
        assert interval[0] <= value <= interval[1]
    assert statistic["gap"] < 0.05
    assert len(statistic["estimate"]) == len(statistic["first_order"]) == 3
