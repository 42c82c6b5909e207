"""Runner of the audit `swap_detection`: what classifiers trained on the auxiliary data see of places."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.contracts.findings import Finding, FindingSeverity
from app.methods.group.spec import GroupSpec, group_spec
from app.methods.swap_detection.spec import DetectedFile, SwapDetectionResult, SwapDetectionSpec
from workers.methods.context import JobContext
from workers.methods.microfile.classifying import Learned, Standing, common_columns, learn, reports, score
from workers.methods.microfile.files import AuditedFile, audited_files, detections, wanted_places
from workers.methods.microfile.microfile import Wanted, read
from workers.methods.outcome import Outcome

#: Numbers that a summary shows at most.
_SUMMARY: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Detecting:
    """What all files are looked at with; classifiers are trained once for files of the same columns."""

    job: JobContext
    spec: SwapDetectionSpec
    group: GroupSpec
    learned: dict[tuple[str, ...], Learned]


class SwapDetectionRunner:
    """Trains classifiers and asks them of files."""

    def run(self, job: JobContext) -> Outcome:
        """Look at one file after the other, and report; there is no release."""
        spec = job.specification(SwapDetectionSpec)
        detecting = _Detecting(job, spec, group_spec(job.jobs["model_job_id"].spec), {})
        files = audited_files(job, detecting.group, {})
        share = 1.0 / len(files)
        inputs = tuple(_detected(detecting, file, done=at * share, share=share) for at, file in enumerate(files))
        findings = tuple(_findings(inputs))
        made = SwapDetectionResult(
            auxiliary_records=job.datasets["auxiliary_dataset_id"].rows,
            inputs=inputs,
            **detections(
                spec.masked_regions,
                findings,
                looked=sum(
                    (one.all_records is not None) + (one.out_of_range is not None)
                    for file in inputs
                    for one in file.classifiers
                ),
                by="views of classifiers",
            ),
        )
        whole = made.model_dump(mode="json")
        numbers = sum(4 * len(file.regions) for file in inputs)
        summary = {name: value for name, value in whole.items() if numbers <= _SUMMARY or name != "inputs"}
        return Outcome(summary=summary, result=whole)


def _detected(detecting: _Detecting, file: AuditedFile, *, done: float, share: float) -> DetectedFile:
    job, spec, group = detecting.job, detecting.spec, detecting.group
    job.tick(done, "read")
    auxiliary = job.dataset_path("auxiliary_dataset_id")
    names = common_columns(
        group,
        (auxiliary, file.path),
        (group.recode.auxiliary, file.recode),
        (*spec.region_columns, *group.region_columns, *spec.drop),
    )
    learned = detecting.learned.get(names) or learn(
        group, auxiliary, names, spec.sample, job.rng, lambda at: job.tick(done + 0.6 * share * at, "classifiers")
    )
    detecting.learned[names] = learned
    scored = score(learned, file.path, file.recode, lambda at: job.tick(done + (0.6 + 0.3 * at) * share, "scores"))
    everybody = read(file.path, Wanted((), file.recode, region_columns=spec.region_columns))
    inside = read(file.path, Wanted(group.variables, file.recode, region_columns=spec.region_columns)).rows
    place = np.full(len(scored.scores[0]), -1, dtype=np.int64)
    place[everybody.rows] = everybody.region
    in_range = np.zeros(len(place), dtype=np.bool_)
    in_range[inside] = True
    values = everybody.regions
    wanted = wanted_places(values, spec.masked_regions)
    standing = Standing(place, in_range, len(values), wanted, spec.outliers)
    return DetectedFile(
        id=file.id,
        records=len(everybody.rows),
        in_range=len(inside),
        regions=values,
        masked_regions=wanted,
        classifiers=reports(scored, standing),
    )


def _findings(files: tuple[DetectedFile, ...]) -> Iterator[Finding]:
    """A classifier that has half of the places right among as many highest, or one of them as an outlier."""
    for number, file in enumerate(files):
        for one in file.classifiers:
            for what, scope in (("all records", one.all_records), ("records out of range", one.out_of_range)):
                if scope is not None and scope.detected:
                    yield Finding(
                        audit="swap_detection",
                        severity=FindingSeverity.HIGH,
                        detail=f"file {number}: `{one.name}` on {what} sees places that must not stand out; drop the "
                        "columns that drive it, aggregate the regions, or do not publish",
                        measured=scope.precision,
                        required=0.0,
                    )
