"""The datasets, releases and earlier jobs that a specification names, looked up for whoever asks."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from app.contracts.datasets import DatasetState
from app.contracts.ids import Named, Reference, references
from app.contracts.inputs import DatasetInput, Given, JobInput, ReleaseInput
from app.contracts.jobs import JobSpec
from app.db.repositories import inputs
from app.db.repositories.release_access import Viewer
from app.db.session import Connection
from app.errors import FieldError

T = TypeVar("T")

_NOT_READY: Final = {
    DatasetState.INGESTING: "the dataset is still being read; ask again once its state is `ready`",
    DatasetState.FAILED: "the dataset could not be read; its `error` says why",
}


class LookUp:
    """Looks ids up in one transaction, in which nothing that it has found can be deleted.

    Parameters
    ----------
    connection
        Of that transaction.
    owner
        Whose datasets, releases and jobs are there.
    viewer
        Where releases are only asked: for whom they are there, instead of their owner.
    """

    def __init__(self, connection: Connection, *, owner: str, viewer: Viewer | None = None) -> None:
        self._connection, self._owner, self._viewer = connection, owner, viewer
        self._inputs: dict[str, DatasetInput | ReleaseInput | JobInput] = {}
        self.errors: list[FieldError] = []

    def given(self, spec: JobSpec, *, earlier_draws: int = 0) -> Given:
        """What of the specification has been found, in the order of its fields."""
        by_role = {one.role: self._inputs[one.role] for one in references(spec) if one.role in self._inputs}
        return Given(
            _of(DatasetInput, by_role), _of(ReleaseInput, by_role), _of(JobInput, by_role), earlier_draws=earlier_draws
        )

    def look(self, spec: JobSpec, *, by_default: bool = False) -> None:
        """Look up what the specification names and was not looked up yet; what is not there goes to `errors`.

        Parameters
        ----------
        spec
            The specification.
        by_default
            Whether the ids that are new were filled in, not asked for.
        """
        for one in references(spec):
            wrong = None if one.role in self._inputs else self._find(one)
            if wrong is not None:
                detail = f"by default this is {one.id}, but {wrong}; name another" if by_default else wrong
                self.errors.append(FieldError(one.pointer, detail))

    def _find(self, one: Reference) -> str | None:
        resource = self._lock(one)
        wrong = f"there is no {one.kind} with this id" if resource is None else None
        if isinstance(resource, DatasetInput) and resource.state is not DatasetState.READY:
            wrong = _NOT_READY[resource.state]
        if isinstance(resource, JobInput) and resource.erased:
            wrong = "the result of this job was erased when its time had passed; run it again"
        if resource is not None and wrong is None:
            self._inputs[one.role] = resource
        return wrong

    def _lock(self, one: Reference) -> DatasetInput | ReleaseInput | JobInput | None:
        mine: dict[str, Any] = {"connection": self._connection, "owner": self._owner}
        if one.kind is Named.DATASET:
            return inputs.lock_dataset(**mine, dataset_id=one.id)
        if one.kind is Named.JOB:
            return inputs.lock_job(**mine, job_id=one.id)
        if self._viewer is not None:
            return inputs.lock_readable(self._connection, viewer=self._viewer, release_id=one.id)
        return inputs.lock_release(**mine, release_id=one.id)


def _of(kind: type[T], by_role: Mapping[str, object]) -> dict[str, T]:
    return {role: one for role, one in by_role.items() if isinstance(one, kind)}
