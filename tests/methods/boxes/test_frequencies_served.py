"""Counts in the place of rows over HTTP: one family with the table of persons, its series, versions and audits."""

from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import released, run, succeed, upload
from tests.service import Service

SPEC: dict[str, Any] = {"method": "boxes", "quasi_identifiers": ["age", "wage"], "k": 5, "keep": ["job"]}
COUNTED = SPEC | {"frequency_column": "persons"}


def counts_of(seed: int, rows: int) -> pl.DataFrame:
    """Rows that differ, of few values each: as tables of rows, counts and persons are not seen to be the same."""
    draw = np.random.default_rng([34, seed])
    frame = pl.DataFrame({
        "age": draw.integers(18, 70, rows), "wage": np.round(draw.lognormal(2, 0.5, rows)),
        "town": draw.choice(["a", "b", "c", "d"], rows), "job": draw.choice(["x", "y", "z"], rows),
        "persons": draw.geometric(0.15, rows),
    })  # fmt: skip
    return frame.unique(["age", "wage", "town", "job"], maintain_order=True)


def persons_of(counts: pl.DataFrame) -> pl.DataFrame:
    places = np.repeat(np.arange(counts.height), counts["persons"])
    return counts.drop("persons")[np.random.default_rng(35).permutation(places)]


def rows_of(client: httpx.Client, job: dict[str, Any]) -> list[str]:
    return sorted(map(str, released(client, job).drop("box").rows()))


def family_of(client: httpx.Client, dataset_id: str) -> dict[str, Any]:
    dataset = client.get(f"/v1/datasets/{dataset_id}").json()
    family: dict[str, Any] = client.get(f"/v1/families/{dataset['family_id']}").json()
    return family


def put(client: httpx.Client, table: pl.DataFrame, **query: Any) -> str:
    return str(upload(client, table.write_csv(), **query)["id"])


@pytest.mark.parametrize("order", ["counts, persons", "persons, counts", "counts published, then persons"])
def test_counts_and_their_persons_are_one_family_whichever_is_first(service: Service, order: str) -> None:
    """The second release is the first one again: had both secrets of their own, their cuts would differ."""
    counts = counts_of(1, 400)
    with service.client(owner=f"counted: {order}") as client:
        if order == "persons, counts":
            persons, counted = put(client, persons_of(counts)), put(client, counts)
            jobs = [succeed(client, SPEC | {"dataset_id": persons}), succeed(client, COUNTED | {"dataset_id": counted})]
        elif order == "counts, persons":
            counted, persons = put(client, counts), put(client, persons_of(counts))
            assert family_of(client, counted)["id"] != family_of(client, persons)["id"], "the test needs such data"
            jobs = [succeed(client, COUNTED | {"dataset_id": counted}), succeed(client, SPEC | {"dataset_id": persons})]
        else:
            counted = put(client, counts)
            jobs = [succeed(client, COUNTED | {"dataset_id": counted})]
            persons = put(client, persons_of(counts))
            assert persons in family_of(client, counted)["dataset_ids"], "it is recognised as it is read"
            jobs.append(succeed(client, SPEC | {"dataset_id": persons}))
        assert rows_of(client, jobs[0]) == rows_of(client, jobs[1])
        assert [job["findings"] for job in jobs] == [[], []]
        family = family_of(client, counted)
        assert set(family["dataset_ids"]) == {counted, persons}
        assert [one["composition"]["release_count"] for one in family["published"]] == [1, 2]
        smallest = float(released(client, jobs[0]).group_by("box").len()["len"].min())
        assert [one["composition"]["composed_k"] for one in family["published"]] == [smallest, smallest]
        assert family["questions"] == []


