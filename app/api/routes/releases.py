"""Reading, downloading and deleting releases."""

import hashlib
import json
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from app.api.bodies import JsonRoute
from app.api.deps import Resources, ResourcesDep, require
from app.api.filters import TEXT, CreatedAfter, TagPairs, tags_of
from app.api.http_headers import accepted_format, asked_range, etag_of, is_fresh
from app.api.pagination import After, PageDep, page
from app.api.problems import problem_response, responses
from app.api.schemas.examples import RELEASE_CHANGES
from app.api.schemas.releases import (
    ARTIFACT,
    HEADERS_ONLY,
    NOT_MODIFIED,
    PART,
    WHOLE,
    ReleaseList,
    ReleaseStatistics,
)
from app.api.sending import Download, record_download
from app.auth.principal import Principal, Scope
from app.contracts.releases import MEDIA_TYPES, Release, ReleaseChanges, ReleaseFormat, ReleaseState, ending_of
from app.errors import ForbiddenError, NotFoundError, RangeNotSatisfiableError
from app.releases import delete, publishing, read
from app.releases.access import check_readers, viewer_of

router = APIRouter(route_class=JsonRoute, tags=["releases"])

ReleaseId = Annotated[str, Path(description="Id of a release.")]
#: Keepers read drafts too, and need no other scope for that; public data needs no key where that is allowed.
Reader = Annotated[Principal, Depends(require("releases:read", instead=("jobs:read",), public=True))]
NamingBody = Annotated[ReleaseChanges, Body(openapi_examples=RELEASE_CHANGES)]
Writer = Annotated[Principal, Depends(require("releases:write"))]
Format = Annotated[
    ReleaseFormat | None, Query(alias="format", description="Format of the file; without it `Accept` decides.")
]
Accept = Annotated[
    str | None, Header(alias="Accept", description="Media types of the formats that suit, where `format` is absent.")
]
IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", description="ETags that are known already: 304 if it is one of them.")
]
Range = Annotated[str | None, Header(alias="Range", description="One range of bytes, to go on with a download.")]
IfRange = Annotated[str | None, Header(alias="If-Range", description="Send the range only if this is still the ETag.")]
_SHARING = frozenset({Scope.RELEASES_PUBLISH})
_READING = frozenset({Scope.RELEASES_READ})
_LOCATION = {"Location": {"schema": {"type": "string"}, "description": "Address of the latest release."}}


Series = Annotated[
    str | None,
    Query(pattern=TEXT, description="Only releases of this series: the `series_id` of any of its releases."),
]


async def get_release_filter(
    method: Annotated[str | None, Query(pattern=TEXT, description="Only releases made by this method.")] = None,
    dataset_id: Annotated[str | None, Query(pattern=TEXT, description="Only releases made from this dataset.")] = None,
    created_after: CreatedAfter = None,
    tag: TagPairs = None,
    state: Annotated[ReleaseState | None, Query(description="Only releases in this state.")] = None,
    series_id: Series = None,
) -> read.ReleaseFilter:
    """Which releases the list contains."""
    return read.ReleaseFilter(
        method=method,
        dataset_id=dataset_id,
        created_after=created_after,
        tags=tags_of(tag),
        state=state,
        series_id=series_id,
    )


@router.get(
    "/releases",
    operation_id="list_releases",
    summary="List releases",
    response_model=ReleaseList,
    responses=responses(422, 429),
)
def list_releases(
    resources: ResourcesDep,
    principal: Reader,
    paging: PageDep,
    only: Annotated[read.ReleaseFilter, Depends(get_release_filter)],
) -> Any:
    """List your releases and those shared with you, newest first."""
    before = None if paging.after is None else (paging.after.created_at, paging.after.id)
    rows = read.list_releases(
        database=resources.database, viewer=viewer_of(principal), only=only, before=before, limit=paging.fetch
    )
    return page(rows, paging=paging, item=lambda row: row, place=lambda row: After(row.created_at, row.id))


