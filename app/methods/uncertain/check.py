"""What the specification of `uncertain` and the dataset's profile decide before a job is accepted."""

from collections.abc import Iterator, Mapping
from math import ceil

from app.contracts.datasets import NumericSummary, Profile
from app.contracts.inputs import Given
from app.errors import FieldError, pointer
from app.methods.columns import (
    complete_records,
    infinite_in_json,
    missing_values,
    named,
    not_quasi_identifiers,
    records_of,
    too_few,
    wrong_column,
    wrong_columns,
    wrong_domains,
    wrong_numbers,
    wrong_values,
)
from app.methods.draws import wrong_repeat
from app.methods.uncertain.spec import CELL, DISMISS, DensityAxes, ScaleSharing, UncertainSpec


def fill_uncertain(spec: UncertainSpec, given: Given) -> UncertainSpec:
    """The specification with the defaults that hang on its scales: the suppressed records, and how large cells are.

    They stay unset where they mean nothing, so that `check` can tell what the request has set. With `levels` no record
    is suppressed unless the request states it: rare records have a level of their own.
    """
    profile, updates = given.profile(), {}
    if spec.suppress_share is None and spec.scales in {ScaleSharing.COMMON, ScaleSharing.SHARED}:
        updates["suppress_share"] = DISMISS
    if spec.cell_size is None and spec.scales is ScaleSharing.SHARED:
        records = max(complete_records(spec, profile), 1)
        updates["cell_size"] = min(ceil(CELL * min(_largest_k(spec, profile), records)), records)
    return spec.model_copy(update=updates)


def _largest_k(spec: UncertainSpec, profile: Profile) -> float:
    if spec.k_column is None:
        return spec.k or 1.0
    summary = profile.numeric.get(spec.k_column)
    return 1.0 if summary is None else max(summary.finite_maximum or 1.0, 1.0)


def check_uncertain(spec: UncertainSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on this dataset, each with its pointer."""
    profile = given.profile()
    columns = named(profile)
    return [
        *wrong_columns("quasi_identifiers", spec.quasi_identifiers, columns, numeric=True),
        *wrong_columns("keep", spec.keep, columns),
        *wrong_domains(spec, profile),
        *infinite_in_json(spec.keep, spec.formats, profile),
        *_names(spec),
        *_meaningless(spec),
        *wrong_values(spec, profile),
        *_minimum(spec, profile),
        *_k_of_records(spec, profile),
        *_feasible(spec, profile),
        *_repeated(spec, given.earlier_draws),
    ]


def _names(spec: UncertainSpec) -> Iterator[FieldError]:
    place = {name: index for index, name in enumerate(spec.quasi_identifiers)}
    for index, name in enumerate(spec.quasi_identifiers):
        if (source := _source(spec, name, place)) is not None:
            blamed = max(index, source)
            yield FieldError(
                pointer("quasi_identifiers", blamed), f"two columns of the release would have the name {name!r}"
            )
    for index, name in enumerate(spec.keep):
        if name in place:
            yield FieldError(pointer("keep", index), f"{name!r} is published with noise: it cannot be kept as well")
        elif _source(spec, name, place) is not None:
            yield FieldError(pointer("keep", index), f"the name {name!r} is one of the release's own columns")


def _source(spec: UncertainSpec, name: str, place: Mapping[str, int]) -> int | None:
    """The place of the column that gives the release one of this name: `x_scale`, or `x_axis_1` where noise is rotated.

    It is reported by the name's end: rotated noise has as many names as there are pairs of columns.
    """
    base, _, part = name.rpartition("_")
    if part == "scale":
        return place.get(base)
    axis = part.isascii() and part.isdigit() and part[0] != "0" and len(part) <= len(str(len(place)))
    if spec.axes is not DensityAxes.ROTATED or not axis or int(part) > len(place) or not base.endswith("_axis"):
        return None
    return place.get(base.removesuffix("_axis"))


def _meaningless(spec: UncertainSpec) -> Iterator[FieldError]:
    if spec.axes is not DensityAxes.GLOBAL and spec.scales in {ScaleSharing.COMMON, ScaleSharing.LEVELS}:
        yield FieldError(
            "/axes",
            f"`axes: {spec.axes}` gives every neighbourhood a shape, `scales: {spec.scales}` gives all the same: "
            "ask for scales `shared` or `per_record`",
        )
    if spec.suppress_share and spec.scales is ScaleSharing.PER_RECORD:
        yield FieldError(
            "/suppress_share", "with scales `per_record` no record is suppressed; `common` and `shared` do that"
        )
    if spec.cell_size is not None and spec.scales is not ScaleSharing.SHARED:
        yield FieldError("/cell_size", f"cells are made for scales `shared` only, not for `{spec.scales}`")


def _minimum(spec: UncertainSpec, profile: Profile) -> Iterator[FieldError]:
    if isinstance(spec.min_scale, dict):
        yield from not_quasi_identifiers("min_scale", spec.min_scale, spec.quasi_identifiers, named(profile))


def _k_of_records(spec: UncertainSpec, profile: Profile) -> Iterator[FieldError]:
    name, columns = spec.k_column, named(profile)
    if name is None:
        return
    if (wrong := wrong_column(name, columns, numeric=True)) is not None:
        yield FieldError("/k_column", wrong)
        return
    if columns[name].missing:
        yield FieldError("/k_column", f"{missing_values(columns[name])}: every record needs a k")
    if (summary := profile.numeric.get(name)) is not None:
        yield from wrong_numbers("/k_column", columns[name], summary)
        yield from _k_out_of_range(summary, complete_records(spec, profile))


def _k_out_of_range(summary: NumericSummary, records: int) -> Iterator[FieldError]:
    if summary.finite_minimum is not None and summary.finite_minimum < 1:
        yield FieldError("/k_column", "k is at least 1; the column has smaller values")
    if summary.finite_maximum is not None and summary.finite_maximum > records:
        yield FieldError("/k_column", f"the column has values above {records}, the number of records that take part")


def _feasible(spec: UncertainSpec, profile: Profile) -> Iterator[FieldError]:
    records = complete_records(spec, profile)
    if spec.k is not None and spec.k_column is None:
        yield from too_few(spec.k, largest=records, rows=profile.rows, bound="at most ")
    if spec.scales is ScaleSharing.SHARED and spec.cell_size is not None and spec.cell_size > records:
        yield FieldError(
            "/cell_size",
            f"cells of {spec.cell_size} requested, {records_of(records, profile.rows)}: at most {records} fit into one",
        )


def _repeated(spec: UncertainSpec, earlier: int) -> Iterator[FieldError]:
    if (wrong := wrong_repeat(earlier, allowed=bool(spec.accept_findings))) is not None:
        yield wrong
