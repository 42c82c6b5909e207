"""Columns and their values, as specifications of several methods name them: types, kinds, intervals, missing ones."""

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from enum import StrEnum
from math import isfinite
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    Tag,
    WithJsonSchema,
)
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError
from app.contracts.datasets import NUMERIC, ColumnType
from app.contracts.stored import StoredSpec

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
    """Treatment of records with a missing value in `quasi_identifiers`.

    `refuse`: the request is refused. `drop`: the record is suppressed.
    """

    REFUSE = "refuse"
    DROP = "drop"


class SuppressedRecords(Contract):
    """Records of the dataset that are left out, by reason."""

    missing: int = Field(default=0, description="Number of records suppressed because they lack a value.")
    rare: int = Field(default=0, description="They are rare: they make the statistics wide, or the scales large.")
    rare_class: int = Field(
        default=0,
        description="Fewer than k have their kept values, the same missing values, or a value of theirs whose codebook "
        "is taken from the data.",
    )


def check_different(*, field: str, names: tuple[str, ...], inner: str | None = None) -> None:
    """Raise an error when a name occurs twice in a list, or in a field of its elements."""
    for index, name in enumerate(names):
        if name in names[:index]:
            msg = f"a name occurs twice in `{field}`"
            raise MisplacedError(msg, field, index, *(() if inner is None else (inner,)))


def check_domains(domains: dict[str, tuple[float, float]]) -> None:
    """Raise an error when a domain is empty."""
    for column, (lo, hi) in domains.items():
        if not lo < hi:
            msg = f"the domain of {column!r} must be [lo, hi] with lo below hi"
            raise MisplacedError(msg, "domains", column)


Cell = str | int | float | bool | date


def parsed(value: object, kind: ColumnType) -> Cell:
    """A value of a body as a column of this type contains it.

    Raises
    ------
    ValueError
        If the type has no such value.
    """
    text = str(value).strip()
    if kind is ColumnType.STRING:
        return value if isinstance(value, str) else text
    if kind is ColumnType.BOOLEAN:
        known: dict[str, bool] = {"true": True, "1": True, "false": False, "0": False}
        if text.lower() not in known:
            msg = "not a boolean"
            raise ValueError(msg)
        return known[text.lower()]
    if isinstance(value, bool):
        msg = "a boolean, not a number or a date"
        raise ValueError(msg)  # noqa: TRY004 - one kind of error for every value that does not fit
    if kind is ColumnType.DATE:
        return date.fromisoformat(text)
    if kind is ColumnType.INTEGER:
        return _integer(text)
    return _finite(text)


def _integer(text: str) -> int:
    """Digits as they are: a double would round those of a long identifier."""
    number = int(text) if text.lstrip("+-").isdigit() else _finite(text)
    if number != int(number) or not -(2**63) <= number < 2**63:
        msg = "not an integer of 64 bits"
        raise ValueError(msg)
    return int(number)


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        msg = "not a finite number"
        raise ValueError(msg)
    return number


def unparsable(value: object, kind: ColumnType) -> bool:
    """Whether a column of this type cannot contain the value."""
    try:
        parsed(value, kind)
    except (ValueError, OverflowError):
        return True
    return False


#: Values of one nominal or ordinal column: a box has a set of them.
MOST_VALUES: Final = 1_000

#: What a codebook that no one declared has in the place of values that fewer than k records have.
OTHER: Final = "other"

#: With a limit on texts pydantic looks at them itself (contracts/base.py).
Text = Annotated[str, Field(max_length=10_000)]

ColumnValue = TypeAliasType(
    "ColumnValue",
    Annotated[
        StrictBool | StrictInt | Finite | Text | None,
        Field(description="A value as the column has it (a day as text); null is the missing value."),
    ],
)

Values = Annotated[tuple[ColumnValue, ...], Field(min_length=1, max_length=MOST_VALUES)]


