"""Problem details (RFC 9457): what every refusal, every failed job and every unreadable upload carries."""

from operator import not_
from typing import Any, Final

from pydantic import ConfigDict, Field

from app.contracts.base import Contract, may_lack
from app.contracts.owners import Quota


class FieldProblem(Contract):
    """A field that is not valid."""

    pointer: str = Field(description="JSON pointer into the body as sent, or `?name` of a parameter.")
    detail: str = Field(description="The fault at this place, and a value that would work.")


#: The answer to an anonymization that misspells the column `hours`.
EXAMPLE: Final = {
    "type": "/problems/invalid",
    "title": "The request is not valid",
    "status": 422,
    "detail": "/quasi_identifiers/1: The dataset has no column 'hour'; did you mean 'hours'?",
    "instance": "/v1/anonymizations",
    "errors": [
        {
            "pointer": "/quasi_identifiers/1",
            "detail": "The dataset has no column 'hour'; did you mean 'hours'?",
        }
    ],
}


def _amended(schema: dict[str, Any]) -> None:
    may_lack("errors", "unavailable", "quota")(schema)
    schema["examples"] = [EXAMPLE]


class Problem(Contract):
    """Problem details (RFC 9457)."""

    model_config = ConfigDict(extra="ignore", json_schema_extra=_amended)

    type: str = Field(description="Stable path of the kind of problem, `/problems/<code>`.")
    title: str = Field(description="The kind of problem in words.")
    status: int = Field(description="Status of the answer, or that of a refusal that only the computation could show.")
    detail: str = Field(description="The fault, its place, and a request that would work.")
    instance: str | None = Field(description="Path of the request; null where there was none, as in a job.")
    errors: tuple[FieldProblem, ...] = Field(default=(), exclude_if=not_, description="Fields that are not valid.")
    unavailable: tuple[str, ...] = Field(
        default=(), exclude_if=not_, description="Parts of the service that `/readyz` found missing."
    )
    quota: Quota | None = Field(default=None, exclude_if=not_, description="The limit of the owner that was met.")
