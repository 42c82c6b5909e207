# ruff: noqa: ARG002
"""The probe's runner. Each step draws one number; the journal gets a line per completed step, across attempts."""

import ctypes
import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.jobs import JobProgress
from app.contracts.releases import ReleaseFormat
from app.contracts.warnings import WarningCode, warning
from app.db.repositories import jobs
from app.db.session import Database
from app.errors import InfeasibleError
from app.settings import get_settings
from tests.probe.contract import ProbeSpec
from workers.frames.files import WrittenFile
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome, ReleaseDraft
from workers.methods.protocol import Arrays

#: What a planted exception says; it must appear in no log and in no answer.
SECRET = "cell-value-4711-secret"
_libc = ctypes.CDLL(None)


@dataclass(frozen=True, slots=True)
class ProbeState:
    spec: ProbeSpec
    drawn: NDArray[np.float64]
    name: str = ""


class ProbeRunner:
    algorithm = int(os.environ.get("PROBE_ALGORITHM", "1"))

    def init(self, job: JobContext) -> ProbeState:
        spec = ProbeSpec.model_validate({**job.spec, "seed": None})
        if job.part is None:
            return ProbeState(spec, np.empty(0))
        if spec.fail_part == job.part.index:
            raise InfeasibleError("a part cannot be done")
        return ProbeState(spec, np.empty(0), f"part {job.part.index} of {job.part.of}: ")

    def parts(self, state: ProbeState, job: JobContext, *, processes: int) -> int:
        return state.spec.parts

    def join(self, job: JobContext, parts: Sequence[Mapping[str, Any]]) -> ProbeState:
        spec = ProbeSpec.model_validate({**job.spec, "seed": None})
        _note(spec, "join")
        drawn = [number for each in parts for number in each["drawn"]]
        return ProbeState(spec.model_copy(update={"steps": len(drawn)}), np.array(drawn))

    def step(self, state: ProbeState, job: JobContext) -> ProbeState:
        spec = state.spec
        _fall_into(spec, "step")
        time.sleep(spec.step_seconds)
        if spec.kernel_seconds:
            _note(spec, "kernel")
            _libc.sleep(spec.kernel_seconds)  # without the GIL, and not back before it is done
        if spec.burnt_rounds:
            _note(spec, "burn")
            hashlib.pbkdf2_hmac("sha256", b"", b"", spec.burnt_rounds)  # without the GIL, and all of it CPU
        _fail(spec.fail)
        _take(filled=spec.filled_bytes, scattered=spec.scattered_bytes)
        state = replace(state, drawn=np.append(state.drawn, job.rng.random()))
        _note(spec, f"{state.name}step {len(state.drawn)}")
        return state

    def done(self, state: ProbeState) -> bool:
        return len(state.drawn) >= state.spec.steps

    def progress(self, state: ProbeState) -> JobProgress:
        return JobProgress(fraction=len(state.drawn) / max(1, state.spec.steps), stage="probing")

    def finish(self, state: ProbeState, job: JobContext) -> Outcome:
        spec = state.spec
        _fall_into(spec, "finish")
        _note(spec, "finish")
        deadline = time.monotonic() + spec.finish_seconds
        while time.monotonic() < deadline:
            job.tick(1.0, "finishing")
            time.sleep(0.02)
        _note(spec, "finished")
        if spec.fail == "cancel":
            _cancel(job.id)
        drawn = [float("nan")] if spec.fail == "nan" else state.drawn.tolist()
        return Outcome(
            summary={"steps": len(state.drawn)},
            result={"drawn": drawn, "padding": "x" * spec.result_bytes},
            warnings=[warning(WarningCode.ONE_COLUMN, "the job says", "/spec/steps")] if spec.warn else (),
            release=_draft(job, spec) if spec.release and job.part is None else None,
        )

    def pack(self, state: ProbeState) -> Arrays:
        return {"drawn": state.drawn}

    def unpack(self, job: JobContext, arrays: Arrays) -> ProbeState:
        return replace(self.init(job), drawn=arrays["drawn"])


class EmptyRunner:
    """In place of a real method, where a test is about everything around it."""

    def run(self, job: JobContext) -> Outcome:
        return Outcome(summary={})


def _note(spec: ProbeSpec, line: str) -> None:
    if spec.journal:
        with Path(spec.journal).open("a") as file:
            file.write(f"{os.getpid()} {line}\n")


def _fall_into(spec: ProbeSpec, place: str) -> None:
    """Take the trap of this place, if one is set: leave the process' id in its name and wait to be killed."""
    trap = Path(spec.traps) / place
    if not spec.traps or not trap.exists():
        return
    try:
        trap.rename(trap.with_suffix(f".{os.getpid()}"))
    except FileNotFoundError:  # another process was faster
        return
    while True:
        time.sleep(60)


#: Bytes of a piece that the C library takes from its heap, and how many of them are freed for one that stays.
_PIECE, _FREED = 64_000, 50
#: What stays of scattered pieces.
_KEPT: list[NDArray[np.uint8]] = []


def _take(*, filled: int, scattered: int) -> None:
    """Take memory in one piece, and in many of which a few stay between those that are freed."""
    np.ones(filled, dtype=np.uint8)
    pieces = [np.ones(_PIECE, dtype=np.uint8) for _ in range(scattered // _PIECE)]
    _KEPT.extend(pieces[::_FREED])


def _fail(kind: str) -> None:
    match kind:
        case "infeasible":
            raise InfeasibleError("k = 50 required, 31 records: the largest k is 31")
        case "value":
            raise ValueError(SECRET)
        case "memory":
            raise MemoryError(SECRET)
        case "allocate":
            np.empty(6 << 30, dtype=np.uint8)  # never touched: only the limit can refuse it


def _cancel(job_id: str) -> None:
    """As its owner would, from elsewhere."""
    database = Database(get_settings().database_url, pool_size=1)
    with database.unit_of_work() as unit:
        jobs.request_cancel(unit.connection, owner="tester", job_id=job_id)
    database.close()


class ReadWhenWritten(list[dict[str, Any]]):
    """Statistics that are in trouble when they are read: within the transaction that publishes them."""

    def __init__(self, spec: ProbeSpec, statistics: list[dict[str, Any]]) -> None:
        super().__init__(statistics)
        self._spec = spec

    def __iter__(self) -> Iterator[dict[str, Any]]:
        _fall_into(self._spec, "record")
        if self._spec.fail == "record":
            raise InfeasibleError("found only while writing")
        return super().__iter__()


def _draft(job: JobContext, spec: ProbeSpec) -> ReleaseDraft:
    files = {}
    for name in (ReleaseFormat.CSV, ReleaseFormat.PARQUET):
        path = job.scratch / f"release.{name}"
        path.write_bytes(f"{job.id} {name}\n".encode() * 1000)
        body = path.read_bytes()
        files[name] = WrittenFile(path, hashlib.sha256(body).hexdigest(), len(body))
    return ReleaseDraft(
        rows=7,
        columns=[{"name": "age", "type": "integer"}],
        files=files,
        statistics=ReadWhenWritten(spec, [{"kind": "mean", "of": ["age"], "estimate": 38.6}]),
        parameters={"k": 5},
        warnings=[warning(WarningCode.ONE_COLUMN, "the release says")] if spec.warn else (),
    )