def is_day(text: str) -> bool:
    """Whether a text is a day, YYYY-MM-DD."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _day(value: Any) -> date:
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or not is_day(value):
        msg = "a day is written YYYY-MM-DD"
        raise ValueError(msg)
    return date.fromisoformat(value)


Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date", "maxLength": 10})]


def _ordered(interval: tuple[Any, Any]) -> tuple[Any, Any]:
    lo, hi = interval
    if lo is not None and hi is not None and isinstance(lo, date) is not isinstance(hi, date):
        msg = "both ends of an interval are numbers, or both are days"
        raise ValueError(msg)
    if lo is not None and hi is not None and lo > hi:
        msg = "an interval is [lo, hi] with lo not above hi, null for an open end"
        raise ValueError(msg)
    return interval


def _end(value: Any) -> str:
    return "day" if isinstance(value, (str, date)) else "number"


IntervalEnd = TypeAliasType(
    "IntervalEnd",
    Annotated[
        Annotated[Finite | None, Tag("number")] | Annotated[Day, Tag("day")],
        Discriminator(_end),
        Field(description="A number or a day; null for an open end."),
    ],
)

Interval = Annotated[tuple[IntervalEnd, IntervalEnd], AfterValidator(_ordered)]


class ColumnKind(StrEnum):
    """How a column of `quasi_identifiers` is cut and published."""

    NUMBER = "number"
    INTEGER = "integer"
    DATE = "date"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"


#: Kinds that have two ends in a release, and that numbers are computed of: of days, and of ranks in an order.
NUMERIC_KINDS: Final = frozenset({ColumnKind.NUMBER, ColumnKind.INTEGER, ColumnKind.DATE, ColumnKind.ORDINAL})

_BY_TYPE: Final = {
    ColumnType.NUMBER: ColumnKind.NUMBER,
    ColumnType.INTEGER: ColumnKind.INTEGER,
    ColumnType.DATE: ColumnKind.DATE,
    ColumnType.STRING: ColumnKind.NOMINAL,
    ColumnType.BOOLEAN: ColumnKind.NOMINAL,
}


def plain_kind(column: ColumnType) -> ColumnKind:
    """What a column is by its type alone."""
    return _BY_TYPE[column]


def merged_values(spec: Mapping[str, Any]) -> dict[str, str]:
    """By column what rare values became, where its codebook is not declared but taken from the data.

    Parameters
    ----------
    spec
        Of a release of boxes, as it is stored.
    """
    made = StoredSpec.of(spec)
    given = {name for name, one in made.nominal.items() if one.get("values") or one.get("hierarchy")}
    return {name: OTHER for name in made.quasi_identifiers if name not in given}


def released_kind(name: str, columns: Mapping[str, str], ordinal: Collection[str]) -> ColumnKind:
    """How a column of a release of boxes is published.

    Parameters
    ----------
    name
        The column.
    columns
        Types of the release's columns.
    ordinal
        Columns whose values have a declared order.
    """
    if f"{name}_set" in columns:
        return ColumnKind.NOMINAL
    if name in ordinal:
        return ColumnKind.ORDINAL
    bound = columns.get(f"{name}_lo", "number")
    return _BY_TYPE[ColumnType(bound)] if bound in NUMERIC or bound == ColumnType.DATE else ColumnKind.NUMBER


def text_of(value: bool | float | str) -> str:
    """A value as text, as a hierarchy has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def check_values(field: str, values: tuple[Any, ...], *where: str) -> None:
    """Raise an error when a value occurs twice in a list."""
    seen: set[tuple[bool, Any]] = set()
    for index, value in enumerate(values):
        key = (isinstance(value, bool), value)
        if key in seen:
            msg = "a value occurs twice"
            raise MisplacedError(msg, field, *where, index)
        seen.add(key)


def typed(value: bool | float | str | None, column: ColumnType) -> Any:
    """A value of a specification as one of a column's type; a text, as of a hierarchy, is read as the type has it.

    Raises
    ------
    ValueError
        If it is none.
    """
    if value is None:
        return None
    if column is ColumnType.STRING and isinstance(value, str):
        return value
    if column is ColumnType.DATE and isinstance(value, str):
        return _day(value)
    if column is ColumnType.BOOLEAN and text_of(value) in {"true", "false"}:
        return text_of(value) == "true"
    if column in NUMERIC:
        return parsed(value, column)
    msg = f"not a value of type {column}"
    raise ValueError(msg)


def typed_values(values: Iterable[Any], column: ColumnType) -> list[Any]:
    """Declared values as those of a column's type, in the order in which they are declared; as `typed`."""
    return [typed(value, column) for value in values]


class SpecifiedColumn(Contract):
    """A column that the specification names."""

    column: str = Field(description="Name of the column in the request.")
