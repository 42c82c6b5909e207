"""What the specification of `swaps`, its model and the dataset's profile decide before a job is accepted."""

from collections.abc import Iterator
from typing import Any

from app.contracts.datasets import NUMERIC, Profile
from app.contracts.groups import GroupSpec
from app.contracts.inputs import JobInput
from app.contracts.jobs import JobState
from app.contracts.recoding import parsed, unparsable
from app.contracts.rule_models import Model, group_spec, model_of
from app.contracts.swaps import Metric, SwapsSpec
from app.errors import FieldError, meant, pointer
from app.jobs.harmonising import (
    Harmonised,
    wrong_parameter,
    wrong_parameter_values,
    wrong_variables,
)
from app.jobs.inputs import Given


def fill(spec: SwapsSpec, given: Given) -> SwapsSpec:
    """The specification with its model's defaults: the metric, the columns that name the group among those dropped."""
    learned = _learned(given)
    model = model_of(spec, learned)
    if model is None:
        return spec
    profile = given.profile()
    found: dict[str, Any] = {}
    names = {column.name for column in profile.columns}
    found["drop"] = (*spec.drop, *(name for name in model.vital if name in names and name not in spec.drop))
    if spec.metric is None:
        found["metric"] = _metric(model, Harmonised(profile, model.recode))
    if spec.auxiliary_dataset_id is None and spec.learn_again and learned is not None:
        found["auxiliary_dataset_id"] = learned.auxiliary_dataset_id
    return spec.model_copy(update=found)


def _metric(model: Model, file: Harmonised) -> Metric:
    """Numbers are ordinal, everything else is categorical."""
    names = [variable.column for variable in model.variables]
    ordinal = {name: 1.0 for name in names if file.type_of(name) in NUMERIC}
    return Metric(ordinal=ordinal, categorical={name: 1.0 for name in names if name not in ordinal})


def _learned(given: Given) -> GroupSpec | None:
    job = given.jobs.get("model_job_id")
    return group_spec(job.spec) if job is not None and job.method == "group" else None


