"""Audit `influence`: what single records decide of the published data, by running the job again."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from app.contracts.base import Contract
from app.contracts.examples import RELEASE, Examples
from app.contracts.findings import AuditResult
from app.contracts.ids import DatasetId, ReleaseId
from app.contracts.jobs import JobKind, JobSpec
from app.contracts.statistics import StatisticBase

Share = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class InfluenceDemands(Contract):
    """The requirements on the influence of one record."""

    slope: Share | None = Field(
        default=None, description="How far a published number may follow one record's value: 1 is all the way."
    )
    change: Share | None = Field(
        default=None, description="Share of itself by which a published number may change without one record."
    )


class InfluenceSpec(JobSpec):
    """What single records decide of a release: the job again without each of them, and with it moved."""

    kind: ClassVar[JobKind] = JobKind.AUDIT
    examples: ClassVar[Examples] = {
        "what single records decide": {"release_ids": [RELEASE], "records": 1},
        "no published number may follow a record": {
            "release_ids": [RELEASE],
            "records": 1,
            "require": {"slope": 0.2},
        },
    }

    method: Literal["influence"] = Field(description="What single records decide of the published data.")
    release_ids: tuple[ReleaseId, ...] = Field(
        min_length=1, max_length=10, description="Ids of the releases to audit, one by one."
    )
    dataset_id: DatasetId | None = Field(
        default=None, description="Id of the original dataset of the releases; filled in."
    )
    records: int = Field(
        default=50, strict=True, ge=1, le=500, description="Number of most extreme records to try; each costs two runs."
    )
    require: InfluenceDemands | None = Field(default=None, description="Demands; default: slope 0.5, change 0.1.")


class InfluencedStatistic(Contract):
    """One published number, and what single records do to it."""

    published_figure: str = Field(description="The published data, as `mean(age) estimate` or `age_hi, greatest`.")
    value: float = Field(description="As the job gives it on all records.")
    base: StatisticBase | None = Field(
        default=None, description="Of a statistic, the released records that it counts; null of other figures."
    )
    n: int | None = Field(default=None, description="Number of these records, each counted once. Null like `base`.")
    change: float = Field(description="Largest share of itself by which it changes without one of the records tried.")
    slope: float = Field(description="Largest share of a record's move that it follows: at 1 it is its value.")
    records: int = Field(description="Records tried without which it changes by the limit or more.")


class InfluencedRelease(Contract):
    """What single records decide of one release."""

    release_id: str = Field(description="The release.")
    runs: int = Field(description="Times the job was run again.")
    failed: int = Field(description="Runs that could not be made without the record, or with it moved.")
    numbers: tuple[InfluencedStatistic, ...] = Field(description="Those that follow a record most, first; at most 200.")


class InfluenceResult(AuditResult):
    """Result of an `influence` job; restricted to its owner."""

    method: Literal["influence"] = Field(default="influence", description="Method of the job that has this result.")
    releases: tuple[InfluencedRelease, ...] = Field(
        description="Results for each release, in the order of the request."
    )
    meaning: dict[str, str] = Field(description="Meaning of each figure, one sentence each.")
