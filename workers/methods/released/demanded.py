"""Demands of a specification, measured in its finished release: a missed one is a finding of its method."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from app.contracts.findings import Finding, FindingSeverity

#: Of a limit, within which a figure that is no whole number may be rounded.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Demanded:
    """One demand.

    Attributes
    ----------
    name
        What is demanded, in the words of a sentence.
    required, measured
        The limit, and the worst that was measured.
    most
        Whether the limit is the most that is allowed, not the least.
    """

    name: str
    required: float
    measured: float
    most: bool = False

    @property
    def met(self) -> bool:
        """Return whether the figure keeps to the limit; one that is no number does not."""
        slack = _ROUNDING * max(1.0, abs(self.required))
        if self.most:
            return self.measured <= self.required + slack
        return self.measured >= self.required - slack


def verdict(method: str, demands: Iterable[Demanded]) -> dict[str, Any]:
    """Fields of a `ProtectionResult`.

    Parameters
    ----------
    method
        Its name, by which its findings are accepted.
    demands
        All that is demanded.
    """
    missed = [one for one in demands if not one.met]
    return {"valid": not missed, "findings": tuple(_finding(method, one) for one in missed)}


def _finding(method: str, one: Demanded) -> Finding:
    detail = (
        f"{one.name}: {one.measured:.4g} was measured in the release, {'at most' if one.most else 'at least'} "
        f"{one.required:.4g} was demanded. Do not publish it; ask for less, or leave out what is rare"
    )
    return Finding(
        audit=method, severity=FindingSeverity.HIGH, detail=detail, measured=one.measured, required=one.required
    )
