"""What the specification of `swaps`, its model and the dataset's profile decide before a job is accepted."""

from collections.abc import Iterator
from typing import Any

from app.contracts.columns import parsed, unparsable
from app.contracts.datasets import NUMERIC, Profile
from app.contracts.inputs import Given, JobInput, listed
from app.contracts.jobs import JobState
from app.errors import FieldError, meant, pointer
from app.methods.columns import infinite_in_json
from app.methods.group.spec import GroupSpec, SignalKind, group_spec
from app.methods.microfile.harmonising import (
    Harmonised,
    wrong_region_columns,
    wrong_regions,
    wrong_variables,
)
from app.methods.swaps.spec import MemeticSearch, RecordDistance, RecordModel, SwapsSpec, model_of


def fill_swaps(spec: SwapsSpec, given: Given) -> SwapsSpec:
    """The specification with its model's defaults: the metric, the columns that name the group among those dropped."""
    learned = _learned(given)
    model = model_of(spec, learned)
    if model is None:
        return spec
    profile = given.profile()
    updates: dict[str, Any] = {}
    names = {column.name for column in profile.columns}
    naming = dict.fromkeys(name for one in (model, *_more_models(spec, given).values()) for name in one.group_columns)
    updates["drop"] = (*spec.drop, *(name for name in naming if name in names and name not in spec.drop))
    if spec.metric is None:
        updates["metric"] = _metric(model, Harmonised(profile, model.recode))
    if spec.auxiliary_dataset_id is None and spec.learn_again and learned is not None:
        updates["auxiliary_dataset_id"] = learned.auxiliary_dataset_id
    if spec.signal is None:
        updates["signal"] = SignalKind.QUANTITY if learned is None else learned.signal
    if _is_letter(spec):
        letter = {"protected_alphas": (_alpha(spec, learned),), "decoys": 0.0}
        updates |= {name: value for name, value in letter.items() if name not in spec.model_fields_set}
    return spec.model_copy(update=updates)


def _is_letter(spec: SwapsSpec) -> bool:
    """Whether members alone are masked whatever else is said: in the paper's search, and of several groups."""
    return bool(spec.more_model_job_ids) or (isinstance(spec.search, MemeticSearch) and spec.search.paper)


def _more_models(spec: SwapsSpec, given: Given) -> dict[str, RecordModel]:
    """Models of further groups by their places, as far as those are `group` jobs."""
    models = {}
    for role, job in listed(given.jobs, "more_model_job_ids").items():
        model = model_of(spec, group_spec(job.spec)) if job.method == "group" and spec.rules_model is None else None
        if model is not None:
            models[role] = model
    return models


def _more(spec: SwapsSpec, given: Given, model: RecordModel) -> Iterator[FieldError]:
    """Further groups are seen by the same variables, so that the same records are in range."""
    if spec.more_model_job_ids and spec.rules_model is not None:
        yield FieldError("/rules_model", "several groups need a model of a job each: give `model_job_id`")
        return
    for role, job in listed(given.jobs, "more_model_job_ids").items():
        for error in _model_job(job):
            yield FieldError(pointer(*role.split("/")), error.detail)
    for role, one in _more_models(spec, given).items():
        if (one.variables, one.recode) != (model.variables, model.recode):
            detail = "this job has other `variables` or another `recode` than the first: run it with the same"
            yield FieldError(pointer(*role.split("/")), detail)


def _alpha(spec: SwapsSpec, learned: GroupSpec | None) -> float:
    """Where the model's group begins."""
    model = learned if spec.rules_model is None else spec.rules_model
    return 0.5 if model is None else model.min_membership


def _letter(spec: SwapsSpec, learned: GroupSpec | None) -> Iterator[FieldError]:
    """The paper masks the members alone, and swaps no one else; so are several groups masked."""
    if not _is_letter(spec):
        return
    who = "several groups are masked" if spec.more_model_job_ids else "`search.paper` masks"
    which = "by members alone" if spec.more_model_job_ids else "members alone"
    alpha = _alpha(spec, learned)
    if set(spec.protected_alphas) != {alpha}:
        detail = f"{who} {which}: leave `protected_alphas` out, or give [{alpha:g}]"
        yield FieldError("/protected_alphas", detail)
    if spec.decoys:
        yield FieldError("/decoys", f"{who} without others being swapped: leave `decoys` out, or give 0")


def _metric(model: RecordModel, file: Harmonised) -> RecordDistance:
    """Numbers are ordinal, everything else is categorical."""
    names = [variable.column for variable in model.variables]
    ordinal = {name: 1.0 for name in names if file.type_of(name) in NUMERIC}
    return RecordDistance(ordinal=ordinal, categorical={name: 1.0 for name in names if name not in ordinal})


def _learned(given: Given) -> GroupSpec | None:
    job = given.jobs.get("model_job_id")
    return group_spec(job.spec) if job is not None and job.method == "group" else None


