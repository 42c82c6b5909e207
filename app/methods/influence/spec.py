"""Audits that run a method again: `influence` of single records on what is published, `frontier` of k and precision."""

from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, ValidationError, create_model, model_validator

from app.contracts.base import Contract, MisplacedError
from app.contracts.examples import QUASI_IDENTIFIERS, RELEASE, Examples
from app.contracts.findings import AuditResult
from app.contracts.ids import DatasetId, ReleaseId
from app.contracts.jobs import DatasetJobSpec, JobKind, JobSpec, ReleasingSpec
from app.contracts.statistics import NamedStatistic
from app.methods.boxes.spec import BoxesSpec

Share = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class InfluenceDemands(Contract):
    """What is required of the influence of one record."""

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

    method: Literal["influence"] = Field(description="What single records decide of what is published.")
    release_ids: tuple[ReleaseId, ...] = Field(min_length=1, max_length=10, description="Releases, one by one.")
    dataset_id: DatasetId | None = Field(default=None, description="Their original; filled in.")
    records: int = Field(
        default=50, strict=True, ge=1, le=500, description="Most extreme records that are tried; each costs two runs."
    )
    require: InfluenceDemands | None = Field(default=None, description="Demands; default: slope 0.5, change 0.1.")


class InfluencedStatistic(Contract):
    """One published number, and what single records do to it."""

    published_figure: str = Field(description="What is published, as `mean(age) estimate` or `age_hi, greatest`.")
    value: float = Field(description="As the job gives it on all records.")
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

    method: Literal["influence"] = Field(default="influence", description="The job's method.")
    releases: tuple[InfluencedRelease, ...] = Field(description="One by one.")
    meaning: dict[str, str] = Field(description="What each figure says.")


#: A frontier takes the fields of `boxes` as they are, whatever is added to them.
_FIELDS: Final[dict[str, Any]] = {
    name: (field.annotation, field)
    for name, field in BoxesSpec.model_fields.items()
    if name not in ReleasingSpec.model_fields and name not in {"k", "base_release_id", "previous_release_id"}
}
_OfBoxes: Any = create_model("_OfBoxes", __base__=DatasetJobSpec, **_FIELDS)


class FrontierSpec(_OfBoxes):
    """What each k costs: boxes again and again, nothing published."""

    kind: ClassVar[JobKind] = JobKind.AUDIT
    examples: ClassVar[Examples] = {
        "what each k costs": {**QUASI_IDENTIFIERS, "k": [2, 3]},
        "for one mean, in public limits": {
            **QUASI_IDENTIFIERS,
            "k": [2, 4],
            "statistics": [{"kind": "mean", "of": ["income"]}],
            "domains": {"age": [0, 120]},
        },
    }

    method: Literal["frontier"] = Field(description="What each k costs.")
    k: tuple[Annotated[int, Field(strict=True, ge=1, le=2**53)], ...] = Field(
        default=(2, 3, 5, 10, 20, 50, 100), min_length=1, max_length=20, description="Each is tried."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for index, k in enumerate(self.k):
            try:
                self.at(k)
            except ValidationError as error:
                first = error.errors()[0]
                inner = first.get("ctx", {}).get("error")
                parts = inner.parts if isinstance(inner, MisplacedError) else first["loc"]
                detail = str(inner or "boxes do not take this")
                raise MisplacedError(detail, *(("k", index) if parts == ("k",) else parts)) from None
        return self

    def at(self, k: int) -> BoxesSpec:
        """The boxes with one k."""
        given = {name: getattr(self, name) for name in _FIELDS if name in self.model_fields_set}
        return BoxesSpec.model_validate(
            {**given, "method": "boxes", "dataset_id": self.dataset_id, "k": k, "formats": ("parquet",)}
        )


class FrontierStatistic(NamedStatistic):
    """One statistic at one k."""

    width: float | None = Field(description="Of its guaranteed range (of a regression, of the widest coefficient's).")


class FrontierPoint(Contract):
    """What one k costs."""

    k: int = Field(description="Of the specification.")
    box_count: int | None = Field(description="Boxes; null where this k cannot be had.")
    released: int | None = Field(description="Records that would be released.")
    ncp: float | None = Field(description="Normalized certainty penalty: 0 nothing is lost, 1 all.")
    share_single_value: dict[str, float] | None = Field(description="By column, cells that leave one value.")
    statistics: tuple[FrontierStatistic, ...] = Field(description="Of the specification.")
    infeasible: str | None = Field(description="Why this k cannot be had; null: it can.")


class FrontierResult(AuditResult):
    """Result of a `frontier` job; restricted to its owner: nothing is published."""

    method: Literal["frontier"] = Field(default="frontier", description="The job's method.")
    points: tuple[FrontierPoint, ...] = Field(description="One for each k, in the order of the specification.")
    meaning: dict[str, str] = Field(description="What each figure says.")
