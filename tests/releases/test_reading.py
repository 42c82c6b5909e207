"""What is shown of releases, to whom, and that deleted ones are gone."""

from collections.abc import Callable
from typing import Any

import pytest

from app.db.repositories import releases
from app.releases.delete import remove_leftovers
from tests.releases.conftest import STATISTIC, Releases

PARTS = ["", "/data", "/statistics", "/provenance"]


def test_a_release_shows_what_it_publishes(published: Releases) -> None:
    release_id = published.publish(tags={"year": "2024"})
    shown = published.client.get(f"/v1/releases/{release_id}").json()
    assert set(shown) == {
        "id", "owner", "state", "name", "job_id", "method", "created_at", "published_at", "rows", "columns", "files",
        "flags", "tags", "warnings", "base_release_id", "previous_release_id", "readers", "findings",
        "family_id", "series_id", "expires_at",
    }  # fmt: skip
    assert shown["expires_at"] is None, "only drafts do"
    assert shown["series_id"] == release_id, "it goes on no other"
    assert shown["columns"] == [{"name": "box", "type": "integer", "plain_in_csv": None}]
    assert set(shown["files"]) == {"csv", "parquet", "ndjson"}
    assert (shown["rows"], shown["flags"], shown["tags"]) == (200_000, ["reproducible"], {"year": "2024"})


def test_statistics_leave_out_what_is_restricted(published: Releases) -> None:
    path = f"/v1/releases/{published.publish()}/statistics"
    answer = published.client.get(path)
    assert answer.json() == {"method": "boxes", "statistics": [STATISTIC]}
    for planted in ("38.58123", "0.0771", "0.5551", "7771"):
        assert planted not in answer.text
    known = published.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


def test_provenance_is_its_public_part(published: Releases) -> None:
    path = f"/v1/releases/{published.publish()}/provenance"
    answer = published.client.get(path)
    assert answer.json() == {"entity": {"release": {}}}
    assert published.client.get(path, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304


def test_lists_are_newest_first_in_pages_and_can_be_narrowed(published: Releases) -> None:
    ids = [
        published.publish(method="swaps" if i == 1 else "boxes", tags={"i": str(i), "a": "b"}, files={"csv": b"x"})
        for i in range(3)
    ]
    first = published.client.get("/v1/releases", params={"limit": 2}).json()
    rest = published.client.get("/v1/releases", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [item["id"] for item in first["items"] + rest["items"]] == ids[::-1]
    assert rest["next_cursor"] is None

    def listed(**params: Any) -> list[str]:
        return [item["id"] for item in published.client.get("/v1/releases", params=params).json()["items"]]

    assert listed(method="swaps") == [ids[1]]
    assert listed(tag=["i:2", "a:b"]) == [ids[2]]
    assert listed(created_after=first["items"][1]["created_at"]) == [ids[2]]
    with published.processes.database.read() as connection:
        statement = "SELECT dataset_id FROM release WHERE id = %s"
        dataset_id = connection.exec_driver_sql(statement, (ids[0],)).scalar_one()
    assert listed(dataset_id=dataset_id) == [ids[0]]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("release_id", ["rel_absent", "%00"])
def test_ids_that_name_nothing_are_404(published: Releases, part: str, release_id: str) -> None:
    answer = published.client.get(f"/v1/releases/{release_id}{part}")
    assert answer.status_code == 404
    assert answer.json()["type"] == "/problems/not-found"
    assert published.client.delete(f"/v1/releases/{release_id}").status_code == 404


def test_another_owner_sees_nothing(published: Releases, make_releases: Callable[..., Releases]) -> None:
    path = f"/v1/releases/{published.publish()}"
    other = make_releases()
    for part in PARTS:
        assert other.client.get(path + part).status_code == 404
    assert other.client.delete(path).status_code == 404
    assert other.client.get("/v1/releases").json()["items"] == []
    assert published.client.get(path).status_code == 200


def test_scopes(make_releases: Callable[..., Releases]) -> None:
    reader = make_releases("scoped", scopes=("releases:read",))
    writer = make_releases("scoped", scopes=("releases:write",))
    path = f"/v1/releases/{reader.publish()}"
    assert [writer.client.get(path + part).status_code for part in PARTS] == [403] * 4
    assert [reader.client.get(path + part).status_code for part in PARTS] == [200] * 4
    assert reader.client.delete(path).status_code == 403
    assert writer.client.delete(path).status_code == 403, "it is published: deleting withdraws it"
    publisher = make_releases("scoped", scopes=("releases:write", "releases:publish"))
    assert publisher.client.delete(path).status_code == 204


def test_deleted_is_gone_for_real(published: Releases) -> None:
    release_id = published.publish()
    path = f"/v1/releases/{release_id}"
    assert len(list(published.storage.list(f"releases/{release_id}/"))) == 3
    assert published.client.delete(path).status_code == 204
    assert list(published.storage.list(f"releases/{release_id}/")) == []
    assert [published.client.get(path + part).status_code for part in PARTS] == [404] * 4
    assert published.client.delete(path).status_code == 404
    assert published.client.get("/v1/releases").json()["items"] == []


def test_a_release_outlives_its_dataset(published: Releases) -> None:
    release_id = published.publish()
    shown = published.client.get(f"/v1/releases/{release_id}").json()
    with published.processes.database.read() as connection:
        statement = "SELECT dataset_id FROM release WHERE id = %s"
        dataset_id = connection.exec_driver_sql(statement, (release_id,)).scalar_one()
    assert published.client.delete(f"/v1/datasets/{dataset_id}").status_code == 409
    assert published.client.post(f"/v1/jobs/{shown['job_id']}/cancel").status_code == 202
    assert published.client.delete(f"/v1/datasets/{dataset_id}").status_code == 204
    assert published.client.get(f"/v1/releases/{release_id}").json() == shown
    assert [published.client.get(f"/v1/releases/{release_id}{part}").status_code for part in PARTS] == [200] * 4


def test_a_deletion_that_was_interrupted_is_ended_by_housekeeping(published: Releases) -> None:
    release_id = published.publish()
    database, storage = published.processes.database, published.storage
    with database.unit_of_work() as unit:
        now = unit.connection.exec_driver_sql("SELECT now()").scalar_one()
        releases.mark_deleted(unit.connection, release_id=release_id, now=now)
    assert list(storage.list(f"releases/{release_id}/"))
    assert remove_leftovers(database=database, storage=storage) == 3
    assert list(storage.list(f"releases/{release_id}/")) == []
    assert remove_leftovers(database=database, storage=storage) == 0
