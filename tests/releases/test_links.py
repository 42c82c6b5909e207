"""Which record a released row stands for: kept while release and original are there, served to nobody, then gone."""

from typing import Any

import pytest

from app.db.repositories import datasets, expiry, inputs, release_links, releases
from app.releases.delete import remove_leftovers
from tests.releases.conftest import Releases

LINK = b"which record each row stands for"


def publish_linked(published: Releases) -> tuple[str, str, str]:
    """A release with a link: its id, its original's, and where the link lies."""
    release_id = published.publish()
    row = _row(published, release_id)
    key = f"jobs/{row['job_id']}/link-1.npy"
    with published.storage.writer(key) as writer:
        writer.write(LINK)
    with published.processes.database.unit_of_work() as unit:
        release_links.insert_link(
            unit.connection, release_id=release_id, dataset_id=row["dataset_id"], key=key, size=len(LINK)
        )
    return release_id, row["dataset_id"], key


def _row(published: Releases, release_id: str) -> dict[str, Any]:
    with published.processes.database.read() as connection:
        statement = "SELECT job_id, dataset_id FROM release WHERE id = %s"
        return dict(connection.exec_driver_sql(statement, (release_id,)).mappings().one())


def link_of(published: Releases, release_id: str, *, owner: str = "") -> str | None:
    """What a submission finds of it."""
    with published.processes.database.unit_of_work() as unit:
        release = inputs.lock_release(unit.connection, owner=owner or published.owner, release_id=release_id)
    return None if release is None else release.link_key


def stored(published: Releases, key: str) -> bool:
    return key in {entry.key for entry in published.storage.list(key.rsplit("/", 1)[0] + "/")}


def test_a_link_is_no_file_of_its_release(published: Releases) -> None:
    release_id, _, key = publish_linked(published)
    shown = published.client.get(f"/v1/releases/{release_id}")
    assert set(shown.json()["files"]) == {"csv", "parquet", "ndjson"}
    job_id = shown.json()["job_id"]
    for path in ("", "/statistics", "/provenance", "/data?format=npy", "/link", "/data?format=link"):
        answer = published.client.get(f"/v1/releases/{release_id}{path}")
        assert LINK not in answer.content
        assert key not in answer.text
    assert LINK not in published.client.get(f"/v1/jobs/{job_id}/result").content


@pytest.mark.parametrize("goes", ["release", "original"])
def test_deleting_either_removes_the_link_at_once(published: Releases, goes: str) -> None:
    release_id, dataset_id, key = publish_linked(published)
    other = publish_linked(published)[2]
    published.client.post(f"/v1/jobs/{_row(published, release_id)['job_id']}/cancel")
    path = f"/v1/releases/{release_id}" if goes == "release" else f"/v1/datasets/{dataset_id}"
    assert published.client.delete(path).status_code == 204
    assert not stored(published, key)
    assert stored(published, other)
    assert link_of(published, release_id) is None


@pytest.mark.parametrize("goes", ["release", "original"])
def test_housekeeping_ends_a_removal_that_was_interrupted(published: Releases, goes: str) -> None:
    release_id, dataset_id, key = publish_linked(published)
    database = published.processes.database
    with database.unit_of_work() as unit:
        now = unit.connection.exec_driver_sql("SELECT now()").scalar_one()
        if goes == "release":
            releases.mark_deleted(unit.connection, release_id=release_id, now=now)
        else:
            datasets.mark_deleted(unit.connection, dataset_id=dataset_id, now=now)
    assert link_of(published, release_id) is None
    assert remove_leftovers(database=database, storage=published.storage) >= 1
    assert not stored(published, key)
    assert remove_leftovers(database=database, storage=published.storage) == 0


def test_a_link_is_no_orphan_and_another_owners_is_nobodys(published: Releases) -> None:
    release_id, _, key = publish_linked(published)
    with published.processes.database.read() as connection:
        assert expiry.referenced(connection, keys=[key, "jobs/job_x/link-1.npy"]) == {key}
    assert link_of(published, release_id) == key
    assert link_of(published, release_id, owner="somebody-else") is None
