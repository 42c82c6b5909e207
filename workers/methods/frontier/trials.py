"""Boxes that are tried and not published, and what means inside them leave to an insider."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.contracts.datasets import ColumnType
from app.methods.boxes.check import own_names, wrong_content
from app.methods.boxes.spec import BoxBounds, BoxesSpec, kinds_of
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.insider import left_to_insider
from workers.methods.boxes.reading import numeric_kinds
from workers.methods.boxes.runner import Anonymizing, BoxesRunner
from workers.methods.context import JobContext
from workers.methods.outcome import ReleaseDraft
from workers.methods.protocol import last_state
from workers.methods.rerun import Again, context_of


@dataclass(frozen=True, slots=True)
class Trial:
    """Boxes that were tried.

    Attributes
    ----------
    result
        As of a job of `boxes`.
    draft
        What it would release.
    left_to_insider
        By numeric column, the share of a box that is left to whoever knows all other records of it.
    """

    result: Mapping[str, Any]
    draft: ReleaseDraft
    left_to_insider: Mapping[str, float | None]


def tried(job: JobContext, spec: BoxesSpec, fraction: float) -> Trial:
    """Boxes of a specification.

    Parameters
    ----------
    job : the audit's.
    spec : of the boxes.
    fraction : how far the audit has come.

    Raises
    ------
    app.errors.SureboxError
        What boxes state about these records.
    """
    dumped = spec.model_dump(mode="json", by_alias=True)
    again = Again("boxes", dumped, job.datasets["dataset_id"], job.dataset_path(), job.scratch / "again")
    runner = BoxesRunner()
    inner = context_of(runner, job, again, fraction=fraction, stage="boxes")
    state = last_state(runner, inner)
    made = runner.finish(state, inner)
    if made.release is None or not isinstance(state, Anonymizing):
        raise ValueError("boxes made no release")
    return Trial(made.result, made.release, _left(state))


def _left(state: Anonymizing) -> dict[str, float | None]:
    """By name, in the specification's order."""
    outcome, shown, order = anonymization.result(state.algorithm), state.shown, state.canonical.order
    x = state.records.x if outcome.chosen.rows is None else state.records.x[outcome.chosen.rows]
    steps = [column.sum_step for column in numeric_kinds(shown.spec, order, shown.kinds)]
    shares = left_to_insider(x, outcome.boxes, steps, attained=shown.spec.bounds is BoxBounds.TIGHT)
    by_name = dict(zip(order.numeric, shares, strict=True))
    return {name: by_name[name] for name in shown.numeric}


def means_possible(spec: BoxesSpec, types: Mapping[str, ColumnType]) -> bool:
    """Test that boxes can have means, under names that no other column has.

    Parameters
    ----------
    spec : with `box_means`.
    types : of the dataset's columns.
    """
    kinds = kinds_of(spec, types)
    names = [*own_names(spec, kinds), *spec.keep]
    return not any(wrong_content(spec, kinds)) and len(set(names)) == len(names)
