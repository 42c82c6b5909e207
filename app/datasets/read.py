"""Reading one's datasets, and naming them."""

from collections.abc import Sequence
from datetime import datetime

from app.auth.principal import Principal, Scope
from app.contracts.datasets import Dataset, DatasetChanges
from app.contracts.problems import Problem
from app.db.repositories import datasets
from app.db.repositories.datasets import DatasetFilter
from app.db.session import Database
from app.errors import NotFoundError
from app.jobs.refusals import problem_without_figures

__all__ = ["DatasetFilter", "describe_dataset", "list_datasets", "read_dataset", "shown_to"]

_UPLOADS = frozenset({Scope.DATASETS_WRITE})
_FAMILIES = frozenset({Scope.JOBS_READ, Scope.DATASETS_READ})


def read_dataset(*, database: Database, owner: str, dataset_id: str) -> Dataset:
    """The owner's dataset.

    Raises
    ------
    NotFoundError
        If there is none, it was deleted, or it is another owner's.
    """
    with database.read() as connection:
        dataset = datasets.get(connection, owner=owner, dataset_id=dataset_id)
    if dataset is None:
        raise NotFoundError("there is no dataset with this id")
    return dataset


def describe_dataset(*, database: Database, owner: str, dataset_id: str, patch: DatasetChanges) -> None:
    """Change name or tags of the owner's dataset; errors as of `read_dataset`."""
    changes = patch.changes()
    if not changes:
        read_dataset(database=database, owner=owner, dataset_id=dataset_id)
        return
    with database.unit_of_work() as unit:
        there = datasets.describe(unit.connection, owner=owner, dataset_id=dataset_id, changes=changes)
    if not there:
        raise NotFoundError("there is no dataset with this id")


def list_datasets(
    *, database: Database, owner: str, only: DatasetFilter, before: tuple[datetime, str] | None, limit: int
) -> Sequence[Dataset]:
    """The owner's datasets, newest first."""
    with database.read() as connection:
        return datasets.list_datasets(connection, owner=owner, only=only, before=before, limit=limit)


def shown_to(principal: Principal, dataset: Dataset) -> Dataset:
    """The dataset without what this key's scopes are not for.

    Which data are the same is for their keepers; why a file cannot be read quotes figures of it, for keepers and for
    keys that upload; how much is kept next to it, for keepers alone.
    """
    if principal.missing(_FAMILIES):
        dataset = dataset.model_copy(update={"family_id": None})
    error = dataset.error
    if error is not None and not principal.is_keeper and (error.quota is not None or principal.missing(_UPLOADS)):
        shown = problem_without_figures(error.model_dump(mode="json"))
        dataset = dataset.model_copy(update={"error": Problem.model_validate(shown)})
    return dataset
