"""Jobs that work on several datasets, releases and earlier jobs."""

import json
import threading
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from app.contracts.inputs import Given, listed
from app.contracts.jobs import JobState
from app.db.tables.jobs import job_input
from app.errors import FieldError, InvalidError
from app.storage.factory import open_storage
from tests.jobs.many import SECONDS, ManySpec, ask, pointers, published, somebody_waits
from tests.jobs.service import Service
from tests.servers import wait_until
from workers.engine.context import job_context
from workers.engine.resources import WorkerResources


def test_every_input_is_remembered_by_its_field_in_order(service: Service) -> None:
    one, other = service.dataset(), service.dataset()
    earlier, release_id = published(service, one)
    job_id = ask(service, dataset_id=one, target_dataset_id=other, release_id=release_id, model_job_id=earlier)
    with service.database.read() as connection:
        rows = connection.execute(select(job_input).where(job_input.c.job_id == job_id)).all()
    assert {(row.role, row.dataset_id or row.release_id or row.source_job_id) for row in rows} == {
        ("dataset_id", one),
        ("target_dataset_id", other),
        ("release_id", release_id),
        ("model_job_id", earlier),
    }
    inputs = service.claim(job_id).inputs
    assert [(role, facts.id) for role, facts in inputs.datasets.items()] == [
        ("dataset_id", one),
        ("target_dataset_id", other),
    ]
    release = inputs.releases["release_id"]
    assert (release.id, release.method, release.rows, release.flags) == (release_id, "boxes", 9, ("tight",))
    assert (release.spec["k"], release.sha256) == (5, "a")
    assert (inputs.jobs["model_job_id"].id, inputs.jobs["model_job_id"].state) == (earlier, "succeeded")


def test_a_method_is_given_what_the_specification_names(service: Service) -> None:
    seen: list[Given] = []

    def check(spec: ManySpec, given: Given) -> list[FieldError]:
        seen.append(given)
        return []

    earlier, release_id = published(service, service.dataset())
    ask(service, check=check, target_dataset_id=service.dataset(), release_id=release_id, model_job_id=earlier)
    given = seen[0]
    assert given.profile("target_dataset_id").rows == given.profile().rows == 100
    assert [column.name for column in given.releases["release_id"].columns] == ["box"]
    assert given.jobs["model_job_id"].state is JobState.SUCCEEDED
    assert given.earlier_draws == 0


def test_each_of_a_list_of_ids_is_an_input_at_its_place(service: Service) -> None:
    releases = tuple(published(service, service.dataset())[1] for _ in range(2))
    inputs = service.claim(ask(service, release_ids=releases)).inputs
    assert [one.id for one in listed(inputs.releases, "release_ids").values()] == list(releases)
    assert list(inputs.releases) == ["release_ids/0", "release_ids/1"]
    with pytest.raises(InvalidError) as refused:
        ask(service, release_ids=(releases[0], "nothing_absent"))
    assert pointers(refused.value) == ["/release_ids/1"]


def test_the_result_of_an_earlier_job_is_read_wherever_it_lies(service: Service) -> None:
    resources = WorkerResources.open(service.settings, threads=1)
    earlier, release_id = published(service, service.dataset())
    big = b'{"rules": [2]}'
    with open_storage(service.settings).writer("jobs/whole.json") as writer:
        writer.write(big)
    for whole in ([1], [2]):
        job_id = ask(service, release_id=release_id, model_job_id=earlier)
        folder = Path(resources.settings.storage_url.removeprefix("file:")) / job_id
        folder.mkdir()
        job = job_context(service.claim(job_id), resources, scratch=folder, on_tick=lambda _: None)
        assert job.job_result("model_job_id")["rules"] == whole
        assert job.releases["release_id"].spec["k"] == 5
        service.store_result(earlier, key="jobs/whole.json", size=len(big))
    resources.close()


def test_an_earlier_job_without_a_result_is_a_problem_of_the_field(service: Service, tmp_path: Path) -> None:
    resources = WorkerResources.open(service.settings, threads=1)
    with service.client() as client:
        earlier = service.submit(client, service.dataset())
    job = job_context(
        service.claim(ask(service, model_job_id=earlier)), resources, scratch=tmp_path, on_tick=lambda _: None
    )
    with pytest.raises(InvalidError) as refused:
        job.job_result("model_job_id")
    assert pointers(refused.value) == ["/model_job_id"]
    resources.close()


@pytest.mark.parametrize("role", ["dataset_id", "target_dataset_id", "release_id", "model_job_id"])
@pytest.mark.parametrize("absent", ["nothing_absent", "with\x00nul", ""])
def test_what_is_not_there_is_refused_at_its_field(shared: Service, role: str, absent: str) -> None:
    with pytest.raises(InvalidError) as refused:
        ask(shared, **{role: absent})
    assert pointers(refused.value) == [f"/{role}"]


