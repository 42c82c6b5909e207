"""When a job's work goes to parts, and what they found."""

import json
from typing import Any

from app.db.repositories import parts, workers
from app.db.repositories.claims import Claim
from app.observability.job_metrics import WORKER_SECONDS
from workers.engine.input_files import InputFiles
from workers.engine.resources import WorkerResources
from workers.methods.context import JobContext
from workers.methods.protocol import SplitRequestedError, Splitting, Stepwise


def join(runner: Stepwise[Any], job: JobContext, claimed: Claim, resources: WorkerResources) -> Any:
    """The state of a whole whose parts have ended; None for a job that has none."""
    if claimed.parts is None or claimed.parent_id is not None or not isinstance(runner, Splitting):
        return None
    with resources.database.read() as connection:
        results = parts.results(connection, parent_id=job.id)
    files = InputFiles(claimed, resources, scratch=job.scratch)
    paths = [files.result(f"part-{place}", result) for place, result in enumerate(results)]
    return runner.join(job, [json.loads(path.read_bytes()) for path in paths])


def split(runner: Stepwise[Any], state: Any, job: JobContext, claimed: Claim, resources: WorkerResources) -> None:
    """Leave the job's work to parts if there is enough of it, and more than one process to do it.

    Raises
    ------
    SplitRequestedError
        When it is to be split.
    """
    if claimed.parts is not None or not isinstance(runner, Splitting):
        return
    with resources.database.read() as connection:
        processes = workers.process_count(connection, queue=claimed.queue, within_seconds=WORKER_SECONDS)
    count = runner.parts(state, job, processes=processes) if processes > 1 else 1
    if count > 1:
        raise SplitRequestedError(count)
