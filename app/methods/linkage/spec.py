"""Audit `linkage`: how well someone who knows the original finds the record behind a released row."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from app.contracts.base import Contract, MisplacedError
from app.contracts.columns import check_different
from app.contracts.examples import DATASET, RELEASE, Examples
from app.contracts.findings import AuditResult
from app.contracts.gate import LinkageDemands
from app.contracts.ids import DatasetId, ReleaseId
from app.contracts.jobs import JobKind, JobSpec

#: Released rows that are all tried; of more, as many are drawn.
EXHAUSTIVE = 100_000


class LinkageSpec(JobSpec):
    """The linkage attack on one release, or on several of the same original jointly."""

    kind: ClassVar[JobKind] = JobKind.AUDIT
    version: ClassVar[int] = 3  # 2: `release_ids`; 3: `require`
    examples: ClassVar[Examples] = {
        "with the original": {"release_id": RELEASE},
        "with a dataset that the adversary knows": {
            "release_id": RELEASE,
            "knowledge_dataset_id": DATASET,
        },
        "several releases jointly": {"release_ids": [RELEASE]},
    }

    method: Literal["linkage"] = Field(description="The linkage attack on a release.")
    release_id: ReleaseId | None = Field(
        default=None, description="The release that is attacked; null where `release_ids` names several."
    )
    release_ids: tuple[ReleaseId, ...] = Field(
        default=(),
        max_length=50,
        description="Releases of boxes and uncertain ones of one original, attacked jointly by an adversary who "
        "knows which of their rows are one person's, and what they keep.",
    )
    knowledge_dataset_id: DatasetId | None = Field(
        default=None, description="Id of the dataset that the adversary knows. Default: the original of the release."
    )
    original_dataset_id: DatasetId | None = Field(
        default=None, description="The release's original, where the adversary knows another dataset; filled in."
    )
    require: LinkageDemands | None = Field(
        default=None,
        description="Demands; default: a mean rank of k for an adversary who knows the original, up to chance.",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        check_different(field="release_ids", names=self.release_ids)
        if self.release_id is None and not self.release_ids:
            raise MisplacedError("name the release that is attacked, or several in `release_ids`", "release_id")
        if self.release_id is not None and self.release_ids:
            raise MisplacedError("`release_id` names the only one: name all of several in `release_ids`", "release_ids")
        return self


class LinkageRanks(Contract):
    """Ranks of the true records among those the adversary knows, best fit first; ties count against them."""

    mean_rank: float = Field(description="Mean place of the true record; 1: it fits best.")
    rank_quantiles: dict[str, float] = Field(description="Quantiles of the rank of the true record, by probability.")
    share_rank_1: float = Field(description="Rows whose true record fits better than every other one.")
    share_below_k: float = Field(description="Rows that fewer than k known records fit as well.")
    mean_posterior: float | None = Field(
        description="Mean probability the adversary gives the true record; null: the release has no densities."
    )
    intervals: dict[str, tuple[float, float]] | None = Field(
        default=None,
        description="95 % confidence intervals where rows were drawn; null: all were tried.",
    )


class LinkageAttack(LinkageRanks):
    """An attack that knows every record of the dataset, and one that knows 90 % of them."""

    adversary_knows_90_percent: LinkageRanks | None = Field(
        default=None, description="The same for rows whose record is among the 90 % that the adversary knows."
    )


class JointMatching(Contract):
    """An adversary who matches all rows at once: a record is behind one row only."""

    mean_posterior: float = Field(description="Mean probability of the true record.")
    share_rank_1: float = Field(description="Rows whose true record is more probable than every other one.")
    share_posterior_above_half: float = Field(description="Rows with a record that is more probable than not.")
    precision_above_half: float | None = Field(description="Of these, rows whose record it is; null: there are none.")


class LinkageResult(LinkageAttack, AuditResult):
    """Result of a `linkage` job: by fit alone, and with the scales matched."""

    method: Literal["linkage"] = Field(default="linkage", description="Method of the job that has this result.")
    records: int = Field(description="Rows of the release; of several, records that are in some of them.")
    candidates: int = Field(description="Number of records that the adversary knows.")
    sampled: int = Field(description="Number of rows that the attack tried.")
    k: float | None = Field(description="The release's k, of several the least; null where each record has its own.")
    release_count: int = Field(default=1, description="Releases that were attacked jointly.")
    share_posterior_above_half: float | None = Field(
        default=None, description="Rows with a record that is more probable than not, row by row; null: not known."
    )
    precision_above_half: float | None = Field(
        default=None, description="Of these, rows whose record it is; null: there are none, or it is not known."
    )
    joint: JointMatching | None = Field(
        default=None,
        description="All rows matched at once, over the 50 records that fit each best; null for boxes and "
        "for several releases.",
    )
    after_scale_matching: LinkageAttack | None = Field(
        description="The adversary also computes each known record's scale again and compares; null: there is none."
    )
    meaning: dict[str, str] = Field(default_factory=dict, description="Meaning of each figure, one sentence each.")
