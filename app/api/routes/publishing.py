"""Publishing and withdrawing releases."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request, Response

from app.api.bodies import JsonRoute
from app.api.deps import Resources, ResourcesDep, require
from app.api.job_requests import RETRY_SECONDS
from app.api.problems import responses
from app.api.routes.releases import ReleaseId
from app.api.schemas.examples import PUBLISHING, WITHDRAWING
from app.api.schemas.jobs import ACCEPTED_HEADERS, Job
from app.api.sending import shown_job
from app.auth.principal import Principal
from app.contracts.releases import PublishRequest, Release, WithdrawRequest
from app.errors import InvalidError, LedgerBehindError, PublishedMeanwhileError
from app.releases import publishing, query, read
from app.releases.access import check_readers, viewer_of
from app.releases.entries import Publication, catch_up

router = APIRouter(route_class=JsonRoute, tags=["releases"])

Publisher = Annotated[Principal, Depends(require("releases:publish"))]
PublishBody = Annotated[PublishRequest | None, Body(openapi_examples=PUBLISHING)]
WithdrawBody = Annotated[WithdrawRequest | None, Body(openapi_examples=WITHDRAWING)]
_ANSWERS = responses(400, 404, 409, 413, 415, 422, 429)


async def _object_or_nothing(request: Request) -> None:
    """Refuse `null`, which FastAPI reads as no body: the document has an object or none."""
    if (await request.body()).strip() == b"null":
        raise InvalidError("send an object, or no body at all")


@router.post(
    "/releases/{release_id}/publish",
    operation_id="publish_release",
    dependencies=[Depends(_object_or_nothing)],
    summary="Publish a release",
    response_model=Release,
    responses={
        202: {"model": Job, "description": "The job that composes it again.", "headers": ACCEPTED_HEADERS},
        **_ANSWERS,
    },
)
def publish_release(
    release_id: ReleaseId, resources: ResourcesDep, principal: Publisher, request: PublishBody = None
) -> Any:
    """Publish a draft; `accept_findings` names the audits whose findings you accept.

    If something of the same data was published since it was composed, a job composes it again, and publishes it then.
    """
    request = request or PublishRequest()
    check_readers(request.readers, settings=resources.settings)
    publication = Publication(resources.settings, database=resources.database, storage=resources.storage)
    publish = partial(
        publishing.publish,
        database=resources.database,
        owner=principal.owner,
        key_id=principal.key_id,
        release_id=release_id,
        request=request,
        four_eyes=resources.settings.four_eyes,
        certify=publication.end,
        keeper=principal.is_keeper,
    )
    try:
        publication.run(publish)
    except LedgerBehindError:
        catch_up(database=resources.database, storage=resources.storage, owner=principal.owner)
        return publish_release(release_id, resources, principal, request)
    except PublishedMeanwhileError:
        return _composed_again(resources, principal, release_id, request)
    return read.read_release(database=resources.database, viewer=viewer_of(principal), release_id=release_id)


@router.post(
    "/releases/{release_id}/withdraw",
    operation_id="withdraw_release",
    dependencies=[Depends(_object_or_nothing)],
    summary="Withdraw a release",
    response_model=Release,
    response_description="The release, for a key that reads unpublished releases.",
    responses={204: {"description": "Withdrawn; the key may not read it any more."}, **_ANSWERS},
)
def withdraw_release(
    release_id: ReleaseId, resources: ResourcesDep, principal: Publisher, request: WithdrawBody = None
) -> Any:
    """Withdraw a published release for good. Readers get 404; composition checks keep counting it."""
    publishing.withdraw(
        database=resources.database,
        owner=principal.owner,
        key_id=principal.key_id,
        release_id=release_id,
        reason=(request or WithdrawRequest()).reason,
    )
    viewer = viewer_of(principal)
    if not viewer.keeper:
        return Response(status_code=204)
    return read.read_release(database=resources.database, viewer=viewer, release_id=release_id)


def _composed_again(resources: Resources, principal: Principal, release_id: str, request: PublishRequest) -> Response:
    record = query.compose_again(
        database=resources.database,
        broker=resources.queue,
        principal=principal,
        release_id=release_id,
        request=request,
        max_unfinished=resources.settings.max_unfinished_jobs,
        now=resources.clock(),
    )
    headers = {"Location": f"/v1/jobs/{record.id}", "Retry-After": str(RETRY_SECONDS)}
    return Response(shown_job(record, principal), status_code=202, media_type="application/json", headers=headers)