@router.get(
    "/releases/latest",
    operation_id="get_latest_release",
    summary="Get the latest release of a series",
    status_code=303,
    response_class=Response,
    responses={303: {"description": "The release is at `Location`.", "headers": _LOCATION}, **responses(404, 422, 429)},
)
def get_latest_release(
    resources: ResourcesDep, principal: Reader, series_id: Series = None, tag: TagPairs = None
) -> Response:
    """Redirect (303) to the release of a series, or with a tag, that was published last."""
    release_id = read.latest_release(
        database=resources.database, viewer=viewer_of(principal), series_id=series_id, tags=tags_of(tag)
    )
    return Response(status_code=303, headers={"Location": f"/v1/releases/{release_id}"})


@router.get(
    "/releases/{release_id}", operation_id="get_release", summary="Get a release", responses=responses(404, 429)
)
def get_release(release_id: ReleaseId, resources: ResourcesDep, principal: Reader) -> Release:
    """Get the columns of a release, and the checksums of its files."""
    return read.read_release(database=resources.database, viewer=viewer_of(principal), release_id=release_id)


@router.get(
    "/releases/{release_id}/data",
    operation_id="get_release_data",
    summary="Download a release",
    response_class=Response,
    responses={200: WHOLE, 206: PART, 304: NOT_MODIFIED, **responses(404, 406, 416, 422, 429)},
)
def get_release_data(
    request: Request,
    release_id: ReleaseId,
    resources: ResourcesDep,
    principal: Reader,
    release_format: Format = None,
    accept: Accept = None,  # noqa: ARG001 - declared here, read whole from the request: it may come in several lines
    if_none_match: IfNoneMatch = None,
    range_header: Range = None,
    if_range: IfRange = None,
) -> Response:
    """Download the file of one format, or one range of its bytes. The bytes never change."""
    file = _file(request, resources, principal, release_id, release_format)
    headers = _data_headers(release_id, file)
    if is_fresh(if_none_match, file.sha256):
        return Response(status_code=304, headers={"ETag": headers["ETag"], "Vary": "Accept"})
    downloaded = Download(release_id=release_id, of_owner=file.owner, what=file.format, restricted=file.restricted)
    record_download(resources, principal, downloaded)
    try:
        part = asked_range(range_header, if_range, size=file.bytes, sha256=file.sha256)
    except RangeNotSatisfiableError as error:
        return problem_response(error, instance=request.url.path, headers={"Content-Range": f"bytes */{file.bytes}"})
    start, end = (0, file.bytes) if part is None else (part.start, part.end)
    try:
        chunks = resources.storage.chunks(file.key, start=start, end=end)
    except FileNotFoundError:  # deleted since its row was read
        raise NotFoundError("there is no release with this id") from None
    headers["Content-Length"] = str(end - start)
    if part is not None:
        headers["Content-Range"] = part.content_range
    return StreamingResponse(
        chunks,
        status_code=200 if part is None else 206,
        media_type=_media_type(file),
        headers=headers,
    )


