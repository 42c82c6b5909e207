"""Runner of the audit `influence`: a release's job again without each extreme record, and with it moved."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.contracts.influence import InfluenceSpec
from app.contracts.inputs import ReleaseInput, listed
from app.contracts.jobs import Progress
from app.errors import SureboxError
from workers.frames.variants import Variants
from workers.methods.boxes.runner import BoxesRunner
from workers.methods.condensation.runner import CondensationRunner
from workers.methods.context import JobContext
from workers.methods.influence.report import result
from workers.methods.influence.trying import Effect, Extreme, effects, extremes, published_numbers
from workers.methods.outcome import Outcome
from workers.methods.protocol import Runner
from workers.methods.rerun import Again, run_again
from workers.methods.uncertain.runner import UncertainRunner

_RUNNERS: Final[dict[str, type[Runner[Any]]]] = {
    "boxes": BoxesRunner,
    "condensation": CondensationRunner,
    "uncertain": UncertainRunner,
}


@dataclass(frozen=True, slots=True)
class Tried:
    """One release: what it publishes on all records, and what each record tried does to it."""

    release: ReleaseInput
    extremes: tuple[Extreme, ...]
    whole: Mapping[str, float]
    effects: tuple[Mapping[str, Effect], ...] = ()
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Influencing:
    """Where the work stands: releases, one record after the other."""

    spec: InfluenceSpec
    job: JobContext = field(repr=False)
    variants: Variants = field(repr=False)
    tried: tuple[Tried, ...]

    @property
    def share(self) -> float:
        """How much of it is done."""
        return sum(len(one.effects) for one in self.tried) / sum(len(one.extremes) for one in self.tried)


class InfluenceRunner:
    """Runs other runners."""

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Influencing:  # noqa: ARG002 - runs have their own
        """Make every release once more on all records, and choose the records to try."""
        job.tick(0.0, "read")
        spec = job.specification(InfluenceSpec)
        variants, tried = Variants(job.dataset_path()), []
        for release in listed(job.releases, "release_ids").values():
            names = tuple(name for name in release.spec["columns"] if name in job.datasets["dataset_id"].numeric)
            chosen = extremes(job.dataset_path(), names, spec.records)
            whole = _numbers(job, release, job.dataset_path(), share=0.0)
            tried.append(Tried(release, tuple(chosen), whole))
        return Influencing(spec, job, variants, tuple(tried))

    def step(self, state: Influencing, *, rng: np.random.Generator) -> Influencing:  # noqa: ARG002
        """Try one record."""
        at = next(index for index, one in enumerate(state.tried) if len(one.effects) < len(one.extremes))
        following = _one_more(state, state.tried[at])
        return replace(state, tried=(*state.tried[:at], following, *state.tried[at + 1 :]))

    def done(self, state: Influencing) -> bool:
        """Whether all records were tried."""
        return all(len(one.effects) == len(one.extremes) for one in state.tried)

    def progress(self, state: Influencing) -> Progress:
        """Records tried."""
        return Progress(fraction=state.share, stage="records")

    def finish(self, state: Influencing, job: JobContext, *, rng: np.random.Generator) -> Outcome:  # noqa: ARG002
        """Report; there is no release."""
        told = [(one.release.id, one.whole, one.effects, one.failed) for one in state.tried]
        made = result(state.spec, told).model_dump(mode="json")
        return Outcome(summary=made, result=made)


def _one_more(state: Influencing, tried: Tried) -> Tried:
    one, scratch = tried.extremes[len(tried.effects)], state.job.scratch
    file = scratch / "variant.parquet"
    runs: list[Mapping[str, float] | None] = []
    for path in (state.variants.without(one.row, file), None):
        made = path or state.variants.moved(one.row, one.column, one.to, file)
        try:
            runs.append(_numbers(state.job, tried.release, made, share=state.share))
        except SureboxError as error:  # without this record the job cannot be done: that is counted, not repeated
            if error.status >= _OURS:
                raise
            runs.append(None)
    found = effects(tried.whole, runs[0], runs[1], one)
    return replace(tried, effects=(*tried.effects, found), failed=tried.failed + runs.count(None))


#: Errors from here on are not about the specification and its data.
_OURS: Final = 500


def _numbers(job: JobContext, release: ReleaseInput, path: Path, *, share: float) -> Mapping[str, float]:
    again = Again(release.method, release.spec, job.datasets["dataset_id"], path, job.scratch / "again")
    return published_numbers(run_again(_RUNNERS[release.method](), job, again, fraction=share, stage="records"))
