"""Methods whose draws from the same data add up: how many were published is what counts."""

import re
import threading
from datetime import UTC, datetime

import pytest

from app.contracts.base import new_id
from app.contracts.inputs import DatasetInput, Given
from app.contracts.jobs import JobState
from app.db.repositories import draws, releases
from app.errors import FieldError, InfeasibleError
from app.methods.draws import refuse_repeat
from tests.jobs.many import SECONDS, ManySpec, ask, somebody_waits
from tests.jobs.service import Service
from tests.servers import wait_until


def publish(service: Service, *, dataset_id: str, owner: str = "") -> str:
    """A release of `many` on the dataset."""
    job_id = ask(service, owner=owner, draws=True, dataset_id=dataset_id)
    release_id = new_id("rel")
    with service.database.unit_of_work() as unit:
        releases.insert_release(
            unit.connection,
            new=releases.ReleaseRow(
                id=release_id, owner=owner or service.owner, job_id=job_id, dataset_id=dataset_id, method="many",
                rows=1, columns=[], flags=[], tags={}, statistics=[],
            ),
            files=[releases.ReleaseFile(format="csv", key=new_id("key"), sha256="2" * 64, bytes=1)],
        )  # fmt: skip
    return release_id


def count(service: Service, dataset_id: str) -> int:
    counted: list[int] = []

    def check(spec: ManySpec, given: Given) -> list[FieldError]:
        counted.append(given.earlier_draws)
        return []

    ask(service, check=check, draws=True, dataset_id=dataset_id)
    return counted[0]


def test_releases_of_the_same_bytes_count_whatever_became_of_them_and_of_the_dataset(service: Service) -> None:
    first, again = service.dataset(), service.dataset()
    with service.database.unit_of_work() as unit:
        unit.connection.exec_driver_sql("UPDATE dataset SET sha256 = repeat('1', 64)")
    other = service.dataset()
    assert count(service, again) == 0
    release_id = publish(service, dataset_id=first)
    assert count(service, again) == 1
    with service.database.unit_of_work() as unit:
        releases.mark_deleted(unit.connection, release_id=release_id, now=datetime.now(UTC))
    assert count(service, again) == 1, "somebody may have read it"
    assert count(service, other) == 0


def test_jobs_that_published_nothing_and_releases_of_others_do_not_count(service: Service) -> None:
    dataset_id = service.dataset()
    service.run(ask(service, draws=True, dataset_id=dataset_id), JobState.FAILED)
    ask(service, draws=True, dataset_id=dataset_id)
    publish(service, owner="bea", dataset_id=service.dataset("bea"))
    assert count(service, dataset_id) == 0


def test_of_two_that_publish_at_once_the_second_waits_and_counts_the_first(service: Service) -> None:
    dataset_id, counted = service.dataset(), []

    def other() -> None:
        with service.database.unit_of_work() as unit:
            draws.lock_publishing(unit.connection, owner=service.owner, sha256="1")
            data = DatasetInput(id=dataset_id, sha256="1" * 64)
            counted.append(draws.count_published(unit.connection, owner=service.owner, method="many", made_from=data))

    with service.database.unit_of_work() as unit:
        unit.connection.exec_driver_sql("UPDATE dataset SET sha256 = repeat('1', 64)")
    job_id = ask(service, draws=True, dataset_id=dataset_id)
    second = threading.Thread(target=other)
    with service.database.unit_of_work() as unit:
        draws.lock_publishing(unit.connection, owner=service.owner, sha256="1")
        second.start()
        wait_until(lambda: somebody_waits(service) or not second.is_alive(), seconds=SECONDS)
        releases.insert_release(
            unit.connection,
            new=releases.ReleaseRow(
                id=new_id("rel"), owner=service.owner, job_id=job_id, dataset_id=dataset_id, method="many",
                rows=1, columns=[], flags=[], tags={}, statistics=[],
            ),
            files=[releases.ReleaseFile(format="csv", key=new_id("key"), sha256="2" * 64, bytes=1)],
        )  # fmt: skip
    second.join(SECONDS)
    assert counted == [1]


@pytest.mark.parametrize(
    ("published", "allowed", "made_as", "message"),
    [(0, False, 1, ""), (1, False, 1, "Publish no other draw"), (1, True, 2, ""),
     (1, True, 1, "ask again"),
     (3, False, None, "3 times")],
)  # fmt: skip
def test_a_draw_too_many_is_refused_with_what_would_work(
    published: int, allowed: bool, made_as: int | None, message: str
) -> None:
    if not message:
        refuse_repeat(published, allowed=allowed, made_as=made_as)
        return
    with pytest.raises(InfeasibleError, match=re.escape(message)) as refused:
        refuse_repeat(published, allowed=allowed, made_as=made_as)
    assert [error.pointer for error in refused.value.errors] == ["/method"]
