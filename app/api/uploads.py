"""Answering an upload: staged, accepted once per Idempotency-Key, waited for until it is read."""

import json
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from app.api.deps import Resources
from app.api.http_headers import respond_async, wait_seconds
from app.api.idempotency import (
    REPLAYED,
    Replay,
    Reservation,
    complete,
    given_back,
    take,
    withdraw,
)
from app.api.problems import MEDIA_TYPE
from app.api.upload_body import body_kind, stage
from app.api.waiting import wait_finished
from app.auth.principal import Principal
from app.contracts.datasets import Dataset, DatasetState
from app.contracts.problems import Problem
from app.datasets import delete
from app.datasets.accept import Accepted, accept, refuse_word
from app.datasets.parameters import Described, UploadParameters, describe
from app.datasets.read import read_dataset, shown_to
from app.datasets.staging import Staged
from app.db.session import Connection, UnitOfWork
from app.errors import GoneError, NotFoundError, RequestInFlightError, UnavailableError

#: What a client whose upload is still being read is requested to wait before it looks, in seconds.
RETRY_SECONDS: Final = 2
#: Members of a problem in the order in which they are reported; the database keeps none.
_MEMBERS: Final = ("type", "title", "status", "detail", "instance", "errors", "quota")


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRequest:
    """One upload, its query still to be checked."""

    resources: Resources
    principal: Principal
    parameters: UploadParameters
    key: str | None


async def answer(request: Request, upload: UploadRequest) -> Response:
    """Take the body in, have it read, and answer with the dataset."""
    resources = upload.resources
    kind = body_kind(request, named=upload.parameters.format, max_bytes=resources.settings.max_upload_bytes)
    described = describe(upload.parameters, kind.format, charset=kind.charset)
    refuse_word(upload.principal, described)
    staged = await stage(request, kind, storage=resources.storage, settings=resources.settings)
    taken, accepted = await run_in_threadpool(_accept, upload, described, staged)
    if accepted is None:
        return await run_in_threadpool(_replay, request, upload, taken)
    reservation = taken if isinstance(taken, Reservation) else None
    preferences = request.headers.getlist("prefer")
    if respond_async(preferences):
        applied = {"Preference-Applied": "respond-async"}
        return await run_in_threadpool(_answer_reading, upload, reservation, accepted.dataset, applied)
    wait = wait_seconds(preferences)
    applied = {} if wait is None else {"Preference-Applied": f"wait={wait}"}
    seconds = resources.settings.upload_wait_seconds
    await wait_finished(
        request,
        resources.notifications,
        job_id=accepted.job_id,
        seconds=seconds if wait is None else min(wait, seconds),
    )
    return await run_in_threadpool(_settle, request, upload, reservation, accepted, applied)


def _accept(
    upload: UploadRequest, described: Described, staged: Staged
) -> tuple[Reservation | Replay | None, Accepted | None]:
    """Write the dataset unless its key was used before; staging keeps the bytes only for a dataset."""
    resources = upload.resources
    try:
        taken = _take(upload, described, staged)
        accepted = None if isinstance(taken, Replay) else _write(upload, described, staged, taken)
    except UnavailableError:
        raise  # it may have been committed: housekeeping removes the bytes if it was not
    except BaseException:
        resources.storage.delete(staged.key)
        raise
    if accepted is None:
        resources.storage.delete(staged.key)
    return taken, accepted


def _take(upload: UploadRequest, described: Described, staged: Staged) -> Reservation | Replay | None:
    return take(
        upload.resources,
        upload.principal,
        upload.key,
        "dataset",
        staged.sha256,
        described.name,
        described.tags,
        described.options.stored(),
        *([described.same_data_as_dataset_id] if described.same_data_as_dataset_id else []),
        *(["version_of_dataset_id"] if described.version_of_dataset_id else []),
        *(["new_family"] if described.new_family else []),
    )


