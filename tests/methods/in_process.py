"""Jobs of every method in this process: accepted by its rules, run by its runner, without servers."""

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import polars as pl

from app.contracts.datasets import ColumnType, DatasetColumn, FileFormat, NumericSummary, Profile, ReadOptions
from app.contracts.ids import Named, references
from app.contracts.inputs import DatasetInput, Given, Inputs, JobInput, ReleaseInput
from app.contracts.jobs import JobProgress, JobSpec, JobStage, JobState
from app.contracts.releases import ReleaseColumn, ReleaseFormat
from app.contracts.stored import settled_spec
from app.errors import FieldError
from app.jobs.submit import echo
from app.methods.catalogue import METHODS
from app.methods.frequencies import counted
from app.methods.rules import RULES, wrong_releases
from workers.engine.randomness import new_generator
from workers.engine.registry import runner_for
from workers.frames.expanded import rows_of_persons
from workers.frames.upload.read import read_upload
from workers.methods.context import InputFile, JobContext, Limits
from workers.methods.outcome import Outcome, ReleaseDraft
from workers.methods.protocol import Keyed, run_through

_TYPES = {pl.Int64: "integer", pl.Float64: "number", pl.String: "string", pl.Boolean: "boolean", pl.Date: "date"}
_LIMITS = Limits(
    max_columns=100, max_field_bytes=10_000, max_upload_bytes=1 << 30, release_cache_bytes=1 << 30, split_seconds=1e9
)


def _counts(column: pl.Series) -> dict[str, int]:
    """Sum a column of counts as a profile does."""
    values = [value for value in column.to_list() if value is not None]
    if any(value < 1 or value != int(value) for value in values):
        return {}
    return {"total": sum(map(int, values)), "divisor": math.gcd(*map(int, values))}


@dataclass(frozen=True)
class Done:
    """A job that has ended, and all that it was given."""

    spec: JobSpec
    outcome: Outcome
    ticks: int

    @property
    def result(self) -> Mapping[str, Any]:
        """The result as its runner gave it."""
        return self.outcome.result

    @property
    def release(self) -> ReleaseDraft | None:
        """The release as it is published."""
        return self.outcome.release

    @property
    def whole(self) -> dict[str, Any]:
        """The result as it is served."""
        return {"method": self.spec.method, **self.outcome.summary, **self.outcome.result}

    def rows(self) -> pl.DataFrame:
        """The rows of the release."""
        assert self.outcome.release is not None
        return pl.read_parquet(self.outcome.release.files[ReleaseFormat.PARQUET].path)


