"""Runners without the service around them: files in, outcomes out, as the engine would run them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from app.contracts.datasets import ColumnType, DatasetColumn, NumericSummary, Profile
from app.contracts.ids import Named, references
from app.contracts.inputs import DatasetInput, Inputs, JobInput, ReleaseInput
from app.contracts.jobs import JobSpec, JobState
from app.contracts.methods import METHODS
from app.contracts.releases import ReleaseColumn, ReleaseFormat
from app.jobs.inputs import Given
from app.jobs.methods import RULES
from workers.engine.registry import runner_for
from workers.methods.context import InputFile, JobContext, Limits
from workers.methods.outcome import Outcome
from workers.methods.protocol import Keyed

_TYPES = {pl.Int64: "integer", pl.Float64: "number", pl.String: "string", pl.Boolean: "boolean", pl.Date: "date"}


class Bench:
    """A folder of datasets, releases and earlier jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.datasets: dict[str, DatasetInput] = {}
        self.releases: dict[str, ReleaseInput] = {}
        self.jobs: dict[str, JobInput] = {}
        self.files: dict[tuple[InputFile, str], Path] = {}

    def dataset(self, name: str, frame: pl.DataFrame) -> str:
        path = self.folder / f"{name}.parquet"
        frame.write_parquet(path)
        columns = tuple(
            DatasetColumn(
                name=one.name,
                type=ColumnType(_TYPES[one.dtype.base_type()]),
                missing=one.null_count(),
                distinct=one.n_unique(),
            )
            for one in frame.get_columns()
        )
        numeric = {
            one.name: NumericSummary(finite_minimum=float(one.min()), finite_maximum=float(one.max()), infinite=0)
            for one in frame.get_columns()
            if one.dtype.is_numeric() and one.len() > one.null_count()
        }
        profile = Profile(rows=len(frame), columns=columns, numeric=numeric)
        self.datasets[name] = DatasetInput(id=name, sha256=name, profile=profile, key=name)
        self.files[InputFile.DATASET, name] = path
        return name

    def run(self, spec: Mapping[str, Any], *, seed: int = 0) -> Outcome:
        """Check a specification as the service does, and run it."""
        method = METHODS[spec["method"]]
        rules = RULES[method.name]
        asked: JobSpec = method.spec.model_validate(spec)
        filled = rules.fill(asked, self._given(asked))
        given = self._given(filled)
        assert not (errors := rules.check(filled, given)), errors
        scratch = self.folder / hashlib.sha256(f"{spec}{seed}".encode()).hexdigest()[:12]
        scratch.mkdir(exist_ok=True)
        named = (*given.datasets.items(), *given.releases.items(), *given.jobs.items())
        roles = {role: one.id for role, one in named}
        job = JobContext(
            id="job",
            method=method.name,
            spec=filled.model_dump(mode="json", by_alias=True) | {"seed": None},
            seed=None,
            inputs=Inputs(given.datasets, given.releases, given.jobs),
            draw=1,
            scratch=scratch,
            limits=Limits(10_000, 1 << 20, 1 << 30, 1 << 30, 1e9),
            threads=1,
            part=None,
            lay=lambda kind, field: self.files.get((kind, roles[field])),
            on_tick=lambda _: None,
        )
        runner, rng = runner_for(method.name), np.random.default_rng(seed)
        if isinstance(runner, Keyed):
            secrets = {name: hashlib.sha256(f"{name}{seed}".encode()).digest() for name in runner.keyed_by(job)}
            job = replace(job, secrets=secrets)
        state = runner.init(job, rng=rng)
        while not runner.done(state):
            state = runner.step(state, rng=rng)
        return runner.finish(state, job, rng=rng)

    def spec(self, spec: Mapping[str, Any]) -> JobSpec:
        """A specification as its method reads it."""
        return METHODS[spec["method"]].spec.model_validate(spec)

    def release(self, name: str, spec: Mapping[str, Any], *, seed: int = 0) -> str:
        """Run an anonymization and keep its release under a name."""
        outcome = self.run(spec, seed=seed)
        draft = outcome.release
        assert draft is not None
        asked = METHODS[spec["method"]].spec.model_validate(spec)
        filled = RULES[spec["method"]].fill(asked, self._given(asked)).model_dump(mode="json", by_alias=True)
        self.releases[name] = ReleaseInput(
            id=name,
            method=spec["method"],
            dataset_id=spec["dataset_id"],
            rows=draft.rows,
            columns=tuple(ReleaseColumn(name=str(one["name"]), type=str(one["type"])) for one in draft.columns),
            flags=tuple(draft.flags),
            spec=filled,
            key=name,
            link_key=None if draft.link is None else name,
        )
        self.files[InputFile.RELEASE, name] = draft.files[ReleaseFormat.PARQUET].path
        if draft.link is not None:
            self.files[InputFile.LINK, name] = draft.link
        return name

    def job(self, name: str, spec: Mapping[str, Any]) -> str:
        """Run a job and keep its result under a name."""
        asked = METHODS[spec["method"]].spec.model_validate(spec)
        filled = RULES[spec["method"]].fill(asked, self._given(asked)).model_dump(mode="json", by_alias=True)
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(self.run(spec).result))
        self.jobs[name] = JobInput(id=name, method=spec["method"], state=JobState.SUCCEEDED, spec=filled)
        self.files[InputFile.RESULT, name] = path
        return name

    def _given(self, spec: JobSpec) -> Given:
        found = list(references(spec))
        datasets = {one.role: self.datasets[one.id] for one in found if one.kind is Named.DATASET}
        releases = {one.role: self.releases[one.id] for one in found if one.kind is Named.RELEASE}
        jobs = {one.role: self.jobs[one.id] for one in found if one.kind is Named.JOB}
        return Given(datasets, releases, jobs)
