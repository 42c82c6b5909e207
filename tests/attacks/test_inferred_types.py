"""A record that decides a type, in the release (docs/explanation/attacks.md, "The half hour that changes a type").

Whole hours with one half among them are numbers, and their boxes have other bounds. A release lists the types that
the data decided wherever it is described; declared ones show nothing, whichever the record is.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import released, succeed, upload
from tests.service import Service

ROWS = 120
FLAG, CODE = "types-from-data", "types_inferred"
Start = Callable[[str], httpx.Client]


@pytest.fixture
def owner(service: Service) -> Iterator[Start]:
    """Owners of their own: nothing is composed."""
    with ExitStack() as clients:
        yield lambda name: clients.enter_context(service.client(owner=f"inferred {name}"))


def table() -> pl.DataFrame:
    draw = np.random.default_rng(12)
    return pl.DataFrame({
        "hours": draw.integers(20, 60, ROWS), "pay": np.round(draw.gamma(3.0, 900.0, ROWS), 2),
        "day": [f"2024-0{1 + n % 9}-1{n % 7}" for n in range(ROWS)], "town": draw.choice(["a", "b"], ROWS),
        "unused": draw.integers(0, 9, ROWS),
    })  # fmt: skip


def with_half() -> pl.DataFrame:
    """The same, and one person worked half an hour more."""
    hours = table()["hours"].cast(pl.Float64).to_list()
    return table().with_columns(hours=pl.Series([hours[0] + 0.5, *hours[1:]]))


TYPES = ["hours:number", "pay:number", "day:date", "town:string"]
SPEC: dict[str, Any] = {
    "method": "boxes", "k": 5, "quasi_identifiers": ["hours", "pay"], "keep": ["town"], "k_counts_kept": True,
    "domains": {"hours": [0, 100], "pay": [0, 1e6]}, "publish": "auto",
}  # fmt: skip


def described(client: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"/v1/releases/{job['release_id']}").json()
    return answer


def statistics(client: httpx.Client, job: dict[str, Any]) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = client.get(f"/v1/releases/{job['release_id']}/statistics").json()["statistics"]
    return answer


def said(of: dict[str, Any]) -> list[str]:
    return [one["detail"] for one in of["warnings"] if one["code"] == CODE]


def test_a_type_that_one_record_decides_is_listed_in_dataset_job_and_release(owner: Start) -> None:
    types = []
    for name, frame in (("whole", table()), ("half", with_half())):
        client = owner(name)
        dataset = upload(client, frame.write_csv())
        assert {one["name"]: one["type_from"] for one in dataset["columns"]} == dict.fromkeys(frame.columns, "data")
        job = succeed(client, SPEC | {"dataset_id": dataset["id"]})
        shown = described(client, job)
        types.append({one["name"]: one["type"] for one in shown["columns"]}["hours_lo"])
        assert FLAG in shown["flags"]
        for (detail,) in (said(job), said(shown)):
            assert all(f"'{column}'" in detail for column in ("hours", "pay", "town"))
            assert "unused" not in detail, "nothing is said of columns that are not in the release"
            assert "day" not in detail.split(" were inferred")[0]
        provenance = client.get(f"/v1/releases/{job['release_id']}/provenance").json()
        assert FLAG in str(provenance)
    assert types == ["integer", "number"], "the trace that the flag is about"


def test_declared_types_show_nothing_and_bear_no_flag(owner: Start) -> None:
    made = []
    for name, frame in (("declared whole", table()), ("declared half", with_half())):
        client = owner(name)
        dataset = upload(client, frame.write_csv(), type=TYPES)
        sources = {one["name"]: one["type_from"] for one in dataset["columns"]}
        assert sources == dict.fromkeys(["hours", "pay", "day", "town"], "declared") | {"unused": "data"}
        job = succeed(client, SPEC | {"dataset_id": dataset["id"]})
        shown = described(client, job)
        made.append((shown["columns"], shown["flags"], [(one["kind"], one["of"]) for one in statistics(client, job)]))
        assert said(job) == said(shown) == []
    assert made[0] == made[1]
    assert FLAG not in made[0][1]


def test_a_column_that_is_declared_in_part_is_flagged_for_the_others(owner: Start) -> None:
    client = owner("part")
    job = succeed(client, SPEC | {"dataset_id": upload(client, table().write_csv(), type=TYPES[1:])["id"]})
    (detail,) = said(described(client, job))
    assert detail.startswith("The types of 'hours' were")
    assert "type=hours:integer" in detail


def test_a_later_release_of_a_series_bears_the_flag_of_its_base(owner: Start) -> None:
    client = owner("series")
    base = succeed(client, SPEC | {"dataset_id": upload(client, table().write_csv())["id"]})
    later = {"method": "boxes", "base_release_id": base["release_id"], "quasi_identifiers": ["hours"], "k": 6}
    job = succeed(client, later)
    assert FLAG in described(client, job)["flags"]


@pytest.mark.parametrize(
    "spec",
    [
        {"method": "uncertain", "quasi_identifiers": ["hours", "pay"], "keep": ["town"], "k": 5, "scales": "levels"},
        {"method": "condensation", "quasi_identifiers": ["hours", "pay"], "keep": ["town"], "k": 5},
    ],
    ids=["uncertain", "condensation"],
)
def test_every_method_lists_it(owner: Start, spec: dict[str, Any]) -> None:
    client = owner(spec["method"])
    job = succeed(client, spec | {"dataset_id": upload(client, table().write_csv())["id"]})
    (detail,) = said(described(client, job))
    assert FLAG in described(client, job)["flags"]
    assert "'hours', 'pay', 'town'" in detail


def test_types_of_a_parquet_file_are_its_own_where_no_value_decides(owner: Start) -> None:
    client = owner("parquet")
    body = io.BytesIO()
    frame = table().with_columns(pay=pl.col("pay").round(0), day=pl.col("day").str.to_date())
    frame.write_parquet(body)
    answer = client.post(
        "/v1/datasets", params={"name": "t"}, content=body.getvalue(),
        headers={"Content-Type": "application/vnd.apache.parquet"},
    )  # fmt: skip
    columns = {one["name"]: (one["type"], one["type_from"]) for one in answer.json()["columns"]}
    assert columns["pay"] == ("integer", "data"), "doubles that are whole are taken for whole numbers"
    assert columns["hours"] == ("integer", "file")
    assert columns["day"] == ("date", "file")
    assert columns["town"] == ("string", "file")
    job = succeed(client, SPEC | {"dataset_id": answer.json()["id"]})
    (detail,) = said(described(client, job))
    assert detail.startswith("The types of 'pay' were")


def test_default_statistics_name_all_columns_whatever_one_record_is(owner: Start) -> None:
    """A column of one value, of one value but for one record, and of many: what is reported is named alike."""
    draw = np.random.default_rng(5)
    many = draw.integers(0, 10, ROWS)
    columns = {"one value": np.full(ROWS, 4), "all but one": np.where(np.arange(ROWS) == 7, 9, 4), "many": many}
    named, boxes, intervals = {}, {}, {}
    for name, values in columns.items():
        client = owner(f"constant {name}")
        frame = table().select("hours", "pay").with_columns(rooms=pl.Series(values))
        dataset = upload(client, frame.write_csv(), type=["hours:integer", "pay:number", "rooms:integer"])
        job = succeed(client, {
            "method": "boxes", "k": 5, "quasi_identifiers": ["hours", "pay", "rooms"], "dataset_id": dataset["id"],
            "domains": {"hours": [0, 100], "pay": [0, 1e6], "rooms": [0, 10]},
        })  # fmt: skip
        ranges = statistics(client, job)
        named[name] = [(one["kind"], one["of"]) for one in ranges]
        boxes[name] = released(client, job)
        if name != "many":
            assert boxes[name]["rooms_lo"].unique().to_list() == [0], "fewer than k differ: the column is not cut"
            assert boxes[name]["rooms_hi"].unique().to_list() == [10]
            mean, variance = (
                next(one for one in ranges if (one["kind"], one["of"]) == (kind, ["rooms"]))["guaranteed"]
                for kind in ("mean", "variance")
            )
            assert mean == pytest.approx([0.0, 10.0]), "its ranges follow from its published bounds"
            assert variance[0] == pytest.approx(0.0)
            intervals[name] = [one["guaranteed"] for one in ranges if "rooms" in one["of"]]
    assert named["one value"] == named["all but one"] == named["many"]
    assert [one is None for one in intervals["one value"]] == [one is None for one in intervals["all but one"]]
    assert len(named["many"]) == 9, "three means, three variances, three correlations"