def check(spec: SwapsSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on this dataset, each with its pointer."""
    if errors := list(_model_job(given.jobs.get("model_job_id"))):
        return errors
    model = model_of(spec, _learned(given))
    if model is None:
        return []
    profile = given.profile()
    file = Harmonised(profile, model.recode)
    return [
        *(file.wrong("/model/recode") if spec.model is not None else ()),
        *_variables(model, file, profile),
        *_parameter(spec, model, file),
        *_values(spec, file),
        *_disjoint(spec, file),
        *_exchanged(spec, file),
        *_ceilings(spec),
        *_dropped(spec, profile),
        *_weighed(spec, file),
        *_again(spec, given, _learned(given)),
    ]


def _model_job(job: JobInput | None) -> Iterator[FieldError]:
    if job is None:
        return
    if job.method != "group":
        yield FieldError("/model_job_id", f"a `group` job is needed, this one is `{job.method}`")
    elif job.state is not JobState.SUCCEEDED:
        yield FieldError("/model_job_id", f"the job is {job.state}: its rules are there once it has succeeded")


def _variables(model: Model, file: Harmonised, profile: Profile) -> Iterator[FieldError]:
    for error in wrong_variables(model.variables, file, where=model.where, told="the dataset", rows=profile.rows):
        if model.where.startswith("/model/"):
            yield error
        else:
            yield FieldError(model.where, f"the model does not fit this dataset: {error.detail}")


def _parameter(spec: SwapsSpec, model: Model, file: Harmonised) -> Iterator[FieldError]:
    yield from wrong_parameter(spec.parameter, file, told="the dataset")
    used = {source for variable in model.variables for source in file.sources_of(variable.column)}
    for index, name in enumerate(spec.parameter):
        if not set(spec.drop).isdisjoint(file.sources_of(name)):
            told = "is dropped" if set(model.vital).isdisjoint(file.sources_of(name)) else "names the group"
            yield FieldError(pointer("parameter", index), f"{name!r} {told}: there would be nothing left to exchange")
        elif not used.isdisjoint(file.sources_of(name)):
            yield FieldError(pointer("parameter", index), f"{name!r} is a variable of the model: swaps would change it")


def _values(spec: SwapsSpec, file: Harmonised) -> Iterator[FieldError]:
    lists: list[tuple[str, tuple[tuple[object, ...], ...], str]] = [
        ("/sources", spec.sources or (), ""),
        ("/targets", spec.targets or (), ""),
        ("/ceilings", tuple(one.value for one in spec.ceilings), "/value"),
        ("/outliers/exclude", spec.outliers.exclude, ""),
    ]
    if spec.mask != "outliers":
        lists.append(("/mask", tuple(one.value for one in spec.mask), "/value"))
    for where, values, inner in lists:
        yield from wrong_parameter_values(values, spec.parameter, file, where=where, inner=inner)
        seen: set[tuple[object, ...]] = set()
        for index, value in enumerate(values):
            key = _as_columns(value, spec.parameter, file)
            if key in seen:
                yield FieldError(where + pointer(index) + inner, "this value stands there twice")
            seen.add(key)


def _as_columns(value: tuple[object, ...], parameter: tuple[str, ...], file: Harmonised) -> tuple[object, ...]:
    """A parameter value as its columns hold it, so that the same one is recognised however it is written."""
    kinds = [file.type_of(name) for name in parameter]
    return tuple(
        part if kind is None or unparsable(part, kind) else parsed(part, kind)
        for part, kind in zip(value, kinds, strict=False)
    )


def _disjoint(spec: SwapsSpec, file: Harmonised) -> Iterator[FieldError]:
    sources = {_as_columns(value, spec.parameter, file) for value in spec.sources or ()}
    for index, value in enumerate(spec.targets or ()):
        if _as_columns(value, spec.parameter, file) in sources:
            yield FieldError(pointer("targets", index), "this value is a source: it cannot be a target as well")


def _exchanged(spec: SwapsSpec, file: Harmonised) -> Iterator[FieldError]:
    """Members leave what is lowered and come to what is raised: the one is a source, the other a target."""
    listed = {
        name: None if found is None else {_as_columns(value, spec.parameter, file) for value in found}
        for name, found in (("sources", spec.sources), ("targets", spec.targets))
    }
    for index, one in enumerate(() if spec.mask == "outliers" else spec.mask):
        done, wanted, other = ("lowered", "sources", "targets")
        if one.at_least is not None:
            done, wanted, other = ("raised", "targets", "sources")
        for name, should in ((wanted, True), (other, False)):
            found = listed[name]
            if found is not None and (_as_columns(one.value, spec.parameter, file) in found) is not should:
                told = f"this value is to be {done} and is {'not ' if should else ''}one of `{name}`"
                yield FieldError(pointer("mask", index, "value"), told)


def _ceilings(spec: SwapsSpec) -> Iterator[FieldError]:
    if spec.ceilings and spec.search.method != "assignment":
        yield FieldError("/ceilings", "ceilings are kept by the search `assignment` only")


def _dropped(spec: SwapsSpec, profile: Profile) -> Iterator[FieldError]:
    names = {column.name for column in profile.columns}
    for index, name in enumerate(spec.drop):
        if name not in names:
            yield FieldError(pointer("drop", index), f"the dataset has no column {name!r}{meant(name, names)}")


def _weighed(spec: SwapsSpec, file: Harmonised) -> Iterator[FieldError]:
    if spec.metric is None:
        return
    exchanged = {source for name in spec.parameter for source in file.sources_of(name)}
    for field in ("ordinal", "categorical"):
        for name in getattr(spec.metric, field):
            kind, at = file.type_of(name), pointer("metric", field, name)
            if kind is None:
                yield FieldError(at, f"the dataset has no column {name!r}{meant(name, file.names)}")
            elif not exchanged.isdisjoint(file.sources_of(name)):
                yield FieldError(at, f"{name!r} is what is exchanged: it cannot say how near two records are")
            elif field == "ordinal" and kind not in NUMERIC:
                yield FieldError(at, f"column {name!r} is {kind}, not numeric: weigh it as categorical")


def _again(spec: SwapsSpec, given: Given, learned: GroupSpec | None) -> Iterator[FieldError]:
    """What new rules would be learned from must have what the model was learned from."""
    if spec.auxiliary_dataset_id is None:
        return
    if not spec.learn_again:
        yield FieldError(
            "/auxiliary_dataset_id", "`learn_again` is false: there is nothing to be learned from this dataset"
        )
        return
    if learned is None:
        yield FieldError(
            "/auxiliary_dataset_id", "new rules can be learned only where the model is one of a `group` job"
        )
        return
    profile = given.profile("auxiliary_dataset_id")
    file, told = Harmonised(profile, learned.recode.auxiliary), "the auxiliary dataset"
    missing = [one.column for one in learned.conditions if file.type_of(one.column) is None]
    for name in missing:
        yield FieldError("/auxiliary_dataset_id", f"{told} has no column {name!r}, which names the group")
    for error in wrong_variables(learned.variables, file, where="", told=told, rows=profile.rows):
        yield FieldError("/auxiliary_dataset_id", error.detail)
