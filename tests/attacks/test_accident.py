"""Publishing by accident: identifiers, incomes to the dollar and values that boxes give away stay drafts."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import ended, succeed, upload
from tests.service import Service

ROWS = 800
SPEC: dict[str, Any] = {"method": "boxes", "k": 5, "quasi_identifiers": ["age", "hours"]}


def persons() -> pl.DataFrame:
    draw = np.random.default_rng(166)
    age = draw.integers(18, 90, ROWS)
    few = np.where(np.arange(ROWS) < ROWS // 200, np.arange(ROWS), draw.integers(1_000, 1_003, ROWS))  # four rows alone
    return pl.DataFrame({
        "age": age, "hours": draw.integers(0, 80, ROWS), "income": draw.integers(20_000, 90_000, ROWS),
        "who": [f"p{n}" for n in range(ROWS)], "town": draw.choice(["a", "b", "c"], ROWS), "rare": few,
        "street": draw.integers(0, 30, ROWS), "house": draw.integers(0, 30, ROWS), "old": age >= 65,
        "country": "here", "illness": np.minimum(draw.zipf(1.6, ROWS), 60),
    })  # fmt: skip


@pytest.fixture
def data(service: Service) -> Iterator[Any]:
    """Each release has an owner of its own: nothing is composed."""
    with ExitStack() as clients:

        def of(owner: str) -> tuple[httpx.Client, str]:
            client = clients.enter_context(service.client(owner=f"accident {owner}"))
            return client, str(upload(client, persons().write_csv())["id"])

        yield of


def made(data: Any, owner: str, **more: Any) -> tuple[httpx.Client, dict[str, Any], str]:
    client, dataset_id = data(owner)
    job = succeed(client, SPEC | {"dataset_id": dataset_id} | more)
    return client, job, client.get(f"/v1/releases/{job['release_id']}").json()["state"]


@pytest.mark.parametrize(
    ("keep", "says"),
    [
        (["income"], "'income'"), (["who"], "'who'"), (["town", "income"], "'income'"),
        (["street", "house"], "'street', 'house' together"), (["old"], "one value of the kept column 'old'"),
    ],
    ids=["income to the dollar", "an identifier", "next to another", "two columns", "what a box gives away"],
)  # fmt: skip
def test_what_tells_persons_apart_stays_a_draft_until_it_is_accepted(data: Any, keep: list[str], says: str) -> None:
    client, job, state = made(data, " ".join(keep), keep=keep)
    assert state == "draft"
    assert {one["audit"] for one in job["findings"]} == {"kept_columns"}
    assert says in job["findings"][0]["detail"]
    address = f"/v1/releases/{job['release_id']}/publish"
    assert client.post(address).status_code == 409
    assert client.post(address, json={"accept_findings": ["kept_columns"]}).json()["state"] == "published"


@pytest.mark.parametrize("demand", [{"l": 1}, {"l": 3}, {"t": 1.0}, {"t": 0.4}, {"alpha": 0.5}], ids=str)
def test_no_demand_makes_a_sensitive_value_of_an_identifier(data: Any, demand: dict[str, Any]) -> None:
    keep = ["income"] if "alpha" in demand else ["who"]
    _, job, state = made(data, f"unique {demand}", keep=keep, sensitive=keep, **demand)
    assert ({one["audit"] for one in job["findings"]}, state) == ({"kept_columns"}, "draft")


@pytest.mark.parametrize(
    "more",
    [
        {"keep": ["town", "country"]}, {"keep": ["rare"]}, {"keep": ["illness"], "sensitive": ["illness"], "l": 3},
        {"keep": ["town", "illness"], "sensitive": ["illness"], "t": 0.4},
        {"keep": ["street"], "k_counts_kept": True, "k": 3},
    ],
    ids=["towns", "four rows of 800", "l", "t", "counted"],
)  # fmt: skip
def test_what_many_share_or_a_demand_protects_is_published(data: Any, more: dict[str, Any]) -> None:
    _, job, state = made(data, str(sorted(more.items())), **more)
    assert (job["findings"], state) == ([], "published")


def test_a_warning_says_which_columns_and_what_protects_them(data: Any) -> None:
    def warned(owner: str, **more: Any) -> str:
        _, job, _ = made(data, owner, **more)
        return " ".join(one["detail"] for one in job["warnings"] if one["code"] == "kept_below_k")

    plain = warned("plain", keep=["town", "income"])
    assert "'income' (1)" in plain
    assert "k_counts_kept" in plain
    assert warned("hidden", sensitive=["illness"], l=3) == ""
    both = warned("both", keep=["town", "street", "house"], sensitive=["illness"], l=3)
    assert "'house'" in both.rpartition("protect")[0]
    assert "'illness'" in both.rpartition("protect")[2]
    unique = warned("unique", keep=["town"], sensitive=["income"], l=3)
    assert "'income' (1)" in unique, "an identifier is one whatever l is"


def columns(client: httpx.Client, job: dict[str, Any]) -> set[str]:
    return {one["name"] for one in client.get(f"/v1/releases/{job['release_id']}").json()["columns"]}


def test_a_sensitive_identifier_is_a_draft_and_a_withheld_one_is_published(data: Any) -> None:
    client, job, state = made(data, "sensitive who", sensitive=["who"], l=3)
    assert ({one["audit"] for one in job["findings"]}, state) == ({"kept_columns"}, "draft")
    assert "`withheld`" in job["findings"][0]["detail"]
    assert "who" in columns(client, job)
    client, job, state = made(data, "withheld who", sensitive=["who"], l=3, withheld=["who"])
    assert (job["findings"], state, "who" in columns(client, job)) == ([], "published", False)


@pytest.mark.parametrize("first", ["without", "withheld", "shown", "draft"])
def test_what_was_published_before_decides_whether_a_sensitive_column_is(data: Any, first: str) -> None:
    """A column that no publication of the data shows is not shown because of `sensitive` alone; a draft is none."""
    more: dict[str, dict[str, Any]] = {
        "without": {}, "withheld": {"sensitive": ["illness"], "l": 2, "withheld": ["illness"]},
        "shown": {"sensitive": ["illness"], "l": 2}, "draft": {"publish": "draft"},
    }  # fmt: skip
    client, _, state = made(data, f"family {first}", **more[first])
    assert state == ("draft" if first == "draft" else "published")
    dataset_id = client.get("/v1/datasets").json()["items"][0]["id"]
    spec = SPEC | {"dataset_id": dataset_id, "sensitive": ["illness"], "l": 2}
    accepted = client.post("/v1/anonymizations", json=spec).json()
    job = ended(client, accepted)
    shows = first in {"shown", "draft"}
    assert ("illness" in columns(client, job)) == shows
    assert job["spec"]["keep"] == (["illness"] if shows else [])
    for one in (accepted, job):
        said = {(each["code"], each["pointer"]) for each in one["warnings"]}
        assert (("counts_as_withheld", "/spec/sensitive/0") in said) != shows
    kept = succeed(client, spec | {"keep": ["illness"]})
    assert "illness" in columns(client, kept)
