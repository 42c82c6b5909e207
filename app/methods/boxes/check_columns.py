"""What a dataset's profile decides about the columns of a box release: what each is, and what would make it usable."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final, cast

from app.contracts.columns import EXACT_INTEGER, ColumnKind, Domain, plain_kind
from app.contracts.datasets import DatasetColumn, Profile
from app.errors import FieldError, pointer
from app.methods.boxes.nominal import NominalColumn
from app.methods.boxes.spec import BoxBounds, BoxesMissingPolicy, BoxesSpec, kinds_of
from app.methods.columns import (
    missing_values,
    mistyped,
    named,
    not_quasi_identifiers,
    types_of,
    wrong_column,
    wrong_numbers,
    wrong_order,
)

#: Texts of which nearly every record has its own are names, not classes.
_NAMES: Final = 0.9
_FEW: Final = 20
_SETTINGS: Final = ("domains", "value_step", "min_width", "spikes")
_OF_ORDERS: Final = ("min_width", "spikes")


def kept_kinds(spec: BoxesSpec, profile: Profile) -> dict[str, ColumnKind]:
    """The kind of each column that rows keep, of those that the dataset has."""
    columns = named(profile)
    return {name: plain_kind(columns[name].type) for name in spec.keep if name in columns}


def lacks_values(spec: BoxesSpec, column: DatasetColumn, kind: ColumnKind) -> bool:
    """Whether missing values of a column make its records incomplete."""
    own = kind is ColumnKind.NOMINAL and spec.nominal.get(column.name, NominalColumn()).has_missing
    return column.missing > 0 and not own


def complete_records(spec: BoxesSpec, profile: Profile) -> int:
    """The most records that can take part: all, or those left by the column with most missing values."""
    if spec.missing_policy is not BoxesMissingPolicy.DROP:
        return profile.rows
    columns, kinds = named(profile), kinds_of(spec, types_of(profile))
    missing = (columns[name].missing for name, kind in kinds.items() if lacks_values(spec, columns[name], kind))
    return profile.rows - max(missing, default=0)


def wrong_columns(spec: BoxesSpec, profile: Profile) -> Iterator[FieldError]:
    """Columns that are not there or cannot become sides of boxes, and the statement about others than these."""
    columns, kinds = named(profile), kinds_of(spec, types_of(profile))
    for index, name in enumerate(spec.quasi_identifiers):
        if (wrong := wrong_column(name, columns)) is not None:
            yield FieldError(pointer("quasi_identifiers", index), wrong)
        else:
            yield from _unusable(spec, index, columns[name], kinds[name], profile)
    for field in ("nominal", *_SETTINGS):
        yield from not_quasi_identifiers(field, getattr(spec, field), spec.quasi_identifiers, columns)
    yield from not_quasi_identifiers("ordinal", spec.ordinal, spec.quasi_identifiers, columns, or_in=spec.sensitive)
    for name in spec.t_distance:
        if name not in spec.sensitive:
            yield FieldError(pointer("t_distance", name), f"{name!r} is not one of `sensitive`")


def _unusable(
    spec: BoxesSpec, index: int, column: DatasetColumn, kind: ColumnKind, profile: Profile
) -> Iterator[FieldError]:
    where = pointer("quasi_identifiers", index)
    if spec.missing_policy is BoxesMissingPolicy.REFUSE and lacks_values(spec, column, kind):
        yield FieldError(where, f"{missing_values(column)}: {_ways_out(column, kind)}")
    if column.name in profile.numeric and kind in (ColumnKind.NUMBER, ColumnKind.INTEGER):
        yield from wrong_numbers(where, column, profile.numeric[column.name], as_values=True)
    if kind in (ColumnKind.NOMINAL, ColumnKind.ORDINAL):
        for field in _SETTINGS:
            if column.name in getattr(spec, field) and not (field in _OF_ORDERS and kind is ColumnKind.ORDINAL):
                yield FieldError(pointer(field, column.name), f"{column.name!r} is {kind}: it has no `{field}`")
    yield from _wrong_spike(spec, column, kind)
    if kind is ColumnKind.NOMINAL:
        yield from _wrong_nominal(spec, index, column, profile)
    elif kind is ColumnKind.ORDINAL:
        yield from wrong_order(column, spec.ordinal[column.name])
    else:
        yield from _wrong_settings(spec, column, kind, profile)


def _wrong_spike(spec: BoxesSpec, column: DatasetColumn, kind: ColumnKind) -> Iterator[FieldError]:
    """Refuse a value that no record of the column can have."""
    if (spike := spec.spikes.get(column.name)) is None or kind is ColumnKind.NOMINAL:
        return
    among = spec.ordinal[column.name] if kind is ColumnKind.ORDINAL else (spike,)
    if spike not in among or [*mistyped(column.name, column.type, [spike])]:
        yield FieldError(pointer("spikes", column.name), f"not a value of column {column.name!r}, which is {kind}")


def _ways_out(column: DatasetColumn, kind: ColumnKind) -> str:
    advice = "`missing_policy: drop` leaves those records out, `missing_policy: pattern` publishes them as missing"
    if kind is ColumnKind.NOMINAL:
        advice += f', `"nominal": {{"{column.name}": {{"missing_is_value": true}}}}` makes missing a value'
    return advice


def _wrong_nominal(spec: BoxesSpec, index: int, column: DatasetColumn, profile: Profile) -> Iterator[FieldError]:
    declared = spec.nominal.get(column.name, NominalColumn())
    listed: list[Any] = [value for value in declared.values or () if value is not None]
    yield from mistyped(column.name, column.type, listed, "nominal", column.name, "values")
    if declared.hierarchy is not None:
        leaves = [row[0] for row in declared.hierarchy.rows]
        yield from mistyped(column.name, column.type, leaves, "nominal", column.name, "hierarchy", "rows")
        listed = listed or leaves
    if listed and column.distinct > len(listed):
        detail = f"column {column.name!r} has {column.distinct} values, {len(listed)} are declared: declare all of them"
        yield FieldError(pointer("nominal", column.name), detail)
    if not listed and column.distinct > max(_FEW, _NAMES * (profile.rows - column.missing)):
        detail = (
            f"column {column.name!r} is {column.type} with {column.distinct} values in {profile.rows} records: it "
            "names records. Leave it out, or give a `hierarchy` of classes under `nominal`"
        )
        yield FieldError(pointer("quasi_identifiers", index), detail)


def _wrong_settings(spec: BoxesSpec, column: DatasetColumn, kind: ColumnKind, profile: Profile) -> Iterator[FieldError]:
    """Domains, grids and widths that do not fit a column of numbers or days."""
    name, domain = column.name, spec.domains.get(column.name)
    if domain is not None:
        yield from _wrong_domain(spec, name, kind, profile)
    for field in ("value_step", "min_width"):
        step = getattr(spec, field).get(name)
        if step is not None and kind is not ColumnKind.NUMBER and not float(step).is_integer():
            yield FieldError(pointer(field, name), f"column {name!r} has whole values: its `{field}` is whole")
    if spec.bounds is BoxBounds.GRID and domain is None and name not in spec.value_step:
        detail = (
            f"`bounds: grid` needs the `domains` or the `value_step` of column {name!r}: steps from the data would "
            "reveal its extremes"
        )
        yield FieldError(pointer("bounds"), detail)


def _wrong_domain(spec: BoxesSpec, name: str, kind: ColumnKind, profile: Profile) -> Iterator[FieldError]:
    """Refuse ends of another kind. The job counts the records outside."""
    domain = spec.domains[name]
    if isinstance(domain[0], date) is not (kind is ColumnKind.DATE):
        expected = 'days as text, such as ["1990-01-01", "2020-12-31"]' if kind is ColumnKind.DATE else "two numbers"
        yield FieldError(pointer("domains", name), f"column {name!r} is {kind}: its domain is {expected}")
    elif name in profile.numeric:
        ends = cast("Domain", domain)
        if kind is ColumnKind.INTEGER and any(abs(end) > EXACT_INTEGER for end in ends):
            yield FieldError(
                pointer("domains", name), f"column {name!r} has whole numbers: its domain is within 2^53 of 0"
            )


def wrong_weights(spec: BoxesSpec, columns: Mapping[str, DatasetColumn], profile: Profile) -> Iterator[FieldError]:
    """Persons and design weights that are not there, or do not make sense."""
    for field in ("person_column", "survey_weight_column"):
        name = getattr(spec, field)
        if name is None:
            continue
        if (wrong := wrong_column(name, columns, numeric=field == "survey_weight_column")) is not None:
            yield FieldError(pointer(field), wrong)
        elif columns[name].missing:
            yield FieldError(pointer(field), missing_values(columns[name]))
        elif name in spec.quasi_identifiers:
            yield FieldError(pointer(field), f"{name!r} is one of `quasi_identifiers`")
    name = spec.survey_weight_column
    if name in profile.numeric and name is not None:
        yield from wrong_numbers(pointer("survey_weight_column"), columns[name], profile.numeric[name])
        if (least := profile.numeric[name].finite_minimum) is not None and least <= 0:
            yield FieldError(pointer("survey_weight_column"), f"column {name!r} has weights that are not above 0")
