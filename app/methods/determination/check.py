"""What the specification of `determination` and the releases decide before a job is accepted."""

from app.contracts.inputs import Given
from app.errors import FieldError, pointer
from app.methods.determination.spec import DeterminationSpec


def check_determination(spec: DeterminationSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on these releases, each with its pointer."""
    columns = {name for one in given.releases.values() for name in one.made.quasi_identifiers}
    return [
        FieldError(pointer("value_step", name), f"none of the releases is about {name!r}")
        for name in spec.value_step
        if name not in columns
    ]
