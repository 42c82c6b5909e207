"""A release as one download, with all that it takes to verify it offline."""

import json
from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from app.api.bodies import JsonRoute
from app.api.http_headers import etag_of, is_fresh
from app.api.problems import responses
from app.api.questions import PAST_THE_WAIT, Questioner
from app.api.routes.releases import IfNoneMatch, ReleaseId
from app.api.routes.reports import Reader, release_report_answer
from app.api.schemas.releases import NOT_MODIFIED
from app.api.sending import Download, record_download
from app.contracts.releases import MEDIA_TYPES
from app.db.repositories.job_results import StoredResult
from app.releases.access import viewer_of
from app.releases.bundle import read_bundle
from app.storage.protocol import Storage

router = APIRouter(route_class=JsonRoute, tags=["certificates"])

_ETAG: Final = {"schema": {"type": "string"}, "description": "Digest of the names and digests of all entries."}
_BUNDLE: Final[dict[str, Any]] = {
    "description": "The archive; the same bytes for the same content.",
    "headers": {"ETag": _ETAG},
    "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
}


@router.get(
    "/releases/{release_id}/bundle.zip",
    operation_id="get_release_bundle",
    summary="Download a release as a bundle",
    response_class=Response,
    responses={200: _BUNDLE, 304: NOT_MODIFIED, **PAST_THE_WAIT, **responses(404, 409, 422, 429)},
)
async def get_release_bundle(release_id: ReleaseId, questioner: Reader, if_none_match: IfNoneMatch = None) -> Response:
    """An RO-Crate: every file, statistics, certificate, provenance, report, public keys, the revocations.

    It waits for the report to be written; past the wait it answers with the job that writes it: ask again then.
    """
    return await release_report_answer(questioner, release_id, sent=_Bundling(questioner, release_id, if_none_match))


class _Bundling:
    """Sends the bundle once the report is there."""

    def __init__(self, questioner: Questioner, release_id: str, known: str | None) -> None:
        self._questioner, self._release_id, self._known = questioner, release_id, known

    def __call__(self, storage: Storage, result: StoredResult, headers: Mapping[str, str]) -> Response:
        resources, principal = self._questioner.resources, self._questioner.principal
        body = result.body if result.body is not None else b"".join(storage.chunks(str(result.key)))
        bundle = read_bundle(
            database=resources.database,
            settings=resources.settings,
            viewer=viewer_of(principal),
            release_id=self._release_id,
            report=json.loads(body)["html"].encode(),
            media_types=MEDIA_TYPES.__getitem__,
        )
        response_headers = {**headers, "ETag": etag_of(bundle.sha256), "Cache-Control": "private, no-cache"}
        if is_fresh(self._known, bundle.sha256):
            return Response(status_code=304, headers=response_headers)
        downloaded = Download(
            release_id=self._release_id, of_owner=bundle.owner, what="bundle", restricted=bundle.restricted
        )
        record_download(resources, principal, downloaded)
        response_headers["Content-Disposition"] = f'attachment; filename="{self._release_id}.zip"'
        return StreamingResponse(bundle.chunks(storage), media_type="application/zip", headers=response_headers)
