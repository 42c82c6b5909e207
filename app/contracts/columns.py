"""What specifications of several methods say of columns and their values."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from app.contracts.base import Contract, MisplacedError

ColumnName = Annotated[str, Field(min_length=1)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
#: Of records, persons, cells.
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
#: Values beyond this size cannot be computed with: sums of their fourth powers overflow.
LARGEST: Final = 1e70
Bound = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST)]
#: Public limits of a column, both included.
Domain = tuple[Bound, Bound]


class MissingPolicy(StrEnum):
    """What becomes of records with a missing value in `quasi_identifiers`."""

    REFUSE = "refuse"
    DROP = "drop"


class SuppressedRecords(Contract):
    """Records of the dataset that are left out, by reason."""

    missing: int = Field(default=0, description="They lack a value.")
    rare: int = Field(default=0, description="They are rare: they make the statistics wide, or the scales large.")
    rare_class: int = Field(
        default=0,
        description="Fewer than k have their kept values, the same missing values, or a value of theirs whose codebook "
        "is taken from the data.",
    )


def check_different(*, field: str, names: tuple[str, ...], inner: str | None = None) -> None:
    """Raise an error when a name stands twice in a list, or in a field of its elements."""
    for index, name in enumerate(names):
        if name in names[:index]:
            msg = f"a name stands twice in `{field}`"
            raise MisplacedError(msg, field, index, *(() if inner is None else (inner,)))


def check_domains(domains: dict[str, tuple[float, float]]) -> None:
    """Raise an error when a domain is empty."""
    for column, (lo, hi) in domains.items():
        if not lo < hi:
            msg = f"the domain of {column!r} must be [lo, hi] with lo below hi"
            raise MisplacedError(msg, "domains", column)
