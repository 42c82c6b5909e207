"""A method with inputs of every kind, and what there is for it to work on."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

from app.auth.principal import Principal
from app.contracts.base import Contract, new_id
from app.contracts.ids import DatasetId, JobId, ReleaseId
from app.contracts.inputs import Given
from app.contracts.jobs import JobKind, JobSpec
from app.db.repositories import releases
from app.errors import FieldError, InvalidError
from app.jobs.accept import accept
from app.methods.catalogue import Method
from app.methods.rules import Rules
from app.queue import JobQueue
from tests.jobs.service import COLUMNS, Service

SECONDS = 20.0


class ManySpec(JobSpec):
    kind: ClassVar[JobKind] = JobKind.AUDIT

    method: Literal["many"] = "many"
    dataset_id: DatasetId | None = None
    target_dataset_id: DatasetId | None = None
    release_id: ReleaseId | None = None
    model_job_id: JobId | None = None
    release_ids: tuple[ReleaseId, ...] = ()


Check = Callable[[ManySpec, Given], list[FieldError]]


def fill(spec: ManySpec, given: Given) -> ManySpec:
    """The dataset is by default the release's original."""
    if spec.dataset_id is None and "release_id" in given.releases:
        return spec.model_copy(update={"dataset_id": given.releases["release_id"].dataset_id})
    return spec


def fine(spec: ManySpec, given: Given) -> list[FieldError]:
    return []


def ask(service: Service, *, check: Check = fine, draws: bool = False, owner: str = "", **fields: Any) -> str:
    return accept(
        database=service.database,
        broker=JobQueue(service.settings),
        principal=Principal(owner or service.owner, "key_test", frozenset()),
        method=Method(ManySpec, Contract, draws=draws),
        rules=Rules(check, fill),
        spec=ManySpec(**fields),
        max_unfinished=1_000,
    ).id


def published(service: Service, dataset_id: str) -> tuple[str, str]:
    """A succeeded job of boxes and its release."""
    with service.client() as client:
        job_id = service.submit(client, dataset_id)
    service.finish(service.claim(job_id), whole=b'{"box_count":3,"rules":[1]}')
    return job_id, release_of(service, job_id, dataset_id)


def release_of(
    service: Service, job_id: str, dataset_id: str, method: str = "boxes", *, kept: Sequence[str] = ()
) -> str:
    """Publish a release of a job; what its specification keeps is among its columns."""
    beside = [{"name": one["name"], "type": one["type"]} for one in COLUMNS if one["name"] in kept]
    release_id = new_id("rel")
    with service.database.unit_of_work() as unit:
        releases.insert_release(
            unit.connection,
            new=releases.ReleaseRow(
                id=release_id, owner=service.owner, job_id=job_id, dataset_id=dataset_id, method=method, rows=9,
                columns=[{"name": "box", "type": "integer"}, *beside], flags=["tight"], tags={}, statistics=[],
            ),
            files=[releases.ReleaseFile(format="parquet", key=f"releases/{release_id}/a.parquet", sha256="a", bytes=3)],
        )  # fmt: skip
    return release_id


def pointers(error: InvalidError) -> list[str]:
    return [field.pointer for field in error.errors]


def somebody_waits(service: Service) -> bool:
    waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with service.database.read() as connection:
        return bool(connection.exec_driver_sql(waits).scalar_one())
