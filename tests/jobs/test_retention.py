"""What housekeeping removes when its time has passed, and what it never does."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select

from app.contracts.jobs import JobState
from app.contracts.log import LogAction
from app.db.repositories import audit, installation, log, retention
from app.db.repositories.audit import LogFilter
from app.db.tables.all import metadata
from app.db.tables.jobs import job_event
from tests.jobs.service import Service
from tests.jobs.test_erasing import full_job, housekeeping, stored

#: A time that has passed when one looks.
MOMENT = 1e-9
NOW = timedelta(0)


def slow(service: Service, **settings: Any) -> None:
    housekeeping(service, **settings).slow(threading.Event())


def count(service: Service, table: str) -> int:
    with service.database.read() as connection:
        statement = select(func.count()).select_from(metadata.tables[table])
        return int(connection.execute(statement).scalar_one())


def events(service: Service, job_id: str) -> list[str]:
    with service.database.read() as connection:
        statement = select(job_event.c.state).where(job_event.c.job_id == job_id).order_by(job_event.c.id)
        return list(connection.execute(statement).scalars())


def forget(service: Service, remove: Callable[..., int]) -> int:
    with service.database.unit_of_work() as unit:
        return remove(unit.connection, older_than=NOW, limit=1_000)


def test_of_ended_jobs_the_last_event_stays_and_is_still_streamed(service: Service) -> None:
    with service.client() as client:
        dataset_id = service.dataset()
        ended, running = service.submit(client, dataset_id), service.submit(client, dataset_id)
        service.run(ended)
        service.claim(running)
        slow(service)
        assert events(service, ended) == ["queued", "running", "succeeded"], "not yet"
        slow(service, job_event_days=MOMENT)
        assert events(service, ended) == ["succeeded"]
        assert events(service, running) == ["queued", "running"]
        streamed = client.get(f"/v1/jobs/{ended}/events").text
        assert streamed.count("event: state") == 1
        assert '"state":"succeeded"' in streamed.replace(" ", "").replace("event:state", "")


def test_ended_jobs_are_erased_as_their_owner_would_but_for_those_in_use(service: Service) -> None:
    with service.client() as client:
        kept_for_use, release_id, _ = full_job(service, client)
        ended, running = (service.submit(client, service.dataset()) for _ in range(2))
        service.run(ended, JobState.FAILED)
        service.claim(running)
        attack = client.post("/v1/audits", json={"method": "linkage", "release_id": release_id})
        assert attack.status_code == 202, attack.text
        slow(service)
        assert client.get(f"/v1/jobs/{ended}").status_code == 200, "by default until deleted"
        slow(service, job_days=MOMENT)
        statuses = {each: client.get(f"/v1/jobs/{each}").status_code for each in (ended, running, kept_for_use)}
        assert statuses == {ended: 404, running: 200, kept_for_use: 200}
        entry = client.get("/v1/log", params={"subject": ended, "action": "deleted"}).json()["items"]
        assert [(each["key_id"], each["facts"]) for each in entry] == [(None, {"because": "job_days"})]
        client.post(f"/v1/jobs/{attack.json()['id']}/cancel")
        slow(service, job_days=MOMENT)
        assert client.get(f"/v1/jobs/{kept_for_use}").status_code == 404
        assert client.get(f"/v1/releases/{release_id}").status_code == 200, "its release stays"


def test_tombstones_go_unless_something_was_published_of_them(service: Service) -> None:
    with service.client() as client:
        published, release_id, _ = full_job(service, client)
        plain = service.submit(client, service.dataset())
        client.post(f"/v1/jobs/{plain}/cancel")
        datasets = [each["id"] for each in client.get("/v1/datasets").json()["items"]]
        assert client.delete(f"/v1/releases/{release_id}").status_code == 204
        for job_id in (published, plain):
            assert client.delete(f"/v1/jobs/{job_id}").status_code == 204
        for dataset_id in datasets:
            assert client.delete(f"/v1/datasets/{dataset_id}").status_code == 204
        before = {name: count(service, name) for name in ("release", "job", "dataset", "log_entry")}
        slow(service)
        assert {name: count(service, name) for name in before} == before, "not yet"
        assert forget(service, retention.remove_releases) == 0, "it was published: it counts for ever"
        assert forget(service, retention.remove_jobs) == 1
        assert forget(service, retention.remove_datasets) == 1
        after = {name: count(service, name) for name in before}
        assert after == {**before, "job": before["job"] - 1, "dataset": before["dataset"] - 1}
        assert client.get(f"/v1/jobs/{plain}").status_code == 404


def test_a_draft_that_was_never_published_goes_whole(service: Service) -> None:
    with service.client() as client:
        job_id, release_id, _ = full_job(service, client)
        with service.database.unit_of_work() as unit:
            unit.connection.exec_driver_sql("UPDATE release SET state = 'draft', published_at = NULL")
        assert client.delete(f"/v1/releases/{release_id}").status_code == 204
        assert client.delete(f"/v1/jobs/{job_id}").status_code == 204
        dataset_id = client.get("/v1/datasets").json()["items"][0]["id"]
        assert client.delete(f"/v1/datasets/{dataset_id}").status_code == 204
        removals = (retention.remove_releases, retention.remove_jobs, retention.remove_datasets)
        assert [forget(service, each) for each in removals] == [1, 1, 1]
        assert [count(service, name) for name in ("release", "job", "dataset", "job_event", "job_input")] == [0] * 5


def test_the_log_is_kept_for_a_time_refusals_for_a_shorter_one_and_the_chain_for_ever(service: Service) -> None:
    def record(action: LogAction) -> None:
        with service.database.unit_of_work() as unit:
            audit.record(unit.connection, owner="", action=action, subject="", key_id=None)

    def left() -> list[str]:
        with service.database.read() as connection:
            rows = audit.entries(connection, only=LogFilter(owner=""), before=None, limit=5_000)
        return sorted(each.entry.action.value for each in rows)

    service.app.state.resources.tally.flush()  # the request that waited for the service had no key
    slow(service, refusal_days=MOMENT)
    assert left() == []
    with service.database.unit_of_work() as unit:
        log.append(unit.connection, owner="", action=LogAction.PUBLISHED, subject="rel", key_id=None)
    for _ in range(3):
        record(LogAction.REFUSED)
    record(LogAction.UPLOADED)
    slow(service)
    assert left() == ["published", "refused", "refused", "refused", "uploaded"]
    with service.database.unit_of_work() as unit:
        assert audit.remove_refusals_above(unit.connection, most=2, limit=10) == 1
    slow(service, refusal_days=MOMENT)
    assert left() == ["published", "uploaded"]
    slow(service, log_days=MOMENT)
    assert left() == ["published"]
    with service.database.unit_of_work() as unit:  # more than one transaction removes
        for _ in range(1_050):
            audit.record(unit.connection, owner="", action=LogAction.UPLOADED, subject="", key_id=None)
    slow(service, log_days=MOMENT)
    assert left() == ["published"]


def as_draft(service: Service, release_id: str, expires: str) -> None:
    """Make a release what it is before it is published: a draft that expires at a time of SQL."""
    change = (
        f"UPDATE release SET state = 'draft', published_at = NULL, expires_at = {expires} WHERE id = '{release_id}'"
    )
    with service.database.unit_of_work() as unit:
        unit.connection.exec_driver_sql(change)


#: What is written of a release and of those who use it, but for ids and times.
LEFT = (
    "SELECT state, published_at, expires_at, parameters, deleted_at IS NOT NULL, (SELECT count(*) FROM release_file f"
    " WHERE f.release_id = r.id), (SELECT count(*) FROM release_link l WHERE l.release_id = r.id), (SELECT count(*)"
    " FROM ledger_file k WHERE k.release_id = r.id), (SELECT count(*) FROM publication p WHERE p.release_id = r.id),"
    " (SELECT spec::text FROM job j WHERE j.id = r.job_id) LIKE '%%quasi%%' FROM release r WHERE id = '{}'"
)


def test_a_draft_whose_time_has_passed_is_deleted_as_by_hand(service: Service) -> None:
    with service.client() as client:
        (_, by_hand, _), (_, expired, _), (_, later, _), (_, requested, _) = (full_job(service, client) for _ in "1234")
        for release_id in (by_hand, expired):
            as_draft(service, release_id, "now() - interval '1 second'")
        as_draft(service, later, "now() + interval '1 hour'")
        as_draft(service, requested, "NULL")
        assert client.delete(f"/v1/releases/{by_hand}").status_code == 204
        assert client.get(f"/v1/releases/{expired}").json()["expires_at"] is not None
        slow(service)
        statuses = {each: client.get(f"/v1/releases/{each}").status_code for each in (expired, later, requested)}
        assert statuses == {expired: 404, later: 200, requested: 200}
        logged = client.get("/v1/log", params={"subject": expired, "action": "deleted"}).json()["items"]
        assert [(each["key_id"], each["facts"]) for each in logged] == [(None, {"because": "draft_days"})]
    with service.database.read() as connection:
        rows = [connection.exec_driver_sql(LEFT.format(one)).one() for one in (by_hand, expired)]
    assert tuple(rows[0]) == tuple(rows[1])
    assert stored(service, f"releases/{expired}/") == []


def test_a_draft_that_a_job_uses_or_nobody_can_publish_does_not_expire(service: Service) -> None:
    with service.client() as client:
        _, release_id, _ = full_job(service, client)
        as_draft(service, release_id, "now() - interval '1 second'")
        attack = client.post("/v1/audits", json={"method": "linkage", "release_id": release_id})
        assert attack.status_code == 202, attack.text
        slow(service)
        assert client.get(f"/v1/releases/{release_id}").status_code == 200
        client.post(f"/v1/jobs/{attack.json()['id']}/cancel")
        with service.database.unit_of_work() as unit:
            installation.hold_publishing(unit.connection, because="restored")
        slow(service)
        assert client.get(f"/v1/releases/{release_id}").status_code == 200
        with service.database.unit_of_work() as unit:
            installation.resume_publishing(unit.connection)
        slow(service)
        assert client.get(f"/v1/releases/{release_id}").status_code == 404
