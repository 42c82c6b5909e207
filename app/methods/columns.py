"""What a dataset's profile decides about the columns of a specification, for every method alike."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Protocol

from app.contracts.columns import LARGEST, NUMERIC_KINDS, ColumnKind, MissingPolicy, is_day, typed
from app.contracts.datasets import NUMERIC, ColumnType, DatasetColumn, NumericSummary, Profile
from app.contracts.statistics import ABOUT_VALUES, WITH_INDICATORS, Statistic, StatisticKind
from app.errors import FieldError, meant, pointer

#: A double represents every integer up to this size.
EXACT_INTEGER = 2**53


class OfColumns(Protocol):
    """A specification that computes with numeric columns of one dataset."""

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """Columns to compute with."""

    @property
    def missing_policy(self) -> MissingPolicy:
        """What becomes of records with missing values."""

    @property
    def domains(self) -> Mapping[str, tuple[float, float]]:
        """Public limits."""


def named(profile: Profile) -> dict[str, DatasetColumn]:
    """The profile's columns by name."""
    return {column.name: column for column in profile.columns}


def types_of(profile: Profile) -> dict[str, ColumnType]:
    """The type of each column of a dataset."""
    return {column.name: column.type for column in profile.columns}


def wrong_column(name: str, columns: Mapping[str, DatasetColumn], *, numeric: bool = False) -> str | None:
    """The faults of naming this column, if anything is."""
    if name not in columns:
        return f"the dataset has no column {name!r}{meant(name, columns)}"
    if numeric and columns[name].type not in NUMERIC:
        return f"column {name!r} is {columns[name].type}, not numeric"
    return None


def wrong_columns(
    field: str, names: Iterable[str], columns: Mapping[str, DatasetColumn], *, numeric: bool = False
) -> Iterator[FieldError]:
    """Names in a list that the dataset does not have, or that are not numeric."""
    for index, name in enumerate(names):
        if (wrong := wrong_column(name, columns, numeric=numeric)) is not None:
            yield FieldError(pointer(field, index), wrong)


def wrong_domains(spec: OfColumns) -> Iterator[FieldError]:
    """Domains of values not among the columns."""
    return not_quasi_identifiers("domains", spec.domains, spec.quasi_identifiers)


def not_quasi_identifiers(
    field: str, names: Iterable[str], quasi_identifiers: Sequence[str], *, or_in: Sequence[str] = ()
) -> Iterator[FieldError]:
    """Names in a field by column that are no quasi-identifiers, and none of the other columns that it may name."""
    for name in names:
        if name not in quasi_identifiers and name not in or_in:
            detail = f"{name!r} is not one of `quasi_identifiers`{meant(name, quasi_identifiers)}"
            yield FieldError(pointer(field, name), detail)


def wrong_values(spec: OfColumns, profile: Profile) -> Iterator[FieldError]:
    """Values that cannot be computed with, or are outside what the specification calls their domain."""
    columns = named(profile)
    for index, name in enumerate(spec.quasi_identifiers):
        if name not in columns or name not in profile.numeric:
            continue
        column, summary = columns[name], profile.numeric[name]
        if spec.missing_policy is MissingPolicy.REFUSE and column.missing:
            yield FieldError(
                pointer("quasi_identifiers", index),
                f"{missing_values(column)}: `missing_policy: drop` leaves those records out",
            )
        yield from wrong_numbers(pointer("quasi_identifiers", index), column, summary)
        if name in spec.domains and outside(summary, spec.domains[name]):
            yield FieldError(pointer("domains", name), f"column {name!r} has values outside this domain")


def missing_values(column: DatasetColumn) -> str:
    """The statement about a column with missing values, before what may be done about them."""
    return f"column {column.name!r} has {_counted(column.missing, 'missing')}"


def infinite_values(label: str, summary: NumericSummary) -> str:
    """The statement about a column with infinite values."""
    return f"column {label} has {_counted(summary.infinite, 'infinite')}; upload it with finite numbers"


def _counted(count: int, kind: str) -> str:
    return f"1 {kind} value" if count == 1 else f"{count} {kind} values"


def wrong_numbers(where: str, column: DatasetColumn, summary: NumericSummary) -> Iterator[FieldError]:
    """Numbers of a column that a computation with doubles cannot take; `where` is the pointer to its name."""
    if summary.infinite:
        yield FieldError(where, infinite_values(repr(column.name), summary))
    if column.type is ColumnType.INTEGER and _size(summary) > EXACT_INTEGER:
        yield FieldError(where, f"column {column.name!r} has integers beyond 2^53 in size")
    elif _size(summary) > LARGEST:
        detail = f"column {column.name!r} has magnitudes above {LARGEST:g}; give the column in a larger unit"
        yield FieldError(where, detail)


def complete_records(spec: OfColumns, profile: Profile) -> int:
    """The most records that can take part: all, or those left by the column with most missing values."""
    if spec.missing_policy is MissingPolicy.REFUSE:
        return profile.rows
    columns = named(profile)
    return profile.rows - max((columns[name].missing for name in spec.quasi_identifiers if name in columns), default=0)


