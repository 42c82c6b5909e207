"""Audit `composition`: what several releases of the same data reveal together."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError
from app.contracts.columns import ColumnName, Share, SpecifiedColumn, Values, check_different, check_values
from app.contracts.examples import DATASET, RELEASE, Examples
from app.contracts.families import OverlayDiversity
from app.contracts.findings import AuditResult
from app.contracts.ids import DatasetId, ReleaseId
from app.contracts.jobs import JobKind, JobSpec


def _joined(columns: Any) -> str:
    return "mapping" if isinstance(columns, Mapping) else "names"


#: Names of columns, or by their earlier names those that the original has for them.
JoiningColumns = TypeAliasType(
    "JoiningColumns",
    Annotated[
        Annotated[tuple[ColumnName, ...], Field(max_length=60), Tag("names")]
        | Annotated[dict[ColumnName, ColumnName], Field(max_length=60), Tag("mapping")],
        Discriminator(_joined),
        Field(
            description="Names of columns; or by the names in earlier data, or in tables of others, what the original "
            "calls the same columns."
        ),
    ],
)


class CompositionDemands(Contract):
    """The requirements on releases together."""

    k: float | None = Field(default=None, strict=True, ge=1, description="Least persons that boxes together leave.")
    candidates: float | None = Field(default=None, strict=True, ge=1, description="Least rows joined by kept columns.")
    expected: float | None = Field(
        default=None, strict=True, ge=1, description="Least records that fit all noisy rows."
    )
    l: int | None = Field(default=None, strict=True, ge=1, description="Least number of distinct values per class.")  # noqa: E741
    alpha: Share | None = Field(default=None, description="Largest share of a sensitive value, of those who have one.")
    share_below: Share | None = Field(default=None, description="Largest share of persons with fewer than k.")


class CompositionSpec(JobSpec):
    """Audit of the facts that several releases of the same data reveal together."""

    kind: ClassVar[JobKind] = JobKind.AUDIT
    version: ClassVar[int] = 3  # 2: `join_columns` as a mapping; 3: `ordinal`
    examples: ClassVar[Examples] = {
        "what a release and those before it reveal together": {
            "release_ids": [RELEASE],
            "sensitive": ["job"],
        },
        "tables that others released of the same people": {
            "dataset_ids": [DATASET],
            "dataset_id": DATASET,
            "join_columns": ["region", "age"],
            "k_required": 2,
            "require": {"k": 2, "share_below": 0.01},
        },
    }

    method: Literal["composition"] = Field(
        description="Name of the method: facts that several releases reveal together."
    )
    release_ids: tuple[ReleaseId, ...] = Field(
        default=(), max_length=50, description="Ids of releases of this service."
    )
    dataset_ids: tuple[DatasetId, ...] = Field(
        default=(), max_length=50, description="Tables of the same persons that others released, uploaded here."
    )
    dataset_id: DatasetId | None = Field(
        default=None, description="The original, as it is today; default: that of the newest of the releases."
    )
    join_columns: JoiningColumns = Field(
        default=(),
        description="Columns that join the tables of `dataset_ids` to the original: as they are, as bounds or as sets; "
        "a table is joined by those that it has. As a mapping: old names to those of the original, also of columns "
        "that were renamed or recoded since a release; whether that can be is checked.",
    )
    ordinal: dict[ColumnName, Values] = Field(
        default={},
        description="The order of all values of a column of texts that tables of `dataset_ids` show as two bounds; by "
        "its name in the original.",
    )
    k_required: float | None = Field(
        default=None,
        strict=True,
        ge=1,
        description="Least number of persons that must remain; default: the least k of the releases, or 5.",
    )
    sensitive: tuple[ColumnName, ...] = Field(
        default=(), max_length=50, description="Columns of the original whose diversity is looked at."
    )
    person_column: ColumnName | None = Field(
        default=None,
        description="Column of the original with whose record it is; default: the newest release's.",
    )
    require: CompositionDemands | None = Field(
        default=None, description="Demands to check. Default: the `k` of the releases."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_different(field="release_ids", names=self.release_ids)
        check_different(field="dataset_ids", names=self.dataset_ids)
        if not self.release_ids and not self.dataset_ids:
            raise MisplacedError("there is nothing to compose", "release_ids")
        if self.dataset_ids and self.dataset_id is None:
            raise MisplacedError("tables that others released are composed over their original", "dataset_id")
        if self.dataset_ids and not self.join_columns:
            raise MisplacedError("these columns join the tables to the original", "join_columns")
        for name, values in self.ordinal.items():
            check_values("ordinal", values, name)
        return self

    @property
    def renamed(self) -> Mapping[str, str]:
        """Columns of earlier data, or of tables of others, with the names that the original has for them."""
        return self.join_columns if isinstance(self.join_columns, dict) else {}

    def called(self, name: str) -> str:
        """What the original calls such a column."""
        return self.renamed.get(name, name)


class ComposedColumn(OverlayDiversity, SpecifiedColumn):
    """A sensitive column over the persons that cannot be distinguished."""


class CompositionResult(AuditResult):
    """Result of a `composition` job; restricted to its owner."""

    method: Literal["composition"] = Field(default="composition", description="Method of the job that has this result.")
    records: int = Field(description="Records of the original that are in some release.")
    release_count: int = Field(description="Releases and tables that were composed.")
    k_required: float = Field(description="Least number of persons that must remain.")
    composed_k: float = Field(
        description="Persons that remain: the least of what follows; 1 where one cannot be placed."
    )
    unplaced: int = Field(default=0, description="Persons whose place in some release cannot be determined.")
    new: int = Field(default=0, description="Persons of the original who were not in the data of some release.")
    left: int = Field(default=0, description="Persons of a release's data who are no more in the original.")
    group_count: int = Field(description="Sets of records that agree in all boxes.")
    overlay: int | None = Field(description="Persons in the smallest such set; null: no release has boxes.")
    overlay_below: float | None = Field(description="Share of the persons in sets of fewer than k.")
    candidates: int | None = Field(description="Fewest rows that may be a person's, joined by kept columns alone.")
    candidates_below: float | None = Field(description="Share of the persons with fewer than k of them.")
    expected: float | None = Field(description="Fewest records expected to fit the noisy rows of one; null: no noise.")
    expected_below: float | None = Field(description="Share of the records with fewer than k of them.")
    changed: int | None = Field(
        description="Fewest rows by which a box differs from today's records, or between versions; null: by none."
    )
    sensitive: tuple[ComposedColumn, ...] = Field(
        description="By column; empty where all rows are the original's or follow them: they make no groups."
    )
    meaning: dict[str, str] = Field(description="Meaning of each figure, one sentence each.")
