"""A request repeated under a keeper's Idempotency-Key, and what else a lesser key, or a reader, might have seen.

The story is "An Idempotency-Key that another API key used" of docs/explanation/attacks.md.
"""

import io
import json
from typing import Any

import httpx
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from tests.methods.asking import anonymization, ended, succeed, upload
from tests.service import Service

OWNER = "repeated requests"
ROWS = 300
CSV = {"Content-Type": "text/csv"}


@pytest.fixture(scope="module")
def keeper(service: Service) -> Any:
    with service.client(owner=OWNER) as client:
        yield client


@pytest.fixture(scope="module")
def lesser(service: Service) -> Any:
    with service.client(owner=OWNER, scopes=("datasets:write", "jobs:write", "releases:read")) as client:
        yield client


def persons(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    pay = np.round(draw.lognormal(7.0, 0.4, ROWS), 2)
    pay[:3] *= 1_000.0
    return pl.DataFrame({
        "age": draw.integers(18, 90, ROWS), "pay": pay, "who": [f"person-{n:03d}" for n in range(ROWS)],
        "town": draw.choice(["a", "b", "c"], ROWS),
    })  # fmt: skip


def sent(client: httpx.Client, frame: pl.DataFrame, key: str) -> httpx.Response:
    headers = CSV | {"Idempotency-Key": key}
    return client.post("/v1/datasets", params={"name": "march"}, content=frame.write_csv(), headers=headers)


def test_a_guessed_table_is_not_told_from_another_by_the_keepers_idempotency_key(
    keeper: httpx.Client, lesser: httpx.Client
) -> None:
    """Keys are guessed: `upload-march`. The right table was answered with the keeper's dataset, others were refused."""
    frame = persons(1)
    first = sent(keeper, frame, "upload-march")
    again = sent(keeper, frame, "upload-march")
    assert (first.status_code, again.json()["id"], again.headers["Idempotent-Replayed"]) == (
        201, first.json()["id"], "true"
    )  # fmt: skip
    wrong = frame.with_columns(pay=pl.col("pay") + (pl.int_range(ROWS) == 5).cast(pl.Float64))
    answers = [sent(lesser, guess, f"upload-march{suffix}") for guess, suffix in ((frame, ""), (wrong, "-2"))]
    answers.append(sent(lesser, wrong, "upload-march"))  # its own key by now, with another table
    assert [answer.status_code for answer in answers] == [201, 201, 422]
    assert "Idempotent-Replayed" not in answers[0].headers
    assert answers[0].json()["id"] != first.json()["id"]
    own = sent(lesser, frame, "upload-march")
    assert (own.json()["id"], own.headers["Idempotent-Replayed"]) == (answers[0].json()["id"], "true")


def test_nor_is_a_guessed_specification(keeper: httpx.Client, lesser: httpx.Client) -> None:
    dataset_id = upload(keeper, persons(2).write_csv())["id"]
    spec = anonymization("boxes", dataset_id, ["age", "pay"], k=5, publish="draft")
    headers = {"Idempotency-Key": f"boxes-of-{dataset_id}"}
    made = keeper.post("/v1/anonymizations", json=spec, headers=headers)
    assert made.status_code == 202
    answers = [
        lesser.post(
            "/v1/anonymizations", json=spec | more, headers=headers | {"Idempotency-Key": f"{key}-of-{dataset_id}"}
        )
        for more, key in (({}, "boxes"), ({"k": 6}, "others"))
    ]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert made.json()["id"] not in {answer.json()["id"] for answer in answers}
    for job in (made, *answers):
        ended(keeper, job.json())


def test_what_a_lesser_key_sees_of_a_job_while_it_runs_has_no_figure_of_the_data(
    keeper: httpx.Client, lesser: httpx.Client
) -> None:
    """All events of a job that only computing can refuse, and of one that succeeds: no rows, nor what a job needs."""
    body = "a,b,s\n" + "".join(f"{i},{i % 61},{'x' if i % 7 else 'y'}\n" for i in range(317))
    dataset_id = upload(keeper, body)["id"]
    spec = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": ["a", "b"], "k": 5, "publish": "draft"}
    for more in ({"alpha": 0.5, "sensitive": ["s"]}, {}):
        job = lesser.post("/v1/anonymizations", json=spec | more, headers={"Prefer": "wait=30"}).json()
        whole = ended(keeper, job)
        assert whole["state"] == ("failed" if more else "succeeded")
        with lesser.stream("GET", f"/v1/jobs/{job['id']}/events") as stream:
            read = "" if stream.status_code != httpx.codes.OK else "".join(stream.iter_text())
        seen = [job, *(json.loads(line[5:]) for line in read.splitlines() if line.startswith("data:"))]
        for each in seen:
            assert (each["spec"], each["result"], each["estimate"]) == (None, None, None)
            assert (each["warnings"], each["findings"]) == ([], [])
            words = json.dumps(each["error"]) + json.dumps(each["progress"]["stage"])
            assert not {"317", "61", "272", "0.858"} & set(words.replace('"', " ").replace(",", " ").split())


@pytest.mark.parametrize("bounds", ["cells", "tight"])
def test_files_have_neither_the_order_of_the_input_nor_values_of_rows_that_were_left_out(
    service: Service, bounds: str
) -> None:
    """Dictionaries of Parquet hold the values of a column: those of rows that are there, in the order of these."""
    with service.client(owner=f"{OWNER} {bounds}") as client:
        frame = persons(3).with_columns(pay=pl.when(pl.int_range(ROWS) % 17 > 0).then(pl.col("pay")))
        job = succeed(client, {
            "method": "boxes", "dataset_id": upload(client, frame.write_csv())["id"],
            "quasi_identifiers": ["age", "pay"], "k": 5,
            "keep": ["who"], "missing_policy": "drop", "bounds": bounds, "publish": "draft",
            "formats": ["parquet", "csv", "ndjson"],
        })  # fmt: skip
        raw = {
            name: client.get(f"/v1/releases/{job['release_id']}/data", params={"format": name}).content
            for name in ("parquet", "csv", "ndjson")
        }
        table = pq.read_table(io.BytesIO(raw["parquet"]), read_dictionary=["who"])
        column = table.column("who").combine_chunks()
        words = column.dictionary.to_pylist()
        there = column.to_pylist()
        left_out = set(frame["who"]) - set(there)
        assert left_out, "some are left out, or the test could not fail"
        assert set(words) == set(there)
        for data in raw.values():
            assert not any(name.encode() in data for name in left_out)
        place = np.array([int(name[-3:]) for name in there])
        assert abs(np.corrcoef(place, np.arange(len(place)))[0, 1]) < 0.3
        boxes = np.array(table.column("box").to_pylist())
        descents = [np.mean(np.diff(place[boxes == box]) < 0) for box in np.unique(boxes)]
        assert 0.35 < float(np.mean(descents)) < 0.65, "within a box neither"
        orders = [pl.read_csv(io.BytesIO(raw["csv"]))["who"].to_list(), [
            json.loads(line)["who"] for line in raw["ndjson"].splitlines()
        ]]  # fmt: skip
        assert orders == [there, there]