def _write(upload: UploadRequest, described: Described, staged: Staged, reservation: Reservation | None) -> Accepted:
    resources = upload.resources

    def remember(connection: Connection, dataset: Dataset) -> None:
        if reservation is not None:  # the answer follows when the file is read
            complete(connection, reservation, status=202, resource_id=dataset.id, answered=False)

    with given_back(resources.database, reservation):
        return accept(
            database=resources.database,
            broker=resources.queue,
            owner=upload.principal.owner,
            key_id=upload.principal.key_id,
            by_keeper=upload.principal.is_keeper,
            described=described,
            staged=staged,
            max_unfinished=resources.settings.max_unfinished_jobs,
            remember=remember,
            settings=resources.settings,
        )


def _settle(
    request: Request,
    upload: UploadRequest,
    reservation: Reservation | None,
    accepted: Accepted,
    applied: dict[str, str],
) -> Response:
    """Answer by the outcome of the dataset."""
    dataset = _read(upload, accepted.dataset.id)
    if dataset.state is DatasetState.INGESTING:
        return _answer_reading(upload, reservation, dataset, applied)
    if dataset.state is DatasetState.READY:
        delete.remove_leftovers(
            database=upload.resources.database, storage=upload.resources.storage, dataset_id=dataset.id
        )
        return _remembered(upload, reservation, 201, {"Location": _location(dataset)} | applied, dataset)

    def forget(unit: UnitOfWork) -> None:
        if reservation is not None:
            withdraw(unit.connection, reservation)

    delete.withdraw(
        database=upload.resources.database,
        storage=upload.resources.storage,
        owner=upload.principal.owner,
        dataset_id=dataset.id,
        now=upload.resources.clock(),
        forget=forget,
    )
    return _problem(request, dataset.error)


def _answer_reading(
    upload: UploadRequest, reservation: Reservation | None, dataset: Dataset, applied: dict[str, str]
) -> Response:
    headers = {"Location": _location(dataset), "Retry-After": str(RETRY_SECONDS)} | applied
    return _remembered(upload, reservation, 202, headers, dataset)


def _remembered(
    upload: UploadRequest, reservation: Reservation | None, status: int, headers: dict[str, str], dataset: Dataset
) -> Response:
    if reservation is not None:
        with upload.resources.database.unit_of_work() as unit:
            complete(unit.connection, reservation, status=status, resource_id=dataset.id)
    return _response(status, headers, dataset)


def _response(status: int, headers: dict[str, str], dataset: Dataset) -> Response:
    return Response(dataset.model_dump_json(), status_code=status, media_type="application/json", headers=headers)


def _replay(request: Request, upload: UploadRequest, taken: Reservation | Replay | None) -> Response:
    """The dataset as it is now; where the process that was to answer first has died, what it would answer now."""
    if not isinstance(taken, Replay):
        raise RequestInFlightError("this upload was neither accepted nor answered before")
    try:
        dataset = _read(upload, taken.resource_id)
    except NotFoundError:
        detail = "the dataset that this Idempotency-Key represents was deleted; use a new key to upload it again"
        raise GoneError(detail) from None
    headers = {"Location": _location(dataset)} | REPLAYED
    if taken.answered:
        ingesting = dataset.state is DatasetState.INGESTING
        later = {"Retry-After": str(RETRY_SECONDS)} if ingesting else {}
        return _response(taken.status, headers | later, dataset)
    if dataset.state is DatasetState.INGESTING:
        detail = "the first upload with this Idempotency-Key is still being read; try again in a moment"
        raise RequestInFlightError(detail, retry_after=RETRY_SECONDS)
    if dataset.state is DatasetState.FAILED:
        return _problem(request, dataset.error)
    return _response(201, headers, dataset)


def _problem(request: Request, why: Problem | None) -> Response:
    problem: dict[str, Any] = {} if why is None else why.model_dump(mode="json")
    members = {"instance": request.url.path} | {name: value for name, value in problem.items() if name != "instance"}
    ordered = {name: members[name] for name in _MEMBERS if name in members}
    body = json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))
    return Response(body.encode(), status_code=int(problem.get("status", 500)), media_type=MEDIA_TYPE)


def _read(upload: UploadRequest, dataset_id: str) -> Dataset:
    dataset = read_dataset(database=upload.resources.database, owner=upload.principal.owner, dataset_id=dataset_id)
    return shown_to(upload.principal, dataset)


def _location(dataset: Dataset) -> str:
    return f"/v1/datasets/{dataset.id}"
