"""Keys: who is let in, for what, and for how long."""

import secrets
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import event, text

from app.auth import authenticator
from app.auth.authenticator import TtlCache
from app.auth.keys import check_secret, create_key, list_keys, revoke_key
from app.auth.principal import Scope
from app.db.session import Database
from app.errors import CannotStartError, InvalidError
from app.main import create_app
from app.settings import Settings
from tests import patient
from tests.api.conftest import SECRET, Api

ABSENT = "/v1/jobs/job_absent"


def test_no_key_and_a_wrong_key_are_401_and_say_how(api: Api) -> None:
    for headers in (
        {},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer sb_wrong"},
        {"Authorization": "x" * 300},
    ):
        answer = patient.get(f"{api.url}{ABSENT}", headers=headers)
        assert answer.status_code == 401, headers
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.json()["type"] == "/problems/unauthorized"
        assert "sb_wrong" not in answer.text


def test_without_a_key_a_body_is_not_read(api: Api) -> None:
    host, port = api.url.removeprefix("http://").split(":")
    head = (
        "POST /v1/anonymizations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=60) as raw:
        raw.sendall(head.encode())  # and nothing of the body
        assert raw.recv(100).startswith(b"HTTP/1.1 401")


def test_a_missing_scope_is_403_and_named(api: Api) -> None:
    with api.client(api.make_key(scopes=("datasets:read", "jobs:write"))) as client:
        answer = client.get(ABSENT)
    assert answer.status_code == 403
    assert "jobs:read" in answer.json()["detail"]
    with api.client(api.make_key(scopes=("jobs:read",))) as client:
        assert client.get(ABSENT).status_code == 404
    with api.client(api.make_key(scopes=("admin",))) as client:
        assert client.get(ABSENT).status_code == 404


def test_only_the_hmac_of_a_key_is_stored(api: Api) -> None:
    key = api.make_key()
    with api.database.read() as connection:
        rows = connection.execute(text("SELECT * FROM api_key")).all()
    assert key.startswith("sb_")
    assert len(rows) == 1
    assert key not in str(rows)
    assert key.removeprefix("sb_") not in str(rows)


def test_a_revoked_key_stops_working_within_the_cache(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    info, key = api.make_key_info()
    moment = [0.0]
    for cache in (api.app.state.resources.authenticator._known, api.app.state.resources.authenticator._unknown):
        cache._monotonic = lambda: moment[0]
    with api.client(key) as client:
        assert client.get(ABSENT).status_code == 404
        assert revoke_key(database=api.database, key_id=info.id, now=datetime.now(UTC))
        moment[0] = authenticator.TTL_SECONDS - 0.1
        assert client.get(ABSENT).status_code == 404
        moment[0] = authenticator.TTL_SECONDS + 0.1
        assert client.get(ABSENT).status_code == 401
    assert not revoke_key(database=api.database, key_id=info.id, now=datetime.now(UTC)), "revoked before"


def test_known_and_unknown_keys_are_looked_up_once_in_the_cache_time_and_use_is_noted_once_an_hour(api: Api) -> None:
    queries: list[str] = []
    engine = api.app.state.resources.database.engine
    event.listen(engine, "before_cursor_execute", lambda *args: queries.append(args[2]))
    key = api.make_key()
    with api.client(key) as client, api.client("sb_" + secrets.token_urlsafe(32)) as stranger:
        for _ in range(5):
            assert client.get("/v1/nope").status_code == 404
            assert stranger.get(ABSENT).status_code == 401
    statements = [query.split()[0] for query in queries if "api_key" in query]
    assert sorted(statements) == ["SELECT", "SELECT", "UPDATE"]


def test_the_cache_is_bounded_and_safe_under_threads() -> None:
    cache: TtlCache[int] = TtlCache(size=50, ttl=60)

    def fill(start: int) -> None:
        for number in range(start, start + 2_000):
            cache.put(number.to_bytes(4, "big"), number)

    threads = [threading.Thread(target=fill, args=(start,)) for start in (0, 10_000, 20_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == 50
    cache.put(b"last", 1)
    assert cache.get(b"last") == 1
    assert TtlCache(size=1, ttl=0).get(b"x") is None


def test_guesses_do_not_evict_holders(api: Api) -> None:
    auth = api.app.state.resources.authenticator
    with api.client(api.make_key()) as client:
        client.get(ABSENT)
        known = len(auth._known)
        for number in range(20):
            patient.get(f"{api.url}{ABSENT}", headers={"Authorization": f"Bearer sb_guess{number}"})
    assert len(auth._known) == known == 1
    assert len(auth._unknown) == 20


def test_a_short_secret_refuses_to_start() -> None:
    with pytest.raises(CannotStartError, match="at least 32"):
        create_app(Settings(server_secret=SecretStr("x" * 31)))
    assert check_secret(SecretStr("x" * 32))


def test_keys_are_listed_by_owner_and_checked_when_made(database_url: str) -> None:
    database = Database(database_url, pool_size=2)
    make: dict[str, Any] = {"database": database, "secret": SecretStr(SECRET), "name": "n", "now": datetime.now(UTC)}
    try:
        alice, _ = create_key(**make, owner="alice", scopes=["jobs:read", "datasets:read", "jobs:read"])
        bob, _ = create_key(**make, owner="bob", scopes=[Scope.ADMIN])
        assert [key.id for key in list_keys(database=database, owner="alice")] == [alice.id]
        assert {key.id for key in list_keys(database=database)} == {alice.id, bob.id}
        assert alice.scopes == ("datasets:read", "jobs:read")
        for wrong in (
            {"owner": "a", "scopes": ["jobs:all"]},
            {"owner": "a", "scopes": []},
            {"owner": "", "scopes": ["admin"]},
        ):
            with pytest.raises(InvalidError):
                create_key(**make, **wrong)
    finally:
        database.close()


def test_keys_outlive_a_change_of_the_secret_that_they_are_used_in(start: Any, database_url: str) -> None:
    changed = {"database_url": database_url, "server_secret": "n" * 40}
    with start(database_url=database_url) as api:
        used, unused = api.make_key(), api.make_key()
    for more, expected in (({"previous_server_secret": SECRET}, 404), ({}, 404)):
        with start(**changed, **more) as api, api.client(used) as client:
            assert client.get(ABSENT).status_code == expected
    with start(**changed) as api, api.client(unused) as client:
        assert client.get(ABSENT).status_code == 401


def test_a_key_works_until_it_expires_and_its_last_use_is_known(start: Any, database_url: str) -> None:
    database = Database(database_url, pool_size=1)
    make: dict[str, Any] = {"database": database, "secret": SecretStr(SECRET), "owner": "a", "scopes": ["admin"]}
    now = datetime.now(UTC)
    try:
        _, over = create_key(**make, name="over", now=now, expires_at=now - timedelta(seconds=1))
        _, still = create_key(**make, name="still", now=now, expires_at=now + timedelta(hours=1))
        with start(database_url=database_url) as api:
            for key, status in ((over, 401), (still, 404)):
                with api.client(key) as client:
                    answer = client.get(ABSENT)
                    assert answer.status_code == status, answer.text
        known = {key.name: key for key in list_keys(database=database)}
        assert known["over"].used_at is None
        assert known["still"].used_at is not None
        assert known["still"].used_at >= now - timedelta(seconds=1)
    finally:
        database.close()


def test_keys_work_where_their_use_cannot_be_noted_because_the_database_takes_no_changes(
    start: Any, database_url: str
) -> None:
    database = Database(database_url, pool_size=1)
    try:
        with start(database_url=database_url) as api:
            key = api.make_key()
        with database.unit_of_work() as unit:
            name = unit.connection.execute(text("SELECT current_database()")).scalar_one()
            unit.connection.execute(text(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'))
        with start(database_url=database_url) as api, api.client(key) as client:
            assert client.get(ABSENT).status_code == 404
            refused = client.post("/v1/datasets", content=b"a\n1\n", headers={"Content-Type": "text/csv"})
            assert (refused.status_code, refused.json()["type"]) == (503, "/problems/unavailable")
    finally:
        database.close()


def test_a_cached_holder_is_let_in_while_the_database_is_down_and_others_get_503(start: Any, own_postgres: Any) -> None:
    from app.db.migrate import upgrade

    upgrade(own_postgres.url("postgres"))
    with start(database_url=own_postgres.url("postgres")) as api:
        key = api.make_key()
        with api.client(key) as client:
            assert client.get("/v1/nope").status_code == 404
            own_postgres.stop()
            started = time.monotonic()
            answer = client.get(ABSENT)
            stranger = patient.get(f"{api.url}{ABSENT}", headers={"Authorization": "Bearer sb_other"}, timeout=60)
            assert time.monotonic() - started < 25
            for down in (answer, stranger):
                assert down.status_code == 503, down.text
                assert down.json()["type"] == "/problems/unavailable"
                assert int(down.headers["retry-after"]) >= 1
            own_postgres.start()
            deadline = time.monotonic() + 60
            while client.get(ABSENT).status_code != 404 and time.monotonic() < deadline:
                time.sleep(0.1)
            assert client.get(ABSENT).status_code == 404
