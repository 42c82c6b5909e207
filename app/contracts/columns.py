"""Columns and their values, as specifications of several methods name them: types, kinds, intervals, missing ones."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from itertools import pairwise
from math import isfinite
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    Tag,
    WithJsonSchema,
    with_config,
)
from typing_extensions import TypeAliasType, TypedDict

from app.contracts.base import Contract, MisplacedError
from app.contracts.datasets import NUMERIC, ColumnType
from app.contracts.stored import StoredSpec

ColumnName = Annotated[str, Field(min_length=1)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
#: Of records, persons, cells.
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
#: A double represents every integer up to this size.
EXACT_INTEGER: Final = 2**53
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


class ValueDisclosure(Contract):
    """Shares of the rows with a value in a column whose value every reader knows from a release of boxes.

    A box hides who its rows are, and not what its bounds, sets and means leave of their values.
    """

    exact: float = Field(description="Rows whose value every reader knows.")
    within: float | None = Field(
        default=None, description="Rows whose value every reader knows to within `tolerance`; null without numbers."
    )
    tolerance: float | None = Field(
        default=None,
        description="Accuracy as named, or a tenth of the column's natural scale, about its standard deviation; "
        "null likewise.",
    )
    estimable: float | None = Field(
        default=None,
        description="Rows whose value every reader knows to within a tenth of it; null of days, orders and columns "
        "with values below 0.",
    )


class GuessedValues(Contract):
    """Shares of best guesses of a column's values that are right, with a release of boxes and without it.

    Whoever guesses is taken to have the column's distribution. The guess by the release is the window that most of the
    column's values are in, of those inside the row's box, or the mean of the box; whichever is right more often.
    """

    share: float = Field(description="Rows whose value is guessed by the release.")
    baseline: float = Field(
        description="Share guessed right without any release: one guess for all, from the column's distribution."
    )
    tolerance: float | None = Field(
        description="A guess counts as right within half of this (as in `value_disclosure`); null without numbers, "
        "where it has to be the value."
    )


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


#: Whole numbers of more digits are as good as infinite.
_DIGITS: Final = 100
#: How a text writes a number.
_NUMBER: Final = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\s*", re.ASCII)


def label_numbers(values: Iterable[Any]) -> list[float | int | date] | None:
    """The values of an order as numbers, or as days, where all are; None: they count by rank.

    What they count as is decided where statistics are computed (surebox_verify.released.orders), by the same rule.

    Parameters
    ----------
    values
        In their order, as a specification has them.
    """
    read = [_label_number(value) for value in values]
    kinds = {isinstance(each, date) for each in read}
    return [each for each in read if each is not None] if None not in read and len(kinds) == 1 else None


def _label_number(value: Any) -> float | int | date | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float, date)):
        return value
    text = str(value)
    if _NUMBER.fullmatch(text):
        digits = text.strip().lstrip("+-")
        return int(text) if digits.isdigit() and len(digits) <= _DIGITS else float(text)
    return date.fromisoformat(text) if is_day(text) else None


#: Values of one nominal or ordinal column: a box has a set of them.
MOST_VALUES: Final = 1_000

#: What a codebook that no one declared had in the place of values that fewer than k records have, before it said so.
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


def _only(description: str) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"description": description})


@with_config(_only("A value, though a class has its name."))
class NamedValue(TypedDict):
    """A value of a column, and never a class of the same name; a plain dictionary, for there may be many."""

    value: ColumnValue


NamedClass = TypedDict("NamedClass", {"class": Annotated[Text, Field(description="Name of a class of the hierarchy.")]})
with_config(
    _only(
        "All values under a class of the column's hierarchy, though a value has its name; or, of a codebook from the "
        "data, all values that it does not list, by the word for them in `merged_as`."
    )
)(NamedClass)


def _name(value: Any) -> str:
    """Name of a value: bare, or as a value or a class."""
    if not isinstance(value, dict):
        return "bare"
    return "as a class" if "class" in value else "as a value"


ValueName = TypeAliasType(
    "ValueName",
    Annotated[
        Annotated[ColumnValue, Tag("bare")]
        | Annotated[NamedValue, Tag("as a value")]
        | Annotated[NamedClass, Tag("as a class")],
        Discriminator(_name),
        Field(
            description="A value as the column has it (a day as text), null for the missing one; a class of its "
            'hierarchy if it has no such value. `{"value": …}` and `{"class": …}` name the one or the other.'
        ),
    ],
)

ValueNames = Annotated[tuple[ValueName, ...], Field(min_length=1, max_length=MOST_VALUES)]


def value_in(name: Any) -> Any:
    """The value, or the class, that a name is of."""
    return next(iter(name.values())) if isinstance(name, dict) else name


def names_class(name: Any) -> bool:
    """Return whether a name is of a class alone."""
    return isinstance(name, dict) and "class" in name


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


NumericEnd = TypeAliasType(
    "NumericEnd", Annotated[StrictInt | Finite | None, Field(description="A number; null for an open end.")]
)
IntervalEnd = TypeAliasType(
    "IntervalEnd",
    Annotated[
        Annotated[NumericEnd, Tag("number")] | Annotated[Day, Tag("day")],
        Discriminator(_end),
        Field(description="A number or a day; null for an open end. Whole numbers of any size are taken as they are."),
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


#: Kinds that have two ends in a release, and that numbers are computed of: of days, and of what an order counts as.
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


def merged_values(spec: Mapping[str, Any], merged_as: Mapping[str, str] | None = None) -> dict[str, str]:
    """By column what rare values became, where its codebook is not declared but taken from the data.

    Parameters
    ----------
    spec
        Of a release of boxes, as it is stored.
    merged_as
        As the release states it; None where it was made before releases did.
    """
    if merged_as is not None:
        return dict(merged_as)
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
    seen: set[tuple[str, bool, Any]] = set()
    for index, value in enumerate(values):
        key = (_name(value), isinstance(value_in(value), bool), value_in(value))
        if key in seen:
            msg = "a value occurs twice"
            raise MisplacedError(msg, field, *where, index)
        seen.add(key)


def check_order(values: Sequence[Any], column: str) -> None:
    """Raise an error when the values of an order are numbers that do not ascend: statistics are of these numbers."""
    numbers = label_numbers(values) or []
    for index, number in enumerate(numbers):
        if not isinstance(number, date) and abs(number) > (EXACT_INTEGER if isinstance(number, int) else LARGEST):
            msg = f"the values of {column!r} are numbers and count as these, this one is too large: declare `nominal`"
            raise MisplacedError(msg, "ordinal", column, index)
    sizes = [float(number.toordinal() if isinstance(number, date) else number) for number in numbers]
    for index, (one, after) in enumerate(pairwise(sizes), start=1):
        if one >= after:
            msg = (
                f"the values of {column!r} are numbers and count as these: list them from the lowest to the highest, "
                "each number once; codes without such an order are `nominal`"
            )
            raise MisplacedError(msg, "ordinal", column, index)


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
