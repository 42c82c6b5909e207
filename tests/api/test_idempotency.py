"""The same request twice is done once: replayed, refused, in flight, given back, and taken over, on real Postgres."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Response
from sqlalchemy import text

from app.api.deps import ResourcesDep, require
from app.api.idempotency import (
    IdempotencyKey,
    Replay,
    Reservation,
    complete,
    fingerprint,
    given_back,
    reserve,
)
from app.auth.principal import Principal
from app.db.session import Database
from app.errors import ConflictError, IdempotencyMismatchError, RequestInFlightError
from app.settings import Settings

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
Take = Callable[..., Reservation | Replay]


@pytest.fixture
def store(database_url: str) -> Iterator[Database]:
    opened = Database(database_url, pool_size=20)
    with opened.unit_of_work() as unit:
        unit.connection.execute(text("CREATE TABLE thing (id serial, name text)"))
    yield opened
    opened.close()


@pytest.fixture
def take(store: Database) -> Take:
    settings = Settings(idempotency_lease_seconds=60, idempotency_hours=24)

    def taking(*, owner: str = "alice", key: str = "k", body: object = 1, now: datetime = NOW) -> Reservation | Replay:
        return reserve(database=store, settings=settings, owner=owner, key=key, fingerprint=fingerprint(body), now=now)

    return taking


def finish(store: Database, held: Reservation, *, answered: bool = True) -> None:
    with store.unit_of_work() as unit:
        unit.connection.execute(text("INSERT INTO thing (name) VALUES ('made')"))
        complete(unit.connection, held, status=202, resource_id="job_1", answered=answered)


def made(store: Database) -> int:
    with store.read() as connection:
        return int(connection.execute(text("SELECT count(*) FROM thing")).scalar_one())


def test_what_a_key_has_made_is_found_for_a_day(store: Database, take: Take) -> None:
    held = take()
    assert isinstance(held, Reservation)
    finish(store, held)
    assert take(now=NOW + timedelta(hours=23)) == Replay("job_1", 202, answered=True)


def test_keys_belong_to_the_owner(store: Database, take: Take) -> None:
    held = take(owner="alice")
    assert isinstance(held, Reservation)
    finish(store, held)
    assert isinstance(take(owner="bob", body="other"), Reservation)


def test_another_body_is_refused_in_flight_and_after(store: Database, take: Take) -> None:
    held = take(body={"k": 5})
    assert isinstance(held, Reservation)
    with pytest.raises(IdempotencyMismatchError):
        take(body={"k": 6})
    with pytest.raises(RequestInFlightError) as busy:
        take(body={"k": 5})
    assert busy.value.retry_after
    finish(store, held)
    with pytest.raises(IdempotencyMismatchError):
        take(body={"k": 6})


def test_blanks_and_order_of_a_body_make_no_other_request() -> None:
    assert fingerprint("/x", {"a": 1, "b": [1, 2]}) == fingerprint("/x", {"b": [1, 2], "a": 1})
    assert fingerprint("/x", {"a": 1}) != fingerprint("/y", {"a": 1})
    assert fingerprint("/x", {"a": [1, 2]}) != fingerprint("/x", {"a": [2, 1]})


def test_a_failed_request_gives_its_key_back(store: Database, take: Take) -> None:
    held = take()
    assert isinstance(held, Reservation)
    with pytest.raises(ConflictError), given_back(store, held):
        raise ConflictError("no")
    assert isinstance(take(body="other"), Reservation)


def test_a_failure_after_the_commit_keeps_the_answer(store: Database, take: Take) -> None:
    held = take()
    assert isinstance(held, Reservation)

    def fail_late() -> None:
        finish(store, held)
        raise ConflictError("the client went away")

    with pytest.raises(ConflictError), given_back(store, held):
        fail_late()
    assert isinstance(take(), Replay)


def test_a_crashed_request_loses_its_key_and_its_late_write_is_refused(store: Database, take: Take) -> None:
    crashed = take()
    assert isinstance(crashed, Reservation)
    with pytest.raises(RequestInFlightError):
        take(now=NOW + timedelta(seconds=59))
    second = take(now=NOW + timedelta(seconds=60))
    assert isinstance(second, Reservation)
    with pytest.raises(RequestInFlightError):
        finish(store, crashed)
    assert made(store) == 0, "the refused write was rolled back with what it would have made"
    with given_back(store, None):
        finish(store, second)
    assert made(store) == 1
    assert isinstance(take(now=NOW + timedelta(hours=1)), Replay)


def test_a_crash_gives_nothing_of_its_successor_back(store: Database, take: Take) -> None:
    crashed = take()
    assert isinstance(crashed, Reservation)
    take(now=NOW + timedelta(seconds=61))
    with pytest.raises(ConflictError), given_back(store, crashed):
        raise ConflictError("woke up late")
    with pytest.raises(RequestInFlightError):
        take(now=NOW + timedelta(seconds=62))


def test_after_a_day_a_key_is_new(store: Database, take: Take) -> None:
    held = take()
    assert isinstance(held, Reservation)
    finish(store, held)
    assert isinstance(take(body="other", now=NOW + timedelta(hours=24)), Reservation)
    with store.unit_of_work() as unit:
        assert unit.connection.execute(text("SELECT count(*) FROM idempotency")).scalar_one() == 1


def test_a_later_answer_replaces_an_earlier_one(store: Database, take: Take) -> None:
    held = take()
    assert isinstance(held, Reservation)
    finish(store, held, answered=False)
    assert take() == Replay("job_1", 202, answered=False)
    with store.unit_of_work() as unit:
        complete(unit.connection, held, status=201, resource_id="job_1")
    assert take() == Replay("job_1", 201, answered=True)


def test_of_many_at_once_one_makes_the_thing(store: Database, take: Take) -> None:
    together = threading.Barrier(12)

    def ask(_: int) -> str:
        together.wait()
        try:
            held = take()
        except RequestInFlightError:
            return "in flight"
        if isinstance(held, Replay):
            return "replayed"
        finish(store, held)
        return "made"

    for _ in range(5):
        with store.unit_of_work() as unit:
            unit.connection.execute(text("DELETE FROM idempotency; DELETE FROM thing"))
        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(ask, range(12)))
        assert answers.count("made") == 1, answers
        assert made(store) == 1
        assert isinstance(take(), Replay)


def test_at_the_end_of_a_lease_one_of_many_takes_over(store: Database, take: Take) -> None:
    take()
    together = threading.Barrier(10)

    def ask(_: int) -> bool:
        together.wait()
        try:
            return isinstance(take(now=NOW + timedelta(minutes=5)), Reservation)
        except RequestInFlightError:
            return False

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(ask, range(10))) == 1


@pytest.mark.parametrize("key", ["", "a" * 256, "a b", "ä", "a\tb"])
def test_a_key_is_visible_ascii(start: Any, key: str) -> None:
    def add(app: FastAPI) -> None:
        router = APIRouter()

        @router.post("/v1/things")
        def create(
            resources: ResourcesDep,
            who: Annotated[Principal, Depends(require("jobs:write"))],
            key: IdempotencyKey = None,
        ) -> Response:
            return Response(key or "none")

        app.include_router(router)

    with start(prepare=add) as api, api.client(api.make_key()) as client:
        headers = httpx.Headers([(b"Idempotency-Key", key.encode())])
        refused = client.post("/v1/things", headers=headers)
        assert refused.status_code == 422, refused.text
        assert refused.json()["errors"][0]["pointer"] == "header:Idempotency-Key"
        assert client.post("/v1/things", headers={"Idempotency-Key": "!~" * 127 + "a"}).status_code == 200
        assert client.post("/v1/things").text == "none"
