"""Across releases: which data are the same, what all that was published of them leaves, and what is then published."""

import hashlib
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest
from sqlalchemy import delete, update

from app.cli.settings import open_database
from app.db.tables import datasets as tables
from app.db.tables.datasets import person_sketch, table_sketch
from tests.drawing import seeds
from tests.methods.asking import ended, released, succeed, upload
from tests.methods.densities import upload_frame
from tests.service import Service
from tests.stored import stored


def population(seed: int, rows: int = 600) -> pl.DataFrame:
    draw = np.random.default_rng([77, seed])
    return pl.DataFrame({
        "age": draw.integers(18, 90, rows), "hours": draw.integers(1, 99, rows), "wage": draw.lognormal(3, 1, rows),
        "town": draw.choice(["a", "b", "c"], rows),
    })  # fmt: skip


def family(client: httpx.Client, dataset_id: str) -> str:
    family_id: str = client.get(f"/v1/datasets/{dataset_id}").json()["family_id"]
    return family_id


def boxes(dataset_id: str, k: int = 5, **more: Any) -> dict[str, Any]:
    body = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": ["age", "hours", "wage"], "k": k}
    return body | {"publish": "auto"} | more


def state(client: httpx.Client, job: dict[str, Any]) -> str:
    current: str = client.get(f"/v1/releases/{job['release_id']}").json()["state"]
    return current


def kept(service: Service, job: dict[str, Any]) -> str:
    """What the ledger of a release says, by the digest in the name of its file."""
    mine = [path for path in stored(service.folder, ".parquet") if f"ledger/{job['release_id']}/" in str(path)]
    (path,) = [path for path in mine if not path.stem.endswith("-persons")]
    digest = path.stem.partition("-")[2]
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    return digest


