"""Reading an upload: from the staged bytes to the typed Parquet copy that every other runner works on."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from app.contracts.datasets import FileFormat, Profile, ReadOptions
from app.contracts.jobs import Progress
from workers.frames.upload.read import read_upload
from workers.methods.context import JobContext
from workers.methods.outcome import DatasetDraft, Outcome

_STAGE: Final = "reading"


@dataclass(frozen=True, slots=True)
class Reading:
    """One upload: not yet read while there is no profile."""

    job: JobContext
    options: ReadOptions
    profile: Profile | None = None


class IngestRunner:
    """Reads an upload in one long step that ticks."""

    def warm(self, scratch: Path) -> None:
        """Read a small file of each text format, for their compiled readers."""
        files = {
            FileFormat.CSV: b'a,b,c,d\n1,2.5,"x ""y""",2020-01-01\n2,,true,\n',
            FileFormat.NDJSON: b'{"a": 1, "b": 2.5, "c": "x"}\n{"a": null, "b": -1e3, "c": true}\n',
        }
        for kind, body in files.items():
            source = scratch / str(kind)
            source.write_bytes(body)
            read_upload(
                source,
                ReadOptions(format=kind),
                scratch / "read.parquet",
                max_columns=10,
                max_field_bytes=1000,
                max_bytes=1000,
                tick=lambda _: None,
            )

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Reading:  # noqa: ARG002 - nothing here is random
        """What is to be read."""
        return Reading(job=job, options=ReadOptions.model_validate(job.spec["options"]))

    def step(self, state: Reading, *, rng: np.random.Generator) -> Reading:  # noqa: ARG002
        """Read it."""
        job = state.job
        source = job.upload_path()
        try:
            profile = read_upload(
                source,
                state.options,
                job.scratch / "data.parquet",
                max_columns=job.limits.max_columns,
                max_field_bytes=job.limits.max_field_bytes,
                max_bytes=job.limits.max_upload_bytes,
                tick=lambda fraction: job.tick(fraction, _STAGE),
            )
        finally:
            source.unlink()
        return replace(state, profile=profile)

    def done(self, state: Reading) -> bool:
        """Whether it was read."""
        return state.profile is not None

    def progress(self, state: Reading) -> Progress:
        """How far it is; in between, the step itself ticks."""
        return Progress(fraction=0.0 if state.profile is None else 1.0, stage=_STAGE)

    def finish(self, state: Reading, job: JobContext, *, rng: np.random.Generator) -> Outcome:  # noqa: ARG002
        """The typed copy and what it holds."""
        profile = state.profile
        if profile is None:
            raise ValueError("finish is called once the upload was read")
        return Outcome(
            summary={"rows": profile.rows, "columns": len(profile.columns)},
            dataset=DatasetDraft(job.scratch / "data.parquet", profile),
        )
