"""What a publication writes to storage before it is answered: learnt again by a database that has forgotten it."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from app.contracts.releases import PublishRequest
from app.db import copying
from app.db.repositories import entries
from app.db.repositories import releases as releases_table
from app.releases.entries import Publication, catch_up, refresh, sweep_unpublished
from app.releases.publishing import publish_locked
from app.settings import Settings
from app.storage.protocol import Storage, Writer
from tests.drawing import seeds
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


def publishing(releases: Releases, release_id: str, publication: Publication, *, then: Callable[[], None]) -> None:
    """Publish a draft in one transaction, which ends with `then`."""
    with releases.processes.database.unit_of_work() as unit:
        publish_locked(
            unit.connection,
            release=releases_table.lock(unit.connection, owner=releases.owner, release_id=release_id),
            key_id=None,
            request=PublishRequest(),
            certify=publication.end,
        )
        then()


def new_publication(releases: Releases, storage: Storage | None = None) -> Publication:
    settings = Settings(server_secret="x" * 40)
    return Publication(settings, database=releases.processes.database, storage=storage or releases.storage)


def test_a_publication_that_is_rolled_back_leaves_nothing(published: Releases) -> None:
    release_id = draft(published)

    def fail_late() -> None:
        assert written(published).keys() == {1}
        raise ZeroDivisionError

    publication = new_publication(published)
    with pytest.raises(ZeroDivisionError):
        publication.run(lambda: publishing(published, release_id, publication, then=fail_late))
    assert written(published) == {}
    assert publish(published, release_id).status_code == 200
    assert written(published).keys() == {1}


#: Locks of this database that are held by transactions which do nothing: other tests have databases of their own.
_WAITING = """
    SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted
      AND datname = current_database() AND state = 'idle in transaction'
"""


class Watching:
    """A storage that notes how many transactions are open whenever it is used."""

    def __init__(self, releases: Releases) -> None:
        self._inner, self._database = releases.storage, releases.processes.database
        self.open: list[int] = []

    def __getattr__(self, name: str) -> Any:
        with self._database.read() as connection:
            self.open.append(connection.exec_driver_sql(_WAITING).scalar_one())
        return getattr(self._inner, name)


def test_no_lock_is_held_while_storage_is_used(published: Releases) -> None:
    release_id, storage = draft(published), Watching(published)
    publication = new_publication(published, storage)  # type: ignore[arg-type]
    publication.run(lambda: publishing(published, release_id, publication, then=lambda: None))
    assert len(storage.open) >= 2
    assert not any(storage.open)
    assert written(published)[1]["rows"]["release"][0]["state"] == "published"


class Killed(BaseException):
    """The end of a process that is killed: it does nothing more."""


@pytest.mark.parametrize("seed", seeds(4))
def test_whoever_is_killed_at_whatever_moment_publishes_once_or_not_at_all(
    published: Releases, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drafts are published one after the other, each by a process that may be killed at any use of storage."""
    draw = np.random.default_rng([4305, seed])
    forget, database, storage = forgetting(published, tmp_path), published.processes.database, published.storage
    drafts = [draft(published) for _ in range(4)]
    for release_id in drafts:
        publication = new_publication(published, Dying(storage, after=int(draw.integers(0, 8))))  # type: ignore[arg-type]
        monkeypatch.setattr(publication, "_give_up", lambda: None)  # who is killed tidies nothing up
        with suppress(Killed):
            publication.run(partial(publishing, published, release_id, publication, then=lambda: None))
    old = "UPDATE unpublished_entry SET at = at - interval '3 minutes'"
    with database.unit_of_work() as unit:
        unit.connection.exec_driver_sql(old)
    sweep_unpublished(database=database, storage=storage)
    refresh(database=database, storage=storage)
    states = {each: shown(published, each)["state"] for each in drafts}
    entries_written = written(published)
    assert sorted(entries_written) == list(range(1, len(entries_written) + 1))
    assert {one["release_id"] for one in entries_written.values()} == {
        each for each, state in states.items() if state == "published"
    }
    assert len(list(storage.list("publications/"))) >= len(entries_written)
    before = {each: shown(published, each) for each, state in states.items() if state == "published"}
    forget()
    assert catch_up(database=database, storage=storage, owner=published.owner) == len(before)
    assert {each: shown(published, each) for each in before} == before


class Dying:
    """A storage at whose use number `after` its process is killed: before the use, or once it has happened."""

    def __init__(self, inner: Storage, *, after: int) -> None:
        self._inner, self._left, self._before = inner, after // 2, after % 2 == 0

    def list(self, prefix: str) -> Any:
        return self._used(lambda: list(self._inner.list(prefix)))

    def delete(self, key: str) -> None:
        self._used(lambda: self._inner.delete(key))

    @contextmanager
    def writer(self, key: str) -> Iterator[Writer]:
        content = io.BytesIO()
        yield content

        def write() -> None:
            with self._inner.writer(key) as out:
                out.write(content.getvalue())

        self._used(write)

    def _used(self, use: Callable[[], Any]) -> Any:
        self._left -= 1
        if self._left < 0 and self._before:
            raise Killed
        result = use()
        if self._left < 0:
            raise Killed
        return result


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
