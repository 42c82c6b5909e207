"""Audit `determination`: which values a release gives away although it names no person."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from app.contracts.base import Contract
from app.contracts.columns import ColumnName
from app.contracts.examples import RELEASE, Examples
from app.contracts.findings import AuditResult
from app.contracts.gate import DeterminationDemands
from app.contracts.ids import ReleaseId
from app.contracts.jobs import JobKind, JobSpec


class DeterminationSpec(JobSpec):
    """Which values a release gives away although it names no person."""

    kind: ClassVar[JobKind] = JobKind.AUDIT
    examples: ClassVar[Examples] = {
        "what a release gives away": {"release_ids": [RELEASE]},
        "incomes in hundreds": {
            "release_ids": [RELEASE],
            "value_step": {"income": 100.0},
            "require": {"share_single_value": 0.05, "share_certain": 0.2},
        },
    }

    method: Literal["determination"] = Field(description="Which values a release gives away.")
    release_ids: tuple[ReleaseId, ...] = Field(
        min_length=1, max_length=50, description="Ids of the releases to audit, one by one."
    )
    value_step: dict[ColumnName, Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="Steps that the values of columns are multiples of; whole numbers and days have 1.",
    )
    require: DeterminationDemands | None = Field(
        default=None, description="Demands; default: none, and the leak is found all the same."
    )


class DeterminedColumn(Contract):
    """A column whose values were generalized."""

    column: str = Field(description="Name of the column.")
    share_single_value: float = Field(description="Share of its cells that leave a single value.")
    mean_values: float | None = Field(
        description="Mean number of values a cell leaves; null: any number between bounds."
    )


class HomogeneousColumn(Contract):
    """A column that was kept."""

    column: str = Field(description="Name of the column.")
    share_certain: float = Field(description="Share of rows whose box has one value of it.")
    share_nearly_certain: float = Field(description="Share of rows whose box gives one value 0.9 or more.")
    t_closeness: float = Field(
        description="Largest distance of a box to the release: ordered for numbers, days, declared orders."
    )
    attribution: float = Field(description="How often a value drawn from a row's box is its own (CAP).")
    baseline: float = Field(description="The same with the whole release as one box.")


class DeterminedRelease(Contract):
    """Values that one release reveals."""

    release_id: str = Field(description="The release.")
    columns: tuple[DeterminedColumn, ...] = Field(description="Figures of each generalized column.")
    kept_columns: tuple[HomogeneousColumn, ...] = Field(description="Figures of each kept column.")


class DeterminationResult(AuditResult):
    """Result of a `determination` job; restricted to its owner."""

    method: Literal["determination"] = Field(
        default="determination", description="Method of the job that has this result."
    )
    releases: tuple[DeterminedRelease, ...] = Field(
        description="Results for each release, in the order of the request."
    )
    meaning: dict[str, str] = Field(description="Meaning of each figure, one sentence each.")
