"""Drafts come first: a trial is no publication, counts for nothing, and expires unless publication was requested."""

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.drawing import seeds
from tests.methods.asking import ended, upload
from tests.methods.publication.test_families import population

MONTH = timedelta(days=30)


def job_of(client: httpx.Client, spec: dict[str, Any]) -> dict[str, Any]:
    """A job by a body that is sent as it is: a helper of other tests would say `publish`."""
    answer = client.post("/v1/anonymizations", json=spec, headers={"Prefer": "wait=30"})
    job = ended(client, answer.raise_for_status().json())
    assert job["state"] == "succeeded", job["error"]
    return job


def release_of(client: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    release: dict[str, Any] = client.get(f"/v1/releases/{job['release_id']}").raise_for_status().json()
    return release


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize("method", ["boxes", "condensation", "uncertain"])
def test_a_body_that_does_not_say_makes_a_draft_that_expires(client: httpx.Client, method: str) -> None:
    dataset_id = upload(client, population(31).write_csv(), new_family=True)["id"]
    spec = {"method": method, "dataset_id": dataset_id, "quasi_identifiers": ["age", "hours"], "k": 5}
    job = job_of(client, spec)
    draft = release_of(client, job)
    assert (job["spec"]["publish"], draft["state"], draft["published_at"]) == ("draft", "draft", None)
    assert instant(draft["expires_at"]) - instant(draft["created_at"]) == MONTH
    published = client.post(f"/v1/releases/{draft['id']}/publish").raise_for_status().json()
    assert (published["state"], published["expires_at"]) == ("published", None)


def test_a_draft_whose_publication_was_requested_does_not_expire(client: httpx.Client) -> None:
    dataset_id = upload(client, population(32).write_csv(), new_family=True)["id"]
    spec = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": ["age", "hours"], "k": 5}
    gate = [{"method": "table", "require": {"k": 500}}]
    requested = release_of(client, job_of(client, spec | {"gate": gate, "publish": "auto"}))
    assert (requested["state"], requested["expires_at"]) == ("draft", None)
    trial = release_of(client, job_of(client, spec | {"gate": gate}))
    assert trial["state"] == "draft"
    assert instant(trial["expires_at"]) - instant(trial["created_at"]) == MONTH


@pytest.mark.parametrize("seed", seeds(1))
def test_drafts_count_for_nothing_that_was_ever_published(client: httpx.Client, seed: int) -> None:
    """Of two tables of other people one had trials, the other publications: only these lower the next one's k."""
    for tried in (True, False):
        dataset_id = upload(client, population(1_000 + 2 * seed + tried).write_csv(), new_family=True)["id"]
        spec: dict[str, Any] = {"method": "boxes", "dataset_id": dataset_id, "k": 5}
        mode = {} if tried else {"publish": "auto", "accept_findings": ["composition"]}
        for columns in (["age"], ["hours", "wage"]):
            job_of(client, spec | {"quasi_identifiers": columns} | mode)
        family_id = client.get(f"/v1/datasets/{dataset_id}").json()["family_id"]
        before = client.get(f"/v1/families/{family_id}").json()["published"]
        last = job_of(client, spec | {"quasi_identifiers": ["age", "hours", "wage"], "publish": "auto"})
        state = release_of(client, last)["state"]
        after = client.get(f"/v1/families/{family_id}").json()["published"]
        if tried:
            assert (before, state) == ([], "published")
            (composition,) = [one["composition"] for one in after]
            assert composition["release_count"] == 1
            assert composition["composed_k"] == last["result"]["smallest_box"]
        else:
            assert (len(before), state) == (2, "draft"), "the test can fail"
            assert [one["audit"] for one in last["findings"]] == ["composition"]
