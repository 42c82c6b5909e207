"""The methods that jobs can use: name -> specification, queue, and what is checked before a job is accepted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.contracts.boxes import BoxesSpec
from app.contracts.datasets import Profile
from app.contracts.jobs import JobKind, JobSpec, Queue
from app.errors import FieldError
from app.jobs import boxes


@dataclass(frozen=True, slots=True)
class Method:
    """One method: how its specification is filled in and checked against a dataset's profile."""

    name: str
    kind: JobKind
    spec_type: type[JobSpec]
    queue: Queue
    fill: Callable[[Any, Profile], Any]
    check: Callable[[Any, Profile], list[FieldError]]


METHODS: dict[str, Method] = {
    "boxes": Method(
        name="boxes",
        kind=JobKind.ANONYMIZATION,
        spec_type=BoxesSpec,
        queue=Queue.BATCH,
        fill=boxes.fill,
        check=boxes.check,
    ),
}

#: Methods of the contract that are not built yet: refused by name.
NOT_BUILT: dict[JobKind, frozenset[str]] = {
    JobKind.ANONYMIZATION: frozenset({"uncertain", "condensation", "swaps"}),
    JobKind.AUDIT: frozenset({"group", "linkage", "table", "frontier"}),
}
