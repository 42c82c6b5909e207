"""What the specification of `group` and the datasets' profiles decide before a job is accepted."""

from collections.abc import Iterator

from app.contracts.datasets import Profile
from app.contracts.groups import GroupSpec
from app.contracts.microfiles import Derived, Recodings
from app.contracts.recoding import unparsable
from app.errors import FieldError, meant, pointer
from app.jobs.harmonising import (
    Harmonised,
    cannot_hold,
    wrong_division,
    wrong_parameter,
    wrong_parameter_values,
    wrong_variables,
)
from app.jobs.inputs import Given


def fill(spec: GroupSpec, given: Given) -> GroupSpec:  # noqa: ARG001 - every method's signature
    """The specification with the target it has by default: the auxiliary dataset itself."""
    return (
        spec
        if spec.target_dataset_id is not None
        else spec.model_copy(update={"target_dataset_id": spec.auxiliary_dataset_id})
    )


def check(spec: GroupSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on these datasets, each with its pointer."""
    auxiliary, target = given.profile("auxiliary_dataset_id"), given.profile("target_dataset_id")
    return [
        *_collisions(spec),
        *_auxiliary(spec, auxiliary),
        *_target(spec, target),
    ]


def _collisions(spec: GroupSpec) -> Iterator[FieldError]:
    vital = {one.column for one in spec.conditions}
    for index, name in enumerate(spec.parameter):
        if name in vital:
            yield FieldError(
                pointer("parameter", index), f"{name!r} names the group: it cannot divide the microfile too"
            )
    for index, variable in enumerate(spec.variables):
        if variable.column in vital or not vital.isdisjoint(_sources(variable.column, spec.recode.auxiliary)):
            at = pointer("variables", index, "column")
            yield FieldError(at, f"{variable.column!r} names the group: a rule that reads it learns nothing")
        elif variable.column in spec.parameter:
            at = pointer("variables", index, "column")
            yield FieldError(at, f"{variable.column!r} is a parameter: rules must not know the places they are to find")


def _sources(name: str, recodings: Recodings) -> tuple[str, ...]:
    recoding = recodings.get(name)
    return recoding.columns if isinstance(recoding, Derived) else (name,)


def _vital(spec: GroupSpec, index: int, *parts: str | int) -> str:
    """The pointer to a condition as it was sent: one alone needs no list."""
    return pointer("vital", *((index,) if isinstance(spec.vital, tuple) else ()), *parts)


def _auxiliary(spec: GroupSpec, profile: Profile) -> Iterator[FieldError]:
    file, told = Harmonised(profile, spec.recode.auxiliary), "the auxiliary dataset"
    yield from file.wrong("/recode/auxiliary")
    for index, one in enumerate(spec.conditions):
        kind = file.type_of(one.column)
        if kind is None:
            yield FieldError(
                _vital(spec, index, "column"), f"{told} has no column {one.column!r}{meant(one.column, file.names)}"
            )
            continue
        for place, value in enumerate(one.values):
            if unparsable(value, kind):
                at = _vital(spec, index, "values", place)
                yield FieldError(at, cannot_hold(f"column {one.column!r} of {told}", kind))
    yield from wrong_variables(spec.variables, file, where="/variables", told=told, rows=profile.rows)


def _target(spec: GroupSpec, profile: Profile) -> Iterator[FieldError]:
    file, told = Harmonised(profile, spec.recode_of_target), "the target dataset"
    if spec.recode.target:
        yield from file.wrong("/recode/target")
    yield from wrong_parameter(spec.parameter, file, told=told)
    if spec.target_dataset_id != spec.auxiliary_dataset_id or spec.recode.target:
        yield from wrong_variables(spec.variables, file, where="/variables", told=told, rows=profile.rows)
        yield from _vital_values(spec, file)
    yield from wrong_parameter_values(spec.outliers.exclude, spec.parameter, file, where="/outliers/exclude")
    if spec.split_by is not None:
        yield from wrong_division(spec.split_by, file, where="/split_by", told=told)


def _vital_values(spec: GroupSpec, target: Harmonised) -> Iterator[FieldError]:
    """A target that has the group's columns must be able to hold their values; one that lacks them is what is usual."""
    kinds = [target.type_of(one.column) for one in spec.conditions]
    if None in kinds:
        return
    for index, (one, kind) in enumerate(zip(spec.conditions, kinds, strict=True)):
        for place, value in enumerate(one.values):
            if kind is not None and unparsable(value, kind):
                at = _vital(spec, index, "values", place)
                yield FieldError(at, cannot_hold(f"column {one.column!r} of the target dataset", kind))
