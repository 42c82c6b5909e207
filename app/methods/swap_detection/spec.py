"""Audit `swap_detection`: what classifiers that learned on auxiliary data see of a group in any file."""

from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from app.contracts.base import Contract, may_lack
from app.contracts.columns import ColumnName
from app.contracts.examples import DATASET, GROUP_JOB, Examples
from app.contracts.findings import AuditResult
from app.contracts.ids import DatasetId, JobId
from app.methods.microfile.attacks import ClassifierReport
from app.methods.microfile.spec import CellValue, FilesSpec


class SwapDetectionSpec(FilesSpec):
    """What classifiers trained on the auxiliary data see of regions."""

    examples: ClassVar[Examples] = {
        "what classifiers see of a file": {
            "dataset_ids": [DATASET],
            "model_job_id": GROUP_JOB,
            "masked_regions": [["R00"]],
        },
        "of a dataset, without a column": {
            "dataset_ids": [DATASET],
            "model_job_id": GROUP_JOB,
            "drop": ["sex"],
            "sample": 2000,
        },
    }

    method: Literal["swap_detection"] = Field(description="Classifiers of who is the group's, region by region.")
    model_job_id: JobId = Field(
        description="A `group` job: who the group is, which columns state it, and how they are recoded."
    )
    auxiliary_dataset_id: DatasetId | None = Field(
        default=None, description="What classifiers are trained on; default: the auxiliary dataset of the `group` job."
    )
    drop: tuple[ColumnName, ...] = Field(default=(), max_length=1_000, description="Columns that they do not read.")
    sample: int = Field(
        default=50_000, strict=True, ge=1_000, le=500_000, description="Largest number of records to train on."
    )


class DetectedFile(Contract):
    """One file, seen by classifiers."""

    id: str = Field(description="Id of the release or dataset.")
    records: int = Field(description="Records that have a region.")
    in_range: int = Field(description="Of these, those that the rules see.")
    regions: tuple[tuple[CellValue, ...], ...] = Field(
        description="The regions: signals are in their order, outliers are indexes into them, from 0."
    )
    masked_regions: tuple[int, ...] = Field(
        description="Indexes of those of the specification of which there are records."
    )
    classifiers: tuple[ClassifierReport, ...] = Field(description="Findings of each classifier.")


class SwapDetectionResult(AuditResult):
    """Result of a `swap_detection` job; restricted to its owner."""

    method: Literal["swap_detection"] = Field(
        default="swap_detection", description="Method of the job that has this result."
    )
    auxiliary_records: int = Field(description="Number of records of the auxiliary dataset.")
    inputs: tuple[DetectedFile, ...] = Field(
        description="Releases first, then datasets, in the order of the specification."
    )


class SwapDetectionSummary(SwapDetectionResult):
    """Result of a `swap_detection` job; the signals of large files are in the whole result only."""

    model_config = ConfigDict(json_schema_extra=may_lack("inputs"))
