"""Asking a release: an unlisted job, on the interactive queue unless it is long, and the answer that it leaves."""

from datetime import datetime, timedelta
from typing import Final

from app.auth.principal import Principal
from app.contracts.jobs import JobSpec
from app.contracts.releases import PublishRequest
from app.db.job_record import JobRecord
from app.db.repositories import jobs
from app.db.session import Database
from app.errors import ConflictError, InvalidError, NotFoundError
from app.jobs.accept import accept
from app.methods.catalogue import METHODS
from app.methods.publication.spec import PublicationSpec
from app.methods.report.spec import ReleaseReportSpec
from app.queue import JobQueue
from app.releases import publishing
from app.releases.access import viewer_of
from app.settings import Settings

#: How long the job and its result are there.
KEPT: Final = timedelta(hours=1)
_RELEASE: Final = "/release_id"


def ask(
    *, database: Database, broker: JobQueue, principal: Principal, spec: JobSpec, settings: Settings, now: datetime
) -> JobRecord:
    """Accept a question to the release that the specification names, if it is there for whoever asks.

    Raises
    ------
    NotFoundError
        If there is no such release, it was deleted, or it is not for this key: drafts are for keepers.
    InvalidError
        If the question does not fit the release, or takes more than a job may.
    TooManyJobsError
        If the owner has too many unfinished jobs.
    TooMuchWorkError
        If it is a long one, and the owner's jobs of the day take too long.
    """
    if not principal.key_id and isinstance(spec, ReleaseReportSpec):  # whoever has no key waits with others for a page
        with database.read() as connection:
            of = {"owner": principal.owner, "method": spec.method, "release_id": spec.release_id}
            there = jobs.unfinished_page(connection, **of)
        if there is not None:
            return there
    try:
        return accept(
            database=database,
            broker=broker,
            principal=principal,
            method=METHODS[spec.method],
            spec=spec,
            max_unfinished=settings.max_unfinished_jobs,
            forgotten_at=now + KEPT,
            viewer=viewer_of(principal),
            settings=settings,
        )
    except InvalidError as error:
        if any(field.pointer == _RELEASE for field in error.errors):
            raise NotFoundError("there is no release with this id") from None
        raise


def compose_again(
    *, database: Database, broker: JobQueue, principal: Principal, release_id: str, request: PublishRequest,
    max_unfinished: int, now: datetime,
) -> JobRecord:  # fmt: skip
    """Accept the job that composes a draft again and publishes it then.

    Raises
    ------
    ConflictError
        If the data that it was made from are gone.
    """
    draft = publishing.draft_to_compose(database=database, owner=principal.owner, release_id=release_id)
    spec = PublicationSpec(
        dataset_id=draft.dataset_id,
        release_id=release_id,
        accept_findings=request.accept_findings,
        readers=request.readers,
    )
    try:
        return accept(
            database=database, broker=broker, principal=principal, method=METHODS[spec.method], spec=spec,
            max_unfinished=max_unfinished, forgotten_at=now + KEPT,
        )  # fmt: skip
    except InvalidError as error:
        if any(field.pointer == "/dataset_id" for field in error.errors):
            raise ConflictError(
                "the data it was made from were deleted: it cannot be composed; make it again"
            ) from None
        raise
