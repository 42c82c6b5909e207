"""What a method is: everything that belongs to it, said once. Both sides, the document and the docs follow from it."""

from dataclasses import dataclass
from typing import get_args

from app.contracts.base import Contract
from app.contracts.flags import Flag
from app.contracts.jobs import JobKind, JobSpec, Queue


@dataclass(frozen=True, slots=True)
class Method:
    """One method of anonymizing, auditing or asking.

    Attributes
    ----------
    spec : what is asked; it says the method's name, kind, queue and version, and by its types what it works on.
    result : what comes of it, whole.
    summary : what the job shows of the result, where that is not all of it.
    statistic : what its release says of a statistic; other fields of the runner's statistics are withheld.
    flags : those that its releases may bear, beside `reproducible`.
    draws : every job draws anew from the data, and draws add up to more than one may tell: `check` is told how many
        were published, and it is looked at again when a job publishes.
    ledgered : of its releases a ledger keeps what composing them with others needs. Rows of all other releases count as
        the original's, or as following them one by one: together with those nobody is hidden.
    answers : names of the audits and questions that its releases can be put to.
    """

    spec: type[JobSpec]
    result: type[Contract]
    summary: type[Contract] | None = None
    statistic: type[Contract] | None = None
    flags: tuple[Flag, ...] = ()
    draws: bool = False
    ledgered: bool = False
    answers: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The one value of the specification's `method`."""
        return method_name(self.spec)

    @property
    def kind(self) -> JobKind:
        """The endpoint that it is asked of."""
        return self.spec.kind

    @property
    def queue(self) -> Queue:
        """Whose processes run it."""
        return self.spec.queue

    @property
    def shown(self) -> type[Contract]:
        """What the job shows of its result."""
        return self.summary or self.result


def method_name(spec: type[JobSpec]) -> str:
    """The method that a type of specification is of."""
    (name,) = get_args(spec.model_fields["method"].annotation)
    return str(name)
