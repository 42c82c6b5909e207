"""Columns of a release whose types the data decided: one record may have made whole numbers numbers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from app.contracts.datasets import DatasetColumn, TypeSource
from app.contracts.flags import Flag
from app.contracts.inputs import DatasetInput
from app.contracts.warnings import WarningCode, warning
from workers.methods.outcome import Outcome, ReleaseDraft

#: What a release says of its making that names columns of the dataset, published or not.
_NAMING: Final = ("quasi_identifiers", "keep", "sensitive", "person_column", "survey_weight_column")
#: Names that a warning spells out.
_MANY: Final = 20


def with_inferred_types(outcome: Outcome, made_from: DatasetInput | None) -> Outcome:
    """The outcome of a job, with a flag and warnings where its release has columns whose types were inferred.

    Parameters
    ----------
    outcome
        What the runner made.
    made_from
        The dataset, where there is one: the later releases of a series bear the flag of their base.
    """
    draft = outcome.release
    if draft is None or made_from is None:
        return outcome
    inferred = [column for column in named_columns(draft, made_from) if _is_inferred(column)]
    if not inferred:
        return outcome
    said = warning(WarningCode.TYPES_INFERRED, _detail(inferred))
    flags = tuple(dict.fromkeys((*draft.flags, Flag.TYPES_FROM_DATA)))
    flagged = replace(draft, flags=flags, warnings=(*draft.warnings, said))
    return replace(outcome, release=flagged, warnings=(*outcome.warnings, said))


def named_columns(draft: ReleaseDraft, made_from: DatasetInput) -> list[DatasetColumn]:
    """Columns of the dataset that the release has, or names among its parameters; a warning may name no other."""
    names = {column["name"] for column in draft.columns} | _named(draft.parameters)
    return [column for column in made_from.columns if column.name in names]


def _named(parameters: Mapping[str, Any]) -> set[str]:
    given = [parameters[name] for name in _NAMING if parameters.get(name) is not None]
    return {name for one in given for name in ([one] if isinstance(one, str) else one)}


def _is_inferred(column: DatasetColumn) -> bool:
    """Also where the profile is older than the question."""
    return column.type_from in {TypeSource.DATA, None}


def _detail(columns: list[DatasetColumn]) -> str:
    names = ", ".join(repr(column.name) for column in columns[:_MANY])
    more = f" and {len(columns) - _MANY} more" if len(columns) > _MANY else ""
    return (
        f"the types of {names}{more} were inferred from the data, so one record can decide whether a column has whole "
        f"numbers, numbers, days or text, and the release shows which: declare them at upload, "
        f"as in `type={columns[0].name}:{columns[0].type}`"
    )
