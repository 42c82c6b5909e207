"""The model that swaps are made against: rules of one's own, or those that an earlier `group` job has found."""

from dataclasses import dataclass
from typing import Any

from app.methods.group.spec import GroupSpec
from app.methods.microfile.spec import DerivedColumn, FuzzyVariable, Recodings
from app.methods.swaps.spec import SwapsSpec


@dataclass(frozen=True, slots=True)
class RecordModel:
    """What a model says of the records, wherever it comes from; its rules are in a result."""

    variables: tuple[FuzzyVariable, ...]
    recode: Recodings
    group_columns: tuple[str, ...]
    where: str


def group_spec(stored: Any) -> GroupSpec:
    """The specification of a `group` job as it is kept: its seed is not."""
    return GroupSpec.model_validate({**stored, "seed": None})


def model_of(spec: SwapsSpec, learned: GroupSpec | None) -> RecordModel | None:
    """The model that a specification names; None where the job it names is no `group` job."""
    if spec.rules_model is not None:
        return RecordModel(spec.rules_model.variables, spec.rules_model.recode, (), "/rules_model/variables")
    if learned is None:
        return None
    is_auxiliary = spec.dataset_id == learned.auxiliary_dataset_id and spec.dataset_id != learned.target_dataset_id
    recode = learned.recode.auxiliary if is_auxiliary else learned.recode_of_target
    return RecordModel(learned.variables, recode, tuple(_naming(learned)), "/model_job_id")


def _naming(learned: GroupSpec) -> dict[str, None]:
    """All columns that name the group, in order: under its own name, and raw, in whichever dataset it is made of them.

    A target that is attacked without the group needs no recoding of it, and may have the raw columns all the same.
    """
    both = (learned.recode.auxiliary, learned.recode.target)
    raw = (column for one in learned.conditions for recode in both for column in _raw(one.column, recode))
    return dict.fromkeys([*raw, *(one.column for one in learned.conditions)])


def _raw(name: str, recode: Recodings) -> tuple[str, ...]:
    recoding = recode.get(name)
    return recoding.columns if isinstance(recoding, DerivedColumn) else (name,)
