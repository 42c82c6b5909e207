"""What can go wrong: a class for each type of problem that the service reports, and for what happens on the way."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from surebox_client._generated import types


class SureboxError(Exception):
    """Anything that this package raises."""


class ConnectionFailedError(SureboxError):
    """The service was not reached, or the connection broke."""


class SilentError(ConnectionFailedError):
    """The connection is there, but nothing arrives."""


class DamagedDownloadError(SureboxError):
    """What was downloaded is not the file that the service has (SHA-256)."""


class UploadError(SureboxError):
    """What is to be uploaded is no file or frame that can be sent as it is."""


class JobError(SureboxError):
    """A job did not come to its result; `job` is what the service last said of it."""

    def __init__(self, message: str, job: "types.Job") -> None:
        super().__init__(message)
        self.job = job


class JobCancelled(JobError):  # noqa: N818 - it is what happened to the job
    """The job was cancelled."""


class WaitTimedOut(JobError):  # noqa: N818
    """The job had not ended in time; it goes on."""


class JobFailed(JobError):  # noqa: N818
    """The job failed; `problem` says why, as the service would have answered."""

    def __init__(self, problem: "ProblemError", job: "types.Job") -> None:
        super().__init__(str(problem), job)
        self.problem = problem


class ProblemError(SureboxError):
    """The service refuses or fails, and says why (RFC 9457).

    Attributes
    ----------
    code : the type of problem, such as ``not-found``; more may come.
    status, title, detail : of the answer; `detail` says what was wrong, where, and what would work.
    errors : fields that are not valid, as `pointer` (a JSON pointer) and `detail`.
    remedy : what to do about problems of this type, where the service says it.
    retry_after : seconds after which to try again; None where there is nothing to wait for.
    problem : all that the service said.
    """

    codes: ClassVar[tuple[str, ...]] = ()
    classes: ClassVar[dict[str, type["ProblemError"]]] = {}

    def __init_subclass__(cls) -> None:
        ProblemError.classes.update(dict.fromkeys(cls.codes, cls))

    def __init__(self, problem: Mapping[str, Any], retry_after: float | None = None, remedy: str = "") -> None:
        self.problem = problem
        self.code = code_of(problem)
        self.status = int(problem.get("status") or 500)
        self.title = str(problem.get("title") or "The service gave no reason")
        self.detail = str(problem.get("detail") or "")
        self.errors: list[types.FieldProblem] = [*(problem.get("errors") or ())]
        self.retry_after = retry_after
        self.remedy = remedy
        super().__init__(problem)

    def __str__(self) -> str:
        lines = [f"{self.title} ({self.status} {self.code}): {self.detail}" if self.detail else self.title]
        lines += [f"  {each['pointer']}: {each['detail']}" for each in self.errors if each["detail"] != self.detail]
        return "\n".join([*lines, *([f"What to do: {self.remedy}"] if self.remedy else [])])


def code_of(problem: Mapping[str, Any]) -> str:
    """The type of a problem without its path."""
    return str(problem.get("type") or "about:blank").rpartition("/")[2]


def problem_error(problem: Mapping[str, Any], retry_after: float | None = None, remedy: str = "") -> ProblemError:
    """The error of a problem, of the class of its type, or else of its status."""
    code, status = code_of(problem), str(problem.get("status"))
    kind = ProblemError.classes.get(code) or ProblemError.classes.get(status) or ProblemError
    return kind(problem, retry_after, remedy)


class UnauthorizedError(ProblemError):
    """No valid API key: give `key`, or set SUREBOX_API_KEY."""

    codes: ClassVar[tuple[str, ...]] = ("unauthorized", "401")


class ForbiddenError(ProblemError):
    """The key lacks a scope."""

    codes: ClassVar[tuple[str, ...]] = ("forbidden", "403")


class QuotaExceededError(ForbiddenError):
    """The owner may not keep more."""

    codes: ClassVar[tuple[str, ...]] = ("quota-exceeded",)


class NotFoundError(ProblemError):
    """There is no such object."""

    codes: ClassVar[tuple[str, ...]] = ("not-found", "404")


class ConflictError(ProblemError):
    """The state of things forbids it."""

    codes: ClassVar[tuple[str, ...]] = ("conflict", "409")


class RequestInFlightError(ConflictError):
    """A request with the same Idempotency-Key is still being answered."""

    codes: ClassVar[tuple[str, ...]] = ("request-in-flight",)


class FindingsStandError(ConflictError):
    """A release with findings is not published unless they are accepted."""

    codes: ClassVar[tuple[str, ...]] = ("findings-stand",)


class GoneError(ProblemError):
    """It was deleted, or has expired."""

    codes: ClassVar[tuple[str, ...]] = ("gone", "result-expired", "410")


class TooLargeError(ProblemError):
    """The body is larger than the service takes."""

    codes: ClassVar[tuple[str, ...]] = ("too-large", "413")


class InvalidError(ProblemError):
    """The request is not valid; `errors` says where."""

    codes: ClassVar[tuple[str, ...]] = ("invalid", "bad-request", "400", "422")


class UnreadableError(InvalidError):
    """The file cannot be read."""

    codes: ClassVar[tuple[str, ...]] = ("unreadable",)


class InfeasibleError(InvalidError):
    """No release of these data meets what is demanded."""

    codes: ClassVar[tuple[str, ...]] = ("infeasible",)


class IdempotencyMismatchError(InvalidError):
    """The Idempotency-Key was used for another request."""

    codes: ClassVar[tuple[str, ...]] = ("idempotency-mismatch",)


class TooManyRequestsError(ProblemError):
    """More than the owner may do at a time; `retry_after` says when to go on."""

    codes: ClassVar[tuple[str, ...]] = ("too-many-requests", "too-many-jobs", "too-much-work", "429")


class UnavailableError(ProblemError):
    """A part of the service cannot be reached."""

    codes: ClassVar[tuple[str, ...]] = ("unavailable", "storage-unavailable", "not-trusted", "502", "503", "504")