def check_swaps(spec: SwapsSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on this dataset, each with its pointer."""
    if errors := list(_model_job(given.jobs.get("model_job_id"))):
        return errors
    model = model_of(spec, _learned(given))
    if model is None:
        return []
    profile = given.profile()
    file = Harmonised(profile, model.recode)
    return [
        *(file.wrong("/rules_model/recode") if spec.rules_model is not None else ()),
        *_variables(model, file, profile),
        *_region_columns(spec, model, file),
        *_regions(spec, file),
        *_disjoint(spec, file),
        *_exchanged(spec, file),
        *_ceilings(spec),
        *_dropped(spec, profile),
        *infinite_in_json(_released(spec, profile), spec.formats, profile, field="formats"),
        *_weighed(spec, file),
        *_again(spec, given, _learned(given)),
        *_letter(spec, _learned(given)),
        *_more(spec, given, model),
    ]


def _released(spec: SwapsSpec, profile: Profile) -> list[str]:
    """Return the columns of the release: all that are not dropped."""
    return [column.name for column in profile.columns if column.name not in spec.drop]


def _model_job(job: JobInput | None) -> Iterator[FieldError]:
    if job is None:
        return
    if job.method != "group":
        yield FieldError("/model_job_id", f"a `group` job is needed, this one is `{job.method}`")
    elif job.state is not JobState.SUCCEEDED:
        yield FieldError("/model_job_id", f"the job is {job.state}: its rules are there once it has succeeded")


def _variables(model: RecordModel, file: Harmonised, profile: Profile) -> Iterator[FieldError]:
    for error in wrong_variables(model.variables, file, where=model.where, label="the dataset", rows=profile.rows):
        if model.where.startswith("/rules_model/"):
            yield error
        else:
            yield FieldError(model.where, f"the model does not fit this dataset: {error.detail}")


def _region_columns(spec: SwapsSpec, model: RecordModel, file: Harmonised) -> Iterator[FieldError]:
    yield from wrong_region_columns(spec.region_columns, file, label="the dataset")
    used = {source for variable in model.variables for source in file.sources_of(variable.column)}
    for index, name in enumerate(spec.region_columns):
        if not set(spec.drop).isdisjoint(file.sources_of(name)):
            reason = "is dropped" if set(model.group_columns).isdisjoint(file.sources_of(name)) else "names the group"
            yield FieldError(
                pointer("region_columns", index), f"{name!r} {reason}: there would be nothing left to exchange"
            )
        elif not used.isdisjoint(file.sources_of(name)):
            yield FieldError(
                pointer("region_columns", index), f"{name!r} is a variable of the model: swaps would change it"
            )


def _regions(spec: SwapsSpec, file: Harmonised) -> Iterator[FieldError]:
    lists: list[tuple[str, tuple[tuple[object, ...], ...], str]] = [
        ("/sources", spec.sources or (), ""),
        ("/targets", spec.targets or (), ""),
        ("/ceilings", tuple(one.region for one in spec.ceilings), "/region"),
        ("/outliers/ignore", spec.outliers.ignore, ""),
    ]
    if spec.mask != "outliers":
        lists.append(("/mask", tuple(one.region for one in spec.mask), "/region"))
    for where, regions, inner in lists:
        yield from wrong_regions(regions, spec.region_columns, file, where=where, inner=inner)
        seen: set[tuple[object, ...]] = set()
        for index, region in enumerate(regions):
            key = _as_columns(region, spec.region_columns, file)
            if key in seen:
                yield FieldError(where + pointer(index) + inner, "this region is listed twice")
            seen.add(key)


def _as_columns(region: tuple[object, ...], columns: tuple[str, ...], file: Harmonised) -> tuple[object, ...]:
    """A region as its columns contain it, so that the same one is recognised however it is written."""
    kinds = [file.type_of(name) for name in columns]
    return tuple(
        part if kind is None or unparsable(part, kind) else parsed(part, kind)
        for part, kind in zip(region, kinds, strict=False)
    )


def _disjoint(spec: SwapsSpec, file: Harmonised) -> Iterator[FieldError]:
    sources = {_as_columns(region, spec.region_columns, file) for region in spec.sources or ()}
    for index, region in enumerate(spec.targets or ()):
        if _as_columns(region, spec.region_columns, file) in sources:
            yield FieldError(pointer("targets", index), "this region is a source: it cannot be a target as well")


def _exchanged(spec: SwapsSpec, file: Harmonised) -> Iterator[FieldError]:
    """Members leave the lowered regions and come to the raised ones: sources and targets."""
    listed = {
        name: None if regions is None else {_as_columns(region, spec.region_columns, file) for region in regions}
        for name, regions in (("sources", spec.sources), ("targets", spec.targets))
    }
    for index, one in enumerate(() if spec.mask == "outliers" else spec.mask):
        done, wanted, other = ("lowered", "sources", "targets")
        if one.at_least is not None:
            done, wanted, other = ("raised", "targets", "sources")
        for name, should in ((wanted, True), (other, False)):
            regions = listed[name]
            if regions is not None and (_as_columns(one.region, spec.region_columns, file) in regions) is not should:
                detail = f"this region is to be {done} and is {'not ' if should else ''}one of `{name}`"
                yield FieldError(pointer("mask", index, "region"), detail)


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
    exchanged = {source for name in spec.region_columns for source in file.sources_of(name)}
    for field in ("ordinal", "categorical"):
        for name in getattr(spec.metric, field):
            kind, at = file.type_of(name), pointer("metric", field, name)
            if kind is None:
                yield FieldError(at, f"the dataset has no column {name!r}{meant(name, file.names)}")
            elif not exchanged.isdisjoint(file.sources_of(name)):
                yield FieldError(at, f"{name!r} is the exchanged part: it cannot state how near two records are")
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
    file, label = Harmonised(profile, learned.recode.auxiliary), "the auxiliary dataset"
    missing = [one.column for one in learned.conditions if file.type_of(one.column) is None]
    for name in missing:
        yield FieldError("/auxiliary_dataset_id", f"{label} has no column {name!r}, which names the group")
    for error in wrong_variables(learned.variables, file, where="", label=label, rows=profile.rows):
        yield FieldError("/auxiliary_dataset_id", error.detail)
