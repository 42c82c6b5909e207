"""Deleting jobs: nothing restricted is left anywhere, what was published stays, and what needs a job keeps it."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from app.contracts.jobs import JobState
from app.db.repositories import parts, release_links
from app.db.session import Database
from app.db.tables.all import metadata
from app.errors import InvalidError
from app.housekeeping.loop import Rounds
from app.queue import JobQueue
from app.storage.protocol import Storage
from tests.jobs.many import SECONDS, ask, pointers, published, release_of
from tests.jobs.service import Service, body
from tests.servers import wait_until

#: Stands wherever something restricted does.
SECRET = "planted 7771.25"
#: A number so long that no identifier or time holds its digits by chance.
NUMBER = 777_177_717_771


def storage_of(service: Service) -> Storage:
    storage: Storage = service.app.state.resources.storage
    return storage


def store(service: Service, key: str) -> None:
    with storage_of(service).writer(key) as writer:
        writer.write(SECRET.encode())


def stored(service: Service, prefix: str) -> list[str]:
    return sorted(entry.key for entry in storage_of(service).list(prefix))


def rows_with(database: Database, what: str) -> list[str]:
    """Names of the tables that hold it, in whatever column."""
    with database.read() as connection:
        return [
            table.name
            for table in metadata.sorted_tables
            if any(what in str(list(row)) for row in connection.execute(select(table)))
            or connection.execute(text(f'SELECT 1 FROM "{table.name}" t WHERE t::text LIKE :it'), {"it": f"%{what}%"})
            .first()
        ]  # fmt: skip


def housekeeping(service: Service, **settings: Any) -> Rounds:
    changed = service.settings.model_copy(update=settings)
    return Rounds(changed, database=service.database, storage=storage_of(service), queue=JobQueue(changed))


@pytest.fixture
def keeper(service: Service) -> Iterator[Any]:
    with service.client() as client:
        yield client


def full_job(service: Service, keeper: Any, headers: dict[str, str] | None = None) -> tuple[str, str, dict[str, Any]]:
    """A succeeded job with a release, and something restricted in every place that can hold it."""
    dataset_id = service.dataset()
    gate = [{"method": "composition", "require": {"k": 20}}]
    spec = body(dataset_id, tags={"of": SECRET}, seed=7771, gate=gate)
    job_id = keeper.post("/v1/anonymizations", json=spec, headers=headers).json()["id"]
    claimed = service.claim(job_id)
    service.finish(claimed, whole=json.dumps({"true_value": SECRET}).encode())
    service.store_result(job_id, key=f"jobs/{job_id}/result-1.json", size=len(SECRET))
    for name in ("result-1.json", "link-1.npy", "checkpoint-1-0.npz"):
        store(service, f"jobs/{job_id}/{name}")
    service.store_provenance(job_id, {"entity": SECRET})
    release_id = release_of(service, job_id, dataset_id)
    store(service, f"releases/{release_id}/a.parquet")
    with service.database.unit_of_work() as unit:
        key = f"jobs/{job_id}/link-1.npy"
        release_links.insert_link(unit.connection, release_id=release_id, dataset_id=dataset_id, key=key, size=9)
    return job_id, release_id, spec


def test_nothing_restricted_is_left_of_a_deleted_job(service: Service, keeper: Any) -> None:
    once = {"Idempotency-Key": "once"}
    job_id, release_id, spec = full_job(service, keeper, once)
    before = keeper.get(f"/v1/releases/{release_id}").json()
    assert set(rows_with(service.database, SECRET)) >= {"job", "provenance"}, "the test can fail"
    assert keeper.delete(f"/v1/jobs/{job_id}").status_code == 204
    assert rows_with(service.database, SECRET) == []
    assert rows_with(service.database, str(NUMBER)) == []
    assert stored(service, f"jobs/{job_id}/") == []
    for part in ("", "/result", "/provenance", "/events"):
        assert keeper.get(f"/v1/jobs/{job_id}{part}").status_code == 404
    assert keeper.post(f"/v1/jobs/{job_id}/cancel").status_code == 404
    assert keeper.delete(f"/v1/jobs/{job_id}").status_code == 404
    assert keeper.get("/v1/jobs").json()["items"] == []
    gone = keeper.post("/v1/anonymizations", json=spec, headers=once)
    assert (gone.status_code, gone.json()["type"]) == (410, "/problems/gone")
    assert keeper.post("/v1/anonymizations", json=spec | {"k": 6}, headers=once).status_code == 422
    assert keeper.get(f"/v1/releases/{release_id}").json() == before
    assert keeper.get(f"/v1/releases/{release_id}/provenance").status_code == 200
    assert stored(service, "releases/") == [f"releases/{release_id}/a.parquet"]


def test_with_its_release_the_last_of_a_deleted_job_goes(service: Service, keeper: Any) -> None:
    job_id, release_id, _ = full_job(service, keeper)
    before = service.row(job_id).spec
    keeper.delete(f"/v1/jobs/{job_id}")
    restricted = {
        "dataset_id", "seed", "tags", "formats", "publish", "accept_findings", "delimiter", "max_suppressed_classes",
        "least_widths",
    }  # fmt: skip
    assert service.row(job_id).spec == {name: value for name, value in before.items() if name not in restricted}, (
        "what its release is asked with, and composed with if it is a draft"
    )
    assert keeper.delete(f"/v1/releases/{release_id}").status_code == 204
    assert service.row(job_id).spec == {}
    assert rows_with(service.database, "hours") == ["dataset"]


def test_a_job_without_a_release_keeps_nothing(service: Service, keeper: Any) -> None:
    for state in (JobState.FAILED, JobState.CANCELLED, JobState.SUCCEEDED):
        job_id = service.submit(keeper, service.dataset(), tags={"of": SECRET})
        service.run(job_id, state)
        assert keeper.delete(f"/v1/jobs/{job_id}").status_code == 204
        row = service.row(job_id)
        assert (row.spec, row.result, row.error, row.tags, row.seed) == ({}, None, None, {}, None)
        assert row.state == state
    assert rows_with(service.database, SECRET) == []


def test_an_unfinished_job_is_a_conflict(service: Service, keeper: Any) -> None:
    job_id = service.submit(keeper, service.dataset())
    for prepare in (lambda: None, lambda: service.claim(job_id)):
        prepare()
        refused = keeper.delete(f"/v1/jobs/{job_id}")
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/job-in-use")
    keeper.post(f"/v1/jobs/{job_id}/cancel")
    assert keeper.delete(f"/v1/jobs/{job_id}").status_code == 409, "its worker has not stopped yet"


def test_a_job_is_kept_while_an_unfinished_one_uses_its_result(service: Service, keeper: Any) -> None:
    model = service.submit(keeper, service.dataset())
    service.run(model)
    user = ask(service, model_job_id=model)
    refused = keeper.delete(f"/v1/jobs/{model}")
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/job-in-use")
    assert user in refused.json()["detail"]
    service.run(user)
    assert keeper.delete(f"/v1/jobs/{model}").status_code == 204
    with pytest.raises(InvalidError) as absent:
        ask(service, model_job_id=model)
    assert pointers(absent.value) == ["/model_job_id"]


def test_a_job_is_kept_while_an_audit_of_its_release_runs(service: Service, keeper: Any) -> None:
    job_id, release_id = published(service, service.dataset())
    audit = ask(service, release_id=release_id)
    assert keeper.delete(f"/v1/jobs/{job_id}").status_code == 409
    service.run(audit)
    asynchronous = {"Prefer": "respond-async"}
    question = keeper.post(
        f"/v1/releases/{release_id}/count", json={"queries": [{"age": [1, 2]}]}, headers=asynchronous
    )
    assert question.status_code == 202
    assert keeper.delete(f"/v1/jobs/{job_id}").status_code == 204, "questions need nothing of what is erased"
    again = keeper.post(f"/v1/releases/{release_id}/count", json={"queries": [{"age": [1, 2]}]}, headers=asynchronous)
    assert again.status_code == 202, "what its release is asked stays known"


def test_draws_from_the_same_data_are_counted_after_their_job_was_deleted(service: Service, keeper: Any) -> None:
    dataset_id = service.dataset()
    spec = {"method": "uncertain", "dataset_id": dataset_id, "quasi_identifiers": ["age"], "k": 5}
    job_id = keeper.post("/v1/anonymizations", json=spec).json()["id"]
    service.run(job_id)
    release_of(service, job_id, dataset_id, method="uncertain")
    refused = keeper.post("/v1/anonymizations", json=spec)
    assert refused.status_code == 422
    assert keeper.delete(f"/v1/jobs/{job_id}").status_code == 204
    again = keeper.post("/v1/anonymizations", json=spec)
    assert (again.status_code, again.json()["detail"]) == (422, refused.json()["detail"])


def test_parts_go_with_their_whole(service: Service, keeper: Any) -> None:
    whole = service.submit(keeper, service.dataset())
    claimed = service.claim(whole)
    with service.database.unit_of_work() as unit:
        sent = parts.split(unit.connection, claimed=claimed, parts=3)
    working = service.claim(sent[0].id)
    service.finish(service.claim(sent[1].id), whole=json.dumps(SECRET).encode())
    store(service, f"jobs/{sent[1].id}/checkpoint-1-0.npz")
    keeper.post(f"/v1/jobs/{whole}/cancel")
    refused = keeper.delete(f"/v1/jobs/{whole}")
    assert (refused.status_code, refused.headers["retry-after"]) == (409, "2")
    assert keeper.delete(f"/v1/jobs/{sent[1].id}").status_code == 404, "a part is nobody's to delete"
    service.finish(working, JobState.CANCELLED)
    assert keeper.delete(f"/v1/jobs/{whole}").status_code == 204
    assert rows_with(service.database, sent[1].id) == []
    assert rows_with(service.database, SECRET) == []
    assert stored(service, "jobs/") == []


def test_the_reading_of_an_upload_and_others_jobs_are_not_there(service: Service, keeper: Any) -> None:
    ingest, other = (service.submit(keeper, service.dataset()) for _ in range(2))
    service.alter(ingest, kind="ingest", listed=False)
    for job_id in (ingest, other):
        service.run(job_id)
    assert keeper.delete(f"/v1/jobs/{ingest}").status_code == 404
    with service.client("bea") as bea, service.client("ada", "jobs:read", "releases:read") as reader:
        assert bea.delete(f"/v1/jobs/{other}").status_code == 404
        assert reader.delete(f"/v1/jobs/{other}").status_code == 403
    assert keeper.get(f"/v1/jobs/{other}").status_code == 200


def test_a_question_can_be_deleted_before_it_is_forgotten(service: Service, keeper: Any) -> None:
    _, release_id = published(service, service.dataset())
    answer = keeper.post(
        f"/v1/releases/{release_id}/count", json={"queries": [{"age": [NUMBER, NUMBER + 1]}]},
        headers={"Prefer": "respond-async"},
    )  # fmt: skip
    job_id = answer.json()["id"]
    service.finish(service.claim(job_id), whole=f'{{"counts":[{NUMBER}]}}'.encode())
    assert keeper.delete(f"/v1/jobs/{job_id}").status_code == 204
    assert rows_with(service.database, str(NUMBER)) == []
    assert keeper.delete(f"/v1/releases/{release_id}").status_code == 204


def test_housekeeping_ends_an_erasure_that_was_interrupted(service: Service, keeper: Any) -> None:
    job_id, _, _ = full_job(service, keeper)
    storage, left = storage_of(service), f"jobs/{job_id}/"
    whole_delete = storage.delete

    def unreachable(key: str) -> None:
        raise OSError(key)

    storage.delete = unreachable  # type: ignore[method-assign]
    keeper.delete(f"/v1/jobs/{job_id}")
    storage.delete = whole_delete  # type: ignore[method-assign]
    assert keeper.get(f"/v1/jobs/{job_id}").status_code == 404
    assert f"{left}result-1.json" in stored(service, left)
    rounds = housekeeping(service, orphan_hours=1e-9)
    wait_until(lambda: bool(rounds.slow(threading.Event()) or not stored(service, left)), seconds=SECONDS)
    assert rows_with(service.database, left) == []


def test_results_whose_time_has_passed_are_erased_and_the_job_stays(service: Service, keeper: Any) -> None:
    job_id, release_id, _ = full_job(service, keeper)
    young, model, failed = (service.submit(keeper, service.dataset()) for _ in range(3))
    service.run(failed, JobState.FAILED)
    for each in (young, model):
        service.run(each)
    user = ask(service, model_job_id=model)
    with service.database.unit_of_work() as unit:
        statement = "ALTER TABLE job DISABLE TRIGGER job_transition"
        unit.connection.execute(text(statement))
        old = datetime.now(UTC) - timedelta(hours=49)
        values = {"old": old, "ids": [job_id, model, failed]}
        unit.connection.execute(text("UPDATE job SET finished_at = :old WHERE id = ANY(:ids)"), values)
        unit.connection.execute(text("ALTER TABLE job ENABLE TRIGGER job_transition"))
    housekeeping(service).slow(threading.Event())
    assert keeper.get(f"/v1/jobs/{job_id}").json()["result"] == {"box_count": 3}, "by default they are kept"
    housekeeping(service, result_hours=48).slow(threading.Event())
    job = keeper.get(f"/v1/jobs/{job_id}").json()
    assert (job["state"], job["result"], job["release_id"]) == ("succeeded", None, None)
    assert job["spec"]["k"] == 5
    gone = keeper.get(f"/v1/jobs/{job_id}/result")
    assert (gone.status_code, gone.json()["type"]) == (410, "/problems/result-erased")
    assert f"jobs/{job_id}/result-1.json" not in stored(service, "jobs/")
    assert f"jobs/{job_id}/link-1.npy" in stored(service, "jobs/"), "it goes with the original, the release or the job"
    assert keeper.get(f"/v1/jobs/{job_id}/provenance").status_code == 200
    assert keeper.get(f"/v1/releases/{release_id}").status_code == 200
    for kept in (young, model):
        assert keeper.get(f"/v1/jobs/{kept}").json()["result"] == {"box_count": 3}
    service.run(user)
    housekeeping(service, result_hours=48).slow(threading.Event())
    assert keeper.get(f"/v1/jobs/{model}").json()["result"] is None
    with pytest.raises(InvalidError) as erased:
        ask(service, model_job_id=model)
    assert pointers(erased.value) == ["/model_job_id"]
    assert "erased" in erased.value.detail


def test_a_finished_row_loses_what_is_restricted_and_does_not_change_otherwise(service: Service, keeper: Any) -> None:
    job_id = service.submit(keeper, service.dataset())
    service.run(job_id)
    for change in (
        "result = '{\"boxes\": 4}'",
        "result_erased_at = now()",
        "result_erased_at = now(), result = NULL, result_shown = NULL, spec = '{\"k\": 1}'",
        "result_erased_at = now(), result = NULL, result_shown = NULL, state = 'failed'",
    ):
        with pytest.raises(DBAPIError, match="must not change"), service.database.unit_of_work() as unit:
            unit.connection.execute(text(f"UPDATE job SET warnings = '[]', {change} WHERE id = :id"), {"id": job_id})
