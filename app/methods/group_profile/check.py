"""What specifications of `group_profile` and `swap_detection` and what they name decide before a job is accepted."""

from collections.abc import Iterator

from app.contracts.inputs import Given, JobInput, listed
from app.contracts.jobs import JobState
from app.errors import FieldError, pointer
from app.methods.group.spec import GroupSpec
from app.methods.group_profile.spec import GroupProfileSpec, SwapDetectionSpec
from app.methods.microfile.harmonising import Harmonised
from app.methods.microfile.spec import FuzzyVariable, Recodings
from app.methods.swaps.rule_models import group_spec


def fill_profile(spec: GroupProfileSpec, given: Given) -> GroupProfileSpec:
    """The specification with what divides the files, by default as in the `group` job."""
    learned = _learned(given)
    return spec.model_copy(
        update={"region_columns": spec.region_columns or ((learned and learned.region_columns) or ())}
    )


def fill_detection(spec: SwapDetectionSpec, given: Given) -> SwapDetectionSpec:
    """The specification with what divides the files and what is learned from, by default as in the `group` job."""
    learned = _learned(given)
    if learned is None:
        return spec
    auxiliary = spec.auxiliary_dataset_id or learned.auxiliary_dataset_id
    return spec.model_copy(
        update={"region_columns": spec.region_columns or learned.region_columns, "auxiliary_dataset_id": auxiliary}
    )


def check_profile(spec: GroupProfileSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on these files, each with its pointer."""
    if errors := list(_model_job(given.jobs.get("model_job_id"))):
        return errors
    learned = _learned(given)
    if spec.rules_model is not None:
        return list(_files(spec.region_columns, spec.rules_model.variables, spec.rules_model.recode, given))
    if learned is None:
        return []
    return list(_files(spec.region_columns, learned.variables, learned.recode_of_target, given))


def check_detection(spec: SwapDetectionSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on these files, each with its pointer."""
    if errors := list(_model_job(given.jobs.get("model_job_id"))):
        return errors
    learned = _learned(given)
    if learned is None:
        return []
    file = Harmonised(given.profile("auxiliary_dataset_id"), learned.recode.auxiliary)
    missing = [one.column for one in learned.conditions if file.type_of(one.column) is None]
    return [
        *(
            FieldError("/auxiliary_dataset_id", f"the auxiliary dataset has no column {name!r}, which names the group")
            for name in missing
        ),
        *_files(spec.region_columns, learned.variables, learned.recode_of_target, given),
    ]


def _learned(given: Given) -> GroupSpec | None:
    job = given.jobs.get("model_job_id")
    return group_spec(job.spec) if job is not None and job.method == "group" else None


def _model_job(job: JobInput | None) -> Iterator[FieldError]:
    if job is None:
        return
    if job.method != "group":
        yield FieldError("/model_job_id", f"this is a `{job.method}` job: rules are found by `group` jobs")
    elif job.state is not JobState.SUCCEEDED:
        yield FieldError("/model_job_id", f"this job is {job.state}: there are no rules")


def _files(
    region_columns: tuple[str, ...], variables: tuple[FuzzyVariable, ...], recode: Recodings, given: Given
) -> Iterator[FieldError]:
    """Files that lack a column which divides them, or which the rules read."""
    columns = {
        **{role: [c.name for c in one.columns] for role, one in listed(given.releases, "release_ids").items()},
        **{role: [c.name for c in one.columns] for role, one in listed(given.datasets, "dataset_ids").items()},
    }
    for role, there in columns.items():
        for name in dict.fromkeys((*region_columns, *(one.column for one in variables))):
            recoding = recode.get(name)
            needed = getattr(recoding, "columns", (name,))
            if missing := [one for one in needed if one not in there]:
                yield FieldError(pointer(*role.split("/")), f"there is no column {missing[0]!r} in this file")
