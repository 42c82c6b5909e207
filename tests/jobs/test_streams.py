import time
from collections.abc import Callable

import pytest

from app.contracts.jobs import JobState
from tests.jobs.service import EventReader, Service
from tests.jobs.test_waiting import kill_listener
from tests.servers import wait_until


def test_a_stream_tells_every_state_and_progress_in_order_and_closes(service: Service) -> None:
    events = []
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        with client.stream("GET", f"/v1/jobs/{job_id}/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            for name, number, job in EventReader(stream):
                events.append((name, number, job["state"], job["progress"]["fraction"]))
                if len(events) == 1:
                    claimed = service.claim(job_id)
                elif len(events) == 2:
                    service.progress(claimed, 0.5)
                elif len(events) == 3:
                    service.release_claim(claimed)
                elif len(events) == 4:
                    claimed = service.claim(job_id)
                elif len(events) == 5:
                    service.finish(claimed)
                    finished = time.monotonic()
            assert time.monotonic() - finished < 10
        assert [(name, state) for name, _, state, _ in events] == [
            ("state", "queued"),
            ("state", "running"),
            ("progress", "running"),
            ("state", "queued"),
            ("state", "running"),
            ("state", "succeeded"),
        ]
        assert [fraction for *_, fraction in events] == [0.0, 0.0, 0.5, 0.0, 0.0, 1.0]
        numbers = [number for _, number, _, _ in events]
        assert numbers == sorted(set(numbers))
        assert job == client.get(f"/v1/jobs/{job_id}").json()
    wait_until(lambda: service.waiting == 0)


def test_a_stream_of_a_finished_job_tells_its_history(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        service.run(job_id, JobState.FAILED)
        with client.stream("GET", f"/v1/jobs/{job_id}/events") as stream:
            events = list(EventReader(stream))
        assert [job["state"] for _, _, job in events] == ["queued", "running", "failed"]
        assert [job["error"] is not None for _, _, job in events] == [False, False, True]
        assert [job["finished_at"] is not None for _, _, job in events] == [False, False, True]
        assert [job["started_at"] is not None for _, _, job in events] == [False, True, True]
        assert [job["attempts"] for _, _, job in events] == [0, 1, 1]
        for at, (_, number, _) in enumerate(events):
            resumed = client.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": str(number)})
            assert resumed.status_code == (204 if at == 2 else 200)
            assert resumed.text.count("event: state") == 2 - at


@pytest.mark.parametrize("last", ["", "x", "-5", "1.5", "9" * 30, "0"])
def test_a_last_event_that_is_not_ours_begins_anew(shared: Service, last: str) -> None:
    with shared.client() as client:
        job_id = shared.submit(client, shared.dataset())
        shared.run(job_id)
        answer = client.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": last})
    assert answer.text.count("event: state") == 3


def test_a_reader_that_reconnects_misses_no_state(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        with client.stream("GET", f"/v1/jobs/{job_id}/events") as stream:
            _, number, _ = next(iter(EventReader(stream)))
        wait_until(lambda: service.waiting == 0)
        service.release_claim(service.claim(job_id))
        service.run(job_id)
        with client.stream("GET", f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": str(number)}) as stream:
            states = [job["state"] for name, _, job in EventReader(stream) if name == "state"]
    assert states == ["running", "queued", "running", "succeeded"]


def test_a_stream_survives_a_lost_listener(service: Service) -> None:
    states = []
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        with client.stream("GET", f"/v1/jobs/{job_id}/events") as stream:
            for name, _, job in EventReader(stream):
                if name == "state":
                    states.append(job["state"])
                if states == ["queued"]:
                    kill_listener(service)
                    service.run(job_id)
    assert states == ["queued", "running", "succeeded"]


def test_a_stream_of_a_cancelled_job_closes(service: Service) -> None:
    states: list[str] = []
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        with client.stream("GET", f"/v1/jobs/{job_id}/events") as stream:
            for _, _, job in EventReader(stream):
                states.append(job["state"])
                if states == ["queued"]:
                    assert client.post(f"/v1/jobs/{job_id}/cancel").status_code == 202
    assert states == ["queued", "cancelled"]


def test_silence_is_broken_by_comments(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.api.sending.KEEPALIVE_SECONDS", 0.2)
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        with client.stream("GET", f"/v1/jobs/{job_id}/events") as stream:
            lines = stream.iter_lines()
            comments = 0
            while comments < 3:
                comments += next(lines).startswith(":")


def test_a_job_that_waits_is_silent_but_for_comments_however_often_it_is_read_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.db.notifications.SAFETY_SECONDS", 0.05)
    monkeypatch.setattr("app.api.sending.KEEPALIVE_SECONDS", 0.5)
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        with client.stream("GET", f"/v1/jobs/{job_id}/events", timeout=20) as stream:
            lines = (line for line in stream.iter_lines() if line.startswith((":", "event:")))
            assert next(lines) == "event: state"
            comments = [next(lines) for _ in range(3)]
            assert all(line.startswith(":") for line in comments), comments
            service.run(job_id)
            assert "event: state" in lines


def test_streams_are_capped_per_owner_and_given_back(serve: Callable[..., Service]) -> None:
    service = serve(max_streams=2)
    with service.client() as ada, service.client("bea") as bea:
        path = f"/v1/jobs/{service.submit(ada, service.dataset())}/events"
        theirs = f"/v1/jobs/{service.submit(bea, service.dataset('bea'))}/events"
        with ada.stream("GET", path) as one, ada.stream("GET", path) as two, bea.stream("GET", theirs) as three:
            assert {one.status_code, two.status_code, three.status_code} == {200}
            refused = ada.get(path)
            assert refused.status_code == 429
            assert refused.headers["retry-after"]
            assert refused.headers["content-type"] == "application/problem+json"
        wait_until(lambda: service.waiting == 0)
        with ada.stream("GET", path) as again:
            assert again.status_code == 200
