"""The methods that jobs can use: name -> specification, queue, inputs, and what is checked before a job is accepted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.contracts.boxes import BoxesSpec
from app.contracts.jobs import JobKind, JobSpec, Queue
from app.errors import FieldError
from app.jobs import boxes
from app.jobs.inputs import Fields, Given


@dataclass(frozen=True, slots=True)
class Method:
    """One method: what its specification names, how it is filled in and checked against that.

    `datasets`, `releases` and `jobs` are the fields of the specification that hold ids; one that is None names nothing.
    `fill` sees what was named; ids that it fills in are looked up before `check`, which sees everything. The first
    dataset is what a release is made from. `draws`: every job draws anew from the data, and draws add up to more than
    one may tell; `check` is told how many there are.
    """

    name: str
    kind: JobKind
    spec_type: type[JobSpec]
    queue: Queue
    fill: Callable[[Any, Given], Any]
    check: Callable[[Any, Given], list[FieldError]]
    datasets: tuple[str, ...] = ("dataset_id",)
    releases: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    draws: bool = False

    @property
    def fields(self) -> Fields:
        """The fields that hold ids."""
        return Fields(self.datasets, self.releases, self.jobs)


#: In this order the methods stand in the OpenAPI document.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (Method("boxes", JobKind.ANONYMIZATION, BoxesSpec, Queue.BATCH, fill=boxes.fill, check=boxes.check),)
}

#: Methods of the contract that are not built yet: refused by name.
NOT_BUILT: dict[JobKind, frozenset[str]] = {
    JobKind.ANONYMIZATION: frozenset({"uncertain", "condensation", "swaps"}),
    JobKind.AUDIT: frozenset({"group", "linkage", "table", "frontier"}),
}


def methods_of(kind: JobKind) -> tuple[Method, ...]:
    """The methods of one kind, in their order."""
    return tuple(method for method in METHODS.values() if method.kind is kind)