def test_another_owners_objects_are_as_absent_as_deleted_ones(service: Service) -> None:
    dataset_id = service.dataset()
    job_id, release_id = published(service, dataset_id)
    named = {
        "dataset_id": dataset_id,
        "target_dataset_id": dataset_id,
        "release_id": release_id,
        "model_job_id": job_id,
    }
    with pytest.raises(InvalidError) as refused:
        ask(service, owner="bea", **named)
    assert pointers(refused.value) == ["/dataset_id", "/target_dataset_id", "/release_id", "/model_job_id"]
    theirs = [field.detail for field in refused.value.errors]
    absent = dict.fromkeys(named, "nothing_absent")
    with pytest.raises(InvalidError) as refused:
        ask(service, **absent)
    assert [field.detail for field in refused.value.errors] == theirs
    with service.client() as client:
        assert client.delete(f"/v1/releases/{release_id}").status_code == 204
        assert client.delete(f"/v1/datasets/{dataset_id}").status_code == 204
    with pytest.raises(InvalidError) as refused:
        ask(service, **named)
    assert [field.detail for field in refused.value.errors] == theirs[:3], "the job is still there"


def test_an_internal_job_cannot_be_built_on(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
    service.alter(job_id, listed=False)
    with pytest.raises(InvalidError) as refused:
        ask(service, model_job_id=job_id)
    assert pointers(refused.value) == ["/model_job_id"]


def test_a_default_that_was_deleted_is_told_as_one(service: Service) -> None:
    original = service.dataset()
    _, release_id = published(service, original)
    assert service.claim(ask(service, release_id=release_id)).inputs.datasets["dataset_id"].id == original
    with service.database.unit_of_work() as unit:
        unit.connection.exec_driver_sql("UPDATE dataset SET state = 'deleted' WHERE id = %s", (original,))
    with pytest.raises(InvalidError) as refused:
        ask(service, release_id=release_id)
    assert pointers(refused.value) == ["/dataset_id"]
    assert "y default this is" in refused.value.detail
    assert original in refused.value.detail
    ask(service, release_id=release_id, dataset_id=service.dataset())


@pytest.mark.parametrize("role", ["dataset_id", "target_dataset_id"])
def test_a_dataset_in_use_in_any_role_is_not_deleted(service: Service, role: str) -> None:
    dataset_id = service.dataset()
    job_id = ask(service, **{role: dataset_id})
    with service.client() as client:
        refused = client.delete(f"/v1/datasets/{dataset_id}")
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/dataset-in-use")
        assert job_id in refused.json()["detail"]
        assert client.get(f"/v1/datasets/{dataset_id}").status_code == 200
        service.run(job_id)
        assert client.delete(f"/v1/datasets/{dataset_id}").status_code == 204


def test_a_release_in_use_is_not_deleted(service: Service) -> None:
    _, release_id = published(service, service.dataset())
    job_id = ask(service, release_id=release_id)
    with service.client() as client:
        refused = client.delete(f"/v1/releases/{release_id}")
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/release-in-use")
        assert job_id in refused.json()["detail"]
        assert client.get(f"/v1/releases/{release_id}").status_code == 200
        service.run(job_id)
        assert client.delete(f"/v1/releases/{release_id}").status_code == 204
        assert client.get(f"/v1/releases/{release_id}").status_code == 404


@pytest.mark.parametrize("role", ["target_dataset_id", "release_id"])
def test_what_is_deleted_while_it_is_being_asked_for_stays(service: Service, role: str) -> None:
    answers: list[httpx.Response] = []
    dataset_id = service.dataset()
    _, release_id = published(service, service.dataset())
    path, value = {
        "target_dataset_id": (f"/v1/datasets/{dataset_id}", dataset_id),
        "release_id": (f"/v1/releases/{release_id}", release_id),
    }[role]

    def delete() -> None:
        with service.client() as client:
            answers.append(client.delete(path))

    deleting = threading.Thread(target=delete)

    def check(spec: ManySpec, given: Given) -> list[FieldError]:
        if deleting.ident is None:  # a rule is asked several times: what it says may be for keepers only
            deleting.start()
        wait_until(lambda: somebody_waits(service) or not deleting.is_alive(), seconds=SECONDS)
        return []

    ask(service, check=check, **{role: value})
    deleting.join(SECONDS)
    assert [answer.status_code for answer in answers] == [409]


def test_lists_by_dataset_find_every_role(service: Service) -> None:
    one, other = service.dataset(), service.dataset()
    first = ask(service, dataset_id=one)
    second = ask(service, dataset_id=other, target_dataset_id=one)
    third = ask(service, dataset_id=one, target_dataset_id=one)
    with service.client() as client:

        def listed(dataset_id: str) -> list[str]:
            return [job["id"] for job in client.get("/v1/jobs", params={"dataset_id": dataset_id}).json()["items"]]

        assert listed(one) == [third, second, first]
        assert listed(other) == [second]


def test_a_seed_is_no_part_of_the_echo(service: Service) -> None:
    job_id = ask(service, dataset_id=service.dataset(), seed=4711)
    with service.client() as client:
        text = client.get(f"/v1/jobs/{job_id}").text
    assert json.loads(text)["spec"]["seed"] == "given"
    assert "4711" not in text
