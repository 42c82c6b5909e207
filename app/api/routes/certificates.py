"""What readers verify releases by. The public keys are open to all who reach the port."""

from fastapi import APIRouter, Response

from app.api.bodies import JsonRoute
from app.api.deps import ResourcesDep
from app.api.http_headers import etag_of, is_fresh
from app.api.problems import responses
from app.api.routes.releases import IfNoneMatch, Reader, ReleaseId
from app.api.schemas.certificates import (
    ENVELOPE,
    TIMESTAMP,
    EnvelopeResponse,
    KeySet,
    SignedEnvelope,
    TimestampResponse,
)
from app.api.schemas.releases import NOT_MODIFIED
from app.certificates import read
from app.certificates.read import Signed
from app.releases.access import viewer_of

router = APIRouter(route_class=JsonRoute, tags=["certificates"])
open_router = APIRouter(route_class=JsonRoute, tags=["certificates"])


@router.get(
    "/releases/{release_id}/certificate",
    operation_id="get_release_certificate",
    summary="Get the certificate of a release",
    response_model=SignedEnvelope,
    response_class=EnvelopeResponse,
    responses={200: ENVELOPE, 304: NOT_MODIFIED, **responses(404, 429)},
)
def get_release_certificate(
    release_id: ReleaseId, resources: ResourcesDep, principal: Reader, if_none_match: IfNoneMatch = None
) -> Response:
    """Get the signed certificate: a DSSE envelope around an in-toto statement."""
    certificate = read.read_certificate(database=resources.database, viewer=viewer_of(principal), release_id=release_id)
    return _signed(certificate, if_none_match)


@router.get(
    "/releases/{release_id}/timestamp",
    operation_id="get_release_timestamp",
    summary="Get the timestamp of a certificate",
    response_class=TimestampResponse,
    responses={200: TIMESTAMP, 304: NOT_MODIFIED, **responses(404, 429)},
)
def get_release_timestamp(
    release_id: ReleaseId, resources: ResourcesDep, principal: Reader, if_none_match: IfNoneMatch = None
) -> Response:
    """Get the authority's RFC 3161 answer, byte for byte; save it as `FILE.tsr`."""
    timestamp = read.read_timestamp(database=resources.database, viewer=viewer_of(principal), release_id=release_id)
    return _signed(timestamp, if_none_match, TimestampResponse)


@router.get(
    "/revocations",
    operation_id="get_revocations",
    summary="Get the list of revocations",
    response_model=SignedEnvelope,
    response_class=EnvelopeResponse,
    responses={200: ENVELOPE, 304: NOT_MODIFIED, **responses(404, 429)},
)
def get_revocations(resources: ResourcesDep, _: Reader, if_none_match: IfNoneMatch = None) -> Response:
    """Get the signed list of revoked certificates, by SHA-256, and of revoked keys."""
    return _signed(read.read_revocations(database=resources.database, settings=resources.settings), if_none_match)


@open_router.get(
    "/.well-known/jwks.json",
    operation_id="get_key_set",
    summary="List signing keys",
    response_model=KeySet,
    response_description="Public keys, those of before among them.",
    response_model_exclude_unset=True,
)
def get_key_set(resources: ResourcesDep) -> dict[str, object]:
    """List the public keys as a JWK set: `iat` signs since, `exp` until, `revoked` whether to distrust it."""
    return read.read_key_set(database=resources.database)


def _signed(signed: Signed, if_none_match: str | None, kind: type[Response] = EnvelopeResponse) -> Response:
    headers = {"ETag": etag_of(signed.sha256), "Cache-Control": "no-cache"}
    if is_fresh(if_none_match, signed.sha256):
        return Response(status_code=304, headers=headers)
    return kind(signed.body, headers=headers)
