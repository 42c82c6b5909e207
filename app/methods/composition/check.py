"""What the specification of `composition` and what it names decide before a job is accepted."""

from collections.abc import Iterator, Sequence
from typing import Final

from app.contracts.datasets import NUMERIC, ColumnType, DatasetColumn
from app.contracts.inputs import Given, ReleaseInput, listed
from app.contracts.quasi_identifiers import Form, all_understood
from app.errors import FieldError, meant, pointer
from app.methods.columns import named, wrong_order
from app.methods.composition.spec import CompositionSpec

DEFAULT_K: Final = 5.0


def fill_composition(spec: CompositionSpec, given: Given) -> CompositionSpec:
    """The specification with the releases' original, with their least k, and counting persons as the newest does."""
    releases = listed(given.releases, "release_ids").values()
    newest = max(reversed([*releases]), key=lambda one: one.made_at or 0.0, default=None)
    original = spec.dataset_id or (None if newest is None else newest.dataset_id)
    least = min((float(k) for one in releases if (k := one.made.k) is not None), default=DEFAULT_K)
    person = None if newest is None or newest.dataset_id != original else newest.made.person_column
    return spec.model_copy(
        update={
            "dataset_id": original,
            "k_required": spec.k_required if spec.k_required is not None else max(least, 1.0),
            "person_column": spec.person_column or person,
        }
    )


def check_composition(spec: CompositionSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on these releases and this original, each with its pointer."""
    original = {column.name for column in given.profile().columns}
    return [
        *_releases(listed(given.releases, "release_ids")),
        *_tables(spec, given),
        *_orders(spec, given),
        *(
            FieldError(where, f"the original has no column {name!r}{meant(name, original)}")
            for where, name in _named(spec)
            if name not in original
        ),
    ]


def _releases(releases: dict[str, ReleaseInput]) -> Iterator[FieldError]:
    for role, one in releases.items():
        if one.base is not None:
            detail = f"it was made from {one.base} alone and reveals no more than that one: name it in its place"
            yield FieldError(f"/{role}", detail)


def _tables(spec: CompositionSpec, given: Given) -> Iterator[FieldError]:
    for role, one in listed(given.datasets, "dataset_ids").items():
        if not all_understood(tuple(spec.join_columns), {column.name for column in one.columns}):
            yield FieldError(f"/{role}", "this table has none of `join_columns`")


def _named(spec: CompositionSpec) -> Iterator[tuple[str, str]]:
    if spec.person_column is not None:
        yield "/person_column", spec.person_column
    for index, name in enumerate(spec.sensitive):
        yield pointer("sensitive", index), name
    for name in spec.ordinal:
        yield pointer("ordinal", name), name


def _orders(spec: CompositionSpec, given: Given) -> Iterator[FieldError]:
    """Bounds and values that cannot be compared, and declared values that a column cannot have."""
    columns = named(given.profile())
    for name in columns.keys() & spec.ordinal.keys():
        yield from wrong_order(columns[name], spec.ordinal[name])
    for role, table in listed(given.datasets, "dataset_ids").items():
        there = {column.name: column.type for column in table.columns}
        for one in all_understood(tuple(spec.join_columns), there):
            name = spec.called(one.name)
            if one.form is Form.BOUNDS and name in columns:
                yield from _compared(columns[name], [there[end] for end in one.columns], role, spec)


def _compared(
    column: DatasetColumn, ends: Sequence[ColumnType], role: str, spec: CompositionSpec
) -> Iterator[FieldError]:
    name, kind, shown = column.name, column.type, " and ".join(sorted({*ends}))
    if {kind, *ends} <= NUMERIC or {kind, *ends} == {ColumnType.DATE}:
        return
    if set(ends) != {kind}:
        yield FieldError(f"/{role}", f"column {name!r} is {kind} in the original, its bounds are {shown}")
    elif name not in spec.ordinal:
        detail = f"a table shows column {name!r} as bounds, which are {shown}: list its values in their order"
        yield FieldError(pointer("ordinal", name), detail)
