"""Accepting a staged upload: the dataset and the job that reads it are written in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.auth.principal import Principal
from app.contracts.base import new_id
from app.contracts.datasets import Dataset
from app.contracts.log import LogAction
from app.datasets.parameters import Described
from app.datasets.staging import Staged
from app.db.repositories import audit, datasets, families, jobs, log
from app.db.session import Connection, Database
from app.errors import FieldError, ForbiddenError, InvalidError, NotFoundError
from app.jobs.quotas import admit_upload
from app.jobs.submit import Submission, submit
from app.methods.ingest.spec import INGEST, IngestSpec
from app.queue import JobQueue
from app.settings import Settings


@dataclass(frozen=True, slots=True)
class Accepted:
    """A dataset that is being read, and by which job."""

    dataset: Dataset
    job_id: str


def accept(
    *,
    database: Database,
    broker: JobQueue,
    owner: str,
    key_id: str,
    by_keeper: bool,
    described: Described,
    staged: Staged,
    max_unfinished: int,
    remember: Callable[[Connection, Dataset], None] | None = None,
    settings: Settings | None = None,
) -> Accepted:
    """Write the dataset and its ingest job; the job's id is sent once that is committed.

    Parameters
    ----------
    database, broker
        Where it is written, and where the id is sent.
    owner, key_id
        Who uploads.
    by_keeper
        Whether by a key that reads jobs; data of others have a family of their own until a keeper confirms it.
    described, staged
        The uploaded file.
    max_unfinished
        Queued and running jobs an owner may have.
    remember
        Called in the same transaction: the answer to replay for an Idempotency-Key.
    settings
        What an owner may keep; None: as much as it likes.

    Raises
    ------
    InvalidError
        If `same_data_as_dataset_id` or `version_of_dataset_id` names no dataset of the owner.
    QuotaExceededError
        If the owner may not keep it.
    TooManyJobsError
        If the owner has too many unfinished jobs.
    """
    dataset_id = new_id("ds")
    new = datasets.NewDataset(
        id=dataset_id,
        owner=owner,
        name=described.name,
        tags=described.tags,
        options=described.options,
        bytes=staged.bytes,
        sha256=staged.sha256,
        staged_key=staged.key,
        same_data_as_dataset_id=datasets.NO_DATASET if described.new_family else described.same_data_as_dataset_id,
        version_of_dataset_id=described.version_of_dataset_id,
        by_keeper=by_keeper,
    )
    spec = IngestSpec(dataset_id=dataset_id, options=described.options, staged_key=staged.key, bytes=staged.bytes)
    submission = Submission(
        owner=owner,
        key_id=key_id,
        spec=spec,
        kind=INGEST,
        queue=spec.queue,
        listed=False,
    )
    with database.unit_of_work() as unit:
        _check_named(unit.connection, owner=owner, described=described)
        jobs.lock_submissions(unit.connection, owner=owner)
        if settings is not None:
            admit_upload(unit.connection, owner=owner, size=staged.bytes, keeper=by_keeper, settings=settings)
        datasets.insert_dataset(unit.connection, new=new)
        job_id = submit(unit, submission=submission, broker=broker, max_unfinished=max_unfinished)
        datasets.set_ingest_job(unit.connection, dataset_id=dataset_id, job_id=job_id)
        dataset = datasets.get(unit.connection, owner=owner, dataset_id=dataset_id)
        if dataset is None:
            raise NotFoundError(f"there is no dataset {dataset_id}")
        if remember is not None:
            remember(unit.connection, dataset)
        _log(unit.connection, new, described, key_id=key_id)
    return Accepted(dataset, job_id)


def refuse_word(principal: Principal, described: Described) -> None:
    """Which data are the same is the keepers' word: by it others would learn what it is, or keep data from it.

    Raises
    ------
    ForbiddenError
        If the key does not read jobs.
    """
    if described.declares is not None and not principal.is_keeper:
        raise ForbiddenError(
            f"`{described.declares}` is for keepers of the data: this key lacks the scope jobs:read. Without it the "
            "data are a family of their own until a keeper confirms it"
        )


def _log(connection: Connection, new: datasets.NewDataset, described: Described, *, key_id: str) -> None:
    """State who uploaded what, and the keeper's word on it."""
    mine: dict[str, Any] = {"owner": new.owner, "subject": new.id, "key_id": key_id}
    audit.record(connection, **mine, action=LogAction.UPLOADED, facts={"bytes": new.bytes})
    if described.declares is not None:
        word = True if described.new_family else described.same_data_as_dataset_id
        log.append(connection, **mine, action=LogAction.DECLARED, facts={described.declares: word})


def _check_named(connection: Connection, *, owner: str, described: Described) -> None:
    """What the keeper states is the same data is one of the owner's datasets."""
    word, parameter = described.same_data_as_dataset_id, described.declares
    if word is None:
        return
    version = parameter == "version_of_dataset_id"  # continues the published data: the rows may be deleted by now
    known = datasets.get(connection, owner=owner, dataset_id=word) is not None or (
        version and families.is_published_from(connection, owner=owner, dataset_id=word)
    )
    if not known:
        detail = "there is no dataset with this id"
        if parameter == "same_data_as_dataset_id":
            detail += "; `new_family=true` states that nothing that was uploaded before is the same"
        raise InvalidError(f"{parameter}: {detail}", errors=[FieldError(f"?{parameter}", detail)])
