"""Runner of the audit `influence`: a release's job again without each extreme record, and with it moved."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.contracts.inputs import ReleaseInput, listed
from app.errors import SureboxError
from app.methods.influence.spec import InfluenceSpec
from workers.frames.variants import Variants
from workers.methods.boxes.runner import BoxesRunner
from workers.methods.condensation.runner import CondensationRunner
from workers.methods.context import JobContext
from workers.methods.influence.report import result
from workers.methods.influence.trying import Effect, Extreme, effects, extremes, published_numbers
from workers.methods.outcome import Outcome
from workers.methods.protocol import AnyRunner
from workers.methods.rerun import Again, run_again
from workers.methods.uncertain.runner import UncertainRunner

#: Errors from here on are not about the specification and its data.
_OURS: Final = 500
_RUNNERS: Final[dict[str, type[AnyRunner]]] = {
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
class _Trying:
    """What all runs share, and how much of the audit is done."""

    job: JobContext
    variants: Variants
    share: float = 0.0


class InfluenceRunner:
    """Runs other runners."""

    def run(self, job: JobContext) -> Outcome:
        """Make every release once more on all records, then without each of the chosen ones, and with it moved."""
        job.tick(0.0, "read")
        spec = job.specification(InfluenceSpec)
        trying, tried = _Trying(job, Variants(job.dataset_path())), []
        for release in listed(job.releases, "release_ids").values():
            names = tuple(
                name for name in release.spec["quasi_identifiers"] if name in job.datasets["dataset_id"].numeric
            )
            chosen = extremes(job.dataset_path(), names, spec.records)
            tried.append(Tried(release, tuple(chosen), _numbers(trying, release, job.dataset_path())))
        for index, one in enumerate(tried):
            for _ in one.extremes:
                done = sum(len(each.effects) for each in tried)
                trying = replace(trying, share=done / sum(len(each.extremes) for each in tried))
                job.tick(trying.share, "records")
                tried[index] = _one_more(trying, tried[index])
        releases = [(one.release.id, one.whole, one.effects, one.failed) for one in tried]
        made = result(spec, releases).model_dump(mode="json")
        return Outcome(summary=made, result=made)


def _one_more(trying: _Trying, tried: Tried) -> Tried:
    """The next record."""
    one = tried.extremes[len(tried.effects)]
    file = trying.job.scratch / "variant.parquet"
    runs: list[Mapping[str, float] | None] = []
    for path in (trying.variants.without(one.row, file), None):
        made = path or trying.variants.moved(one.row, one.column, one.to, file)
        try:
            runs.append(_numbers(trying, tried.release, made))
        except SureboxError as error:  # without this record the job cannot be done: that is counted, not repeated
            if error.status >= _OURS:
                raise
            runs.append(None)
    changes = effects(tried.whole, runs[0], runs[1], one)
    return replace(tried, effects=(*tried.effects, changes), failed=tried.failed + runs.count(None))


def _numbers(trying: _Trying, release: ReleaseInput, path: Path) -> Mapping[str, float]:
    job = trying.job
    again = Again(release.method, release.spec, job.datasets["dataset_id"], path, job.scratch / "again")
    made = run_again(_RUNNERS[release.method](), job, again, fraction=trying.share, stage="records")
    return published_numbers(made)
