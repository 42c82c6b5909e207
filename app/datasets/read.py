"""Reading one's datasets."""

from collections.abc import Sequence
from datetime import datetime

from app.contracts.datasets import Dataset
from app.db.repositories import datasets
from app.db.repositories.datasets import DatasetFilter
from app.db.session import Database
from app.errors import NotFoundError

__all__ = ["DatasetFilter", "list_datasets", "read_dataset"]


def read_dataset(*, database: Database, owner: str, dataset_id: str) -> Dataset:
    """The owner's dataset.

    Raises
    ------
    NotFoundError
        If there is none, it was deleted, or it is another owner's.
    """
    with database.read() as connection:
        found = None if "\x00" in dataset_id else datasets.get(connection, owner=owner, dataset_id=dataset_id)
    if found is None:
        raise NotFoundError("there is no dataset with this id")
    return found


def list_datasets(
    *, database: Database, owner: str, only: DatasetFilter, before: tuple[datetime, str] | None, limit: int
) -> Sequence[Dataset]:
    """The owner's datasets, newest first."""
    with database.read() as connection:
        return datasets.list_datasets(connection, owner=owner, only=only, before=before, limit=limit)