@router.head(
    "/releases/{release_id}/data",
    operation_id="head_release_data",
    summary="Get the size and checksum of a release's file",
    response_class=Response,
    responses={200: HEADERS_ONLY, 304: NOT_MODIFIED, **responses(404, 406, 422, 429)},
)
def head_release_data(
    request: Request,
    release_id: ReleaseId,
    resources: ResourcesDep,
    principal: Reader,
    release_format: Format = None,
    accept: Accept = None,  # noqa: ARG001 - declared here, read whole from the request: it may come in several lines
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Get the headers of a download, without its bytes."""
    file = _file(request, resources, principal, release_id, release_format)
    headers = _data_headers(release_id, file)
    if is_fresh(if_none_match, file.sha256):
        return Response(status_code=304, headers={"ETag": headers["ETag"], "Vary": "Accept"})
    return Response(media_type=_media_type(file), headers=headers | {"Content-Length": str(file.bytes)})


@router.get(
    "/releases/{release_id}/statistics",
    operation_id="get_release_statistics",
    summary="Get the statistics of a release",
    response_model=ReleaseStatistics,
    responses={200: ARTIFACT, 304: NOT_MODIFIED, **responses(404, 429)},
)
def get_release_statistics(
    release_id: ReleaseId, resources: ResourcesDep, principal: Reader, if_none_match: IfNoneMatch = None
) -> Response:
    """Get the statistics that the release publishes, with their guaranteed ranges."""
    mine: dict[str, Any] = {"database": resources.database, "viewer": viewer_of(principal), "release_id": release_id}
    method, statistics = read.read_statistics_of(**mine)
    return _artifact({"method": method, "statistics": statistics}, if_none_match)


@router.get(
    "/releases/{release_id}/provenance",
    operation_id="get_release_provenance",
    summary="Get the provenance of a release",
    response_model=dict[str, Any],
    responses={200: ARTIFACT, 304: NOT_MODIFIED, **responses(404, 429)},
)
def get_release_provenance(
    release_id: ReleaseId, resources: ResourcesDep, principal: Reader, if_none_match: IfNoneMatch = None
) -> Response:
    """Get how the release was made, as W3C PROV-JSON without restricted facts."""
    provenance = read.read_provenance(database=resources.database, viewer=viewer_of(principal), release_id=release_id)
    return _artifact(provenance, if_none_match)


@router.patch(
    "/releases/{release_id}",
    operation_id="update_release",
    summary="Update a release",
    response_model=Release,
    response_description="The release, for a key that may read it.",
    responses={
        204: {"description": "Changed; the key may not read it."},
        **responses(400, 404, 413, 415, 422, 429),
    },
)
def update_release(release_id: ReleaseId, patch: NamingBody, resources: ResourcesDep, principal: Writer) -> Any:
    """Change the name of a release, or replace all of its tags."""
    if "readers" in patch.model_fields_set and principal.missing(_SHARING):
        raise ForbiddenError(
            "this key lacks the scope releases:publish: who reads a release is said by one that has it"
        )
    check_readers(patch.readers, settings=resources.settings)
    mine: dict[str, Any] = {"database": resources.database, "release_id": release_id}
    publishing.describe(**mine, owner=principal.owner, key_id=principal.key_id, patch=patch)
    viewer = viewer_of(principal)
    if principal.missing(_READING) and not viewer.keeper:
        return Response(status_code=204)
    try:
        return read.read_release(**mine, viewer=viewer)
    except NotFoundError:  # a draft, or withdrawn: for keepers only
        return Response(status_code=204)


@router.delete(
    "/releases/{release_id}",
    operation_id="delete_release",
    summary="Delete a release",
    status_code=204,
    response_class=Response,
    responses={204: {"description": "The files were deleted for good."}, **responses(404, 409, 429)},
)
def delete_release(release_id: ReleaseId, resources: ResourcesDep, principal: Writer) -> Response:
    """Delete a release's files for good. Its job and the job's provenance remain.

    Deleting a published release withdraws it, which takes the scope `releases:publish` too.
    """
    delete.delete_release(
        database=resources.database,
        storage=resources.storage,
        owner=principal.owner,
        key_id=principal.key_id,
        release_id=release_id,
        now=resources.clock(),
        may_withdraw=not principal.missing(_SHARING),
    )
    return Response(status_code=204)


def _file(
    request: Request, resources: Resources, principal: Principal, release_id: str, named: ReleaseFormat | None
) -> read.ReleaseFile:
    """The file of the format that was named, or of the one that suits best."""
    if named is None:
        release = read.read_release(database=resources.database, viewer=viewer_of(principal), release_id=release_id)
        named = accepted_format(request.headers.getlist("accept"), list(release.files))
    return read.read_file(
        database=resources.database, viewer=viewer_of(principal), release_id=release_id, release_format=named
    )


def _media_type(file: read.ReleaseFile) -> str:
    return MEDIA_TYPES[ReleaseFormat(file.format)]


def _data_headers(release_id: str, file: read.ReleaseFile) -> dict[str, str]:
    suffix = ending_of(file.format)
    return {
        "ETag": etag_of(file.sha256),
        "Accept-Ranges": "bytes",
        "Vary": "Accept",
        "Content-Disposition": f'attachment; filename="{release_id}.{suffix}"',
    }


def _artifact(content: Any, if_none_match: str | None) -> Response:
    body = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
    sha256 = hashlib.sha256(body).hexdigest()
    headers = {"ETag": etag_of(sha256)}
    if is_fresh(if_none_match, sha256):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)
