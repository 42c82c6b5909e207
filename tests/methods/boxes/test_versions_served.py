"""New versions of the data over HTTP: what was uploaded as a version is continued, composed and published."""

from typing import Any

import httpx
import numpy as np
import polars as pl

from tests.methods.asking import released, succeed, upload

SPEC: dict[str, Any] = {
    "method": "boxes", "quasi_identifiers": ["age", "wage"], "k": 5, "keep": ["job"],
    "domains": {"age": [0, 120], "wage": [0, 1000]},
}  # fmt: skip


def people(seed: int, rows: int) -> pl.DataFrame:
    draw = np.random.default_rng([122, seed])
    return pl.DataFrame({
        "age": draw.integers(18, 90, rows), "wage": np.minimum(draw.lognormal(3, 1, rows), 900.0),
        "job": draw.choice(["x", "y"], rows),
    })  # fmt: skip


def test_versions_are_published_one_after_the_other_and_one_person_is_not_seen(client: httpx.Client) -> None:
    first = people(1, 300)
    far = first.vstack(pl.DataFrame({"age": [119], "wage": [999.0], "job": ["x"]}))
    grown, jobs, dataset = far.slice(1).vstack(people(2, 500)), [], None
    for frame in (first, far, far.slice(1), grown):
        word = {} if dataset is None else {"version_of_dataset_id": dataset}
        dataset = upload(client, frame.write_csv(), **word)["id"]
        jobs.append(succeed(client, SPEC | {"dataset_id": dataset}))
    assert [job["findings"] for job in jobs] == [[]] * 4
    shown = [client.get(f"/v1/releases/{job['release_id']}").json() for job in jobs]
    assert [one["state"] for one in shown] == ["published"] * 4
    assert [one["previous_release_id"] for one in shown] == [None, *(job["release_id"] for job in jobs[:-1])]
    tables = [released(client, job).sort("box", "job") for job in jobs]
    assert tables[1].equals(tables[0])
    assert tables[2].equals(tables[0])
    assert tables[3].height > tables[0].height
    family = client.get(f"/v1/families/{shown[0]['family_id']}").json()
    assert [one["composition"]["composed_k"] for one in family["published"]] == [5.0] * 4
    assert client.get(f"/v1/datasets/{dataset}").json()["family_id"] == family["id"]
    for word in ({"version_of_dataset_id": "ds_1"}, {"version_of_dataset_id": dataset, "new_family": True}):
        refused = client.post("/v1/datasets", params=word, content=b"a\n1\n", headers={"Content-Type": "text/csv"})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, f"?{list(word)[-1]}")
    audits = [
        {"method": method, **named} for method, named in (
            ("linkage", {"release_id": jobs[1]["release_id"]}), ("influence", {"release_ids": [jobs[1]["release_id"]]})
        )
    ]  # fmt: skip
    assert [client.post("/v1/audits", json=one).status_code for one in audits] == [422, 422]
    ids = [job["release_id"] for job in jobs]
    for named in (ids, ids[::-1], ids[-2:], ids[1:], ids[-1:], ids[:1], [ids[0], ids[3]]):
        audit = succeed(client, {"method": "composition", "release_ids": named}, kind="audits")["result"]
        assert (audit["passed"], audit["composed_k"]) == (True, 5), "as each was published"
        assert audit["release_count"] == len(named)
        spec = {"method": "composition", "release_ids": named, "require": {"k": 1000.0}}
        advice = succeed(client, spec, kind="audits")["result"]["findings"][0]["detail"]
        assert ("versions" in advice, "one release" in advice) == (len(named) > 1, len(named) == 1)
    own = succeed(client, SPEC | {"dataset_id": dataset, "previous_release_id": None})
    assert client.get(f"/v1/releases/{own['release_id']}").json()["state"] == "draft", "boxes of its own are composed"


def test_versions_of_persons_with_several_rows_leave_the_persons_that_they_promise(client: httpx.Client) -> None:
    """Four hundred persons with two rows each, then one more with forty rows; then four hundred more."""
    rows = people(5, 400).with_columns(pl.Series("who", np.arange(400)))
    first = rows.vstack(rows.with_columns((pl.col("wage") * 0.9).alias("wage")))
    one = pl.concat([rows.head(1)] * 40).with_columns(pl.lit(9_999, pl.Int64).alias("who"))
    more = first.with_columns(pl.col("who") + 10_000)
    jobs, dataset = [], None
    for frame in (first, first.vstack(one), first.vstack(more)):
        word = {} if dataset is None else {"version_of_dataset_id": dataset}
        dataset = upload(client, frame.write_csv(), **word)["id"]
        jobs.append(succeed(client, SPEC | {"dataset_id": dataset, "person_column": "who"}))
    assert [job["findings"] for job in jobs] == [[]] * 3
    tables = [released(client, job).sort("box", "job") for job in jobs]
    assert tables[1].equals(tables[0])
    assert tables[2].height > tables[0].height
    family = client.get(f"/v1/families/{client.get(f'/v1/datasets/{dataset}').json()['family_id']}").json()
    assert [entry["composition"]["composed_k"] for entry in family["published"]] == [5.0] * 3, "persons, not rows"
    spec = {"method": "composition", "release_ids": [job["release_id"] for job in jobs], "person_column": "who"}
    assert succeed(client, spec, kind="audits")["result"]["composed_k"] == 5


