"""What a claimed job's runner is given."""

from collections.abc import Callable
from pathlib import Path

from app.contracts.inputs import Inputs
from app.contracts.jobs import JobProgress
from app.db.repositories import draws
from app.db.repositories.claims import Claim
from app.errors import NotFoundError
from app.methods.catalogue import METHODS
from app.settings import Settings
from workers.engine.input_files import InputFiles
from workers.engine.randomness import new_generator
from workers.engine.resources import WorkerResources
from workers.methods.context import JobContext, JobPart, Limits


def job_context(
    claimed: Claim, resources: WorkerResources, *, scratch: Path, on_tick: Callable[[JobProgress], None]
) -> JobContext:
    """The context of one attempt; a dataset that is still to be read is not in it."""
    return JobContext(
        id=claimed.id,
        method=claimed.method,
        spec=claimed.spec,
        seed=claimed.seed,
        inputs=_read(claimed.inputs),
        draw=_draw(claimed, resources),
        scratch=scratch,
        limits=_limits(resources.settings),
        threads=resources.threads,
        part=None if claimed.part is None else JobPart(claimed.part, claimed.parts or 1),
        rng=new_generator(claimed.seed),
        fetch=InputFiles(claimed, resources, scratch=scratch).fetch,
        on_tick=on_tick,
    )


def _read(inputs: Inputs) -> Inputs:
    if any(release.key is None for release in inputs.releases.values()):
        raise NotFoundError("there is no release with this id")
    there = {role: dataset for role, dataset in inputs.datasets.items() if dataset.key is not None}
    return Inputs(there, inputs.releases, inputs.jobs)


def _limits(settings: Settings) -> Limits:
    return Limits(
        max_columns=settings.max_columns,
        max_field_bytes=settings.max_field_bytes,
        max_upload_bytes=settings.max_upload_bytes,
        release_cache_bytes=settings.release_cache_bytes,
        split_seconds=settings.split_seconds,
    )


def _draw(claimed: Claim, resources: WorkerResources) -> int:
    """Looked up anew for each attempt: others may have published since the job was accepted."""
    method, made_from = METHODS.get(claimed.method), claimed.inputs.dataset
    if method is None or not method.draws or made_from is None:
        return 1
    with resources.database.read() as connection:
        published = draws.count_published(connection, owner=claimed.owner, method=claimed.method, made_from=made_from)
    return published + 1
