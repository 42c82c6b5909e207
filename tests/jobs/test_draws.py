"""Methods whose draws from the same data add up: how many there are is counted when a job is accepted."""

import threading

from app.contracts.jobs import JobState
from app.errors import FieldError
from app.jobs.inputs import Given
from app.jobs.methods import Method
from tests.jobs.many import SECONDS, ManySpec, ask, many, somebody_waits, wait_for
from tests.jobs.service import Service


def counting(counted: list[int]) -> Method:
    def check(spec: ManySpec, given: Given) -> list[FieldError]:
        counted.append(given.earlier_draws)
        return []

    return many(check, draws=True)


def test_draws_from_the_same_bytes_are_counted_whatever_became_of_the_dataset(service: Service) -> None:
    counted: list[int] = []
    method = counting(counted)
    first, again = service.dataset(), service.dataset()
    with service.database.unit_of_work() as unit:
        unit.connection.exec_driver_sql("UPDATE dataset SET sha256 = repeat('1', 64)")
    other = service.dataset()
    jobs = [ask(service, method=method, dataset_id=first)]
    service.run(jobs[0])
    with service.client() as client:
        assert client.delete(f"/v1/datasets/{first}").status_code == 204
    jobs += [ask(service, method=method, dataset_id=made) for made in (again, again, other)]
    assert counted == [0, 1, 2, 0]
    assert [service.claim(job_id).draw for job_id in jobs[1:]] == [2, 3, 1]


def test_draws_that_came_to_nothing_and_those_of_others_do_not_count(service: Service) -> None:
    counted: list[int] = []
    method = counting(counted)
    dataset_id = service.dataset()
    service.run(ask(service, method=method, dataset_id=dataset_id), JobState.FAILED)
    with service.client() as client:
        client.post(f"/v1/jobs/{ask(service, method=method, dataset_id=dataset_id)}/cancel")
        service.submit(client, dataset_id)
    ask(service, owner="bea", method=method, dataset_id=service.dataset("bea"))
    ask(service, method=method, dataset_id=dataset_id)
    assert counted == [0, 0, 0, 0]


def test_of_two_submissions_at_once_only_one_is_the_first_draw(service: Service) -> None:
    counted: list[int] = []
    one, other = service.dataset(), service.dataset()  # of the same bytes
    second = threading.Thread(target=lambda: ask(service, method=counting(counted), dataset_id=other))

    def check(spec: ManySpec, given: Given) -> list[FieldError]:
        counted.append(given.earlier_draws)
        second.start()
        wait_for(lambda: somebody_waits(service) or not second.is_alive())
        return []

    ask(service, method=many(check, draws=True), dataset_id=one)
    second.join(SECONDS)
    assert counted == [0, 1]
