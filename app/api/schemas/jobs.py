"""What jobs look like on the wire: bodies that ask for them, jobs and results by method, lists, headers of answers."""

from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import Body
from pydantic import BeforeValidator, Discriminator, Field, create_model
from typing_extensions import TypeAliasType

from app.api.schemas.examples import ANONYMIZATIONS, AUDITS
from app.contracts.base import Contract
from app.contracts.jobs import JobEnvelope, JobKind, JobSpec
from app.methods.catalogue import METHODS, Method, find_method, methods_of


def _built(body: Any, *, kind: JobKind) -> Any:
    """Refuse a method that is not there by name, before anything of the body is looked at."""
    if isinstance(body, dict):
        find_method(body.get("method"), kind=kind)
    return body


def body_of(kind: JobKind) -> Any:
    """The type of a body that asks for a job of this kind: one specification a method, distinguished by `method`."""
    specs = [method.spec for method in methods_of(kind)] or [JobSpec]
    union = _by_method(specs, f"The specification of one {kind}.")
    return Annotated[union, BeforeValidator(partial(_built, kind=kind))]


def _by_method(types: list[Any], description: str) -> Any:
    """A union of types, each with a `method` of its own; one type alone is no union."""
    if len(types) == 1:
        return Annotated[types[0], Field(description=description)]
    return Annotated[reduce(or_, types), Discriminator("method"), Field(description=description)]


def _job_of(method: Method) -> type[JobEnvelope]:
    """What a job of this method looks like."""
    envelope = JobEnvelope.model_fields
    own = {
        "kind": Literal[method.kind],
        "method": Literal[method.name],
        "spec": method.spec | None,
        "result": method.shown | None,
    }
    fields: Any = {name: (kind, Field(description=envelope[name].description)) for name, kind in own.items()}
    name = method.spec.__name__.removesuffix("Spec") + "Job"
    return create_model(name, __base__=JobEnvelope, __doc__=f"A job of the method `{method.name}`.", **fields)


if TYPE_CHECKING:
    AnonymizationRequest = JobSpec
    AuditRequest = JobSpec
    Job = JobEnvelope
    JobResult = Contract
else:
    #: In the document these bodies have their titles as names.
    AnonymizationRequest = Annotated[
        body_of(JobKind.ANONYMIZATION), Body(title="AnonymizationRequest", openapi_examples=ANONYMIZATIONS)
    ]
    AuditRequest = Annotated[body_of(JobKind.AUDIT), Body(title="AuditRequest", openapi_examples=AUDITS)]
    Job = TypeAliasType("Job", _by_method([_job_of(method) for method in METHODS.values()], "A job, by its method."))
    JobResult = TypeAliasType(
        "JobResult",
        _by_method([method.result for method in METHODS.values()], "Result of a job, discriminated by its method."),
    )


class JobList(Contract):
    """One page of jobs, newest first."""

    items: tuple[Job, ...] = Field(description="Objects of this page, newest first.")
    next_cursor: str | None = Field(description="`cursor` of the next page; null: this is the last.")


_SECONDS: Final = {"schema": {"type": "integer"}, "description": "Seconds after which to ask again."}
_LOCATION: Final = {"schema": {"type": "string"}, "description": "Where the job is read."}
_APPLIED: Final = {"schema": {"type": "string"}, "description": "The preference that was honoured."}

_REPLAYED: Final = {"schema": {"type": "string"}, "description": "`true` when an Idempotency-Key was used before."}

#: Headers of an answer to a request for a job.
FINISHED_HEADERS: Final = {"Location": _LOCATION, "Preference-Applied": _APPLIED, "Idempotent-Replayed": _REPLAYED}
ACCEPTED_HEADERS: Final = FINISHED_HEADERS | {"Retry-After": _SECONDS}
READ_HEADERS: Final = {"Preference-Applied": _APPLIED}
ETAG_HEADERS: Final = {
    "ETag": {"schema": {"type": "string"}, "description": "SHA-256 of the bytes; they never change."}
}

#: Server-sent events: data is the job. Generators know no schema of streams but that of their data.
EVENTS: Final[dict[str, Any]] = {
    "content": {"text/event-stream": {"schema": {"$ref": "#/components/schemas/Job"}}},
}

#: Answers to a request for a job, besides problems.
JOB_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": Job, "description": "The job, finished within the wait.", "headers": FINISHED_HEADERS},
    202: {"headers": ACCEPTED_HEADERS},
}
