"""The dataset's side of an ingest job that did not succeed."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select, update

from app.contracts.datasets import DatasetState
from app.db.tables.datasets import dataset
from app.db.tables.jobs import job_input
from app.errors import ConflictError

#: Kind of the unlisted jobs that read uploads.
INGEST = "ingest"
CANCELLED_INGEST = ConflictError("reading this upload was cancelled; upload the file again").problem()


def fail_ingest(connection: Connection, *, job_id: str, problem: Mapping[str, Any]) -> None:
    """The upload was not read: its dataset fails with the job's problem, in the job's transaction."""
    read_by_it = select(job_input.c.dataset_id).where(job_input.c.job_id == job_id)
    connection.execute(
        update(dataset)
        .where(dataset.c.id.in_(read_by_it), dataset.c.state == DatasetState.INGESTING)
        .values(state=DatasetState.FAILED, error=dict(problem))
    )