def test_a_withdrawn_version_is_continued(client: httpx.Client) -> None:
    """The family counts what was withdrawn: only what continues it adds nothing to what it told."""
    first = people(7, 300)
    grown, more = first.vstack(people(8, 500)), first.vstack(people(8, 500)).vstack(people(9, 600))
    jobs, dataset = [], None
    for frame in (first, grown):
        word = {} if dataset is None else {"version_of_dataset_id": dataset}
        dataset = upload(client, frame.write_csv(), **word)["id"]
        jobs.append(succeed(client, SPEC | {"dataset_id": dataset}))
    newest = jobs[-1]["release_id"]
    assert client.post(f"/v1/releases/{newest}/withdraw", json={"reason": "a wrong file"}).status_code == 200
    dataset = upload(client, more.write_csv(), version_of_dataset_id=dataset)["id"]
    job = succeed(client, SPEC | {"dataset_id": dataset})
    assert job["findings"] == []
    release = client.get(f"/v1/releases/{job['release_id']}").json()
    assert (release["state"], release["previous_release_id"]) == ("published", newest)
    named = client.post("/v1/anonymizations", json=SPEC | {"dataset_id": dataset, "previous_release_id": newest})
    assert named.status_code == 202


def test_boxes_that_no_version_continues_are_named_before_the_job(client: httpx.Client) -> None:
    """Left to itself the job would make boxes of its own, and its draft would not say that a setting is why."""
    drawn = {
        "method": "boxes", "quasi_identifiers": ["age", "pay"], "k": 4, "bounds": "grid",
        "domains": {"age": [0, 120], "pay": [0, 1000]}, "value_step": {"pay": 10},
    }  # fmt: skip
    first = people(11, 300).rename({"wage": "pay"}).drop("job")
    dataset = upload(client, first.write_csv())["id"]
    base = succeed(client, drawn | {"dataset_id": dataset})["release_id"]
    later = first.vstack(people(12, 100).rename({"wage": "pay"}).drop("job"))
    dataset = upload(client, later.write_csv(), version_of_dataset_id=dataset)["id"]
    answer = client.post("/v1/anonymizations", json=drawn | {"dataset_id": dataset})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["pointer"]) == (422, "/previous_release_id")
    assert base in error["detail"]
    assert "`bounds`" in error["detail"]
    own = client.post("/v1/anonymizations", json=drawn | {"dataset_id": dataset, "previous_release_id": None})
    assert own.status_code == 202


def test_readers_of_a_series_have_one_address(client: httpx.Client) -> None:
    """Drafts, later versions and later releases of a base are found by the first one's id; readers see the newest."""
    tag, dataset, ids = {"table": "wages, monthly"}, None, []
    for seed in (31, 32, 33):
        word = {} if dataset is None else {"version_of_dataset_id": dataset}
        frame = pl.concat([people(31, 200), *(people(later, 200) for later in range(32, seed + 1))])
        dataset = upload(client, frame.write_csv(), **word)["id"]
        last = {"publish": "draft"} if seed == 33 else {}
        ids.append(succeed(client, SPEC | {"dataset_id": dataset, "tags": tag} | last)["release_id"])
    shown = [client.get(f"/v1/releases/{one}").json() for one in ids]
    assert [one["series_id"] for one in shown] == [ids[0]] * 3
    assert [one["state"] for one in shown] == ["published", "published", "draft"]

    def listed(**only: str) -> set[str]:
        return {one["id"] for one in client.get("/v1/releases", params=only).json()["items"]}

    assert listed(series_id=ids[0]) == set(ids)
    assert listed(series_id=ids[0], state="draft") == {ids[2]}
    assert listed(series_id=ids[1]) == set()
    assert client.get("/v1/releases", params={"state": "lost"}).status_code == httpx.codes.UNPROCESSABLE_ENTITY

    def latest(**only: str) -> str:
        answer = client.get("/v1/releases/latest", params=only)
        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
        return answer.headers["location"].rpartition("/")[2]

    by_tag = {"tag": "table:wages, monthly"}
    assert latest(series_id=ids[0]) == latest(**by_tag) == latest(series_id=ids[0], **by_tag) == ids[1]
    followed = client.get("/v1/releases/latest", params=by_tag, follow_redirects=True)
    assert followed.json()["id"] == ids[1]
    client.post(f"/v1/releases/{ids[2]}/publish").raise_for_status()
    assert latest(series_id=ids[0]) == ids[2]
    client.post(f"/v1/releases/{ids[2]}/withdraw").raise_for_status()
    assert latest(series_id=ids[0]) == ids[1]
    base = {"method": "boxes", "base_release_id": ids[1], "quasi_identifiers": ["age"], "k": 10}
    of_base = succeed(client, base)["release_id"]
    assert client.get(f"/v1/releases/{of_base}").json()["series_id"] == ids[0]
    client.patch(f"/v1/releases/{of_base}", json={"name": "Wages in May"}).raise_for_status()
    assert "<h1>Release Wages in May</h1>" in client.get(f"/v1/releases/{of_base}/report").text
    absent = client.get("/v1/releases/latest", params={"series_id": "rel_absent"})
    assert (absent.status_code, absent.headers["content-type"]) == (404, "application/problem+json")
    assert client.get("/v1/releases/latest").json()["errors"][0]["pointer"] == "?series_id"


