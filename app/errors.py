"""The error tree: each error a class with a status and a code; its docstring is the title of the problem.

The message of an error states the fault, its place, and what would work. It never contains a cell of anyone's data.
One handler (`app.api.problems`) renders all of them as RFC 9457 problem+json; a failed job carries the same shape.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Final, Self

from app.sentences import sentence, together

#: Reason phrases of RFC 9110, 6585 and 4918. Those of `http.HTTPStatus` differ from one Python to the next.
PHRASES: Final[Mapping[int, str]] = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    408: "Request Timeout",
    409: "Conflict",
    410: "Gone",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
    507: "Insufficient Storage",
}


_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class FieldError:
    """One invalid field: a JSON pointer into the body (or the name of a query parameter) and the fault there."""

    pointer: str
    detail: str


def meant(name: str, known: Iterable[str]) -> str:
    """What to add to a refusal of a name: the known one that was perhaps meant; nothing where none is close."""
    close = closest(name, known)
    return "" if close is None else f"; did you mean {close!r}?"


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is nearest to one, in whatever case it is written; None where none is near."""
    folded = {one.casefold(): one for one in reversed(list(known))}
    close = get_close_matches(name[:_LONGEST_NAME].casefold(), list(folded), n=1)
    return folded[close[0]] if close else None


def pointer(*parts: str | int) -> str:
    """The JSON pointer (RFC 6901) with these parts."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


class SureboxError(Exception):
    """Something went wrong."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal-error"

    def __init__(
        self,
        detail: str = "",
        *,
        errors: Sequence[FieldError] = (),
        retry_after: float | None = None,
        quota: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)
        self.retry_after = retry_after
        self.quota = quota

    @classmethod
    def at(cls, where: str, detail: str) -> Self:
        """One field is wrong, and that is all there is to state."""
        return cls(detail, errors=[FieldError(where, detail)])

    @classmethod
    def of(cls, errors: Sequence[FieldError]) -> Self:
        """Several fields are wrong: the detail has the first of them, each with its pointer."""
        return cls(together((one.pointer or "body", one.detail) for one in errors), errors=errors)

    @property
    def title(self) -> str:
        """The first line of the class's docstring, without its full stop."""
        return (self.__doc__ or "").strip().splitlines()[0].rstrip(".")

    def problem(self, instance: str | None = None) -> dict[str, Any]:
        """The RFC 9457 members of this error."""
        body: dict[str, Any] = {
            "type": f"/problems/{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": sentence(self.detail or self.title),
            "instance": instance,
        }
        if self.errors:
            body["errors"] = [{"pointer": e.pointer, "detail": sentence(e.detail)} for e in self.errors]
        if self.quota is not None:
            body["quota"] = dict(self.quota)
        return body


class BadRequestError(SureboxError):
    """The request cannot be understood."""

    status, code = 400, "bad-request"


class UnauthorizedError(SureboxError):
    """No valid API key."""

    status, code = 401, "unauthorized"


class ForbiddenError(SureboxError):
    """The key lacks a scope."""

    status, code = 403, "forbidden"


class KeyNotRenewableError(ForbiddenError):
    """The key cannot be renewed."""

    code = "key-not-renewable"


class QuotaExceededError(SureboxError):
    """The owner may not keep more."""

    status, code = 403, "quota-exceeded"


class NotFoundError(SureboxError):
    """There is no such object."""

    status, code = 404, "not-found"


class MethodNotAllowedError(SureboxError):
    """The method is not allowed here."""

    status, code = 405, "method-not-allowed"


class NotAcceptableError(SureboxError):
    """No representation fits the request."""

    status, code = 406, "not-acceptable"


class RequestTimeoutError(SureboxError):
    """The request did not arrive in time."""

    status, code = 408, "request-timeout"


class ConflictError(SureboxError):
    """The object's state does not allow this."""

    status, code = 409, "conflict"


class JobUnfinishedError(ConflictError):
    """The job has no result yet."""

    code = "job-unfinished"


class JobFailedError(ConflictError):
    """The job ended without a result."""

    code = "job-without-result"


class DatasetInUseError(ConflictError):
    """A job uses the dataset."""

    code = "dataset-in-use"


class ReleaseInUseError(ConflictError):
    """A job uses the release."""

    code = "release-in-use"


class JobInUseError(ConflictError):
    """The job cannot be deleted yet."""

    code = "job-in-use"


class UnresolvedFindingsError(ConflictError):
    """The release has unresolved findings."""

    code = "unresolved-findings"


class PublishedMeanwhileError(ConflictError):
    """Releases of the same data were published meanwhile."""

    code = "published-meanwhile"


class LedgerBehindError(PublishedMeanwhileError):
    """The database has forgotten publications."""


class PublishingHeldError(ConflictError):
    """Nothing is published until the operator confirms it."""

    code = "publishing-held"


class RequestInFlightError(ConflictError):
    """A request with this Idempotency-Key is in flight."""

    code = "request-in-flight"


class GoneError(SureboxError):
    """The object that this key created was deleted."""

    status, code = 410, "gone"


class ResultExpiredError(GoneError):
    """The result of the job was erased."""

    code = "result-erased"


class TooLargeError(SureboxError):
    """The body is too large."""

    status, code = 413, "too-large"


class UnsupportedMediaTypeError(SureboxError):
    """The content type is not supported."""

    status, code = 415, "unsupported-media-type"


class RangeNotSatisfiableError(SureboxError):
    """The range is outside the representation."""

    status, code = 416, "range-not-satisfiable"


class InvalidError(SureboxError):
    """The request is not valid."""

    status, code = 422, "invalid"


class UnreadableError(InvalidError):
    """The file cannot be read."""

    code = "unreadable"


class InfeasibleError(InvalidError):
    """The guarantee cannot be met with this data."""

    code = "infeasible"


class JobTooLargeError(InvalidError):
    """The job needs more memory, time or room for files than one may take."""

    code = "job-too-large"


class IdempotencyMismatchError(InvalidError):
    """The Idempotency-Key was used for another request."""

    code = "idempotency-mismatch"


class TooManyRequestsError(SureboxError):
    """Too many requests."""

    status, code = 429, "too-many-requests"


class TooManyJobsError(TooManyRequestsError):
    """Too many unfinished jobs."""

    code = "too-many-jobs"


class TooMuchWorkError(TooManyRequestsError):
    """The owner's jobs of the day take too long."""

    code = "too-much-work"


class HeadTooLargeError(SureboxError):
    """The head of the request is too large."""

    status, code = 431, "head-too-large"


class StorageFullError(SureboxError):
    """The storage is full."""

    status, code = 507, "storage-full"


class UnavailableError(SureboxError):
    """A part of the service cannot be reached."""

    status, code = 503, "unavailable"


class StorageUnavailableError(UnavailableError):
    """The storage cannot be read or written."""

    status, code = 503, "storage-unavailable"


class StorageDamagedError(SureboxError):
    """A stored object is not as written."""

    code = "storage-damaged"


class NotTrustedError(UnavailableError):
    """A part of the service does not show a certificate that is trusted."""

    status, code = 503, "not-trusted"


class AttemptsExhaustedError(SureboxError):
    """The job's worker was lost too often."""

    code = "attempts-exhausted"


class TimeLimitError(SureboxError):
    """The job exceeded its time limit."""

    code = "time-limit"


class MemoryLimitError(SureboxError):
    """The job exceeded its worker's memory."""

    code = "memory-limit"


class FencedError(SureboxError):
    """Another attempt owns the job."""

    status, code = 409, "fenced"


class CannotStartError(SureboxError):
    """The service cannot start here."""

    code = "cannot-start"
