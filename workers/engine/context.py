"""What a claimed job's runner is given."""

from collections.abc import Callable
from pathlib import Path

from app.contracts.datasets import DatasetColumn, NumericSummary
from app.contracts.jobs import JobState, Progress
from app.contracts.releases import ReleaseColumn
from app.db.repositories import draws
from app.db.repositories.claims import Claim
from app.db.repositories.job_inputs import DatasetFacts, JobFacts, ReleaseFacts
from app.errors import NotFoundError
from app.jobs.methods import METHODS
from workers.engine.resources import WorkerResources
from workers.methods.protocol import DatasetRef, JobContext, JobRef, Part, ReleaseRef


def job_context(
    claimed: Claim, resources: WorkerResources, *, scratch: Path, on_tick: Callable[[Progress], None]
) -> JobContext:
    """The context of one attempt; a dataset that is still to be read is not in it."""
    inputs = claimed.inputs
    return JobContext(
        id=claimed.id,
        owner=claimed.owner,
        method=claimed.method,
        spec=claimed.spec,
        seed=claimed.seed,
        datasets={role: _dataset(facts) for role, facts in inputs.datasets.items() if facts.data_key is not None},
        releases={role: _release(facts) for role, facts in inputs.releases.items()},
        jobs={role: _job(facts) for role, facts in inputs.jobs.items()},
        draw=_draw(claimed, resources),
        scratch=scratch,
        storage=resources.storage,
        settings=resources.settings,
        database=resources.database,
        threads=resources.threads,
        part=None if claimed.part is None else Part(claimed.part, claimed.parts or 1),
        on_tick=on_tick,
    )


def _draw(claimed: Claim, resources: WorkerResources) -> int:
    """Looked up anew for each attempt: others may have published since the job was accepted."""
    method, made_from = METHODS.get(claimed.method), claimed.inputs.dataset
    if method is None or not method.draws or made_from is None:
        return 1
    with resources.database.read() as connection:
        published = draws.count_published(
            connection, owner=claimed.owner, method=claimed.method, sha256=made_from.sha256
        )
    return published + 1


def _dataset(facts: DatasetFacts) -> DatasetRef:
    return DatasetRef(
        id=facts.id,
        sha256=facts.sha256,
        rows=facts.rows or 0,
        columns=tuple(DatasetColumn.model_validate(column) for column in facts.columns or ()),
        numeric={name: NumericSummary.model_validate(summary) for name, summary in (facts.numeric or {}).items()},
        data_key=facts.data_key or "",
    )


def _release(facts: ReleaseFacts) -> ReleaseRef:
    if facts.key is None or facts.sha256 is None:
        raise NotFoundError("there is no release with this id")
    return ReleaseRef(
        id=facts.id,
        method=facts.method,
        rows=facts.rows,
        columns=tuple(ReleaseColumn.model_validate(column) for column in facts.columns),
        flags=tuple(facts.flags),
        spec=facts.spec,
        key=facts.key,
        sha256=facts.sha256,
    )


def _job(facts: JobFacts) -> JobRef:
    return JobRef(id=facts.id, method=facts.method, state=JobState(facts.state), spec=facts.spec)