def k_too_large(k: float, had: str, largest: float, *, bound: str = "") -> str:
    """Detail of every refusal of a k that is too large.

    Parameters
    ----------
    k
        Required.
    had
        The scarce thing, such as `40 records`.
    largest
        The largest k that can be had; with `bound` "at most " it may be smaller.
    """
    return f"k = {k:.16g} required, {had}: the largest k is {bound}{largest}"


def records_of(records: int, rows: int) -> str:
    """How many records can take part, of so many rows."""
    return f"{records} records" if records == rows else f"at most {records} complete records"


def too_few(k: float, *, largest: int, rows: int, bound: str = "") -> Iterator[FieldError]:
    """A k that needs more records than there are."""
    if k > largest:
        yield FieldError("/k", k_too_large(k, records_of(largest, rows), largest, bound=bound))


def _size(summary: NumericSummary) -> float:
    return max(abs(summary.finite_minimum or 0.0), abs(summary.finite_maximum or 0.0))


def outside(summary: NumericSummary, domain: tuple[float, float]) -> bool:
    """Whether a column has values outside a domain."""
    lo, hi = domain
    if summary.finite_minimum is None or summary.finite_maximum is None:
        return False
    return summary.finite_minimum < lo or summary.finite_maximum > hi


def unfit(
    statistic: Statistic, position: int, kind: ColumnKind, *, kept: bool = False
) -> tuple[tuple[str | int, ...], str] | None:
    """Why a statistic cannot have a column of this kind at this place, and what it could; None where it can.

    Parameters
    ----------
    statistic, position
        The statistic, and the place of the column in its `of`.
    kind
        Of the column.
    kept
        Whether rows have the column as it is, so that a number is a value too.

    Returns
    -------
    tuple
        The field of the statistic that does not fit the column, from the statistic on, and what is wrong.
    """
    valued, column = kind in (ColumnKind.NOMINAL, ColumnKind.ORDINAL), ("of", position)
    if statistic.interval is not None and position == len(statistic.of) - 1:
        wrong = _unfit_interval(statistic.interval, kind)
        return None if wrong is None else (("interval",), wrong)
    if position in ABOUT_VALUES.get(statistic.kind, ()):
        if valued or kept:
            return None
        ways = "" if statistic.kind is StatisticKind.CROSSTAB else "; or give an `interval` of it"
        declare = "declare it under `nominal`, or under `ordinal`"
        return column, f"{statistic.kind} takes a column of values here; {declare}{ways}"
    if statistic.at is not None and position > 0 and (wrong := _unfit_at(statistic.at[position - 1], kind)) is not None:
        return ("at", position - 1), wrong
    if kind in NUMERIC_KINDS or statistic.kind in WITH_INDICATORS:  # of how many values, the codebook states
        return None
    detail = f"{statistic.kind} takes numbers here; `share` and `crosstab` are about values, `domain_mean` about groups"
    return column, detail


def _unfit_at(value: Any, kind: ColumnKind) -> str | None:
    """Why a column of this kind does not have the value at which a prediction is made."""
    if kind is ColumnKind.DATE:
        return None if isinstance(value, str) and is_day(value) else "a prediction is at a day, YYYY-MM-DD"
    if kind in (ColumnKind.NOMINAL, ColumnKind.ORDINAL):
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return None if is_number else "a prediction is at a number of it"


def _unfit_interval(interval: tuple[Any, Any], kind: ColumnKind) -> str | None:
    """Why a column of this kind has no such interval."""
    if kind in (ColumnKind.NOMINAL, ColumnKind.ORDINAL):
        return "it has no `interval`; name its `values`"
    if any(isinstance(end, date) is not (kind is ColumnKind.DATE) for end in interval if end is not None):
        return "the ends of its `interval` are " + ("days" if kind is ColumnKind.DATE else "numbers")
    return None


def mistyped(name: str, kind: ColumnType, values: Iterable[Any], *where: str) -> Iterator[FieldError]:
    """Declared values that a column of this type cannot have.

    Parameters
    ----------
    name, kind
        Of the column.
    values
        As declared.
    where
        The field that declares them.
    """
    for place, value in enumerate(values):
        try:
            right = typed(value, kind) is not None
        except ValueError:
            right = False
        if not right:
            yield FieldError(pointer(*where, place), f"not a value of column {name!r}, which is {kind}")


def wrong_order(column: DatasetColumn, values: Sequence[Any]) -> Iterator[FieldError]:
    """An order under `ordinal` that has no place for some value, or values that the column cannot have."""
    yield from mistyped(column.name, column.type, values, "ordinal", column.name)
    if column.distinct > len(values):
        detail = f"column {column.name!r} has {column.distinct} values, its order lists {len(values)}: list all of them"
        yield FieldError(pointer("ordinal", column.name), detail)
