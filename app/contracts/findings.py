"""What every audit ends in: whether it passed, each demand with its measurement, findings, and a verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pydantic import Field

from app.contracts.base import Contract, Sentence

#: What findings about kept columns are accepted by; other findings have the name of the audit that states them.
KEPT_COLUMNS: Final = "kept_columns"


class FindingSeverity(StrEnum):
    """Severities of findings.

    `high`: a demand is not met or people are exposed. `medium`: a risk to weigh. `low`: a fact to know.
    """

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Finding(Contract):
    """One thing that an audit found."""

    audit: str = Field(description="The audit that found it: the name by which it is accepted.")
    severity: FindingSeverity = Field(
        description="How much it weighs; those of `high` keep a release from being published."
    )
    detail: Sentence = Field(description="The finding in one sentence, with the figures that it rests on.")
    measured: float | None = Field(description="Measured value; null if there is no number.")
    required: float | None = Field(description="Required value.")
    remedies: tuple[Sentence, ...] = Field(
        default=(), description="Ways to meet the demand, the likeliest first; empty if `detail` has all there is."
    )


class MeasuredDemand(Contract):
    """One demand, and the measurement of it."""

    required: float = Field(description="The limit; of recursive diversity its c.")
    measured: float | None = Field(description="The worst that was measured; null: no finite number.")
    met: bool = Field(description="Whether the measurement keeps to the limit.")


def all_met(demands: Mapping[str, MeasuredDemand]) -> bool | None:
    """Whether all that is required is met; None where nothing is."""
    return all(one.met for one in demands.values()) if demands else None


class AuditResult(Contract):
    """What the result of every audit has, whatever it measures."""

    method: Any = Field(description="Method of the job that has this result.")
    passed: bool | None = Field(description="Whether every demand is met; null: nothing was required.")
    demands: dict[str, MeasuredDemand] = Field(
        description="Demands with their required and measured values, by name; empty if nothing was required."
    )
    findings: tuple[Finding, ...] = Field(description="Findings, worst first.")
    verdict: str = Field(description="The whole in one sentence.")


class ProtectionResult(Contract):
    """Part of every anonymization's result: whether its release has what the specification demands."""

    valid: bool = Field(
        default=True,
        description="Whether the release has what the specification demands, as measured once it was made; if not, it "
        "stays a draft, and `findings` are its findings.",
    )
    findings: tuple[Finding, ...] = Field(default=(), description="Demands that it misses, each with its figures.")


@dataclass(frozen=True, slots=True)
class Review:
    """What the gate of a release found.

    Attributes
    ----------
    findings
        All of them; those of high severity stand until they are accepted.
    family_id, composed_after
        What it was composed with, and how many had been published of it by then; None: of no family.
    composed
        What all published releases of the family leave together with this one.
    """

    findings: tuple[Finding, ...] = ()
    family_id: str | None = None
    composed_after: int | None = None
    composed: Mapping[str, Any] | None = None
