"""Reading an upload: from the staged bytes to the typed Parquet copy that every other runner works on."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from app.contracts.datasets import FileFormat, ReadOptions
from workers.frames.upload.read import read_upload
from workers.methods.context import JobContext
from workers.methods.outcome import DatasetDraft, Outcome

_STAGE: Final = "read"


class IngestRunner:
    """Reads an upload."""

    def warm(self) -> None:
        """Read a small file of each text format, for their compiled readers."""
        files = {
            FileFormat.CSV: b'a,b,c,d\n1,2.5,"x ""y""",2020-01-01\n2,,true,\n',
            FileFormat.NDJSON: b'{"a": 1, "b": 2.5, "c": "x"}\n{"a": null, "b": -1e3, "c": true}\n',
        }
        with TemporaryDirectory(prefix="surebox-warming-") as scratch:
            for kind, body in files.items():
                source = Path(scratch) / str(kind)
                source.write_bytes(body)
                read_upload(
                    source,
                    ReadOptions(format=kind),
                    source.with_suffix(".parquet"),
                    max_columns=10,
                    max_field_bytes=1000,
                    max_bytes=1000,
                    tick=lambda _: None,
                )

    def run(self, job: JobContext) -> Outcome:
        """The typed copy and what it contains."""
        source, copy = job.upload_path(), job.scratch / "data.parquet"
        try:
            profile = read_upload(
                source,
                ReadOptions.model_validate(job.spec["options"]),
                copy,
                max_columns=job.limits.max_columns,
                max_field_bytes=job.limits.max_field_bytes,
                max_bytes=job.limits.max_upload_bytes,
                tick=lambda fraction: job.tick(fraction, _STAGE),
            )
        finally:
            source.unlink()
        return Outcome(
            summary={"rows": profile.rows, "columns": len(profile.columns)}, dataset=DatasetDraft(copy, profile)
        )
