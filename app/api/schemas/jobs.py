"""What jobs look like on the wire: bodies that ask for them, lists, and the headers of answers."""

from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BeforeValidator, Discriminator

from app.contracts.base import Contract
from app.contracts.jobs import Job, JobKind, JobSpec
from app.jobs.lookup import find_method
from app.jobs.methods import methods_of


def _built(body: Any, *, kind: JobKind) -> Any:
    """Refuse a method that is not there by name, before anything of the body is looked at."""
    if isinstance(body, dict):
        find_method(body.get("method"), kind=kind)
    return body


def body_of(kind: JobKind) -> Any:
    """The type of a body that asks for a job of this kind: one specification a method, told apart by `method`."""
    specs = [method.spec_type for method in methods_of(kind)] or [JobSpec]
    told_apart: Any = Annotated[reduce(or_, specs), Discriminator("method")] if len(specs) > 1 else specs[0]
    return Annotated[told_apart, BeforeValidator(partial(_built, kind=kind))]


if TYPE_CHECKING:
    AnonymizationBody = JobSpec
    AuditBody = JobSpec
else:
    AnonymizationBody = body_of(JobKind.ANONYMIZATION)
    AuditBody = body_of(JobKind.AUDIT)


class JobList(Contract):
    """One page of jobs, newest first."""

    items: tuple[Job, ...]
    next_cursor: str | None


_SECONDS: Final = {"schema": {"type": "integer"}, "description": "Seconds after which to ask again."}
_LOCATION: Final = {"schema": {"type": "string"}, "description": "Where the job is read."}
_APPLIED: Final = {"schema": {"type": "string"}, "description": "The preference that was honoured."}

#: Headers of an answer to a request for a job.
ACCEPTED_HEADERS: Final = {"Location": _LOCATION, "Retry-After": _SECONDS, "Preference-Applied": _APPLIED}
FINISHED_HEADERS: Final = {"Location": _LOCATION, "Preference-Applied": _APPLIED}
READ_HEADERS: Final = {"Preference-Applied": _APPLIED}
ETAG_HEADERS: Final = {
    "ETag": {"schema": {"type": "string"}, "description": "SHA-256 of the bytes; they never change."}
}

#: Answers to a request for a job, beside problems.
ASKED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": Job, "description": "The job, finished within the wait.", "headers": FINISHED_HEADERS},
    202: {"headers": ACCEPTED_HEADERS},
}
