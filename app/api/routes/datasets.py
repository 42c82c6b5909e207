"""Uploading, reading and deleting datasets."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Path, Query, Request, Response

from app.api import uploads
from app.api.bodies import JsonRoute
from app.api.deps import ResourcesDep, require
from app.api.filters import CreatedAfter, TagPairs, tags_of
from app.api.idempotency import IdempotencyKey
from app.api.pagination import After, PageDep, page
from app.api.problems import responses
from app.api.schemas.datasets import CREATED_HEADERS, READING_HEADERS, UPLOAD_BODY, DatasetList
from app.api.schemas.examples import NAMES
from app.auth.principal import Principal, Scope
from app.contracts.datasets import Dataset, DatasetChanges, DatasetState
from app.datasets import delete, read
from app.datasets.parameters import UploadParameters

router = APIRouter(route_class=JsonRoute, tags=["datasets"])

DatasetId = Annotated[str, Path(description="Id of a dataset.")]
Reader = Annotated[Principal, Depends(require("datasets:read"))]
StateReader = Annotated[Principal, Depends(require("datasets:read", limited=False))]
NamingBody = Annotated[DatasetChanges, Body(openapi_examples=NAMES)]
Writer = Annotated[Principal, Depends(require("datasets:write"))]
Prefer = Annotated[
    str | None,
    Header(
        alias="Prefer",
        description="`respond-async`: answer at once; `wait=N`: answer 202 after N seconds (at most 30).",
        examples=["respond-async"],
    ),
]
ContentEncoding = Annotated[str | None, Header(alias="Content-Encoding", description="`gzip` for a compressed body.")]


async def get_dataset_filter(
    state: Annotated[list[DatasetState] | None, Query(description="Only objects in one of these states.")] = None,
    created_after: CreatedAfter = None,
    tag: TagPairs = None,
) -> read.DatasetFilter:
    """Which datasets the list contains."""
    return read.DatasetFilter(states=tuple(state or ()), created_after=created_after, tags=tags_of(tag))


@router.post(
    "/datasets",
    operation_id="create_dataset",
    summary="Upload a file",
    status_code=201,
    response_model=Dataset,
    response_description="The dataset, completely read.",
    responses={
        201: {"headers": CREATED_HEADERS},
        202: {"model": Dataset, "description": "The dataset, still being read.", "headers": READING_HEADERS},
        **responses(400, 409, 410, 413, 415, 422, 429, 507),
    },
    openapi_extra=UPLOAD_BODY,
)
async def create_dataset(
    request: Request,
    resources: ResourcesDep,
    principal: Writer,
    parameters: Annotated[UploadParameters, Query()],
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,  # noqa: ARG001 - declared here, read whole from the request: it may come in several lines
    content_encoding: ContentEncoding = None,  # noqa: ARG001 - as above
) -> Response:
    """Upload a file as the body. Its columns are typed as it is read; an unreadable file leaves no dataset."""
    upload = uploads.UploadRequest(resources=resources, principal=principal, parameters=parameters, key=idempotency_key)
    return await uploads.answer(request, upload)


@router.get(
    "/datasets",
    operation_id="list_datasets",
    summary="List datasets",
    response_model=DatasetList,
    responses=responses(422, 429),
)
def list_datasets(
    resources: ResourcesDep,
    principal: Reader,
    paging: PageDep,
    only: Annotated[read.DatasetFilter, Depends(get_dataset_filter)],
) -> Any:
    """List your datasets, newest first."""
    before = None if paging.after is None else (paging.after.created_at, paging.after.id)
    rows = read.list_datasets(
        database=resources.database, owner=principal.owner, only=only, before=before, limit=paging.fetch
    )
    return page(
        rows,
        paging=paging,
        item=lambda row: read.shown_to(principal, row),
        place=lambda row: After(row.created_at, row.id),
    )


@router.get(
    "/datasets/{dataset_id}",
    operation_id="get_dataset",
    summary="Get a dataset",
    response_model=Dataset,
    responses=responses(404),
)
def get_dataset(dataset_id: DatasetId, resources: ResourcesDep, principal: StateReader) -> Dataset:
    """Get the state of your dataset and, once it is read, its columns."""
    dataset = read.read_dataset(database=resources.database, owner=principal.owner, dataset_id=dataset_id)
    return read.shown_to(principal, dataset)


@router.patch(
    "/datasets/{dataset_id}",
    operation_id="update_dataset",
    summary="Update a dataset",
    response_model=Dataset,
    response_description="The dataset, for a key that may read it.",
    responses={
        204: {"description": "Changed; the key may not read it."},
        **responses(400, 404, 413, 415, 422, 429),
    },
)
def update_dataset(dataset_id: DatasetId, patch: NamingBody, resources: ResourcesDep, principal: Writer) -> Any:
    """Change the name of a dataset, or replace all of its tags."""
    mine: dict[str, Any] = {"database": resources.database, "owner": principal.owner, "dataset_id": dataset_id}
    read.describe_dataset(**mine, patch=patch)
    if principal.missing(frozenset({Scope.DATASETS_READ})):
        return Response(status_code=204)
    return read.shown_to(principal, read.read_dataset(**mine))


@router.delete(
    "/datasets/{dataset_id}",
    operation_id="delete_dataset",
    summary="Delete a dataset",
    status_code=204,
    response_class=Response,
    responses={204: {"description": "The bytes are gone; releases remain."}, **responses(404, 409, 429)},
)
def delete_dataset(dataset_id: DatasetId, resources: ResourcesDep, principal: Writer) -> Response:
    """Delete a dataset's file for good. Its releases remain; while an unfinished job uses it the answer is 409."""
    delete.delete_dataset(
        database=resources.database,
        storage=resources.storage,
        owner=principal.owner,
        dataset_id=dataset_id,
        now=resources.clock(),
        key_id=principal.key_id,
    )
    return Response(status_code=204)
