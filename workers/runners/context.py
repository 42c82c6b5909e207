"""What a claimed job's runner is given."""

from collections.abc import Callable
from pathlib import Path

from app.contracts.datasets import Column, NumericSummary
from app.contracts.jobs import Progress
from app.db.repositories.claims import Claim
from workers.runners.base import DatasetRef, JobContext
from workers.runners.resources import WorkerResources


def job_context(
    claimed: Claim, resources: WorkerResources, *, scratch: Path, on_tick: Callable[[Progress], None]
) -> JobContext:
    """The context of one attempt."""
    return JobContext(
        id=claimed.id,
        owner=claimed.owner,
        method=claimed.method,
        spec=claimed.spec,
        seed=claimed.seed,
        dataset_id=claimed.dataset_id,
        dataset=_dataset_ref(claimed),
        scratch=scratch,
        storage=resources.storage,
        settings=resources.settings,
        database=resources.database,
        threads=resources.threads,
        on_tick=on_tick,
    )


def _dataset_ref(claimed: Claim) -> DatasetRef | None:
    facts = claimed.dataset
    if facts is None or facts.rows is None or facts.data_key is None:
        return None
    return DatasetRef(
        id=facts.id,
        sha256=facts.sha256,
        rows=facts.rows,
        columns=tuple(Column.model_validate(column) for column in facts.columns or ()),
        numeric={name: NumericSummary.model_validate(summary) for name, summary in (facts.numeric or {}).items()},
        data_key=facts.data_key,
    )