def test_the_same_data_are_recognised_however_they_come(client: httpx.Client) -> None:
    frame = population(1)
    first = upload(client, frame.write_csv())["id"]
    again = {
        "shuffled": frame.sample(fraction=1, shuffle=True, seed=1),
        "columns in another order, one of them gone": frame.select("town", "wage", "age"),
        "with another column": frame.with_columns(pl.int_range(pl.len()).alias("number")),
        "with rows appended": pl.concat([frame, population(2, 200)]),
        "a part": frame.head(400),
    }
    for case, one in again.items():
        assert upload(client, one.write_csv())["family_id"] == family(client, first), case
    assert upload(client, population(3).write_csv())["family_id"] != family(client, first)
    apart = upload(client, frame.write_csv(), new_family=True)
    assert apart["family_id"] != family(client, first)
    other = upload(client, population(4).write_csv(), same_data_as_dataset_id=first)
    assert other["family_id"] == family(client, first)
    unknown = {"same_data_as_dataset_id": "ds_1"}
    refused = client.post("/v1/datasets", params=unknown, content=b"a\n1\n", headers={"Content-Type": "text/csv"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "?same_data_as_dataset_id")


def test_a_release_that_leaves_fewer_than_k_persons_stays_a_draft_until_that_is_accepted(
    service: Service, client: httpx.Client
) -> None:
    frame = population(5)
    first = succeed(client, boxes(upload_frame(client, frame)))
    assert (first["findings"], state(client, first)) == ([], "published")
    again = succeed(client, boxes(upload_frame(client, frame.sample(fraction=1, shuffle=True, seed=2))))
    assert (again["findings"], state(client, again)) == ([], "published"), "bit for bit the same boxes"
    assert kept(service, first) == kept(service, again), "one of them is fetched and composed"
    second = succeed(client, boxes(upload_frame(client, frame), k=7))
    assert state(client, second) == "draft"
    assert kept(service, second) != kept(service, first)
    finding = second["findings"][0]
    assert (finding["audit"], finding["severity"], finding["required"]) == ("composition", "high", 7)
    assert first["release_id"] in finding["detail"]
    # by hand: records in both releases' boxes
    assert finding["measured"] == overlay(client, frame, first, second)
    at = f"/v1/releases/{second['release_id']}"
    assert client.post(at + "/publish").status_code == 409
    accepted = client.post(at + "/publish", json={"accept_findings": ["composition"]}).json()
    assert accepted["flags"][-1] == "composition-accepted"
    ledger = client.get(f"/v1/families/{client.get(at).json()['family_id']}").json()
    assert [one["release_id"] for one in ledger["published"]] == [one["release_id"] for one in (first, again, second)]
    assert [one["composition"]["composed_k"] for one in ledger["published"]] == [5, 5, finding["measured"]]
    allowed = succeed(client, boxes(upload_frame(client, frame), k=9, accept_findings=["composition"]))
    shown = client.get(f"/v1/releases/{allowed['release_id']}").json()
    assert (shown["state"], "composition-accepted" in shown["flags"]) == ("published", True)


def overlay(client: httpx.Client, frame: pl.DataFrame, *jobs: dict[str, Any]) -> int:
    names = ["age", "hours", "wage"]
    values = frame.select(names).to_numpy()
    places = []
    for job in jobs:
        rows = released(client, job).select(sorted(f"{name}_{end}" for name in names for end in ("lo", "hi"))).unique()
        lower, upper = (np.column_stack([rows[f"{name}_{end}"] for name in names]) for end in ("lo", "hi"))
        inside = ((values[:, None] >= lower) & (values[:, None] <= upper)).all(axis=2)
        places.append(inside.argmax(axis=1))
    return int(np.unique(np.column_stack(places), axis=0, return_counts=True)[1].min())


def test_nothing_is_taken_back_and_an_admin_can_erase_it(client: httpx.Client) -> None:
    frame = population(6)
    dataset_id = upload_frame(client, frame)
    first = succeed(client, boxes(dataset_id))
    assert client.delete(f"/v1/releases/{first['release_id']}").status_code == 204
    assert client.delete(f"/v1/datasets/{dataset_id}").status_code == 204
    later = upload_frame(client, frame)
    job = succeed(client, boxes(later, k=8))
    assert state(client, job) == "draft"
    assert client.delete(f"/v1/families/{family(client, later)}").status_code == 204
    assert state(client, succeed(client, boxes(later, k=8))) == "published"


@pytest.mark.parametrize("condensed_first", [True, False])
def test_methods_that_hide_nobody_among_others_leave_one(client: httpx.Client, *, condensed_first: bool) -> None:
    dataset_id = upload_frame(client, population(7 if condensed_first else 8))
    condensed = {"method": "condensation", "dataset_id": dataset_id, "quasi_identifiers": ["age", "hours"], "k": 5}
    first, second = (condensed, boxes(dataset_id)) if condensed_first else (boxes(dataset_id), condensed)
    assert state(client, succeed(client, first)) == "published"
    job = succeed(client, second)
    assert (state(client, job), job["findings"][0]["measured"]) == ("draft", 1)


def test_noise_is_composed_with_boxes(client: httpx.Client) -> None:
    dataset_id = upload_frame(client, population(9))
    succeed(client, boxes(dataset_id))
    noisy = {"method": "uncertain", "dataset_id": dataset_id, "quasi_identifiers": ["age", "hours", "wage"], "k": 5}
    job = succeed(client, noisy)
    assert state(client, job) == "draft"
    assert 1 <= job["findings"][0]["measured"] < 5


def test_two_that_are_published_at_once_are_composed_with_each_other(client: httpx.Client) -> None:
    dataset_id = upload_frame(client, population(10))
    drafts = [succeed(client, boxes(dataset_id, k=k, publish="draft")) for k in (5, 6)]
    assert [job["findings"] for job in drafts] == [[], []]
    paths = [f"/v1/releases/{job['release_id']}/publish" for job in drafts]
    assert client.post(paths[0]).status_code == 200
    answer = client.post(paths[1], headers={"Prefer": "wait=30"})
    assert answer.status_code == 202
    job = ended(client, answer.json())
    assert (job["state"], [one["audit"] for one in job["findings"]]) == ("succeeded", ["composition"])
    assert state(client, drafts[1]) == "draft"
    assert client.post(paths[1]).status_code == 409
    assert client.post(paths[1], json={"accept_findings": ["composition"]}).json()["state"] == "published"


def test_later_releases_of_a_series_tell_no_more_than_their_base(client: httpx.Client) -> None:
    frame = population(14)
    dataset_id = upload_frame(client, frame)
    draft = succeed(client, boxes(dataset_id, publish="draft", keep=["town"]))
    series = {"method": "boxes", "quasi_identifiers": ["age", "wage"], "k": 12, "base_release_id": draft["release_id"]}
    refused = client.post("/v1/anonymizations", json=series)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/base_release_id")
    client.post(f"/v1/releases/{draft['release_id']}/publish")
    family_id = family(client, dataset_id)
    assert client.delete(f"/v1/datasets/{dataset_id}").status_code == 204, "no later release needs it"
    made = [
        succeed(client, series),
        succeed(client, series | {"quasi_identifiers": ["hours"], "k": 5, "keep": ["town"]}),
    ]
    assert [(state(client, job), job["findings"]) for job in made] == [("published", [])] * 2
    shown = client.get(f"/v1/releases/{made[0]['release_id']}").json()
    assert (shown["base_release_id"], shown["family_id"], shown["rows"]) == (draft["release_id"], family_id, 600)
    assert released(client, made[0])["box"].value_counts()["count"].min() >= 12
    ledger = client.get(f"/v1/families/{family_id}").json()["published"]
    assert [(one["base_release_id"] is None, one["composition"]["composed_k"]) for one in ledger] == [
        (True, 5), (False, 5), (False, 5),
    ]  # fmt: skip
    at = f"/v1/releases/{shown['id']}"
    answer = client.post(f"{at}/statistics", json={"statistics": [{"kind": "mean", "of": ["age"]}]}).json()
    low, high = answer["statistics"][0]["guaranteed"]
    assert low <= frame["age"].to_numpy().mean() <= high
    assert draft["release_id"] in client.get(f"{at}/provenance").text
    assert client.get(f"{at}/report").status_code == client.get(f"/v1/jobs/{made[0]['id']}/report").status_code == 200
    again = upload_frame(client, frame)
    audits = [
        {"method": "linkage", "release_id": shown["id"], "knowledge_dataset_id": again},
        {"method": "influence", "release_ids": [shown["id"]], "dataset_id": again},
    ]
    for audit in audits:
        refused = client.post("/v1/audits", json=audit)
        assert (refused.status_code, draft["release_id"] in refused.json()["detail"]) == (422, True)
    independent = succeed(client, boxes(again, k=6))
    assert state(client, independent) == "draft", "what a series is for"
    assert f'"base_release_id": "{draft["release_id"]}"' in str(independent["findings"][0]["remedies"])


def test_guessed_rows_teach_nothing_about_the_data_of_others(service: Service, client: httpx.Client) -> None:
    frame = population(11)
    held = upload_frame(client, frame)
    succeed(client, boxes(held))
    with service.client(owner="guesser") as guesser:
        guessed, strange = (upload_frame(guesser, one) for one in (frame, population(12)))
        jobs = [succeed(guesser, boxes(one)) for one in (guessed, strange)]
        assert [(state(guesser, job), job["findings"], job["warnings"] == jobs[0]["warnings"]) for job in jobs] == [
            ("published", [], True), ("published", [], True),
        ]  # fmt: skip
        assert family(guesser, guessed) not in {family(client, held), family(guesser, strange)}
        ledgers = [
            guesser.get(f"/v1/families/{family(guesser, one)}").json()["published"] for one in (guessed, strange)
        ]
        assert [len(ledger) for ledger in ledgers] == [1, 1]
        assert guesser.get(f"/v1/families/{family(client, held)}").status_code == 404
    first = client.get("/v1/releases").json()["items"][0]["id"]
    assert released(client, {"release_id": first}).height == frame.height


def test_a_gate_demands_more_than_the_release_promises(client: httpx.Client) -> None:
    dataset_id = upload_frame(client, population(13))
    job = succeed(client, boxes(dataset_id, gate=[{"method": "composition", "require": {"k": 20}}]))
    assert (state(client, job), job["findings"][0]["measured"], job["findings"][0]["required"]) == ("draft", 5, 20)
    unknown = client.post(
        "/v1/anonymizations", json=boxes(dataset_id, gate=[{"method": "influence", "require": {"slope": 0.5}}])
    )
    assert (unknown.status_code, unknown.json()["errors"][0]["pointer"]) == (422, "/gate/0/method")


def test_means_inside_boxes_are_published_once(client: httpx.Client) -> None:
    frame = population(13)
    dataset_id = upload_frame(client, frame)
    first = succeed(client, boxes(dataset_id, box_means="rounded", domains={"wage": [0.0, 1000.0]}))
    assert (first["findings"], state(client, first)) == ([], "published")
    again = succeed(client, boxes(dataset_id, box_means="rounded", domains={"wage": [0.0, 1000.0]}))
    assert (again["findings"], state(client, again)) == ([], "published"), "the same once more"
    second = succeed(client, boxes(dataset_id, k=9, box_means="rounded"))
    assert state(client, second) == "draft"
    assert "subtraction" in second["findings"][0]["detail"]
    exact = client.post("/v1/anonymizations", json=boxes(dataset_id, box_means="exact"), headers={"Prefer": "wait=60"})
    assert (exact.json()["state"], exact.json()["error"]["type"]) == ("failed", "/problems/infeasible")
    assert [one["pointer"] for one in exact.json()["error"]["errors"]] == ["/box_means"]
    shown = client.get(f"/v1/releases/{first['release_id']}").json()
    assert "means-inside-boxes" in shown["flags"]
    assert {"age_mean_lo", "wage_mean_hi"} <= {column["name"] for column in shown["columns"]}


def test_an_order_of_texts_is_published_and_composed(client: httpx.Client) -> None:
    """Gates find records in boxes by the places of values in their order; missing ones are where nothing is said."""
    frame = population(141).with_columns(pl.when(pl.col("age") > 30).then("town").alias("town"))
    dataset_id = upload_frame(client, frame)
    spec = boxes(
        dataset_id, quasi_identifiers=["age", "town"], ordinal={"town": ["c", "a", "b"]}, missing_policy="pattern"
    )
    first = succeed(client, spec)
    assert (first["findings"], state(client, first)) == ([], "published")
    second = succeed(client, spec | {"k": 50})
    ledger = client.get(f"/v1/families/{family(client, dataset_id)}").json()
    assert ledger["published"][0]["composition"]["composed_k"] >= 5
    assert ledger["published"][0]["composition"]["changed"] is None
    assert second["findings"] == [] or second["findings"][0]["measured"] >= 1


@pytest.mark.parametrize("seed", seeds(2))
def test_data_of_before_there_were_sketches_are_recognised(service: Service, seed: int) -> None:
    """As an upgrade leaves them: by their rows, and by the persons that their releases count."""
    draw = np.random.default_rng([78, seed])
    owner, persons = f"of before {seed}", {"person_column": "person"} if seed % 2 else {}
    frame = population(80 + seed).with_columns(pl.Series("person", draw.choice(10**9, 600, replace=False)))
    later = frame.sample(599, shuffle=True, seed=seed).with_columns(month=pl.lit("2026-02"))
    if persons:
        later = later.with_columns(
            *(pl.Series(name, draw.permutation(later[name])) for name in ("age", "hours", "wage"))
        )
    with service.client(owner=owner) as client:
        first = succeed(client, boxes(upload_frame(client, frame), **persons))
        assert state(client, first) == "published"
        _, database = open_database(service.folder)
        with database.unit_of_work() as unit:
            for kept in (table_sketch, person_sketch):
                assert unit.connection.execute(delete(kept).where(kept.c.owner == owner)).rowcount == bool(
                    kept is table_sketch or persons
                )
            unit.connection.execute(update(tables.family).where(tables.family.c.owner == owner).values(joined=False))
        database.close()
        second = succeed(client, boxes(upload_frame(client, later), k=7, **persons))
        assert (state(client, second), second["findings"][0]["audit"]) == ("draft", "composition")
