"""What the gate of a release found, from the worker that has computed it to the one place that decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.contracts.findings import Finding


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
