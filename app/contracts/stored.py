"""Specifications of jobs whose releases are there, as they are read once they are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, Self

#: All that the public provenance of a release has of a specification: questions and attacks need these fields.
_PUBLIC: Final = (
    "method", "quasi_identifiers", "nominal", "ordinal", "keep", "k", "bounds", "domains", "value_step", "ddof",
    "rare_records", "missing_policy", "density", "axes", "k_counts_kept", "survey_weight_column", "released_weights",
    "box_means", "mean_interval_in_boxes", "p_percent", "l", "t", "t_distance", "alpha", "min_separation", "min_width",
    "spikes", "min_records_at_bound", "statistics", "unlisted_column_weight", "objective", "max_suppressed",
    "confidence", "partition", "frequencies_are_exact",
)  # fmt: skip
#: With these a draft is composed again before it is published.
_COMPOSED: Final = (
    "person_column", "frequency_column", "sensitive", "withheld", "gate", "base_release_id", "previous_release_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpec:
    """How a release was made, by the fields of the specification of its job.

    A field that its method or an older version of that lacks has its default; so has one that was erased with the job.
    Defaults are those of the methods' specifications. Values are JSON, as they were stored.
    """

    quasi_identifiers: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    k: float | None = None
    k_counts_kept: bool = False
    person_column: str | None = None
    frequency_column: str | None = None
    survey_weight_column: str | None = None
    released_weights: str = "box"
    nominal: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ordinal: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    sensitive: tuple[str, ...] = ()
    l: int | None = None  # noqa: E741 - its name in the literature
    t: float | None = None
    alpha: float | None = None
    domains: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    bounds: str = "cells"
    value_step: Mapping[str, float] = field(default_factory=dict)
    box_means: str = "none"
    rare_records: str = "keep"
    ddof: int = 0
    density: Literal["gaussian", "uniform"] = "gaussian"
    axes: str = "global"
    publish: str = "draft"
    gate: tuple[Mapping[str, Any], ...] = ()
    accept_findings: tuple[str, ...] = ()
    base_release_id: str | None = None
    previous_release_id: str | None = None

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Self:
        """Read a specification as it is stored.

        Parameters
        ----------
        spec
            All of it, or what is kept of it.
        """
        there: dict[str, Any] = {
            one.name: tuple(value) if isinstance(value, list) else value
            for one in fields(cls)
            if (value := spec.get(one.name)) is not None
        }
        return cls(**there)

    @property
    def least_k(self) -> float:
        """Persons that a release is to leave: its k, and 2 where its method knows none."""
        return 2.0 if self.k is None else float(self.k)


def demands_variety(l: int | None, t: float | None, alpha: float | None) -> bool:  # noqa: E741 - as in the literature
    """Return whether a box could miss what is demanded of sensitive values: l, t and alpha of 1 demand nothing."""
    return (l is not None and l > 1) or (t is not None and t < 1.0) or (alpha is not None and alpha < 1.0)


def settled_spec(spec: Mapping[str, Any], parameters: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A specification of boxes with the least widths that its job settled; of other methods as it is.

    Parameters
    ----------
    spec
        As it was requested.
    parameters
        How the release was made, as far as that is public.
    """
    if spec.get("method") != "boxes":
        return spec
    settled = {name: parameters[name] for name in ("min_width", "spikes") if parameters and name in parameters}
    return {**spec, "least_widths": "none", **settled}


def kept_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The needed parts of a specification for as long as its release is there."""
    return {name: spec[name] for name in (*_PUBLIC, *_COMPOSED) if name in spec}
