"""What specifications of several methods say of columns and their values."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from app.contracts.base import MisplacedError

ColumnName = Annotated[str, Field(min_length=1)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
#: Of records, persons, cells.
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
#: Values beyond this size cannot be computed with: sums of their fourth powers overflow.
LARGEST: Final = 1e70
Bound = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST)]
#: Public limits of a column, both included.
Domain = tuple[Bound, Bound]


class Missing(StrEnum):
    """What becomes of records with a missing value in `columns`."""

    REFUSE = "refuse"
    DROP = "drop"


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
