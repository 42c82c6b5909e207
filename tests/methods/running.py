"""Jobs of every method in this process: accepted by its rules, run by its runner, without servers.

What is asked are the examples of the document, so a method that has those is run; ids in them stand for what is there.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from app.api.schemas.examples import ANONYMIZATIONS, AUDITS, CLASSES, COUNTS, DATASET, GROUP_JOB, RELEASE
from app.contracts.datasets import FileFormat, ReadOptions
from app.contracts.ids import Named, references
from app.contracts.inputs import DatasetInput, JobInput, ReleaseInput
from app.contracts.jobs import JobSpec, JobState, Progress
from app.contracts.methods import METHODS
from app.contracts.releases import ReleaseColumn, ReleaseFormat
from app.errors import FieldError
from app.jobs.inputs import Given
from app.jobs.methods import RULES, wrong_releases
from app.jobs.submit import echo
from tests.methods.bases import microfile
from workers.engine.randomness import new_generator
from workers.engine.registry import runner_for
from workers.frames.upload.read import read_upload
from workers.methods.context import InputFile, JobContext, Limits
from workers.methods.outcome import Outcome
from workers.methods.protocol import Keyed

LIMITS = Limits(
    max_columns=100, max_field_bytes=10_000, max_upload_bytes=1 << 30, release_cache_bytes=0, split_seconds=1e9
)
INCOMPLETE = DATASET.replace("0", "f")

EXAMPLES: dict[str, list[dict[str, Any]]] = {name: [] for name in METHODS}
for _example in (*ANONYMIZATIONS.values(), *AUDITS.values()):
    EXAMPLES[_example["value"]["method"]].append(_example["value"])
for _one in COUNTS.values():
    EXAMPLES["count"].append({"method": "count", "release_id": RELEASE} | _one["value"])
for _one in CLASSES.values():
    EXAMPLES["classify"].append({"method": "classify", "release_id": RELEASE, "neighbours": 10} | _one["value"])


@dataclass(frozen=True)
class Done:
    """A job that has ended, and all that it was given."""

    spec: JobSpec
    outcome: Outcome
    ticks: int

    @property
    def whole(self) -> dict[str, Any]:
        """The result as it is served."""
        return {"method": self.spec.method, **self.outcome.summary, **self.outcome.result}

    def rows(self) -> pl.DataFrame:
        """The release."""
        assert self.outcome.release is not None
        return pl.read_parquet(self.outcome.release.files[ReleaseFormat.PARQUET].path)


@dataclass
class World:
    """What jobs can work on: datasets, and the release and the job that the examples speak of."""

    folder: Path
    datasets: dict[str, tuple[DatasetInput, Path]] = field(default_factory=dict)
    releases: dict[str, tuple[ReleaseInput, Outcome]] = field(default_factory=dict)
    jobs: dict[str, tuple[JobInput, dict[str, Any]]] = field(default_factory=dict)
    runs: int = 0

    def upload(self, dataset_id: str, frame: pl.DataFrame) -> None:
        """Read a table as the service does."""
        source, copy = self.folder / f"{dataset_id}.csv", self.folder / f"{dataset_id}.parquet"
        frame.write_csv(source)
        profile = read_upload(
            source, ReadOptions(format=FileFormat.CSV), copy, max_columns=LIMITS.max_columns,
            max_field_bytes=LIMITS.max_field_bytes, max_bytes=LIMITS.max_upload_bytes, tick=lambda _: None,
        )  # fmt: skip
        sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
        self.datasets[dataset_id] = (DatasetInput(id=dataset_id, sha256=sha256, profile=profile, key="there"), copy)

    def keep(self, release_id: str, done: Done) -> None:
        """Make a release one that others can name."""
        draft = done.outcome.release
        assert draft is not None
        self.releases[release_id] = (
            ReleaseInput(
                id=release_id, method=done.spec.method, dataset_id=DATASET, rows=draft.rows,
                columns=tuple(ReleaseColumn(**column) for column in draft.columns), flags=tuple(draft.flags),
                spec=echo(done.spec), key="there", sha256=draft.files[ReleaseFormat.PARQUET].sha256,
                link_key=None if draft.link is None else "there",
            ),
            done.outcome,
        )  # fmt: skip

    def given(self, spec: JobSpec) -> Given:
        """What a specification names."""
        named = list(references(spec))
        return Given(
            {one.role: self.datasets[one.id][0] for one in named if one.kind is Named.DATASET},
            {one.role: self.releases[one.id][0] for one in named if one.kind is Named.RELEASE},
            {one.role: self.jobs[one.id][0] for one in named if one.kind is Named.JOB},
        )

    def accepted(self, body: dict[str, Any]) -> tuple[JobSpec, list[FieldError]]:
        """The specification filled in, and what is wrong with it."""
        method, rules = METHODS[body["method"]], RULES[body["method"]]
        spec = method.spec.model_validate(body)
        if wrong := list(wrong_releases(method, self.given(spec))):
            return spec, wrong
        filled: JobSpec = rules.fill(spec, self.given(spec))
        return filled, rules.check(filled, self.given(filled))

    def run(self, body: dict[str, Any], *, on_tick: Callable[[int], None] = lambda _: None) -> Done:
        """Accept a job and run it to its end; `on_tick` is told how often the runner has ticked."""
        spec, wrong = self.accepted(body)
        assert wrong == []
        self.runs += 1
        scratch = self.folder / f"run-{self.runs}"
        scratch.mkdir()
        ticks: list[Progress] = []

        def tick(progress: Progress) -> None:
            ticks.append(progress)
            on_tick(len(ticks))

        runner = runner_for(spec.method)
        job = JobContext(
            id=f"job_{self.runs}", method=spec.method, spec=echo(spec), seed=spec.seed, inputs=self.given(spec), draw=1,
            scratch=scratch, limits=LIMITS, threads=1, part=None, on_tick=tick, lay=self._laid(spec, scratch),
        )  # fmt: skip
        if isinstance(runner, Keyed):
            secrets = {name: hashlib.sha256(name.encode()).digest() for name in runner.keyed_by(job)}
            job = JobContext(**{name: getattr(job, name) for name in job.__dataclass_fields__} | {"secrets": secrets})
        rng = new_generator(spec.seed)
        state = runner.init(job, rng=rng)
        while not runner.done(state):
            state = runner.step(state, rng=rng)
            assert 0.0 <= runner.progress(state).fraction <= 1.0
        return Done(spec, runner.finish(state, job, rng=rng), len(ticks))

    def _laid(self, spec: JobSpec, scratch: Path) -> Callable[[InputFile, str], Path | None]:
        ids = {one.role: one.id for one in references(spec)}

        def written(value: Any) -> Path:
            path = scratch / "laid.json"
            path.write_text(json.dumps(value))
            return path

        def lay(kind: InputFile, role: str) -> Path | None:
            match kind:
                case InputFile.DATASET:
                    return self.datasets[ids[role]][1]
                case InputFile.RESULT:
                    return written(self.jobs[ids[role]][1])
            draft = self.releases[ids[role]][1].release
            assert draft is not None
            match kind:
                case InputFile.RELEASE:
                    return draft.files[ReleaseFormat.PARQUET].path
                case InputFile.LINK:
                    return draft.link
                case InputFile.STATISTICS:
                    return written(list(draft.statistics))
            return None

        return lay


def world(folder: Path) -> World:
    """People with a number each, the same with holes, and what the examples name."""
    made = World(folder)
    people = microfile(2, people=60, bases={4: 40, 11: 34, 23: 45}).with_row_index("row")
    made.upload(DATASET, people)
    holes = np.zeros(people.height, dtype=bool)
    holes[:7] = True
    made.upload(INCOMPLETE, people.with_columns(pl.when(~pl.Series(holes)).then(pl.col("income")).alias("income")))
    group = made.run(EXAMPLES["group"][0])
    earlier = JobInput(id=GROUP_JOB, method="group", state=JobState.SUCCEEDED, spec=echo(group.spec))
    made.jobs[GROUP_JOB] = (earlier, group.whole)
    (chosen,) = (one for one in EXAMPLES["boxes"] if "job" in one.get("keep", ()))
    made.keep(RELEASE, made.run(chosen))
    return made


def examples(*, making_releases: bool | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The bodies of all methods, or of those alone that make releases or do not, and what to call them."""
    for name, bodies in EXAMPLES.items():
        if making_releases is None or making_releases == ("formats" in METHODS[name].spec.model_fields):
            yield from ((f"{name}-{place}", body) for place, body in enumerate(bodies))


def columns_of(path: Path) -> list[str]:
    """The names of the columns of a Parquet file."""
    return list(pq.read_schema(path).names)
