"""Audit `group_profile`: what rules see of a group's regions in any file."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from app.contracts.base import Contract, MisplacedError, may_lack
from app.contracts.examples import DATASET, GROUP_JOB, VARIABLES, Examples
from app.contracts.findings import AuditResult
from app.contracts.ids import JobId
from app.methods.microfile.attacks import SignalStanding
from app.methods.microfile.spec import CellValue, FilesSpec, RulesModel

_DEFAULT_ALPHAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class GroupProfileSpec(FilesSpec):
    """What the rules see of regions below, at and above their alpha."""

    examples: ClassVar[Examples] = {
        "what rules see of a file, at every grade": {
            "dataset_ids": [DATASET],
            "model_job_id": GROUP_JOB,
            "masked_regions": [["R00"]],
        },
        "of a dataset, by a model from elsewhere": {
            "dataset_ids": [DATASET],
            "region_columns": ["region"],
            "rules_model": {"variables": VARIABLES, "rules": [{"terms": [1, 2, 1]}]},
            "alphas": [0.3, 0.5],
        },
    }

    method: Literal["group_profile"] = Field(description="The profile of a group's rules, region by region.")
    model_job_id: JobId | None = Field(default=None, description="A `group` job whose rules are the model.")
    rules_model: RulesModel | None = Field(default=None, description="A model that was learned elsewhere.")
    alphas: tuple[Annotated[float, Field(strict=True, gt=0, le=1)], ...] = Field(
        default=_DEFAULT_ALPHAS, min_length=1, max_length=50, description="Grades from which on records are counted."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.model_job_id is None) == (self.rules_model is None):
            msg = "either `model_job_id` or `rules_model` is needed"
            raise MisplacedError(msg, "model_job_id" if self.rules_model is None else "rules_model")
        if self.rules_model is not None and not self.region_columns:
            raise MisplacedError("a given model does not state what divides the files", "region_columns")
        return self


class ProfiledSignal(SignalStanding):
    """One signal of the profile, with its values."""

    values: tuple[float, ...] = Field(description="Signal of each region, in the order of `regions`.")
    degenerate: bool = Field(description="Half of the values are equal: whatever differs is an outlier.")
    ranks: tuple[float, ...] = Field(description="Of the masked regions, 1 the highest.")
    precision: float | None = Field(
        description="Share of masked regions among as many of its highest, or of its lowest: the greater."
    )


class ProfiledFile(Contract):
    """One file, seen by the rules."""

    id: str = Field(description="Id of the release or dataset.")
    in_range: int = Field(description="Records that the rules see.")
    regions: tuple[tuple[CellValue, ...], ...] = Field(
        description="The regions: signals are in their order, outliers are indexes into them, from 0."
    )
    region_sizes: tuple[int, ...] = Field(description="Records in range of each.")
    masked_regions: tuple[int, ...] = Field(
        description="Indexes of those of the specification of which there are records."
    )
    signals: tuple[ProfiledSignal, ...] = Field(description="The whole table of signals.")


class GroupProfileResult(AuditResult):
    """Result of a `group_profile` job; restricted to its owner."""

    method: Literal["group_profile"] = Field(
        default="group_profile", description="Method of the job that has this result."
    )
    min_membership: float = Field(description="Membership threshold of the rules model.")
    rule_count: int = Field(description="Number of rules of the model.")
    inputs: tuple[ProfiledFile, ...] = Field(
        description="Releases first, then datasets, in the order of the specification."
    )


class GroupProfileSummary(GroupProfileResult):
    """Result of a `group_profile` job; the signals of large files are in the whole result only."""

    model_config = ConfigDict(json_schema_extra=may_lack("inputs"))
