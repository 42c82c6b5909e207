"""Audit `frontier`: boxes again and again, for what each k costs."""

from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, ValidationError, create_model, model_validator

from app.contracts.base import Contract, MisplacedError
from app.contracts.examples import QUASI_IDENTIFIERS, Examples
from app.contracts.findings import AuditResult
from app.contracts.jobs import DatasetJobSpec, JobKind, ReleasingSpec
from app.contracts.statistics import NamedStatistic
from app.methods.boxes.spec import BoxesSpec

#: A frontier takes the fields of `boxes` as they are, whatever is added to them.
_FIELDS: Final[dict[str, Any]] = {
    name: (field.annotation, field)
    for name, field in BoxesSpec.model_fields.items()
    if name not in ReleasingSpec.model_fields and name not in {"k", "base_release_id", "previous_release_id"}
}

_OfBoxes: Any = create_model("_OfBoxes", __base__=DatasetJobSpec, **_FIELDS)


class FrontierSpec(_OfBoxes):
    """Audit of the cost of each k: boxes for each k, nothing published."""

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

    method: Literal["frontier"] = Field(description="Name of the method: the cost of each k.")
    k: tuple[Annotated[int, Field(strict=True, ge=1, le=2**53)], ...] = Field(
        default=(2, 3, 5, 10, 20, 50, 100),
        min_length=1,
        max_length=20,
        description="Values of k to try. Each is a whole number of at least 1.",
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
    """Cost of one k in accuracy."""

    k: int = Field(description="As in the specification.")
    box_count: int | None = Field(description="Boxes; null where this k cannot be had.")
    released: int | None = Field(description="Records that would be released.")
    ncp: float | None = Field(description="Normalized certainty penalty: 0 nothing is lost, 1 all.")
    share_single_value: dict[str, float] | None = Field(description="By column, cells that leave one value.")
    statistics: tuple[FrontierStatistic, ...] = Field(description="As in the specification.")
    infeasible: str | None = Field(description="Why this k cannot be had; null: it can.")


class FrontierResult(AuditResult):
    """Result of a `frontier` job; restricted to its owner: nothing is published."""

    method: Literal["frontier"] = Field(default="frontier", description="Method of the job that has this result.")
    points: tuple[FrontierPoint, ...] = Field(description="One for each k, in the order of the specification.")
    meaning: dict[str, str] = Field(description="Meaning of each figure, one sentence each.")
