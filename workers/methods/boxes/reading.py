"""The columns of a specification as the algorithm works on them: numbers, and codes of values; records in an order.

Whole numbers, days and what the values of an order count as are numbers. What becomes of missing values is decided
here, and which records take part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import ColumnKind, typed_values
from app.contracts.datasets import ColumnType
from app.errors import FieldError, InfeasibleError, InvalidError, pointer
from app.methods.boxes.nominal import NominalColumn
from app.methods.boxes.spec import BoxBounds, BoxesMissingPolicy, BoxesSpec
from app.methods.columns import k_too_large
from surebox_core.types import FloatArray
from surebox_verify.released.intervals import number_of
from surebox_verify.released.orders import order_of
from workers.algorithms.boxes import sides
from workers.algorithms.core.ordering import canonical_order
from workers.algorithms.core.winsorized import winsorized
from workers.frames.codes import Coded, Codes, coded_columns
from workers.frames.columns import numeric_columns
from workers.methods.boxes.canonical_order import Order
from workers.methods.boxes.codebooks import Codebook, codebook, is_from_data, rare

#: A column whose outer bounds are declared is given `grid` bounds in steps of this share of their distance.
_GRID_SHARE: Final = 0.01
#: A `grid` bound of whole numbers leaves at least so many of them.
_GRID_UNITS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Read:
    """Columns of the dataset in canonical order; `values` (N, n) with NaN where missing, and codes (N,)."""

    values: FloatArray
    coded: tuple[Coded, ...]
    persons: Codes | None
    survey: FloatArray | None


@dataclass(frozen=True, slots=True)
class BoxRecords:
    """The records that take part, in canonical order.

    Attributes
    ----------
    x
        Numbers, shape (M, n).
    nominal
        The nominal columns of these records.
    books
        Their codebooks, by name.
    rows
        Where each record is in the dataset, shape (M,).
    persons, survey
        Number of each record's person, and its design weight, shape (M,); None where none are requested.
    rare
        How many records are left out because too few others have a value of theirs.
    """

    x: FloatArray
    nominal: tuple[sides.NominalColumn, ...]
    books: Mapping[str, Codebook]
    rows: NDArray[np.int64]
    persons: Codes | None
    survey: FloatArray | None
    rare: int = 0


def read(path: Path, spec: BoxesSpec, order: Order, types: Mapping[str, ColumnType]) -> Read:
    """Read the columns.

    Parameters
    ----------
    path
        The typed copy.
    spec
        The request.
    order
        Of its columns.
    types
        Of the dataset's columns.

    Raises
    ------
    InvalidError
        Values that cannot be computed with, or that a declared order does not have.
    """
    plain = [name for name in order.numeric if name not in spec.ordinal]
    table = numeric_columns(path, plain)
    values = np.empty((len(table.values), len(order.numeric)), order="F")
    errors: list[FieldError] = []
    for index, name in enumerate(plain):
        values[:, order.place[name]] = table.values[:, index]
    ranked = [name for name in order.numeric if name in spec.ordinal]
    for name, column in zip(ranked, coded_columns(path, ranked), strict=True):
        codes, strange = column.among(typed_values(spec.ordinal[name], types[name]))
        try:
            labels = np.array(order_of(spec.ordinal[name]).numbers)
        except ValueError as error:
            errors.append(FieldError(pointer("ordinal", name), f"column {name!r}: {error}"))
            continue
        values[:, order.place[name]] = np.where(codes < 0, np.nan, labels[codes])
        if strange:
            detail = f"{strange} records have a value of column {name!r} that its order does not list"
            errors.append(FieldError(pointer("ordinal", name), detail))
    if errors:
        raise InvalidError("columns that cannot become boxes; see `errors`", errors=errors)
    persons = None if spec.person_column is None else coded_columns(path, [spec.person_column])[0].codes
    survey = (
        None if spec.survey_weight_column is None else numeric_columns(path, [spec.survey_weight_column]).values[:, 0]
    )
    return Read(values, tuple(coded_columns(path, order.nominal)), persons, survey)


def records(table: Read, spec: BoxesSpec, order: Order, types: Mapping[str, ColumnType]) -> BoxRecords:
    """The records that take part, in canonical order, with the codebooks that they have.

    Parameters
    ----------
    table
        The columns.
    spec, order, types
        As in `read`.

    Raises
    ------
    InvalidError
        Values that a codebook does not have.
    InfeasibleError
        Fewer than k records have all values.
    """
    complete = _taking_part(table, spec, order)
    rows = _without_rare(table, complete, spec, order, types)
    persons = None if table.persons is None else table.persons[rows]
    people = None if persons is None else persons.astype(np.int64)
    books, columns = {}, []
    for name, column in zip(order.nominal, table.coded, strict=True):
        declared = spec.nominal.get(name, NominalColumn())
        books[name], codes = codebook(name, types[name], declared, column.taking(rows), people=people, k=spec.k)
        columns.append(codes)
    survey = None if table.survey is None else table.survey[rows]
    x = np.take(table.values, rows, axis=0) if len(rows) < len(table.values) else table.values
    order_of_rows = _in_order(x, columns, persons, survey, spec.k)
    return BoxRecords(
        x=x.take(order_of_rows, axis=0) + 0.0,  # zero has no sign
        nominal=tuple(
            sides.NominalColumn(codes[order_of_rows], len(books[name].values), books[name].tree, books[name].from_data)
            for name, codes in zip(order.nominal, columns, strict=True)
        ),
        books=books,
        rows=rows[order_of_rows],
        persons=None if persons is None else persons[order_of_rows],
        survey=None if survey is None else survey[order_of_rows],
        rare=len(complete) - len(rows),
    )


def numeric_kinds(spec: BoxesSpec, order: Order, kinds: Mapping[str, ColumnKind]) -> tuple[sides.NumericColumn, ...]:
    """What the numeric columns are, in their order."""
    return tuple(_numeric(spec, name, kinds[name]) for name in order.numeric)


def domain_of(spec: BoxesSpec, name: str) -> tuple[float, float] | None:
    """The declared outer bounds of a numeric column as numbers; an ordinal column's are its first and last value."""
    if name in spec.ordinal:
        labels = order_of(spec.ordinal[name]).numbers
        return labels[0], labels[-1]
    if (declared := spec.domains.get(name)) is None:
        return None
    lo, hi = (float(number_of(end)) for end in declared)
    return lo, hi


