"""Reading an upload: from the staged bytes to the typed Parquet copy that every other runner works on."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from uuid import uuid4

import numpy as np

from app.contracts.datasets import FileFormat, Profile, ReadOptions
from app.contracts.jobs import Progress
from app.db.repositories import datasets
from app.db.session import Connection
from app.errors import ConflictError
from workers.frames.upload.read import read_upload
from workers.methods.protocol import JobContext, Outcome

_STAGE: Final = "reading"


@dataclass(frozen=True, slots=True)
class Reading:
    """One upload: not yet read while there is no profile."""

    job: JobContext
    dataset_id: str
    options: ReadOptions
    staged_key: str
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
        spec = job.spec
        return Reading(
            job=job,
            dataset_id=str(spec["dataset_id"]),
            options=ReadOptions.model_validate(spec["options"]),
            staged_key=str(spec["staged_key"]),
        )

    def step(self, state: Reading, *, rng: np.random.Generator) -> Reading:  # noqa: ARG002
        """Read it."""
        job = state.job
        source = job.fetch(state.staged_key)
        try:
            profile = read_upload(
                source,
                state.options,
                job.scratch / "data.parquet",
                max_columns=job.settings.max_columns,
                max_field_bytes=job.settings.max_field_bytes,
                max_bytes=job.settings.max_upload_bytes,
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
        """Store the typed copy; the dataset is ready in the transaction that ends the job."""
        profile = state.profile
        if profile is None:
            raise ValueError("finish is called once the upload was read")
        path = job.scratch / "data.parquet"
        key = f"datasets/{state.dataset_id}/{uuid4().hex}.parquet"  # an attempt's own
        size = path.stat().st_size
        job.storage.put_file(key, path)

        def record(connection: Connection) -> None:
            ready = datasets.set_ready(
                connection, dataset_id=state.dataset_id, profile=profile, data_key=key, data_bytes=size
            )
            if not ready:
                raise ConflictError("the dataset was not waiting to be read any more")

        return Outcome(summary={"rows": profile.rows, "columns": len(profile.columns)}, record=record)
