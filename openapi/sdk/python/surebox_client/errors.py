"""What can go wrong: a class for each type of problem that the service reports, and for what happens on the way."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from surebox_client._generated import types


class SureboxError(Exception):
    """Anything that this package raises."""


class ConnectionFailedError(SureboxError):
    """The service was not reached, or the connection broke."""


class NotSureboxError(SureboxError):
    """The server at the address answers, and is another one."""


class SilentError(ConnectionFailedError):
    """The connection is there, but nothing arrives."""


class DamagedDownloadError(SureboxError):
    """What was downloaded is not the file that the service has (SHA-256)."""


class UploadError(SureboxError):
    """The upload is no file or frame that can be sent as it is."""


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
    """The job failed; `problem` has the reason, as the service would have answered."""

    def __init__(self, problem: "ProblemError", job: "types.Job") -> None:
        super().__init__(str(problem), job)
        self.problem = problem


class ProblemError(SureboxError):
    """The service refuses or fails, with a reason (RFC 9457).

    Attributes
    ----------
    code : the type of problem, such as ``not-found``; more may come.
    status, title, detail : of the answer; `detail` has what was wrong, where, and what would work.
    errors : fields that are not valid, as `pointer` (a JSON pointer) and `detail`.
    remedy : what to do about problems of this type, where the service names it.
    retry_after : seconds after which to try again; None where there is nothing to wait for.
    problem : all that the service said.
    """

    classes: ClassVar[dict[str, type["ProblemError"]]] = {}

    def __init_subclass__(cls, codes: tuple[str, ...]) -> None:
        ProblemError.classes.update(dict.fromkeys(codes, cls))

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
        """Title and detail, or in place of the detail each of its several fields once."""
        head = f"{self.title} ({self.status} {self.code})"
        several = len(self.errors) > 1
        lines = [f"{head}." if several else f"{head}: {self.detail}" if self.detail else self.title]
        shown = [each for each in self.errors if several or each["detail"] not in self.detail]
        lines += [f"  {each['pointer']}: {each['detail']}" for each in shown]
        return "\n".join([*lines, *([f"What to do: {self.remedy}"] if self.remedy else [])])


def code_of(problem: Mapping[str, Any]) -> str:
    """The type of a problem without its path."""
    return str(problem.get("type") or "about:blank").rpartition("/")[2]


def problem_error(problem: Mapping[str, Any], retry_after: float | None = None, remedy: str = "") -> ProblemError:
    """The error of a problem, of the class of its type, or else of its status."""
    code, status = code_of(problem), str(problem.get("status"))
    kind = ProblemError.classes.get(code) or ProblemError.classes.get(status) or ProblemError
    return kind(problem, retry_after, remedy)


class UnauthorizedError(ProblemError, codes=("unauthorized", "401")):
    """No valid API key: give `key`, or set SUREBOX_API_KEY."""


class ForbiddenError(ProblemError, codes=("forbidden", "403")):
    """The key lacks a scope."""


class QuotaExceededError(ForbiddenError, codes=("quota-exceeded",)):
    """The owner may not keep more."""


class NotFoundError(ProblemError, codes=("not-found", "404")):
    """There is no such object."""


class ConflictError(ProblemError, codes=("conflict", "409")):
    """The state of things forbids it."""


class RequestInFlightError(ConflictError, codes=("request-in-flight",)):
    """A request with the same Idempotency-Key is still being answered."""


class UnresolvedFindingsError(ConflictError, codes=("unresolved-findings",)):
    """A release with findings is not published unless they are accepted."""


class GoneError(ProblemError, codes=("gone", "result-expired", "410")):
    """It was deleted, or has expired."""


class TooLargeError(ProblemError, codes=("too-large", "413")):
    """The body is larger than the service takes."""


class InvalidError(ProblemError, codes=("invalid", "bad-request", "400", "422")):
    """The request is not valid; `errors` has the fields."""


class UnreadableError(InvalidError, codes=("unreadable",)):
    """The file cannot be read."""


class InfeasibleError(InvalidError, codes=("infeasible",)):
    """No release of these data meets the demands."""


class IdempotencyMismatchError(InvalidError, codes=("idempotency-mismatch",)):
    """The Idempotency-Key was used for another request."""


class TooManyRequestsError(ProblemError, codes=("too-many-requests", "too-many-jobs", "too-much-work", "429")):
    """More than the owner may do at a time; `retry_after` is when to go on."""


class UnavailableError(ProblemError, codes=("unavailable", "storage-unavailable", "not-trusted", "502", "503", "504")):
    """A part of the service cannot be reached."""
