"""Uploads that are not waited for, are repeated, or fail when nobody waits any more."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psutil
import pytest

from tests.datasets.conftest import Uploads

GOOD = b"a,b\n1,2\n3,4\n"
BAD = b"a,b\n1,2\n3\n"
ASYNC = {"Prefer": "respond-async"}


def until(uploads: Uploads, location: str, state: str) -> dict[str, Any]:
    """The dataset once it is in a state."""
    shown: dict[str, Any] = {}

    def reached() -> bool:
        answer = uploads.client.get(location)
        assert answer.status_code == 200, answer.text
        shown.update(answer.json())
        assert shown["state"] in {"ingesting", state}
        return bool(shown["state"] == state)

    uploads.processes.wait(reached)
    return shown


@contextmanager
def paused(worker: int) -> Iterator[None]:
    """Let the processes of a worker that run jobs stand still."""
    children = psutil.Process(worker).children()
    assert children
    for child in children:
        child.suspend()
    try:
        yield
    finally:
        for child in children:
            child.resume()


def test_an_upload_that_is_not_waited_for_is_read_later(uploads: Uploads) -> None:
    answer = uploads.post(GOOD, headers=ASYNC)
    assert answer.status_code == 202
    assert answer.headers["preference-applied"] == "respond-async"
    assert int(answer.headers["retry-after"]) >= 1
    body = answer.json()
    assert (body["state"], body["rows"], body["columns"]) == ("ingesting", None, None)
    assert body["bytes"] == len(GOOD)
    assert answer.headers["location"] == f"/v1/datasets/{body['id']}"
    shown = until(uploads, answer.headers["location"], "ready")
    assert shown["rows"] == 2
    uploads.processes.wait(lambda: uploads.staged() == [])
    (key,) = uploads.stored(body["id"])
    assert key.endswith(".parquet")


def test_an_upload_that_fails_when_nobody_waits_says_so_in_its_error(uploads: Uploads) -> None:
    answer = uploads.post(BAD, headers=ASYNC)
    shown = until(uploads, answer.headers["location"], "failed")
    assert shown["error"]["status"] == 422
    assert shown["error"]["type"] == "/problems/unreadable"
    assert "ine 3" in shown["error"]["detail"]
    assert shown["columns"] is None
    uploads.processes.wait(lambda: uploads.staged() == [])
    assert uploads.stored(shown["id"]) == []
    assert uploads.client.delete(answer.headers["location"]).status_code == 204
    assert uploads.client.get(answer.headers["location"]).status_code == 404


def test_an_upload_that_takes_longer_than_the_wait_is_202(service: Any, make_uploads: Callable[..., Uploads]) -> None:
    running, _ = service
    impatient = make_uploads(running.api(SUREBOX_UPLOAD_WAIT_SECONDS="0.1")[0])
    with paused(running.started[0].pid):  # a read that takes longer than any wait
        answer = impatient.post(GOOD, headers={"Idempotency-Key": "slow"})
    assert answer.status_code == 202, answer.text
    assert answer.headers["retry-after"]
    ready = until(impatient, answer.headers["location"], "ready")
    assert ready["rows"] == 2
    again = impatient.post(GOOD, headers={"Idempotency-Key": "slow"})
    assert (again.status_code, again.headers["idempotent-replayed"]) == (202, "true")
    assert again.json() == ready, "as it stands by then"
    assert "retry-after" not in again.headers


def test_the_same_key_and_body_replay_the_first_answer(uploads: Uploads) -> None:
    headers = {"Idempotency-Key": "once"}
    first = uploads.post(GOOD, headers=headers, params={"tag": "a:1"})
    again = uploads.post(GOOD, headers=headers, params={"tag": "a:1"})
    assert first.status_code == again.status_code == 201
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert again.headers["location"] == first.headers["location"]
    assert again.json() == first.json()
    assert len(uploads.client.get("/v1/datasets").json()["items"]) == 1
    uploads.processes.wait(lambda: uploads.staged() == [])


@pytest.mark.parametrize("change", ["body", "query"])
def test_the_same_key_with_something_else_is_refused(uploads: Uploads, change: str) -> None:
    headers = {"Idempotency-Key": "once"}
    assert uploads.post(GOOD, headers=headers).status_code == 201
    other = (
        uploads.post(GOOD + b"5,6\n", headers=headers) if change == "body" else uploads.post(GOOD, "x", headers=headers)
    )
    assert other.status_code == 422
    assert other.json()["type"] == "/problems/idempotency-mismatch"
    uploads.processes.wait(lambda: uploads.staged() == [])


def test_keys_of_two_owners_do_not_meet(uploads: Uploads, make_uploads: Callable[..., Uploads]) -> None:
    headers = {"Idempotency-Key": "once"}
    ids = {each.post(GOOD, headers=headers).json()["id"] for each in (uploads, make_uploads())}
    assert len(ids) == 2


def test_a_key_may_be_used_again_after_a_failure(uploads: Uploads) -> None:
    headers = {"Idempotency-Key": "again"}
    assert uploads.post(BAD, headers=headers).status_code == 422
    assert uploads.post(GOOD, headers=headers).status_code == 201


def test_the_same_key_in_flight_is_409(uploads: Uploads, service: Any) -> None:
    running, _ = service
    answers: list[httpx.Response] = []
    headers = {"Idempotency-Key": "flight"}
    first = threading.Thread(target=lambda: answers.append(uploads.post(GOOD, headers=headers)))
    with paused(running.started[0].pid):
        first.start()
        running.wait(lambda: bool(uploads.client.get("/v1/datasets").json()["items"]))
        second = uploads.post(GOOD, headers=headers)
    first.join()
    assert second.status_code == 409, second.text
    assert second.json()["type"] == "/problems/request-in-flight"
    assert answers[0].status_code == 201
    third = uploads.post(GOOD, headers=headers)
    assert (third.status_code, third.json()["id"]) == (201, answers[0].json()["id"])


def test_a_key_whose_process_died_while_reading_answers_what_became_of_it(
    uploads: Uploads, service: Any, make_uploads: Callable[..., Uploads]
) -> None:
    running, address = service
    other_address, process = running.api()
    doomed = make_uploads(other_address, owner="doomed")
    survivor = make_uploads(address, owner="doomed")
    headers = {"Idempotency-Key": "crash"}

    def lost() -> None:
        with pytest.raises(httpx.TransportError):
            doomed.post(GOOD, headers=headers)

    first = threading.Thread(target=lost)
    with paused(running.started[0].pid):
        first.start()
        running.wait(lambda: bool(survivor.client.get("/v1/datasets").json()["items"]))
        process.kill()
        first.join()
    (item,) = survivor.client.get("/v1/datasets").json()["items"]
    until(survivor, f"/v1/datasets/{item['id']}", "ready")
    again = survivor.post(GOOD, headers=headers)
    assert (again.status_code, again.json()["id"]) == (201, item["id"])
    assert again.headers["idempotent-replayed"] == "true"
    running.wait(lambda: survivor.staged() == [])
