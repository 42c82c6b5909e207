"""The datasets that jobs work on, as a submission sees them."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from app.contracts.datasets import Column, DatasetState, NumericSummary, Profile
from app.db.models.dataset import dataset


@dataclass(frozen=True, slots=True)
class Input:
    """A dataset that a submission names; its profile once it is ready."""

    state: DatasetState
    profile: Profile | None


def lock_input(connection: Connection, *, owner: str, dataset_id: str) -> Input | None:
    """The owner's dataset of this id, which cannot be deleted until the transaction ends."""
    if "\x00" in dataset_id:  # Postgres refuses the character itself
        return None
    statement = (
        select(dataset.c.state, dataset.c.rows, dataset.c.columns, dataset.c.numeric)
        .where(dataset.c.id == dataset_id, dataset.c.owner == owner, dataset.c.state != DatasetState.DELETED)
        .with_for_update(read=True)
    )
    row = connection.execute(statement).first()
    if row is None:
        return None
    if row.state != DatasetState.READY:
        return Input(DatasetState(row.state), None)
    profile = Profile(
        rows=row.rows,
        columns=tuple(Column.model_validate(column) for column in row.columns),
        numeric={name: NumericSummary.model_validate(summary) for name, summary in (row.numeric or {}).items()},
    )
    return Input(DatasetState.READY, profile)