def test_a_misspelt_column_is_answered_with_the_one_that_was_meant(client: httpx.Client) -> None:
    dataset_id = upload(client, people(41, 30).write_csv())["id"]
    bodies = {
        "anonymizations": SPEC | {"dataset_id": dataset_id, "quasi_identifiers": ["aeg", "wage"], "domains": {}},
        "audits": {"method": "table", "dataset_id": dataset_id, "quasi_identifiers": ["wages"], "sensitive": ["jib"]},
    }
    meant = {
        "anonymizations": {"/quasi_identifiers/0": "age"},
        "audits": {"/quasi_identifiers/0": "wage", "/sensitive/0": "job"},
    }
    for path, body in bodies.items():
        details = {one["pointer"]: one["detail"] for one in client.post(f"/v1/{path}", json=body).json()["errors"]}
        for pointer, name in meant[path].items():
            assert f"did you mean {name!r}?" in details[pointer]


def test_a_version_with_other_columns_is_told_which_to_leave_out_or_add(client: httpx.Client) -> None:
    first = upload(client, people(31, 120).write_csv(), new_family=True)["id"]
    base = succeed(client, SPEC | {"dataset_id": first})["release_id"]
    grown = people(31, 120).vstack(people(32, 40)).with_columns(zone=pl.int_range(pl.len()) % 9)
    body = SPEC | {
        "dataset_id": upload(client, grown.write_csv(), version_of_dataset_id=first)["id"],
        "previous_release_id": base,
    }
    for change, pointer, says in (
        (
            {"quasi_identifiers": ["age", "wage", "zone"]},
            "/quasi_identifiers",
            "('age', 'wage'): leave out 'zone', or set",
        ),
        (
            {"quasi_identifiers": ["age"], "domains": {"age": [0, 120]}},
            "/quasi_identifiers",
            "('age', 'wage'): add 'wage', or set",
        ),
        ({"quasi_identifiers": ["wage", "age"]}, "/quasi_identifiers", "name them in this order, or set"),
        ({"keep": ["job", "zone"]}, "/keep", "('job'): leave out 'zone', or set `previous_release_id` to null"),
        ({"k": 6}, "/k", "leave it as it was there, or set `previous_release_id` to null"),
    ):
        answer = client.post("/v1/anonymizations", json=body | change)
        details = {one["pointer"]: one["detail"] for one in answer.json()["errors"]}
        assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert says in details[pointer]


def test_names_beside_the_columns_are_answered_with_the_one_that_was_meant(client: httpx.Client) -> None:
    dataset_id = upload(client, people(33, 60).write_csv(), new_family=True)["id"]
    body = SPEC | {"dataset_id": dataset_id, "domains": {"agee": [0, 1]}, "nominal": {"Wage": {}}}
    answer = client.post("/v1/anonymizations", json=body | {"statistics": [{"kind": "mean", "of": ["wgae"]}]})
    details = {one["pointer"]: one["detail"] for one in answer.json()["errors"]}
    assert details["/domains/agee"].endswith("did you mean 'age'?")
    assert details["/nominal/Wage"].endswith("did you mean 'wage'?")
    assert details["/statistics/0/of/0"].endswith("did you mean 'wage'?")
