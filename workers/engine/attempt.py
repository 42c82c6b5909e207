"""One attempt of a job, from claim to end.

    claim -> (checkpoint | init) -> step ... step -> finish -> store -> one transaction

Whatever happens on the way ends in exactly one of: succeeded, failed, cancelled, given back, lost (another attempt), or
nothing at all when the attempt was fenced. `run` never raises: what it could raise might quote someone's data.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from billiard.exceptions import SoftTimeLimitExceeded

from app.contracts.jobs import JobProgress, JobState
from app.db.repositories import claims, parts, reaping, turns, workers
from app.db.repositories.claims import AttemptOutcome, Claim, QueuedJob
from app.db.session import Connection, UnitOfWork
from app.errors import (
    FencedError,
    LedgerBehindError,
    MemoryLimitError,
    PublishedMeanwhileError,
    StorageFullError,
    StorageUnavailableError,
    SureboxError,
    TimeLimitError,
    UnavailableError,
)
from app.methods.ingest.spec import INGEST
from app.observability.job_metrics import WORKER_SECONDS
from app.observability.logs import described
from app.releases.entries import Publication, catch_up
from app.settings import RESULT_PATIENCE_SECONDS
from workers.engine.checkpoints import Checkpoints
from workers.engine.context import InputFiles, job_context, with_persons, with_secrets
from workers.engine.ending.commit import succeed
from workers.engine.ending.review import Reviewed, review, review_again
from workers.engine.ending.store import Stored, Traces, store
from workers.engine.heartbeat import Heartbeat, StopReason, time_limit_error
from workers.engine.placing import Placement, lane_of, send_passed_over
from workers.engine.registry import known, runner_for
from workers.engine.resources import WorkerResources
from workers.engine.scratch import NO_SCRATCH, scratch_fault, scratch_folder
from workers.engine.warming import at_work, note_compilations
from workers.methods.context import CancelRequestedError, JobContext, MisplacedError, ShutdownRequestedError
from workers.methods.outcome import Outcome
from workers.methods.protocol import Checkpointing, SplitRequestedError, Splitting, Stepwise

#: Exit status of a child that leaves in the middle of a native kernel.
ABANDONED = 75
_RETRY_SECONDS = 0.2
#: Stages of jobs that wait for storage, by whether it is full.
_WAITS_FOR = ("the storage cannot be used", "the storage is full")
_INTERNAL = "the job could not be run; the service's log states where it failed"

log = structlog.get_logger(__name__)


def run(*, job_id: str, resources: WorkerResources) -> None:
    """Claim the job that is next in the queue of this one, and run one attempt of it.

    The id is a ticket: there are as many as there are queued jobs, and owners take turns. A ticket that nothing waits
    for belongs to a job that another worker has, or that has ended.
    """
    try:
        with resources.database.unit_of_work() as unit:
            claimed = _claim_next(unit.connection, ticket=job_id, resources=resources)
    except UnavailableError:
        log.warning(
            "job.unclaimed", job_id=job_id, reason="the database cannot be reached; housekeeping sends it again"
        )
        return
    if claimed is None:
        log.info("job.not_ours", job_id=job_id, reason="nothing waits in its queue that this worker knows")
        return
    began = time.monotonic()
    with structlog.contextvars.bound_contextvars(job_id=claimed.id, attempt=claimed.attempt, method=claimed.method):
        log.info("job.claimed")
        try:
            with ExitStack() as stack:
                try:
                    stack.enter_context(at_work(resources.settings))
                    scratch = stack.enter_context(scratch_folder(resources.settings.staging_dir))
                except OSError:
                    Attempt(claimed, resources, scratch=None).put_off()
                else:
                    Attempt(claimed, resources, scratch=scratch).run()
            send_passed_over(claimed, resources, seconds=time.monotonic() - began)
            resources.held.settle()
        except Exception as error:  # noqa: BLE001 - logged without its text, which may quote a cell
            log.error("job.left_to_housekeeping", **described(error))  # noqa: TRY400


def _claim_next(connection: Connection, *, ticket: str, resources: WorkerResources) -> Claim | None:
    lane = lane_of(resources.settings)
    chosen = turns.next_job(connection, ticket=ticket, known=known(), lane=lane, queues=resources.queues)
    return None if chosen is None else claims.claim(connection, job_id=chosen, worker=resources.worker, known=known())


class Attempt:
    """One attempt of a claimed job."""

    def __init__(self, claimed: Claim, resources: WorkerResources, *, scratch: Path | None) -> None:
        self._claimed, self._resources = claimed, resources
        self._settings = resources.settings
        self._checkpoints: Checkpoints | None = None
        self._over = False
        self._began = time.monotonic()
        self._scratch = scratch or Path(os.devnull)
        self._traces = Traces(resources.storage)
        self._reviewed = Reviewed()
        self._publication = Publication(self._settings, database=resources.database, storage=resources.storage)
        self._placement = Placement(claimed, resources)
        self._heartbeat = Heartbeat(
            job_id=claimed.id,
            attempt=claimed.attempt,
            parent_id=claimed.parent_id,
            database=resources.heartbeat_database,
            settings=self._settings,
            stopping=resources.stopping,
            misplaced=self._placement.misplaced,
            overrun=self._abandon,
        )

    def run(self) -> None:
        """Compute and end the job."""
        with self._heartbeat:
            self._end(self._work())
            self._traces.remove(self._claimed, self._resources.database)

    def put_off(self) -> None:
        """Let the job wait: this worker has no folder to work in."""
        self._commit(self._hold(NO_SCRATCH))

    def _work(self) -> Callable[[UnitOfWork], None]:
        """Compute; the changes to write in the transaction that ends the job (or the attempt)."""
        try:
            stored = self._store_and_review(*self._compute())
            self._heartbeat.check()
        except ShutdownRequestedError:
            return self._release_claim
        except MisplacedError:
            return self._move
        except SplitRequestedError as requested:
            return partial(self._split, count=requested.parts)
        except CancelRequestedError:
            return self._cancel
        except FencedError:
            return self._cancel_or_stop
        except (StorageUnavailableError, StorageFullError) as error:
            return self._hold(error)
        except UnavailableError:
            return self._record_lost_attempt
        except SureboxError as error:
            return self._failure(error)
        except Exception as error:  # noqa: BLE001 - logged without its text, which may quote a cell
            return self._broken(error)
        return partial(self._succeed, stored=stored)

    def _broken(self, error: Exception) -> Callable[[UnitOfWork], None]:
        """An error that is none of ours: the worker's limits, its disk, or a fault in the code."""
        if isinstance(error, SoftTimeLimitExceeded):
            return self._failure(time_limit_error(self._settings))
        if isinstance(error, MemoryError) and self._placement.is_question:
            return self._move
        if isinstance(error, MemoryError):
            return self._failure(MemoryLimitError("ask for less work, or give the workers more memory"))
        if (fault := scratch_fault(error)) is not None:
            return self._hold(fault)
        log.error("job.internal_error", **described(error))
        return self._failure(SureboxError(_INTERNAL))

    def _compute(self) -> tuple[JobContext, Outcome]:
        runner = runner_for(self._claimed.method)
        if "numba" in sys.modules:  # a method without kernels does not load it
            note_compilations()
        job = job_context(self._claimed, self._resources, scratch=self._scratch, on_tick=self._tick)
        job = with_persons(job, self._claimed, self._resources)
        job = with_secrets(runner, job, self._claimed, self._resources)
        return job, self._step_through(runner, job) if isinstance(runner, Stepwise) else runner.run(job)

    def _store_and_review(self, job: JobContext, outcome: Outcome) -> Stored:
        """Store what was computed, through a restart of Postgres if need be: it keeps the digests."""
        patience = time.monotonic() + RESULT_PATIENCE_SECONDS
        while True:
            try:
                return self._stored_and_reviewed(job, outcome)
            except StorageUnavailableError:
                raise
            except UnavailableError:
                with self._heartbeat.uncounted():
                    if not self._database_is_back(patience):
                        raise

    def _database_is_back(self, patience: float) -> bool:
        """Wait for the database; False: it is away for too long."""
        while time.monotonic() < patience:
            time.sleep(_RETRY_SECONDS)
            self._heartbeat.check()
            with suppress(UnavailableError), self._resources.database.read():
                return True
        return False

    def _stored_and_reviewed(self, job: JobContext, outcome: Outcome) -> Stored:
        at, storage = self._resources, self._traces
        stored = store(self._claimed, outcome, storage=storage, at=at)
        if stored.dataset is None:
            self._reviewed = review(self._claimed, job, stored, storage=storage, at=at)
        return stored

    def _step_through(self, runner: Stepwise[Any], job: JobContext) -> Outcome:
        state, job, steps = self._begin(runner, job)
        while not runner.done(state):
            try:
                self._heartbeat.check()
            except (ShutdownRequestedError, MisplacedError):
                self._checkpoint(runner, state, job, steps, now=True)
                raise
            state = runner.step(state, job)
            steps += 1
            self._heartbeat.report(runner.progress(state))
            self._checkpoint(runner, state, job, steps)
        return runner.finish(state, job)

    def _checkpoint(self, runner: Stepwise[Any], state: Any, job: JobContext, steps: int, *, now: bool = False) -> None:
        taker = self._checkpoints
        if taker is None or not isinstance(runner, Checkpointing) or not (now or taker.due()):
            return
        try:
            taker.save(runner, state, rng=job.rng, steps=steps)
        except (StorageFullError, UnavailableError) as error:  # the job itself can go on without
            log.warning("job.not_checkpointed", error=type(error).__name__)
            taker.postpone()

    def _begin(self, runner: Stepwise[Any], job: JobContext) -> tuple[Any, JobContext, int]:
        if isinstance(runner, Checkpointing):
            self._checkpoints = Checkpoints(job, self._resources, attempt=self._claimed.attempt)
            taken = self._checkpoints.last(runner) if self._claimed.attempt > 1 else None
            if taken is not None:
                log.info("job.resumed", steps=taken.steps)
                return runner.unpack(job, taken.arrays), replace(job, rng=taken.rng), taken.steps
        state = _joined(runner, job, self._claimed, self._resources)
        if state is None:
            state = runner.init(job)
            _split_work(runner, state, job, self._claimed, self._resources)
        return state, job, 0

    def _tick(self, progress: JobProgress) -> None:
        self._heartbeat.report(progress)
        self._heartbeat.check()

    def _end(self, write: Callable[[UnitOfWork], None]) -> None:
        """Write the ending; a job that cannot be written as computed fails, and states it."""
        with self._heartbeat.ending():
            try:
                self._commit(write)
            except FencedError:
                self._commit(self._cancel_or_stop)
            except UnavailableError:
                raise
            except SureboxError as error:
                self._commit(self._failure(error))
            except Exception as error:  # noqa: BLE001 - logged without its text, which may quote a cell
                log.error("job.ending_failed", **described(error))  # noqa: TRY400
                self._commit(self._failure(SureboxError(_INTERNAL)))
        if self._over and self._checkpoints is not None:
            self._checkpoints.delete_all()

    def _commit(self, write: Callable[[UnitOfWork], None]) -> None:
        """Commit, through a restart of Postgres if need be: hours of work hang on it."""
        patience = time.monotonic() + RESULT_PATIENCE_SECONDS
        written = False
        while not written:
            try:
                self._publication.run(partial(self._in_one_transaction, write))
                written = True
            except PublishedMeanwhileError as error:
                if isinstance(error, LedgerBehindError):
                    self._learn_again()
                self._reviewed = review_again(self._claimed, self._reviewed, at=self._resources)
            except (UnavailableError, StorageFullError):
                if time.monotonic() > patience or self._resources.stopping():
                    raise
                time.sleep(_RETRY_SECONDS)

    def _in_one_transaction(self, write: Callable[[UnitOfWork], None]) -> None:
        with self._resources.database.unit_of_work() as unit:
            write(unit)

    def _learn_again(self) -> None:
        """Storage has publications that the database has forgotten."""
        at = self._resources
        catch_up(database=at.database, storage=at.storage, owner=self._claimed.owner)

    def _succeed(self, unit: UnitOfWork, *, stored: Stored) -> None:
        succeed(
            unit.connection, claimed=self._claimed, stored=stored, reviewed=self._reviewed,
            settings=self._settings, end=self._publication.end,
        )  # fmt: skip
        self._settle(unit, AttemptOutcome(state=JobState.SUCCEEDED, outcome="succeeded"))
        self._over = True

    def _finish(self, unit: UnitOfWork, ending: AttemptOutcome) -> None:
        claims.finish(unit.connection, claimed=self._claimed, ending=ending)
        self._settle(unit, ending)
        self._over = True

    def _settle(self, unit: UnitOfWork, ending: AttemptOutcome) -> None:
        """A part reports to its whole that it has ended; the last one sends it off."""
        unit.after_commit(partial(self._log_end, ending))
        if self._claimed.parent_id is None:
            return
        waiting = parts.settle(unit.connection, parent_id=self._claimed.parent_id, ending=ending)
        if waiting is not None:
            unit.after_commit(partial(self._send, waiting))

    def _log_end(self, ending: AttemptOutcome) -> None:
        problem = {} if ending.error is None else {"problem": ending.error["type"]}
        log.info("job.ended", outcome=ending.outcome, seconds=round(time.monotonic() - self._began, 2), **problem)

    def _split(self, unit: UnitOfWork, *, count: int) -> None:
        """Put parts in the place of this attempt; whoever finishes the last of them queues the job again."""
        for waiting in parts.split(unit.connection, claimed=self._claimed, parts=count):
            unit.after_commit(partial(self._send, waiting))

    def _failure(self, error: SureboxError) -> Callable[[UnitOfWork], None]:
        outcome = "time limit" if isinstance(error, TimeLimitError) else "failed"
        ending = AttemptOutcome(state=JobState.FAILED, outcome=outcome, error=error.problem())
        return lambda unit: self._finish(unit, ending)

    def _cancel(self, unit: UnitOfWork) -> None:
        self._finish(unit, AttemptOutcome(state=JobState.CANCELLED, outcome="cancelled"))

    def _cancel_or_stop(self, unit: UnitOfWork) -> None:
        """Zero rows: the job was cancelled while its release was being stored, or another attempt has it."""
        reply = claims.look(unit.connection, job_id=self._claimed.id, attempt=self._claimed.attempt)
        if reply.cancel_requested:
            self._cancel(unit)
        else:
            log.warning("job.fenced")

    def _release_claim(self, unit: UnitOfWork) -> None:
        claimed = self._claimed
        if self._cancelled(unit):
            return
        claims.release_claim(unit.connection, job_id=claimed.id, attempt=claimed.attempt)
        unit.after_commit(lambda: self._send(QueuedJob(claimed.id, claimed.method, claimed.queue)))

    def _move(self, unit: UnitOfWork) -> None:
        """The job is longer than what this process is for: it goes on where long ones do."""
        if self._cancelled(unit):
            return
        moved = self._placement.move(unit.connection)
        unit.after_commit(lambda: self._send(moved))

    def _cancelled(self, unit: UnitOfWork) -> bool:
        """Cancel the job if that was requested meanwhile, and return whether it was."""
        claimed = self._claimed
        reply = claims.look(unit.connection, job_id=claimed.id, attempt=claimed.attempt)
        if reply.cancel_requested:
            self._cancel(unit)
        return reply.cancel_requested

    def _hold(self, error: SureboxError) -> Callable[[UnitOfWork], None]:
        """The storage is at fault, not the job: it waits, unless someone waits for the answer that it is full."""
        if self._claimed.kind == INGEST and isinstance(error, StorageFullError):
            return self._failure(error)
        log.warning("job.held", error=type(error).__name__)
        return partial(self._hold_or_fail, error=error)

    def _hold_or_fail(self, unit: UnitOfWork, *, error: SureboxError) -> None:
        claimed = self._claimed
        if claims.look(unit.connection, job_id=claimed.id, attempt=claimed.attempt).cancel_requested:
            self._cancel(unit)
        elif not claims.hold(
            unit.connection,
            job_id=claimed.id,
            attempt=claimed.attempt,
            why=_WAITS_FOR[isinstance(error, StorageFullError)],
            patience=self._settings.storage_patience_seconds,
        ):
            self._failure(error)(unit)

    def _record_lost_attempt(self, unit: UnitOfWork) -> None:
        """What failed is outside the job: the attempt is spent, the job is not."""
        claimed = self._claimed
        waiting = reaping.record_lost_attempt(
            unit.connection, job_id=claimed.id, attempt=claimed.attempt, max_attempts=self._settings.max_attempts
        )
        if waiting is not None:
            unit.after_commit(lambda: self._send(waiting))

    def _send(self, waiting: QueuedJob) -> None:
        self._resources.queue.enqueue(waiting.id, method=waiting.method, queue=waiting.queue)

    def _abandon(self, verdict: StopReason) -> None:
        """Called by the heartbeat's thread when a step overruns: write the ending and leave the process."""
        writes: dict[StopReason, Callable[[UnitOfWork], None]] = {
            StopReason.CANCELLED: self._cancel,
            StopReason.TIME_LIMIT: self._failure(time_limit_error(self._settings)),
            StopReason.SHUTDOWN: self._release_claim,
            StopReason.MISPLACED: self._move,
        }
        try:
            if verdict in writes:
                with self._resources.heartbeat_database.unit_of_work() as unit:
                    writes[verdict](unit)
        except FencedError:
            pass
        except UnavailableError:
            if verdict not in (StopReason.SHUTDOWN, StopReason.MISPLACED):
                raise
        log.warning("job.abandoned", job_id=self._claimed.id, reason=verdict.name.lower())
        shutil.rmtree(self._scratch, ignore_errors=True)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ABANDONED)


def _joined(runner: Stepwise[Any], job: JobContext, claimed: Claim, resources: WorkerResources) -> Any:
    """The state of a whole whose parts have ended; None for a job that has none."""
    if claimed.parts is None or claimed.parent_id is not None or not isinstance(runner, Splitting):
        return None
    with resources.database.read() as connection:
        results = parts.results(connection, parent_id=job.id)
    files = InputFiles(claimed, resources, scratch=job.scratch)
    paths = [files.result(f"part-{place}", result) for place, result in enumerate(results)]
    return runner.join(job, [json.loads(path.read_bytes()) for path in paths])


def _split_work(runner: Stepwise[Any], state: Any, job: JobContext, claimed: Claim, resources: WorkerResources) -> None:
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