#: The first and the last day that there is.
_DAYS: Final = (float(number_of(date.min)), float(number_of(date.max)))


def _numeric(spec: BoxesSpec, name: str, kind: ColumnKind) -> sides.NumericColumn:
    width, spike = float(spec.min_width.get(name, 0.0)), spike_of(spec, name)
    if kind is ColumnKind.ORDINAL:
        order = order_of(spec.ordinal[name])
        return sides.NumericColumn(min_width=width, spike=spike, labels=order.numbers, has_means=order.has_means)
    given, whole = spec.value_step.get(name), kind is not ColumnKind.NUMBER
    limits = _DAYS if kind is ColumnKind.DATE else None
    if spec.bounds is not BoxBounds.GRID:
        step = (1.0 if whole else None) if given is None else float(given)
        return sides.NumericColumn(step=step, min_width=width, spike=spike, limits=limits)
    value_step = None if given is None else float(given)
    if value_step is None and (domain := domain_of(spec, name)) is not None:
        value_step = _GRID_SHARE * (domain[1] - domain[0])
    if value_step is not None and whole:
        value_step = max(_GRID_UNITS, float(np.ceil(value_step)))
    return sides.NumericColumn(
        step=1.0 if whole else None, value_step=value_step, min_width=width, spike=spike, limits=limits
    )


def spike_of(spec: BoxesSpec, name: str) -> float | None:
    """The value that all records of a box may have, as the number that it counts as; None where there is none."""
    value = spec.spikes.get(name)
    if value is None:
        return None
    if name in spec.ordinal:
        return order_of(spec.ordinal[name]).numbers[spec.ordinal[name].index(value)]
    return float(number_of(value))


def _taking_part(table: Read, spec: BoxesSpec, order: Order) -> NDArray[np.int64]:
    """All records, or the complete ones; values whose lack is refused are all there."""
    rows = np.arange(len(table.values))
    if spec.missing_policy is not BoxesMissingPolicy.DROP:
        return rows
    incomplete = np.isnan(table.values).any(axis=1)
    for name, column in zip(order.nominal, table.coded, strict=True):
        if not spec.nominal.get(name, NominalColumn()).has_missing:
            incomplete |= column.codes < 0
    if not incomplete.any():
        return rows
    rows = np.flatnonzero(~incomplete)
    if len(rows) < spec.k:
        raise InfeasibleError.at("/k", k_too_large(spec.k, f"{len(rows)} complete records", len(rows)))
    return rows


def _without_rare(
    table: Read, rows: NDArray[np.int64], spec: BoxesSpec, order: Order, types: Mapping[str, ColumnType]
) -> NDArray[np.int64]:
    """The records but those whose rare values would take frequent ones along, as long as few are left out.

    Columns by name, again from the start after each that left any out: what remains counts. `codebooks` states why.
    """
    columns = dict(zip(order.nominal, table.coded, strict=True))
    texts = [
        name
        for name in sorted(columns)
        if types[name] is ColumnType.STRING and is_from_data(types[name], spec.nominal.get(name, NominalColumn()))
    ]
    most, left_out = int(spec.max_suppressed_classes * len(rows)), 0
    again = True
    while again:
        again = False
        for name in texts:
            people = None if table.persons is None else table.persons[rows].astype(np.int64)
            few = rare(columns[name].taking(rows), people=people, k=spec.k)
            if few.any() and left_out + int(few.sum()) <= most:
                rows, left_out, again = rows[~few], left_out + int(few.sum()), True
    return rows


def _in_order(
    x: FloatArray, codes: Sequence[Codes], persons: Codes | None, survey: FloatArray | None, k: int
) -> NDArray[np.int64]:
    """Places of the records in an order that follows from what the search sees of them.

    Next to the columns that it cuts these are persons and design weights: where records are the same in those columns,
    weights are summed, and persons left out for a rare class, in an order that follows from what they are. Records that
    it sees alike are by their own values.
    """
    others = [] if survey is None else [survey]
    true = np.column_stack([x, *others]) + 0.0  # zero has no sign
    labels = [*codes, *([] if persons is None else [persons])]
    seen = np.column_stack([winsorized(true, k, persons), *labels])
    for table in (true, seen):
        table[np.isnan(table)] = np.inf
    return canonical_order(seen, then=true)