def test_counts_of_a_key_that_sees_no_figures_are_compared_once_they_are_confirmed(service: Service) -> None:
    """Before, nothing that comes of them may show of whom the owner has data."""
    counts = counts_of(1, 400)
    keeper = service.client(owner="counts of others")
    sender = service.client(owner="counts of others", scopes=("datasets:write", "jobs:write"))
    with keeper, sender:
        persons = put(keeper, persons_of(counts))
        succeed(keeper, SPEC | {"dataset_id": persons})
        spec = COUNTED | {"dataset_id": put(sender, counts), "publish": "draft"}
        succeed(keeper, spec)
        apart = family_of(keeper, spec["dataset_id"])
        assert apart["dataset_ids"] == [spec["dataset_id"]]
        assert keeper.post(f"/v1/families/{apart['id']}/confirm").status_code == httpx.codes.OK
        job = succeed(keeper, spec)
        assert set(family_of(keeper, spec["dataset_id"])["dataset_ids"]) == {spec["dataset_id"], persons}
        assert job["findings"] == []


def test_a_release_of_rows_is_composed_with_that_of_the_persons_they_count(client: httpx.Client) -> None:
    """The counts taken as records are of the same family, and its k is that of all publications together."""
    dataset_id = put(client, counts_of(2, 250))
    counted = succeed(client, COUNTED | {"dataset_id": dataset_id})
    plain = run(client, SPEC | {"dataset_id": dataset_id})
    assert [one["audit"] for one in plain["findings"]] == ["composition"]
    audit = {"method": "composition", "release_ids": [counted["release_id"], plain["release_id"]]}
    refused = client.post("/v1/audits", json=audit)
    assert refused.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert [one["pointer"] for one in refused.json()["errors"]] == ["/release_ids/1"]


@pytest.mark.parametrize("before", [COUNTED, SPEC], ids=["counts", "persons"])
def test_new_versions_may_have_counts_or_a_row_for_each_person(client: httpx.Client, before: dict[str, Any]) -> None:
    """Either second version follows the first in its boxes, and shows the same."""
    first = counts_of(3, 200)
    grown = pl.concat([first, counts_of(4, 60)]).unique(["age", "wage", "town", "job"], maintain_order=True)
    grown = grown.with_columns(pl.col("persons") + (pl.int_range(pl.len()) % 7 == 0))
    dataset_id, shown = put(client, first if before is COUNTED else persons_of(first), new_family=True), []
    base = succeed(client, before | {"dataset_id": dataset_id})
    for table, column in ((grown, "persons"), (persons_of(grown), None)):
        again = put(client, table, version_of_dataset_id=dataset_id)
        job = succeed(client, SPEC | {"dataset_id": again, "frequency_column": column, "publish": "draft"})
        assert job["spec"]["previous_release_id"] == base["release_id"]
        shown.append(rows_of(client, job))
        if before is COUNTED and column is None:
            lacking = client.post("/v1/anonymizations", json=SPEC | {"dataset_id": again})
            (error,) = lacking.json()["errors"]
            assert (lacking.status_code, error["pointer"]) == (422, "/frequency_column")
            assert "null where it has a row for each person" in error["detail"]
    assert shown[0] == shown[1]
    assert len(shown[0]) > first["persons"].sum()


def test_a_series_and_audits_of_counts_are_of_their_persons(client: httpx.Client) -> None:
    counts = counts_of(5, 200)
    dataset_id = put(client, counts)
    gate = [{"method": "table", "require": {"k": 5}}, {"method": "linkage", "require": {"share_rank_1": 1.0}}]
    job = succeed(client, COUNTED | {"dataset_id": dataset_id, "gate": gate, "publish": "draft"})
    assert job["findings"] == []
    release = job["release_id"]
    published = client.post(f"/v1/releases/{release}/publish", json={})
    assert (published.status_code, published.json()["state"]) == (200, "published")
    assert published.json()["rows"] == counts["persons"].sum()
    linkage = succeed(client, {"method": "linkage", "release_id": release}, kind="audits")["result"]
    assert linkage["records"] == counts["persons"].sum()
    succeed(client, {"method": "influence", "release_ids": [release], "records": 2}, kind="audits")
    alone = succeed(client, {"method": "composition", "release_ids": [release]}, kind="audits")["result"]
    assert alone["composed_k"] == released(client, job).group_by("box").len()["len"].min()
    series = {"method": "boxes", "base_release_id": release, "quasi_identifiers": ["age"], "k": 5}
    assert succeed(client, series)["spec"]["frequency_column"] == "persons"
    refused = client.post("/v1/anonymizations", json=series | {"frequency_column": "n"})
    assert [one["pointer"] for one in refused.json()["errors"]] == ["/frequency_column"]
    of_release = {"method": "table", "release_id": release, "frequency_column": "persons"}
    refused = client.post("/v1/audits", json=of_release)
    assert [one["pointer"] for one in refused.json()["errors"]] == ["/frequency_column"]


