"""What a publication writes to storage before it is answered: learnt again by a database that has forgotten it."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.db import copying
from app.db.repositories import entries
from app.releases.entries import catch_up, refresh, write_entry
from tests.releases.conftest import Releases
from tests.releases.test_publishing import draft


def written(releases: Releases) -> dict[int, dict[str, Any]]:
    """The owner's entries in storage, by number."""
    records = (json.loads(b"".join(releases.storage.chunks(one.key))) for one in releases.storage.list("publications/"))
    return {one["number"]: one for one in records if one["owner"] == releases.owner}


def publish(releases: Releases, release_id: str, **more: Any) -> httpx.Response:
    return releases.client.post(f"/v1/releases/{release_id}/publish", json=more)


def forgetting(releases: Releases, folder: Path) -> Any:
    """Note the whole database now; what is returned brings it back to this moment."""
    database = releases.processes.database
    with database.snapshot() as connection:
        tables, last = copying.copy_out(connection, folder), copying.sequences(connection)

    def forget() -> None:
        with database.unit_of_work() as unit:
            copying.copy_in(unit.connection, folder, tables, last)

    return forget


def shown(releases: Releases, release_id: str) -> dict[str, Any]:
    answer: dict[str, Any] = releases.client.get(f"/v1/releases/{release_id}").json()
    return answer


def test_a_publication_that_was_forgotten_is_learnt_before_the_next_one(published: Releases, tmp_path: Path) -> None:
    first, second = draft(published), draft(published)
    forget = forgetting(published, tmp_path)
    assert publish(published, first, readers=["bea"]).status_code == 200
    before, log = shown(published, first), published.client.get("/v1/log").json()
    forget()
    assert shown(published, first)["state"] == "draft"
    assert publish(published, second).json()["state"] == "published"
    assert shown(published, first) == before
    assert published.client.get("/v1/log").json()["items"][1:] == log["items"]
    assert {number: one["release_id"] for number, one in written(published).items()} == {1: first, 2: second}


def test_releases_whose_rows_were_all_forgotten_come_back_with_their_files(published: Releases, tmp_path: Path) -> None:
    forget = forgetting(published, tmp_path)
    release_id = draft(published)
    assert publish(published, release_id).status_code == 200
    before = shown(published, release_id)
    content = published.client.get(f"/v1/releases/{release_id}/data?format=csv").content
    forget()
    assert published.client.get(f"/v1/releases/{release_id}").status_code == 404
    database, storage = published.processes.database, published.storage
    assert catch_up(database=database, storage=storage, owner=published.owner) == 1
    assert catch_up(database=database, storage=storage, owner=published.owner) == 0
    assert shown(published, release_id) == before
    assert published.client.get(f"/v1/releases/{release_id}/data?format=csv").content == content


def test_a_long_double_comes_back_as_a_double(published: Releases, tmp_path: Path) -> None:
    forget, statistics = forgetting(published, tmp_path), [{"kind": "mean", "of": ["age"], "estimate": 7.4e34}]
    release_id = draft(published, statistics=json.dumps(statistics))
    assert publish(published, release_id).status_code == 200
    forget()
    database = published.processes.database
    assert catch_up(database=database, storage=published.storage, owner=published.owner) == 1
    with database.read() as connection:
        stored = connection.exec_driver_sql("SELECT statistics::text FROM release WHERE id = %s", (release_id,))
        assert json.loads(stored.scalar_one(), parse_int=str) == statistics


def test_a_publication_that_is_rolled_back_leaves_nothing(published: Releases) -> None:
    release_id = draft(published)

    def fail_late() -> None:
        with published.processes.database.unit_of_work() as unit:
            write_entry(unit.connection, storage=published.storage, release_id=release_id)
            assert written(published).keys() == {1}
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_late()
    assert written(published) == {}
    assert publish(published, release_id).status_code == 200
    assert written(published).keys() == {1}


def test_deleting_and_withdrawing_reach_what_was_written(published: Releases) -> None:
    release_id, other = draft(published), draft(published)
    assert publish(published, release_id).status_code == 200
    assert publish(published, other).status_code == 200
    database, storage = published.processes.database, published.storage
    statistic = written(published)[1]["rows"]["release"][0]["statistics"]
    assert "true_value" in json.dumps(statistic) or statistic
    assert published.client.post(f"/v1/releases/{other}/withdraw", json={"reason": "wrong"}).status_code == 200
    assert published.client.delete(f"/v1/releases/{release_id}").status_code == 204
    assert refresh(database=database, storage=storage) == 2
    assert refresh(database=database, storage=storage) == 0
    rows = written(published)[1]["rows"]
    with database.read() as connection:
        assert rows == entries.gather(connection, release_id=release_id, spec=rows["job"][0]["spec"])
    assert rows["release"][0]["deleted_at"] is not None
    assert rows["release_file"] == []
    assert written(published)[2]["rows"]["release"][0]["state"] == "withdrawn"
    job = rows["job"][0]
    assert [job[name] for name in ("result", "seed", "spec_shown", "requested_by")] == [None] * 4
