"""Answering an upload: staged, accepted once per Idempotency-Key, waited for until it is read."""

import json
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from app.api.deps import Resources
from app.api.idempotency import (
    REPLAYED,
    Replay,
    Reservation,
    complete,
    fingerprint,
    given_back,
    named_by,
    reserve,
    withdraw,
)
from app.api.prefer import respond_async, wait_seconds
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

#: What a client whose upload is still being read is asked to wait before it looks, in seconds.
RETRY_SECONDS: Final = 2
#: Members of a problem in the order in which they are told; the database keeps none.
_MEMBERS: Final = ("type", "title", "status", "detail", "instance", "errors", "quota")


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRequest:
    """One upload, its query still to be checked."""

    resources: Resources
    principal: Principal
    parameters: UploadParameters
    key: str | None


async def answer(request: Request, asked: UploadRequest) -> Response:
    """Take the body in, have it read, and answer with the dataset."""
    resources = asked.resources
    kind = body_kind(request, named=asked.parameters.format, max_bytes=resources.settings.max_upload_bytes)
    described = describe(asked.parameters, kind.format, charset=kind.charset)
    refuse_word(asked.principal, described)
    staged = await stage(request, kind, storage=resources.storage, settings=resources.settings)
    taken, accepted = await run_in_threadpool(_accept, asked, described, staged)
    if accepted is None:
        return await run_in_threadpool(_replay, request, asked, taken)
    reservation = taken if isinstance(taken, Reservation) else None
    preferences = request.headers.getlist("prefer")
    if respond_async(preferences):
        applied = {"Preference-Applied": "respond-async"}
        return await run_in_threadpool(_answer_reading, asked, reservation, accepted.dataset, applied)
    wait = wait_seconds(preferences)
    applied = {} if wait is None else {"Preference-Applied": f"wait={wait}"}
    seconds = resources.settings.upload_wait_seconds
    await wait_finished(
        request,
        resources.notifications,
        job_id=accepted.job_id,
        seconds=seconds if wait is None else min(wait, seconds),
    )
    return await run_in_threadpool(_settle, request, asked, reservation, accepted, applied)


def _accept(
    asked: UploadRequest, described: Described, staged: Staged
) -> tuple[Reservation | Replay | None, Accepted | None]:
    """Write the dataset unless its key was used before; staging keeps the bytes only for a dataset."""
    resources = asked.resources
    try:
        taken = _take(asked, described, staged)
        accepted = None if isinstance(taken, Replay) else _write(asked, described, staged, taken)
    except UnavailableError:
        raise  # it may have been committed: housekeeping removes the bytes if it was not
    except BaseException:
        resources.storage.delete(staged.key)
        raise
    if accepted is None:
        resources.storage.delete(staged.key)
    return taken, accepted


def _take(asked: UploadRequest, described: Described, staged: Staged) -> Reservation | Replay | None:
    if asked.key is None:
        return None
    return reserve(
        database=asked.resources.database,
        settings=asked.resources.settings,
        owner=asked.principal.owner,
        key=named_by(asked.principal, asked.key),
        fingerprint=fingerprint(
            "dataset",
            staged.sha256,
            described.name,
            described.labels,
            described.options.stored(),
            *([described.same_data_as] if described.same_data_as else []),
            *(["version_of"] if described.version_of else []),
        ),
        now=asked.resources.clock(),
    )


def _write(asked: UploadRequest, described: Described, staged: Staged, reservation: Reservation | None) -> Accepted:
    resources = asked.resources

    def remember(connection: Connection, dataset: Dataset) -> None:
        if reservation is not None:  # the answer follows when the file is read
            complete(connection, reservation, status=202, resource_id=dataset.id, answered=False)

    with given_back(resources.database, reservation):
        return accept(
            database=resources.database,
            broker=resources.queue,
            owner=asked.principal.owner,
            key_id=asked.principal.key_id,
            by_keeper=asked.principal.is_keeper,
            described=described,
            staged=staged,
            max_unfinished=resources.settings.max_unfinished_jobs,
            remember=remember,
            settings=resources.settings,
        )


def _settle(
    request: Request,
    asked: UploadRequest,
    reservation: Reservation | None,
    accepted: Accepted,
    applied: dict[str, str],
) -> Response:
    """Answer by what has become of the dataset."""
    dataset = _read(asked, accepted.dataset.id)
    if dataset.state is DatasetState.INGESTING:
        return _answer_reading(asked, reservation, dataset, applied)
    if dataset.state is DatasetState.READY:
        delete.remove_leftovers(
            database=asked.resources.database, storage=asked.resources.storage, dataset_id=dataset.id
        )
        return _remembered(asked, reservation, 201, {"Location": _location(dataset)} | applied, dataset)

    def forget(unit: UnitOfWork) -> None:
        if reservation is not None:
            withdraw(unit.connection, reservation)

    delete.withdraw(
        database=asked.resources.database,
        storage=asked.resources.storage,
        owner=asked.principal.owner,
        dataset_id=dataset.id,
        now=asked.resources.clock(),
        forget=forget,
    )
    return _problem(request, dataset.error)


def _answer_reading(
    asked: UploadRequest, reservation: Reservation | None, dataset: Dataset, applied: dict[str, str]
) -> Response:
    headers = {"Location": _location(dataset), "Retry-After": str(RETRY_SECONDS)} | applied
    return _remembered(asked, reservation, 202, headers, dataset)


def _remembered(
    asked: UploadRequest, reservation: Reservation | None, status: int, headers: dict[str, str], dataset: Dataset
) -> Response:
    if reservation is not None:
        with asked.resources.database.unit_of_work() as unit:
            complete(unit.connection, reservation, status=status, resource_id=dataset.id)
    return _response(status, headers, dataset)


def _response(status: int, headers: dict[str, str], dataset: Dataset) -> Response:
    return Response(dataset.model_dump_json(), status_code=status, media_type="application/json", headers=headers)


def _replay(request: Request, asked: UploadRequest, taken: Reservation | Replay | None) -> Response:
    """The dataset as it stands now; where the process that was to answer first has died, what it would answer now."""
    if not isinstance(taken, Replay):
        raise RequestInFlightError("this upload was neither accepted nor answered before")
    try:
        dataset = _read(asked, taken.resource_id)
    except NotFoundError:
        detail = "the dataset that this Idempotency-Key stands for was deleted; use a new key to upload it again"
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
    told = {"instance": request.url.path} | {name: value for name, value in problem.items() if name != "instance"}
    ordered = {name: told[name] for name in _MEMBERS if name in told}
    body = json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))
    return Response(body.encode(), status_code=int(problem.get("status", 500)), media_type=MEDIA_TYPE)


def _read(asked: UploadRequest, dataset_id: str) -> Dataset:
    found = read_dataset(database=asked.resources.database, owner=asked.principal.owner, dataset_id=dataset_id)
    return shown_to(asked.principal, found)


def _location(dataset: Dataset) -> str:
    return f"/v1/datasets/{dataset.id}"
