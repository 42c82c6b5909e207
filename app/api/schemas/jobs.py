"""What jobs look like on the wire: bodies that ask for them, lists, and the headers of answers."""

from typing import Annotated, Any, Final

from pydantic import BeforeValidator

from app.contracts.base import Contract
from app.contracts.boxes import BoxesSpec
from app.contracts.jobs import Job, JobKind
from app.jobs.lookup import find_method


def _built(body: Any) -> Any:
    if isinstance(body, dict):
        find_method(body.get("method"), kind=JobKind.ANONYMIZATION)
    return body


#: One specification a method, told apart by `method`; with the second one it becomes a union with a discriminator.
AnonymizationBody = Annotated[BoxesSpec, BeforeValidator(_built)]


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
