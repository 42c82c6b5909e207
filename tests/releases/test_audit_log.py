"""The audit log: who did what, for how long it is bounded, and who may read it."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.api.tally import MOST_ADDRESSES, OTHERS, Tally
from app.auth.keys import revoke_key
from app.certificates.rotate import revoke, rotate
from app.contracts.log import LogAction
from app.db.repositories import audit
from app.db.repositories.audit import LogFilter
from app.db.session import Database
from app.installation.check import check_at_start
from app.processes.private import write_private
from app.settings import Settings
from tests.releases.conftest import Releases
from tests.releases.test_publishing import FINDING, draft
from tests.service import bare_environment

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
FILE = b"age,town\n" + b"".join(b"%d,Planted%d\n" % (20 + i % 9, i % 3) for i in range(60))


def entries(client: httpx.Client, **wanted: Any) -> list[dict[str, Any]]:
    answer = client.get("/v1/log", params={"limit": 200, **wanted})
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def actions(client: httpx.Client, **wanted: Any) -> list[str]:
    return [each["action"] for each in entries(client, **wanted)][::-1]


def everything(database: Database, **wanted: Any) -> list[audit.PlacedEntry]:
    with database.read() as connection:
        return audit.entries(connection, only=LogFilter(**wanted), before=None, limit=100_000)


def test_uploads_jobs_and_deletions_are_logged_with_their_key(published: Releases) -> None:
    upload = published.client.post(
        "/v1/datasets", content=FILE, headers={"Content-Type": "text/csv", "Prefer": "respond-async"}
    )
    assert upload.status_code == 202, upload.text
    dataset_id = upload.json()["id"]
    release_id = published.publish()
    job_id = published.client.get(f"/v1/releases/{release_id}").json()["job_id"]
    assert published.client.post(f"/v1/jobs/{job_id}/cancel").status_code == 202
    assert published.client.delete(f"/v1/releases/{release_id}").status_code == 204
    assert published.client.delete(f"/v1/jobs/{job_id}").status_code == 204
    assert actions(published.client, subject=dataset_id) == ["uploaded"]
    assert actions(published.client, subject=job_id) == ["ended", "cancelled", "deleted"]
    assert actions(published.client, subject=release_id) == ["withdrawn", "deleted"]
    key_id = entries(published.client, subject=dataset_id)[0]["key_id"]
    assert [each["key_id"] for each in entries(published.client, subject=job_id)] == [key_id, key_id, None]
    assert entries(published.client, action="ended")[0]["facts"] == {"state": "cancelled", "method": "ingest"}
    log = json.dumps(entries(published.client))
    assert "Planted" not in log
    assert "age" not in log


def test_filters_by_action_object_key_and_time(published: Releases) -> None:
    release_id = published.publish()
    for _ in range(3):
        assert published.client.get(f"/v1/releases/{release_id}/data?format=csv").status_code == 200
    assert actions(published.client, action=["downloaded", "deleted"]) == ["downloaded"]
    only = entries(published.client, action="downloaded")[0]
    assert actions(published.client, key_id=only["key_id"], subject=release_id) == ["downloaded"]
    assert actions(published.client, key_id="key_of_no_one") == []
    assert entries(published.client, created_after=only["created_at"], action="downloaded") == []
    assert entries(published.client, created_before=only["created_at"], action="downloaded") == []
    later = (datetime.fromisoformat(only["created_at"]) + timedelta(microseconds=1)).isoformat().replace("+00:00", "Z")
    assert entries(published.client, created_before=later, action="downloaded") == [only]
    assert published.client.get("/v1/log?action=guessed").status_code == 422


def test_pages_of_both_logs_join_without_gaps(published: Releases) -> None:
    release_id = published.publish()
    for name in ("a", "b", "c"):
        published.client.patch(f"/v1/releases/{release_id}", json={"readers": [name]})
        published.client.get(f"/v1/releases/{release_id}/data?format=csv")
        published.client.get(f"/v1/releases/{release_id}/data?format=ndjson")
    whole = entries(published.client)
    assert {None} < {each["sequence"] for each in whole}
    paged: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = published.client.get("/v1/log", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        paged, cursor = [*paged, *answer["items"]], answer["next_cursor"]
    assert paged == whole


def test_downloads_are_counted_by_the_minute_for_owner_and_reader(
    published: Releases, make_releases: Callable[..., Releases]
) -> None:
    release_id = published.publish()
    reader = make_releases()
    published.client.patch(f"/v1/releases/{release_id}", json={"readers": [reader.owner]})
    at = f"/v1/releases/{release_id}/data"
    answers = [reader.client.get(at, params={"format": "csv"}) for _ in range(5)]
    fresh = reader.client.get(at, params={"format": "csv"}, headers={"If-None-Match": answers[0].headers["etag"]})
    assert ([each.status_code for each in answers], fresh.status_code) == ([200] * 5, 304)
    mine = entries(reader.client, action="downloaded", subject=release_id)
    theirs = entries(published.client, action="downloaded", subject=release_id)
    assert sum(each["facts"]["count"] for each in mine) == 5
    assert len(mine) <= 2, "one entry a minute"
    assert sum(each["facts"]["count"] for each in theirs) == 5
    assert {(each["key_id"], each["facts"]["reader"]) for each in theirs} == {(None, reader.owner)}
    assert all(each["key_id"] for each in mine)


def test_a_public_download_has_no_key_and_no_address(published: Releases, service: tuple[Any, str]) -> None:
    release_id = published.publish()
    published.client.patch(f"/v1/releases/{release_id}", json={"readers": "public"})
    with httpx.Client(base_url=service[1]) as outsider:
        assert outsider.get(f"/v1/releases/{release_id}/data?format=csv").status_code == 200
    entry = entries(published.client, action="downloaded")[0]
    assert (entry["key_id"], entry["facts"]) == (None, {"what": "csv", "reader": None, "count": 1})


def test_a_key_sees_what_was_done_with_it_and_an_admin_all_of_its_owner(
    published: Releases, make_releases: Callable[..., Releases]
) -> None:
    release_id = published.publish()
    lesser = make_releases(published.owner, scopes=("releases:read",))
    stranger = make_releases()
    lesser.client.get(f"/v1/releases/{release_id}/data?format=csv")
    published.client.get(f"/v1/releases/{release_id}/data?format=csv")
    own = entries(lesser.client)
    assert [each["action"] for each in own] == ["downloaded"]
    assert entries(lesser.client, key_id="key_of_another") == []
    keys = {each["key_id"] for each in entries(published.client, action="downloaded")}
    assert len(keys) == 2
    assert own[0]["key_id"] in keys
    assert entries(stranger.client, subject=release_id) == []


def test_what_findings_say_is_for_keepers_in_the_log_too(
    published: Releases, make_releases: Callable[..., Releases]
) -> None:
    """A key that may publish accepts a finding by its name; the hash of what it says would confirm a guess."""
    publisher = make_releases(published.owner, scopes=("releases:publish",))
    keeper = make_releases(published.owner, scopes=("releases:publish", "jobs:read"))
    for releases, is_shown in ((publisher, False), (keeper, True)):
        release_id = draft(published, findings=json.dumps([FINDING.model_dump(mode="json")]))
        answer = releases.client.post(f"/v1/releases/{release_id}/publish", json={"accept_findings": ["composition"]})
        assert answer.status_code == 200, answer.text
        for reader, sees in ((releases, is_shown), (published, True)):
            entry = entries(reader.client, subject=release_id, action="published")[0]
            assert entry["facts"]["accepted"] == ["composition"]
            assert ("findings" in entry["facts"]) == sees
            assert [entry[name] is not None for name in ("hash", "previous")] == [sees] * 2


def test_refusals_are_counted_by_key_and_address(
    published: Releases, make_releases: Callable[..., Releases], service: tuple[Any, str]
) -> None:
    release_id = published.publish()
    lesser = make_releases(published.owner, scopes=("datasets:read",))
    assert [lesser.client.delete(f"/v1/releases/{release_id}").status_code for _ in range(4)] == [403] * 4
    refused = entries(lesser.client)
    assert sum(each["facts"]["count"] for each in refused) == 4
    assert {(each["action"], each["subject"]) for each in refused} == {("refused", release_id)}
    assert refused[0]["facts"]["route"] == "/v1/releases/{release_id}"
    database = published.processes.database
    with httpx.Client(base_url=service[1]) as outsider:
        before = _refused_addresses(database)
        for key in range(30):
            headers = {"Authorization": f"Bearer sb_{key}"}
            assert outsider.get(f"/v1/jobs?secret=planted-{key}", headers=headers).status_code == 401
        entries(published.client)  # reading writes what was counted
        after = _refused_addresses(database)
    assert sum(after) - sum(before) == 30
    assert len(after) - len(before) <= 2, "one entry a minute, however many keys are tried"
    assert "planted" not in str(everything(database))


def _refused_addresses(database: Database) -> list[int]:
    refusals = [each.entry for each in everything(database, owner="", actions=(LogAction.REFUSED,))]
    return [each.facts["count"] for each in refusals if each.facts["address"] == "127.0.0.1"]


def test_an_outsider_cannot_fill_the_log(database_url: str) -> None:
    """A hundred thousand addresses in a minute are so many entries; a holder of an IPv6 network is one of them."""
    database = Database(database_url, pool_size=2)
    tally = Tally(database=database, clock=lambda: NOW)
    who: dict[str, Any] = {"status": 401, "owner": None, "key_id": None, "route": "x", "subject": ""}
    for number in range(20_000):
        tally.refused(**who, address=f"2001:db8::{number:x}")
        tally.refused(**who, address=f"10.{number >> 8 & 255}.{number & 255}.1")
    tally.flush()
    facts = [each.entry.facts for each in everything(database)]
    counts = {each["address"]: each["count"] for each in facts}
    assert len(facts) == len(counts) == MOST_ADDRESSES + 1
    assert counts["2001:db8::/64"] == 20_000
    assert sum(counts.values()) == 40_000
    assert counts[OTHERS] == 40_000 - 20_000 - (MOST_ADDRESSES - 1)
    database.close()


def test_several_processes_count_to_one_sum(database_url: str) -> None:
    database = Database(database_url, pool_size=4)
    tallies = [Tally(database=database, clock=lambda: NOW) for _ in range(4)]

    def work(tally: Tally) -> None:
        for number in range(200):
            name = f"key_{number % 3}"
            tally.refused(status=403, owner="ada", key_id=name, address="", route="r", subject="")
            tally.downloaded(release_id="rel_1", of_owner="bea", what="csv", reader="ada", key_id=name)
            tally.flush()

    threads = [threading.Thread(target=work, args=(each,)) for each in tallies]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    counted = [each.entry for each in everything(database, owner="ada")]
    kinds = ("refused", "downloaded")
    by_action = {kind: sum(each.facts["count"] for each in counted if each.action == kind) for kind in kinds}
    assert by_action == {"refused": 800, "downloaded": 800}
    assert len(counted) == 6
    database.close()


def test_the_first_download_of_a_minute_is_there_before_its_bytes(database_url: str) -> None:
    database = Database(database_url, pool_size=2)
    tally = Tally(database=database, clock=lambda: NOW)
    tally.downloaded(release_id="rel_1", of_owner="ada", what="csv", reader="ada", key_id="key_1")
    assert [each.entry.facts["count"] for each in everything(database)] == [1]
    database.close()


def test_keys_and_secrets_are_logged(published: Releases, tmp_path: Path, database_url: str) -> None:
    secret = published.processes.settings["SUREBOX_SERVER_SECRET"]
    settings = Settings(
        database_url=database_url, storage_url=f"file:{tmp_path / 'storage'}", server_secret=secret,
        signing_key_file=tmp_path / "signing.pem",
    )  # fmt: skip
    database = published.processes.database
    key_id = entries(published.client, action="key_created")[0]["subject"]
    assert revoke_key(database=database, key_id=key_id, now=datetime.now(UTC))
    assert not revoke_key(database=database, key_id=key_id, now=datetime.now(UTC))
    of_key = [each.entry.action for each in everything(database, subject=key_id)]
    assert of_key == ["key_revoked", "key_created"]
    fresh = Database(database_url, pool_size=2)
    signing = {"database": fresh, "settings": settings, "overlap": timedelta(days=1)}
    kid, _ = rotate(**signing, write=write_private)
    revoke(database=fresh, key_id=kid, reason="lost")
    check_at_start(settings)
    check_at_start(settings)
    check_at_start(settings.model_copy(update={"server_secret": type(settings.server_secret)("another " * 8)}))
    changes = [(each.owner, each.entry.action.value) for each in everything(fresh)][::-1]
    assert changes == [("", "signing_key_rotated"), ("", "signing_key_revoked"), ("", "secret_rotated")]
    assert secret not in str(everything(fresh))
    fresh.close()


def test_the_operator_reads_all_of_it(published: Releases) -> None:
    release_id = published.publish()
    published.client.get(f"/v1/releases/{release_id}/data?format=csv")
    command = [sys.executable, "-m", "app.cli", "log", "--subject", release_id, "--action", "downloaded"]
    environment = bare_environment(**published.processes.settings)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["owner"], each["subject"]) for each in lines] == [(published.owner, release_id)]


@pytest.mark.parametrize("path", ["/v1/jobs/job_{}", "/v1/releases/rel_{}/data"])
def test_access_lines_have_the_object_and_nothing_else_that_was_sent(published: Releases, path: str) -> None:
    named = path.format("0123456789abcdef01234567")
    published.client.get(f"{named}?planted=query")
    published.client.get(path.format("planted-in-the-path"))
    log = published.processes.logs()
    assert f'"object": "{named.split("/")[3]}"' in log or f"object={named.split('/')[3]}" in log
    assert "planted" not in log
