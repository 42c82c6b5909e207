"""Publishing and withdrawing releases."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Response

from app.api.deps import ResourcesDep, require
from app.api.problems import responses
from app.api.routes.releases import ReleaseId
from app.api.schemas.examples import PUBLISHING, WITHDRAWING
from app.auth.principal import Principal
from app.certificates.issue import certifier
from app.contracts.releases import PublishRequest, Release, WithdrawRequest
from app.releases import publishing, read
from app.releases.access import viewer_of

router = APIRouter(tags=["releases"])

Publisher = Annotated[Principal, Depends(require("releases:publish"))]
PublishBody = Annotated[PublishRequest, Body(openapi_examples=PUBLISHING)]
WithdrawBody = Annotated[WithdrawRequest, Body(openapi_examples=WITHDRAWING)]
_ANSWERS = responses(400, 404, 409, 413, 415, 422, 429)


@router.post(
    "/releases/{release_id}/publish",
    operation_id="publish_release",
    summary="Publish a release",
    response_model=Release,
    responses=_ANSWERS,
)
def publish_release(
    release_id: ReleaseId, resources: ResourcesDep, principal: Publisher, asked: PublishBody | None = None
) -> Any:
    """Publish a draft; findings that stand are named in `accept`."""
    publishing.publish(
        database=resources.database,
        owner=principal.owner,
        key_id=principal.key_id,
        release_id=release_id,
        asked=asked or PublishRequest(),
        four_eyes=resources.settings.four_eyes,
        certify=certifier(resources.settings),
    )
    return read.read_release(database=resources.database, viewer=viewer_of(principal), release_id=release_id)


@router.post(
    "/releases/{release_id}/withdraw",
    operation_id="withdraw_release",
    summary="Withdraw a release",
    response_model=Release,
    response_description="The release, for a key that reads what is not published.",
    responses={204: {"description": "Withdrawn; the key may not read it any more."}, **_ANSWERS},
)
def withdraw_release(release_id: ReleaseId, resources: ResourcesDep, principal: Publisher, asked: WithdrawBody) -> Any:
    """Take a published release back: readers find it no more, its family counts it for ever."""
    publishing.withdraw(
        database=resources.database,
        owner=principal.owner,
        key_id=principal.key_id,
        release_id=release_id,
        reason=asked.reason,
    )
    viewer = viewer_of(principal)
    if not viewer.keeper:
        return Response(status_code=204)
    return read.read_release(database=resources.database, viewer=viewer, release_id=release_id)
