"""What a column of a box release is: numbers, whole numbers, days, an order of values, or values without one."""

import csv
from collections.abc import Collection, Mapping
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Final, Protocol, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError
from app.contracts.columns import Bound, Domain, Finite
from app.contracts.datasets import NUMERIC, ColumnType
from app.methods.microfile.recoding import parsed

#: Values of one nominal or ordinal column: a box has a set of them.
MOST_VALUES: Final = 1_000
#: What a codebook that nobody declared has in the place of values that fewer than k records have.
OTHER: Final = "other"
_MOST_LEVELS: Final = 20

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
Days = tuple[Day, Day]


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


def _ends(domain: Any) -> str:
    ends = domain if isinstance(domain, (list, tuple)) else ()
    return "days" if any(isinstance(end, (str, date)) for end in ends) else "numbers"


BoxDomain = TypeAliasType(
    "BoxDomain",
    Annotated[
        Annotated[Domain, Tag("numbers")] | Annotated[Days, Tag("days")],
        Discriminator(_ends),
        Field(description="Least and greatest value, both included; days as text."),
    ],
)
Width = Annotated[Bound, Field(gt=0)]


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


class Hierarchy(Contract):
    """Ever wider classes of a column's values, as a tree."""

    levels: Annotated[tuple[Text, ...], Field(max_length=_MOST_LEVELS)] = Field(
        default=(), description="Names of the levels, the values themselves first; omitted: 0, 1, …"
    )
    rows: Annotated[tuple[tuple[Text, ...], ...], Field(max_length=MOST_VALUES)] = Field(
        default=(),
        validate_default=True,
        description="A row a value: the value, its class, the class of that, …, and everything.",
    )
    csv: Annotated[str, Field(max_length=10_000_000)] | None = Field(
        default=None, description="The rows as ARX writes them: a line a value, `;` between; shown as `rows`."
    )

    @model_validator(mode="before")
    @classmethod
    def _read_csv(cls, given: Any) -> Any:
        """Read ARX's form into rows."""
        if not isinstance(given, dict) or not isinstance(given.get("csv"), str):
            return given
        if given.get("rows"):
            msg = "give `rows` or `csv`, not both"
            raise MisplacedError(msg, "csv")
        text: str = given["csv"].lstrip("\ufeff")
        try:
            rows = [row for row in csv.reader(text.splitlines(), delimiter=";") if row]
        except csv.Error:
            msg = "a line cannot be read: a line a value, `;` between, texts short"
            raise MisplacedError(msg, "csv") from None
        return {name: value for name, value in given.items() if name != "csv"} | {"rows": rows}

    @field_validator("rows")
    @classmethod
    def _is_a_tree(cls, rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        height = len(rows[0]) if rows else 0
        if not 2 <= height <= _MOST_LEVELS or any(len(row) != height for row in rows):
            msg = f"every row has as many entries, 2 to {_MOST_LEVELS}: the value, its classes, and everything"
            raise ValueError(msg)
        parents: dict[tuple[int, str], str] = {}
        for index, row in enumerate(rows):
            for level in range(height - 1):
                if parents.setdefault((level, row[level]), row[level + 1]) != row[level + 1]:
                    msg = f"row {index}: what stands at level {level} has another class in an earlier row"
                    raise ValueError(msg)
        if len({row[0] for row in rows}) < len(rows):
            msg = "a value stands twice"
            raise ValueError(msg)
        if len({row[-1] for row in rows}) > 1:
            msg = "the last entry is one for all rows: everything, such as `*`"
            raise ValueError(msg)
        return rows

    @model_validator(mode="after")
    def _a_name_a_level(self) -> Self:
        if self.levels and len(self.levels) != len(self.rows[0]):
            msg = f"{len(self.rows[0])} levels, {len(self.levels)} names"
            raise MisplacedError(msg, "levels")
        return self


class NominalColumn(Contract):
    """A column of values without an order, published as the set of values that a box has."""

    values: Values | None = Field(
        default=None,
        description="All values that there may be (the codebook), with null where missing is one; omitted: those of "
        "the hierarchy, else those that k records of the data have, rarer ones together as `other`.",
    )
    hierarchy: Hierarchy | None = Field(default=None, description="Cuts go between the children of one class only.")
    missing_is_value: bool = Field(
        default=False, strict=True, description="Missing is a value like any other, null in sets."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_values("values", self.values or ())
        if self.hierarchy is not None and self.values is not None:
            leaves = {row[0] for row in self.hierarchy.rows}
            for index, value in enumerate(self.values):
                if value is not None and text_of(value) not in leaves:
                    msg = "a value that the hierarchy does not have"
                    raise MisplacedError(msg, "values", index)
        return self


class OfKinds(Protocol):
    """What says of columns that they are nominal or ordinal."""

    @property
    def nominal(self) -> dict[str, NominalColumn]:
        """Columns whose values have no order."""

    @property
    def ordinal(self) -> dict[str, tuple[Any, ...]]:
        """Columns whose values have a declared order."""


def kind_of(spec: OfKinds, name: str, column: ColumnType) -> ColumnKind:
    """How a column is cut and published: as declared, else by its type."""
    if name in spec.ordinal:
        return ColumnKind.ORDINAL
    return ColumnKind.NOMINAL if name in spec.nominal else _BY_TYPE[column]


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
    declared = spec.get("nominal") or {}
    given = {name for name, one in declared.items() if one.get("values") or one.get("hierarchy")}
    return {name: OTHER for name in spec["quasi_identifiers"] if name not in given}


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
    """Raise an error when a value stands twice in a list."""
    seen: set[tuple[bool, Any]] = set()
    for index, value in enumerate(values):
        key = (isinstance(value, bool), value)
        if key in seen:
            msg = "a value stands twice"
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