def test_that_counts_are_exact_is_said_of_each_table_anew(client: httpx.Client) -> None:
    """A version of rounded counts is refused as the table alone would be, though those before were confirmed."""
    counts = counts_of(7, 200).with_columns(pl.col("persons") + 4)
    first = put(client, counts, new_family=True)
    exact = {"frequencies_are_exact": True}
    base = succeed(client, COUNTED | exact | {"dataset_id": first})
    rounded = counts.with_columns(pl.col("persons") * 10)
    spec = SPEC | {"dataset_id": put(client, rounded, version_of_dataset_id=first), "publish": "draft"}
    for more in ({}, {"frequency_column": "persons"}):
        refused = client.post("/v1/anonymizations", json=spec | more)
        (error,) = refused.json()["errors"]
        assert (refused.status_code, error["pointer"]) == (422, "/frequencies_are_exact")
        assert "multiples of 10" in error["detail"]
    made = succeed(client, spec | exact)["spec"]
    assert [made[name] for name in ("previous_release_id", *exact)] == [base["release_id"], True]


@pytest.mark.parametrize(
    "request_body",
    [COUNTED, {"method": "frontier", "quasi_identifiers": ["age"], "k": [5]}, {"method": "table"}],
    ids=["boxes", "frontier", "table"],
)
def test_only_keepers_confirm_counts(service: Service, request_body: dict[str, Any]) -> None:
    """Whose key sees no figures of the data cannot answer for them."""
    owner = f"confirmed by {request_body['method']}"
    keeper = service.client(owner=owner)
    sender = service.client(owner=owner, scopes=("datasets:write", "jobs:write"))
    with keeper, sender:
        counts = counts_of(8, 150).with_columns(pl.col("persons") + 4)
        spec = request_body | {"dataset_id": put(sender, counts), "frequency_column": "persons"}
        path = "/v1/audits" if request_body["method"] in {"table", "frontier"} else "/v1/anonymizations"
        refused = sender.post(path, json=spec | {"frequencies_are_exact": True})
        assert (refused.status_code, refused.json()["type"]) == (403, "/problems/forbidden")
        assert "`frequencies_are_exact` takes the scope jobs:read" in refused.json()["detail"]
        assert sender.post(path, json=spec | {"frequencies_are_exact": False}).status_code == 422
        assert keeper.post(path, json=spec | {"frequencies_are_exact": True}).status_code == 202


def test_persons_beyond_what_a_job_may_take_are_refused_with_their_number(service: Service) -> None:
    """Keys without figures learn no more than that it does not fit."""
    alone = pl.int_range(pl.len()) == 0
    persons = pl.when(alone).then(1).otherwise(pl.col("persons") * 1_000_000)
    counts = counts_of(6, 120).with_columns(persons=persons)
    keeper = service.client(owner="many persons")
    sender = service.client(owner="many persons", scopes=("datasets:write", "jobs:write"))
    with keeper, sender:
        spec = COUNTED | {"dataset_id": put(sender, counts)}
        exact = keeper.post("/v1/anonymizations", json=spec)
        assert (exact.status_code, exact.json()["type"]) == (422, "/problems/job-too-large")
        assert f"{counts['persons'].sum():,} persons" in exact.json()["detail"]
        shown = sender.post("/v1/anonymizations", json=spec)
        assert shown.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert "persons" not in shown.json()["detail"].replace("`", "")
