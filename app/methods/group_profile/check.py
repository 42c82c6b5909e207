"""What the specification of `group_profile` and what it names decide before a job is accepted."""

from app.contracts.inputs import Given
from app.errors import FieldError
from app.methods.group.check import learned_by, wrong_model_job
from app.methods.group_profile.spec import GroupProfileSpec
from app.methods.microfile.harmonising import wrong_files


def fill_group_profile(spec: GroupProfileSpec, given: Given) -> GroupProfileSpec:
    """The specification with what divides the files, by default as in the `group` job."""
    learned = learned_by(given)
    return spec.model_copy(
        update={"region_columns": spec.region_columns or ((learned and learned.region_columns) or ())}
    )


def check_group_profile(spec: GroupProfileSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on these files, each with its pointer."""
    if errors := list(wrong_model_job(given.jobs.get("model_job_id"))):
        return errors
    learned = learned_by(given)
    if spec.rules_model is not None:
        return list(wrong_files(spec.region_columns, spec.rules_model.variables, spec.rules_model.recode, given))
    if learned is None:
        return []
    return list(wrong_files(spec.region_columns, learned.variables, learned.recode_of_target, given))
