"""What a dataset's profile decides about the columns of a specification, for every method alike."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final, Protocol

from app.contracts.advice import beyond_exact
from app.contracts.columns import (
    EXACT_INTEGER,
    LARGEST,
    NUMERIC_KINDS,
    ColumnKind,
    MissingPolicy,
    is_day,
    label_numbers,
    typed,
)
from app.contracts.datasets import NUMERIC, ColumnType, DatasetColumn, NumericSummary, Profile
from app.contracts.inputs import ReleaseInput
from app.contracts.releases import ReleaseFormat
from app.contracts.statistics import ABOUT_VALUES, WITH_INDICATORS, Statistic, StatisticKind
from app.errors import FieldError, meant, pointer


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


def wrong_domains(spec: OfColumns, profile: Profile) -> Iterator[FieldError]:
    """Domains of values not among the columns."""
    return not_quasi_identifiers("domains", spec.domains, spec.quasi_identifiers, named(profile))


def not_quasi_identifiers(
    field: str,
    names: Iterable[str],
    quasi_identifiers: Sequence[str],
    there: Collection[str],
    *,
    or_in: Sequence[str] = (),
) -> Iterator[FieldError]:
    """Names in a field by column that are no quasi-identifiers, and none of the other columns that it may name.

    Parameters
    ----------
    field, names
        The field, and the columns that it names.
    quasi_identifiers, or_in
        Columns that it may name.
    there
        All columns of the data.
    """
    for name in names:
        if name not in quasi_identifiers and name not in or_in:
            detail = not_used(name, quasi_identifiers, there, "`quasi_identifiers`")
            yield FieldError(pointer(field, name), detail)


def not_used(
    name: str, used: Collection[str], there: Collection[str], fields: str, *, may_be_added: bool = True
) -> str:
    """Return the refusal of a column that the job does not use: how to add it, or the one that was perhaps meant.

    Parameters
    ----------
    name
        Of the column.
    used, there
        Columns of the job, and all those of the data.
    fields
        Of the specification, that name columns of the job.
    may_be_added
        False of a new version, which has the columns of the release before.
    """
    if name in there:
        way = f"add it to {fields}" if may_be_added else "they are those of the release before"
        return f"column {name!r} is not among the columns of this job: {way}"
    return f"{name!r} is not one of {fields}{meant(name, [*used, *there])}"


def wrong_values(spec: OfColumns, profile: Profile) -> Iterator[FieldError]:
    """Values that cannot be computed with. The job counts those outside of a domain."""
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


def missing_values(column: DatasetColumn) -> str:
    """The statement about a column with missing values, before what may be done about them."""
    return f"column {column.name!r} has {_counted(column.missing, 'missing')}"


def infinite_values(label: str, summary: NumericSummary) -> str:
    """The statement about a column with infinite values."""
    return f"column {label} has {_counted(summary.infinite, 'infinite')}; upload it with finite numbers"


#: What works where a number is infinite: formats that have every number.
WITHOUT_JSON: Final = 'leave NDJSON out: `formats: ["parquet","csv"]`'


def infinite_in_json(
    names: Iterable[str], formats: Collection[ReleaseFormat], profile: Profile, *, field: str = "keep"
) -> Iterator[FieldError]:
    """Refuse columns that a release has unchanged and one of its formats cannot write: JSON has no infinite number.

    Parameters
    ----------
    names
        The columns.
    formats
        Of the release.
    profile
        Of the data.
    field
        The field that lists the columns; one that does not stand for all of them.
    """
    if ReleaseFormat.NDJSON not in formats:
        return
    for index, name in enumerate(names):
        summary = profile.numeric.get(name)
        if summary is not None and summary.infinite:
            where = pointer(field, index) if field == "keep" else pointer(field)
            yield FieldError(where, f"{infinite_values(repr(name), summary)}, or {WITHOUT_JSON}")


def infinite_before(
    names: Iterable[str], formats: Collection[ReleaseFormat], releases: Iterable[ReleaseInput]
) -> Iterator[FieldError]:
    """Refuse kept columns whose numbers come, or may come, from earlier releases and that JSON cannot write.

    Parameters
    ----------
    names, formats
        As `infinite_in_json`.
    releases
        Those whose rows the new one may have. What a deleted dataset had is unknown here: the worker looks.
    """
    if ReleaseFormat.NDJSON not in formats:
        return
    counts: dict[str, tuple[int, str]] = {}
    for one in releases:
        counts = {name: (count, one.id) for name, count in (one.infinite or {}).items()} | counts
    for index, name in enumerate(names):
        if name in counts:
            count, release = counts[name]
            there = f"column {name!r} has {_counted(count, 'infinite')} in the data of {release}"
            yield FieldError(pointer("keep", index), f"{there}; {WITHOUT_JSON}")


def _counted(count: int, kind: str) -> str:
    return f"1 {kind} value" if count == 1 else f"{count} {kind} values"


def wrong_numbers(
    where: str, column: DatasetColumn, summary: NumericSummary, *, as_values: bool = False
) -> Iterator[FieldError]:
    """Refuse numbers of a column that a computation with doubles cannot take.

    Parameters
    ----------
    where
        The pointer to its name.
    column, summary
        The column.
    as_values
        Whether the column could be one of values, too.
    """
    if summary.infinite:
        yield FieldError(where, infinite_values(repr(column.name), summary))
    if column.type is ColumnType.INTEGER and _size(summary) > EXACT_INTEGER:
        yield FieldError(where, beyond_exact(column.name, as_values=as_values))
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
    return f"k = {k:.16g} is too large for {had}: the largest k is {bound}{largest}"


def records_of(records: int, rows: int) -> str:
    """How many records can take part, of so many rows."""
    counted = "record" if records == 1 else "records"
    return f"{records} {counted}" if records == rows else f"at most {records} complete {counted}"


def too_few(k: float, *, largest: int, rows: int, bound: str = "") -> Iterator[FieldError]:
    """A k that needs more records than there are."""
    if k > largest:
        yield FieldError("/k", k_too_large(k, records_of(largest, rows), largest, bound=bound))


def _size(summary: NumericSummary) -> float:
    return max(abs(summary.finite_minimum or 0.0), abs(summary.finite_maximum or 0.0))


def outside_domain(name: str, domain: tuple[Any, Any], below: int, above: int) -> Iterator[FieldError]:
    """Refuse a domain that released records lie outside of.

    Parameters
    ----------
    name, domain
        The column, and its ends as they are declared.
    below, above
        How many records lie on each side.
    """
    sides = [(count, words) for count, words in ((below, "less than"), (above, "more than")) if count]
    if not sides:
        return
    ends = dict(zip(("less than", "more than"), (str(end).removesuffix(".0") for end in domain), strict=True))
    (first, words), *others = sides
    detail = f"{first} record{' has' if first == 1 else 's have'} {words} {ends[words]} in {name!r}"
    detail += "".join(f" and {count} {words} {ends[words]}" for count, words in others)
    yield FieldError(pointer("domains", name), f"{detail}: widen the domain or leave them out.")


def unfit(
    statistic: Statistic, position: int, kind: ColumnKind, *, kept: bool = False, order: Sequence[Any] = ()
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
    order
        Of an ordinal column its values: those that are numbers, or days, have intervals.

    Returns
    -------
    tuple
        The field of the statistic that does not fit the column, from the statistic on, and what is wrong.
    """
    counted = kind_counted(kind, order)
    valued, column = kind in (ColumnKind.NOMINAL, ColumnKind.ORDINAL), ("of", position)
    if statistic.interval is not None and position == len(statistic.of) - 1:
        wrong = _unfit_interval(statistic.interval, counted)
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


def kind_counted(kind: ColumnKind, order: Sequence[Any]) -> ColumnKind:
    """Return the type that the values of a column count as: of an order of numbers, or of days, these."""
    numbers = label_numbers(order) if kind is ColumnKind.ORDINAL and order else None
    if numbers is None:
        return kind
    return ColumnKind.DATE if isinstance(numbers[0], date) else ColumnKind.NUMBER


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
