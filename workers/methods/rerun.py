"""A method's runner once more, inside an audit: on the same records, on others, or with another specification."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from app.contracts.inputs import DatasetInput, Inputs
from app.contracts.jobs import JobStage
from workers.methods.context import InputFile, JobContext
from workers.methods.outcome import Outcome
from workers.methods.protocol import AnyRunner, Keyed, run_through


@dataclass(frozen=True, slots=True)
class Again:
    """The program: a specification on a dataset that is in a file.

    Attributes
    ----------
    method
        The method's name.
    spec
        Its specification, defaults filled in.
    dataset
        The statement about the dataset.
    path
        Its typed copy.
    scratch
        Where the release is written.
    """

    method: str
    spec: Mapping[str, Any]
    dataset: DatasetInput
    path: Path
    scratch: Path


def run_again(runner: AnyRunner, job: JobContext, again: Again, *, fraction: float, stage: JobStage) -> Outcome:
    """Run a method to its end, as a `context_of` it; nothing of it leaves the audit.

    Parameters
    ----------
    runner, job, again, fraction, stage : as in `context_of`.

    Raises
    ------
    app.errors.SureboxError
        What the method states about these records.
    """
    return run_through(runner, context_of(runner, job, again, fraction=fraction, stage=stage))


def context_of(runner: AnyRunner, job: JobContext, again: Again, *, fraction: float, stage: JobStage) -> JobContext:
    """The context of a run inside an audit.

    Random choices are the same in every run, so that runs differ by their records and their specifications alone:
    none of them is published.

    Parameters
    ----------
    runner : of the method.
    job : the audit's, which hears of the progress.
    again : the job that is run.
    fraction, stage : how far the audit has come.
    """
    again.scratch.mkdir(parents=True, exist_ok=True)

    def fetch(kind: InputFile, field: str) -> Path | None:
        if kind is InputFile.WIDTHS:
            return job.fetch(kind, field)
        return again.path if (kind, field) == (InputFile.DATASET, "dataset_id") else None

    inner = replace(
        job,
        method=again.method,
        spec={**again.spec, "formats": ["parquet"]},
        seed=None,
        inputs=Inputs(datasets={"dataset_id": again.dataset}),
        draw=1,
        scratch=again.scratch,
        part=None,
        rng=np.random.default_rng(0),
        fetch=fetch,
        on_tick=lambda _: job.tick(fraction, stage),
        secrets={},
        is_advised=False,
    )
    if isinstance(runner, Keyed):
        secrets = {name: hashlib.sha256(name.encode()).digest() for name in runner.keyed_by(inner)}
        inner = replace(inner, secrets=secrets)
    return inner
