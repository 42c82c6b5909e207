"""What the specification of `group` and the datasets' profiles decide before a job is accepted."""

from collections.abc import Iterator

from app.contracts.columns import unparsable
from app.contracts.datasets import Profile
from app.contracts.inputs import Given, JobInput
from app.contracts.jobs import JobState
from app.errors import FieldError, meant, pointer
from app.methods.group.spec import GroupSpec, group_spec
from app.methods.microfile.harmonising import (
    Harmonised,
    cannot_hold,
    wrong_division,
    wrong_region_columns,
    wrong_regions,
    wrong_variables,
)
from app.methods.microfile.spec import DerivedColumn, Recodings


def fill_group(spec: GroupSpec, given: Given) -> GroupSpec:  # noqa: ARG001 - every method's signature
    """The specification with the target it has by default: the auxiliary dataset itself."""
    return (
        spec
        if spec.target_dataset_id is not None
        else spec.model_copy(update={"target_dataset_id": spec.auxiliary_dataset_id})
    )


def check_group(spec: GroupSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on these datasets, each with its pointer."""
    auxiliary, target = given.profile("auxiliary_dataset_id"), given.profile("target_dataset_id")
    return [
        *_collisions(spec),
        *_auxiliary(spec, auxiliary),
        *_target(spec, target),
    ]


def _collisions(spec: GroupSpec) -> Iterator[FieldError]:
    of_group = {one.column for one in spec.conditions}
    for index, name in enumerate(spec.region_columns):
        if name in of_group:
            yield FieldError(
                pointer("region_columns", index), f"{name!r} names the group: it cannot divide the microfile too"
            )
    for index, variable in enumerate(spec.variables):
        if variable.column in of_group or not of_group.isdisjoint(_sources(variable.column, spec.recode.auxiliary)):
            at = pointer("variables", index, "column")
            yield FieldError(at, f"{variable.column!r} names the group: a rule that reads it learns nothing")
        elif variable.column in spec.region_columns:
            at = pointer("variables", index, "column")
            detail = f"{variable.column!r} is one of `region_columns`: rules must not know the regions they are to find"
            yield FieldError(at, detail)


def _sources(name: str, recodings: Recodings) -> tuple[str, ...]:
    recoding = recodings.get(name)
    return recoding.columns if isinstance(recoding, DerivedColumn) else (name,)


def _condition(spec: GroupSpec, index: int, *parts: str | int) -> str:
    """The pointer to a condition as it was sent: one alone needs no list."""
    return pointer("hidden_group", *((index,) if isinstance(spec.hidden_group, tuple) else ()), *parts)


def _auxiliary(spec: GroupSpec, profile: Profile) -> Iterator[FieldError]:
    file, label = Harmonised(profile, spec.recode.auxiliary), "the auxiliary dataset"
    yield from file.wrong("/recode/auxiliary")
    for index, one in enumerate(spec.conditions):
        kind = file.type_of(one.column)
        if kind is None:
            yield FieldError(
                _condition(spec, index, "column"),
                f"{label} has no column {one.column!r}{meant(one.column, file.names)}",
            )
            continue
        for place, value in enumerate(one.values):
            if unparsable(value, kind):
                at = _condition(spec, index, "values", place)
                yield FieldError(at, cannot_hold(f"column {one.column!r} of {label}", kind))
    yield from wrong_variables(spec.variables, file, where="/variables", label=label, rows=profile.rows)


def _target(spec: GroupSpec, profile: Profile) -> Iterator[FieldError]:
    file, label = Harmonised(profile, spec.recode_of_target), "the target dataset"
    if spec.recode.target:
        yield from file.wrong("/recode/target")
    yield from wrong_region_columns(spec.region_columns, file, label=label)
    if spec.target_dataset_id != spec.auxiliary_dataset_id or spec.recode.target:
        yield from wrong_variables(spec.variables, file, where="/variables", label=label, rows=profile.rows)
        yield from _group_values(spec, file)
    yield from wrong_regions(spec.outliers.ignore, spec.region_columns, file, where="/outliers/ignore")
    if spec.split_column is not None:
        yield from wrong_division(spec.split_column, file, where="/split_column", label=label)


def _group_values(spec: GroupSpec, target: Harmonised) -> Iterator[FieldError]:
    """A target that has the group's columns must be able to contain their values; one that lacks them is usual."""
    kinds = [target.type_of(one.column) for one in spec.conditions]
    if None in kinds:
        return
    for index, (one, kind) in enumerate(zip(spec.conditions, kinds, strict=True)):
        for place, value in enumerate(one.values):
            if kind is not None and unparsable(value, kind):
                at = _condition(spec, index, "values", place)
                yield FieldError(at, cannot_hold(f"column {one.column!r} of the target dataset", kind))


def learned_by(given: Given) -> GroupSpec | None:
    """The specification of the `group` job that a model is of; None where none is named, or it is another."""
    job = given.jobs.get("model_job_id")
    return group_spec(job.spec) if job is not None and job.method == "group" else None


def wrong_model_job(job: JobInput | None) -> Iterator[FieldError]:
    """A job that has found no rules."""
    if job is None:
        return
    if job.method != "group":
        yield FieldError("/model_job_id", f"this is a `{job.method}` job: rules are found by `group` jobs")
    elif job.state is not JobState.SUCCEEDED:
        yield FieldError("/model_job_id", f"this job is {job.state}: there are no rules")
