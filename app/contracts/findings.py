"""Findings: what audits say against a release, each with its figure and the limit that it misses."""

from enum import StrEnum

from pydantic import Field

from app.contracts.base import Contract


class Severity(StrEnum):
    """How much a finding weighs."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Finding(Contract):
    """One thing that an audit found."""

    audit: str = Field(description="The audit that found it: the name by which it is accepted.")
    severity: Severity = Field(description="How much it weighs; those of `high` keep a release from being published.")
    detail: str = Field(description="What was found, and what would work instead.")
    figure: float | None = Field(description="What was measured; null where there is no number.")
    limit: float | None = Field(description="What was demanded of it.")
