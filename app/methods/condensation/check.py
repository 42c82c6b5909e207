"""What the specification of `condensation` and the dataset's profile decide before a job is accepted."""

from collections.abc import Iterator

from app.contracts.inputs import Given
from app.errors import FieldError, pointer
from app.methods.columns import complete_records, infinite_in_json, named, too_few, wrong_columns, wrong_values
from app.methods.condensation.spec import CondensationSpec


def check_condensation(spec: CondensationSpec, given: Given) -> list[FieldError]:
    """Everything wrong with the specification on this dataset, each with its pointer."""
    profile = given.profile()
    columns = named(profile)
    return [
        *wrong_columns("quasi_identifiers", spec.quasi_identifiers, columns, numeric=True),
        *wrong_columns("keep", spec.keep, columns),
        *infinite_in_json(spec.keep, spec.formats, profile),
        *_names(spec),
        *wrong_values(spec, profile),
        *too_few(spec.k, largest=complete_records(spec, profile), rows=profile.rows),
    ]


def _names(spec: CondensationSpec) -> Iterator[FieldError]:
    for index, name in enumerate(spec.keep):
        if name in spec.quasi_identifiers:
            yield FieldError(pointer("keep", index), f"{name!r} is published condensed: it cannot be kept as well")
