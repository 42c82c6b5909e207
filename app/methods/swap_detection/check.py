"""What the specification of `swap_detection` and what it names decide before a job is accepted."""

from app.contracts.inputs import Given
from app.errors import FieldError
from app.methods.group.check import learned_by, wrong_model_job
from app.methods.microfile.harmonising import Harmonised, wrong_files
from app.methods.swap_detection.spec import SwapDetectionSpec


def fill_swap_detection(spec: SwapDetectionSpec, given: Given) -> SwapDetectionSpec:
    """The specification with what divides the files and the source of learning, by default as in the `group` job."""
    learned = learned_by(given)
    if learned is None:
        return spec
    auxiliary = spec.auxiliary_dataset_id or learned.auxiliary_dataset_id
    return spec.model_copy(
        update={"region_columns": spec.region_columns or learned.region_columns, "auxiliary_dataset_id": auxiliary}
    )


def check_swap_detection(spec: SwapDetectionSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on these files, each with its pointer."""
    if errors := list(wrong_model_job(given.jobs.get("model_job_id"))):
        return errors
    learned = learned_by(given)
    if learned is None:
        return []
    file = Harmonised(given.profile("auxiliary_dataset_id"), learned.recode.auxiliary)
    missing = [one.column for one in learned.conditions if file.type_of(one.column) is None]
    return [
        *(
            FieldError("/auxiliary_dataset_id", f"the auxiliary dataset has no column {name!r}, which names the group")
            for name in missing
        ),
        *wrong_files(spec.region_columns, learned.variables, learned.recode_of_target, given),
    ]
