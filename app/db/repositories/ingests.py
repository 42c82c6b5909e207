"""The dataset's side of an ingest job that did not succeed."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, update

from app.contracts.datasets import DatasetState
from app.db.models.dataset import dataset
from app.errors import ConflictError

#: Kind of the unlisted jobs that read uploads.
INGEST = "ingest"
CANCELLED_INGEST = ConflictError("reading this upload was cancelled; upload the file again").problem()


def fail_ingest(connection: Connection, *, dataset_id: str, problem: Mapping[str, Any]) -> None:
    """The upload was not read: its dataset fails with the job's problem, in the job's transaction."""
    connection.execute(
        update(dataset)
        .where(dataset.c.id == dataset_id, dataset.c.state == DatasetState.INGESTING)
        .values(state=DatasetState.FAILED, error=dict(problem))
    )