class Bench:
    """A folder of datasets, releases and earlier jobs, by the names that specifications give them.

    Generators start from `seed` unless a specification has one of its own; None draws from the operating system.
    """

    def __init__(self, folder: Path, *, seed: int | None = 0) -> None:
        self.folder, self._seed, self._runs = folder, seed, 0
        self.datasets: dict[str, DatasetInput] = {}
        self.releases: dict[str, ReleaseInput] = {}
        self.jobs: dict[str, JobInput] = {}
        self.files: dict[tuple[InputFile, str], Path] = {}

    def upload(
        self, name: str, frame: pl.DataFrame, *, form: FileFormat = FileFormat.CSV, **options: Any
    ) -> str:  # fmt: skip
        """Read a table as the service does."""
        source, copy = self.folder / f"{name}.sent", self.folder / f"{name}.parquet"
        (frame.write_csv if form is FileFormat.CSV else frame.write_parquet)(source)
        profile = read_upload(
            source, ReadOptions(format=form, **options), copy, max_columns=_LIMITS.max_columns,
            max_field_bytes=_LIMITS.max_field_bytes, max_bytes=_LIMITS.max_upload_bytes, tick=lambda _: None,
        )  # fmt: skip
        return self._dataset(name, profile, copy)

    def dataset(self, name: str, frame: pl.DataFrame) -> str:
        """Take a table as it is, with the types that it has."""
        path = self.folder / f"{name}.parquet"
        frame.write_parquet(path)
        columns = tuple(
            DatasetColumn(
                name=one.name,
                type=ColumnType(_TYPES[one.dtype.base_type()]),
                missing=one.null_count(),
                distinct=one.rename("values").drop_nulls().n_unique(),  # a name may look like a pattern
            )
            for one in frame.get_columns()
        )
        numeric = {
            one.name: NumericSummary(
                finite_minimum=float(one.min()), finite_maximum=float(one.max()), infinite=0, **_counts(one)
            )
            for one in frame.get_columns()
            if one.dtype.is_numeric() and one.len() > one.null_count()
        }
        return self._dataset(name, Profile(rows=len(frame), columns=columns, numeric=numeric), path)

    def _dataset(self, name: str, profile: Profile, path: Path) -> str:
        self.datasets[name] = DatasetInput(id=name, sha256=name, profile=profile, key=name, bytes=path.stat().st_size)
        self.files[InputFile.DATASET, name] = path
        return name

    def spec(self, body: Mapping[str, Any]) -> JobSpec:
        """A specification as its method reads it."""
        return METHODS[body["method"]].spec.model_validate(body)

    def accepted(self, body: Mapping[str, Any]) -> tuple[JobSpec, list[FieldError]]:
        """The specification filled in, and what is wrong with it."""
        spec, method = self.spec(body), METHODS[body["method"]]
        if wrong := list(wrong_releases(method, self._given(spec))):
            return spec, wrong
        filled: JobSpec = RULES[method.name].fill(spec, self._given(spec))
        return filled, RULES[method.name].check(filled, self._given(filled))

    def named(self, body: Mapping[str, Any]) -> tuple[JobSpec, Given] | None:
        """The specification filled in, and what it names; None where releases cannot be put to the method."""
        spec, method = self.spec(body), METHODS[body["method"]]
        if list(wrong_releases(method, self._given(spec))):
            return None
        filled: JobSpec = RULES[method.name].fill(spec, self._given(spec))
        return filled, self._given(filled)

    def run(
        self, body: Mapping[str, Any], *, seed: int | None = None, on_tick: Callable[[int], None] = lambda _: None
    ) -> Done:
        """Accept a job and run it to its end; `on_tick` is told how often the runner has ticked."""
        spec, wrong = self.accepted(body)
        assert not wrong, wrong
        start = self._seed if seed is None else seed
        ticks: list[JobProgress] = []

        def tick(progress: JobProgress) -> None:
            assert progress.stage in get_args(JobStage), progress
            ticks.append(progress)
            on_tick(len(ticks))

        outcome = self._outcome(spec, start, tick)
        return Done(spec, outcome, len(ticks))

    def _outcome(self, spec: JobSpec, start: int | None, tick: Callable[[JobProgress], None]) -> Outcome:
        return run_through(runner_for(spec.method), self.context(spec, start, tick))

    def context(
        self, spec: JobSpec, start: int | None = None, tick: Callable[[JobProgress], None] = lambda _: None
    ) -> JobContext:
        """What the runner of a specification is given."""
        self._runs += 1
        scratch = self.folder / f"run-{self._runs}"
        scratch.mkdir()
        given, runner = self._given(spec), runner_for(spec.method)
        ids = {one.role: one.id for one in references(spec)}
        job = JobContext(
            id=f"job_{self._runs}", method=spec.method, spec=echo(spec), seed=spec.seed, draw=1,
            inputs=(inputs := counted(Inputs(given.datasets, given.releases, given.jobs), echo(spec))), scratch=scratch,
            limits=_LIMITS, threads=1,
            part=None, rng=new_generator(start if spec.seed is None else spec.seed), on_tick=tick,
            fetch=lambda kind, role: self._fetched(kind, role, ids[role], inputs, scratch),
        )  # fmt: skip
        if not isinstance(runner, Keyed):
            return job
        secrets = {name: hashlib.sha256(f"{name}{start}".encode()).digest() for name in runner.keyed_by(job)}
        return replace(job, secrets=secrets)

    def _fetched(self, kind: InputFile, role: str, named: str, inputs: Inputs, scratch: Path) -> Path | None:
        path, column = self.files.get((kind, named)), None
        if kind is InputFile.DATASET:
            column = inputs.datasets[role].frequency_column
        elif kind is InputFile.ORIGINAL:
            column = inputs.releases[role].made.frequency_column
        if path is None or column is None:
            return path
        copy = scratch / path.name
        return rows_of_persons(copy if copy.exists() else Path(shutil.copy(path, copy)), column)

    def keep(self, name: str, done: Done) -> str:
        """Make a release one that others can name."""
        draft = done.release
        assert draft is not None
        self.releases[name] = ReleaseInput(
            id=name, method=done.spec.method, dataset_id=getattr(done.spec, "dataset_id", None), rows=draft.rows,
            columns=tuple(ReleaseColumn(**column) for column in draft.columns), flags=tuple(draft.flags),
            spec=settled_spec(echo(done.spec), draft.parameters), key=name,
            sha256=draft.files[ReleaseFormat.PARQUET].sha256,
            link_key=None if draft.link is None else name, merged_as=draft.parameters.get("merged_as"),
            bytes=max(file.bytes for file in draft.files.values()), read_bytes=draft.files[ReleaseFormat.PARQUET].bytes,
        )  # fmt: skip
        self.files[InputFile.RELEASE, name] = draft.files[ReleaseFormat.PARQUET].path
        if (original := self.files.get((InputFile.DATASET, getattr(done.spec, "dataset_id", "") or ""))) is not None:
            self.files[InputFile.ORIGINAL, name] = original
        if draft.link is not None:
            self.files[InputFile.LINK, name] = draft.link
        self.files[InputFile.STATISTICS, name] = self._written(f"{name}.statistics", list(draft.statistics))
        return name

    def release(self, name: str, body: Mapping[str, Any], *, seed: int | None = None) -> str:
        """Run an anonymization and keep its release under a name."""
        return self.keep(name, self.run(body, seed=seed))

    def job(self, name: str, body: Mapping[str, Any]) -> Done:
        """Run a job and keep its result under a name."""
        done = self.run(body)
        self.jobs[name] = JobInput(id=name, method=done.spec.method, state=JobState.SUCCEEDED, spec=echo(done.spec))
        self.files[InputFile.RESULT, name] = self._written(name, done.whole)
        return done

    def _written(self, name: str, value: Any) -> Path:
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(value))
        return path

    def _given(self, spec: JobSpec) -> Given:
        resources = list(references(spec))
        return Given(
            {one.role: self.datasets[one.id] for one in resources if one.kind is Named.DATASET},
            {one.role: self.releases[one.id] for one in resources if one.kind is Named.RELEASE},
            {one.role: self.jobs[one.id] for one in resources if one.kind is Named.JOB},
        )
