"""Reports: one page for people, of a release for its readers, of a job for its owner."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Response
from fastapi.concurrency import run_in_threadpool

from app.api.bodies import JsonRoute
from app.api.deps import require
from app.api.http_headers import etag_of, is_fresh
from app.api.problems import responses
from app.api.questions import PAST_THE_WAIT, Questioner, Sent, answer_question, questioner_with
from app.api.routes.jobs import JobId
from app.api.routes.releases import IfNoneMatch, ReleaseId
from app.auth.principal import Principal, Scope
from app.db.repositories.job_results import StoredResult
from app.errors import UnavailableError
from app.methods.report.spec import ReleaseReportSpec
from app.releases import log
from app.releases.access import viewer_of
from app.releases.job_report import job_report
from app.releases.report import release_report
from app.storage.protocol import Storage

router = APIRouter(route_class=JsonRoute)

Reader = Annotated[Questioner, Depends(questioner_with(require("releases:read", instead=("jobs:read",), public=True)))]
JobReader = Annotated[Questioner, Depends(questioner_with(require("jobs:read")))]

_PAGE: Final = {
    200: {"content": {"text/html": {"schema": {"type": "string"}}}, "description": "The page, as one HTML document."}
}
_NOT_MODIFIED: Final = {304: {"description": "It is the page that is known already."}}
_ANSWERS: Final = _PAGE | _NOT_MODIFIED | PAST_THE_WAIT | responses(404, 409, 422, 429)


@router.get(
    "/releases/{release_id}/report",
    tags=["releases"],
    operation_id="get_release_report",
    summary="Get the report of a release",
    response_class=Response,
    responses=_ANSWERS,
)
async def get_release_report(release_id: ReleaseId, questioner: Reader, if_none_match: IfNoneMatch = None) -> Response:
    """Get a page on the protection, cost and limits of the release, written from the release alone."""
    return await release_report_answer(questioner, release_id, sent=_page(if_none_match))


async def release_report_answer(questioner: Questioner, release_id: str, *, sent: Sent) -> Response:
    """Have the report of a release written, and answer with it.

    Parameters
    ----------
    questioner
        Who asks; without a key there is no waiting for a job by its id.
    release_id
        The release.
    sent
        Makes the answer from the report.
    """
    spec = await run_in_threadpool(
        release_report,
        database=questioner.resources.database,
        viewer=viewer_of(questioner.principal),
        release_id=release_id,
    )
    has_key = bool(questioner.principal.owner)
    answer = await answer_question(questioner if has_key else _for(questioner, spec), spec, sent=sent)
    if answer.status_code == HTTPStatus.ACCEPTED and not has_key:
        raise UnavailableError("the report is being written; ask again in a moment", retry_after=5)
    return answer


@router.get(
    "/jobs/{job_id}/report",
    tags=["jobs"],
    operation_id="get_job_report",
    summary="Get the report of a job",
    response_class=Response,
    responses=_ANSWERS,
)
async def get_job_report(job_id: JobId, questioner: JobReader, if_none_match: IfNoneMatch = None) -> Response:
    """Get the restricted report of a job that has succeeded: true values, findings, signals and ranks."""
    spec = await run_in_threadpool(
        job_report, database=questioner.resources.database, owner=questioner.principal.owner, job_id=job_id
    )
    await run_in_threadpool(
        log.record_read,
        database=questioner.resources.database,
        owner=questioner.principal.owner,
        key_id=questioner.principal.key_id,
        subject=job_id,
        what="report",
    )
    return await answer_question(questioner, spec, sent=_page(if_none_match))


def _for(questioner: Questioner, spec: ReleaseReportSpec) -> Questioner:
    """Readers without a key are answered from a job of the owner's, of which they see the page alone."""
    owner = str(spec.release["owner"])
    return replace(
        questioner, principal=Principal(owner, questioner.principal.key_id, frozenset({Scope.RELEASES_READ}))
    )


class _page:  # noqa: N801 - a function with a setting
    """Sends the page of a report under the policy that it is made for."""

    def __init__(self, known: str | None) -> None:
        self._known = known

    def __call__(self, storage: Storage, result: StoredResult, headers: Mapping[str, str]) -> Response:
        body = result.body if result.body is not None else b"".join(storage.chunks(str(result.key)))
        report = json.loads(body)
        page = report["html"].encode()
        sha256 = hashlib.sha256(page).hexdigest()
        shown = {**headers, "ETag": etag_of(sha256), "Cache-Control": "private, no-cache"}
        if is_fresh(self._known, sha256):
            return Response(status_code=304, headers=shown)
        policy = f"{report['policy']}; frame-ancestors 'none'"
        return Response(page, media_type="text/html", headers=shown | {"Content-Security-Policy": policy})
