"""Checkpoints: the packed state, the generator and the step count of a job, as arrays in one npz without pickles.

They contain generator state, which would undo the noise of a release: they are in storage under the job, only their key
is in Postgres, and they are deleted when the job ends.
"""

import time
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import structlog

from app.db.repositories import checkpoints
from workers.engine.randomness import pack_generator, unpack_generator
from workers.engine.resources import WorkerResources
from workers.methods.context import JobContext
from workers.methods.protocol import Arrays, Checkpointing

S = TypeVar("S")

_STATE = "state."
_ALGORITHM = "algorithm"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Taken:
    """What a checkpoint contains."""

    arrays: Arrays
    rng: np.random.Generator
    steps: int


class Checkpoints:
    """Checkpoints of one attempt."""

    def __init__(self, job: JobContext, resources: WorkerResources, *, attempt: int) -> None:
        self._job, self._attempt = job, attempt
        self._database, self._storage = resources.database, resources.storage
        self._every_seconds = resources.settings.checkpoint_seconds
        self._count = 0
        self._resumed = False
        self._saved_at = time.monotonic()

    def due(self) -> bool:
        """Whether the last one is old enough."""
        return time.monotonic() - self._saved_at >= self._every_seconds

    def save(self, runner: Checkpointing[S], state: S, *, rng: np.random.Generator, steps: int) -> None:
        """Store the state, point to it, delete the one before it.

        Raises
        ------
        app.errors.FencedError
            When the attempt has lost the job.
        """
        key = f"jobs/{self._job.id}/checkpoint-{self._attempt}-{self._count}.npz"
        path = self._job.scratch / "checkpoint.npz"
        packed = {_STATE + name: array for name, array in runner.pack(state).items()}
        stamps: Arrays = {"steps": np.array(steps), _ALGORITHM: np.array(self._algorithm(runner))}
        np.savez(path, allow_pickle=False, **stamps, **pack_generator(rng), **packed)
        self._storage.put_file(key, path)
        path.unlink()
        with self._database.unit_of_work() as unit:
            former = checkpoints.point(
                unit.connection, job_id=self._job.id, attempt=self._attempt, steps=steps, key=key
            )
        if former is not None:
            self._storage.delete(former)
        self._count += 1
        self._saved_at = time.monotonic()

    def postpone(self) -> None:
        """None could be taken now; try again after the usual time."""
        self._saved_at = time.monotonic()

    def last(self, runner: Checkpointing[S]) -> Taken | None:
        """The newest checkpoint of any attempt; None when there is none that this runner can go on from."""
        with self._database.read() as connection:
            key = checkpoints.last(connection, job_id=self._job.id)
        if key is None:
            return None
        path = self._job.scratch / "last-checkpoint.npz"
        try:
            self._storage.fetch(key, path)
        except FileNotFoundError:
            log.warning("checkpoint.missing", job_id=self._job.id)
            return None
        self._resumed = True
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        path.unlink()
        if str(arrays.get(_ALGORITHM)) != self._algorithm(runner):
            log.warning("checkpoint.strange", job_id=self._job.id, wanted=self._algorithm(runner))
            return None
        state = {name.removeprefix(_STATE): array for name, array in arrays.items() if name.startswith(_STATE)}
        return Taken(state, unpack_generator(arrays), int(arrays["steps"]))

    def _algorithm(self, runner: Checkpointing[S]) -> str:
        return f"{self._job.method} {runner.algorithm}"

    def delete_all(self) -> None:
        """Remove every checkpoint of the job, whichever attempt took it."""
        if not self._count and not self._resumed:
            return
        for stored in list(self._storage.list(f"jobs/{self._job.id}/")):
            if "/checkpoint-" in stored.key:
                self._storage.delete(stored.key)
