"""Runner of the audit `group_profile`: all that a group's rules see of places, at every grade."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from app.contracts.findings import Finding
from app.methods.group.spec import GroupSpec
from app.methods.group_profile.spec import GroupProfileResult, GroupProfileSpec, ProfiledFile, ProfiledSignal
from app.methods.microfile.spec import FuzzyVariable, Recodings
from workers.algorithms.groups.rules.rules import Rules
from workers.algorithms.groups.signals.criteria import Standing
from workers.algorithms.groups.signals.families import families
from workers.algorithms.groups.signals.profile import ranks
from workers.methods.context import JobContext
from workers.methods.microfile.attack import Places, fitting, no_records
from workers.methods.microfile.files import AuditedFile, audited_files, detections, wanted_places
from workers.methods.microfile.given_model import learned_by, rules_by
from workers.methods.microfile.microfile import Wanted, fuzzified, read
from workers.methods.microfile.standings import findings, judge_of, standing_fields
from workers.methods.outcome import Outcome

#: Numbers that a summary shows at most.
_SUMMARY: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Model:
    """The claims checked against files."""

    spec: GroupProfileSpec
    variables: tuple[FuzzyVariable, ...]
    rules: Rules
    alpha: float


@dataclass(frozen=True, slots=True)
class _Profiled:
    """One file, and its contents."""

    file: ProfiledFile
    findings: tuple[Finding, ...]


class GroupProfileRunner:
    """Holds a model against files."""

    def run(self, job: JobContext) -> Outcome:
        """Read the model, hold it against one file after the other, and report; there is no release.

        Raises
        ------
        InfeasibleError
            It has no rules, or a file no records in range.
        """
        spec = job.specification(GroupProfileSpec)
        learned = learned_by(spec, job)
        rules, alpha = rules_by(spec, job, learned)
        variables, recode = _reading(spec, learned)
        model, files = _Model(spec, variables, rules, alpha), audited_files(job, learned, recode)
        profiled = [_profiled(model, file, job, number=at, done=at / len(files)) for at, file in enumerate(files)]
        inputs = tuple(one.file for one in profiled)
        all_findings = tuple(finding for one in profiled for finding in one.findings)
        made = GroupProfileResult(
            min_membership=alpha,
            rule_count=len(rules),
            inputs=inputs,
            **detections(
                spec.masked_regions,
                all_findings,
                looked=sum(len(file.signals) for file in inputs),
                by="signals of the rules",
            ),
        )
        whole = made.model_dump(mode="json")
        return Outcome(summary=_summary(whole, inputs), result=whole)


def _reading(spec: GroupProfileSpec, learned: GroupSpec | None) -> tuple[tuple[FuzzyVariable, ...], Recodings]:
    if spec.rules_model is not None:
        return spec.rules_model.variables, spec.rules_model.recode
    return ((), {}) if learned is None else (learned.variables, learned.recode_of_target)


def _profiled(model: _Model, file: AuditedFile, job: JobContext, *, number: int, done: float) -> _Profiled:
    spec = model.spec
    job.tick(done, "read")
    microfile = read(file.path, Wanted(model.variables, file.recode, region_columns=spec.region_columns))
    if not len(microfile.rows):
        raise no_records("a file", microfile, "/rules_model" if spec.rules_model is not None else "/model_job_id")
    seen = fuzzified(microfile, model.variables)
    lowest = min(model.alpha, *spec.alphas)
    fits = fitting(
        len(microfile.rows), seen, model.rules, model.alpha, lowest, tick=lambda _: job.tick(done, "profile")
    )
    groups, places = len(microfile.regions), wanted_places(microfile.regions, spec.masked_regions)
    counted = families(fits.grade, fits.number, fits.first, fits.rules, model.alpha, sorted(set(spec.alphas)))
    judge = judge_of(spec.outliers, places, Places(microfile.regions))
    standings = judge.standings(counted.profile(microfile.region, groups))
    profiled = ProfiledFile(
        id=file.id,
        in_range=len(microfile.rows),
        regions=microfile.regions,
        region_sizes=tuple(np.bincount(microfile.region, minlength=groups).tolist()),
        masked_regions=places,
        signals=tuple(_signal(one, places) for one in standings),
    )
    own = findings("group_profile", f"file {number}: ", standings, places) if places else ()
    return _Profiled(profiled, tuple(own))


def _signal(standing: Standing, places: tuple[int, ...]) -> ProfiledSignal:
    values = standing.signal.values
    order = ranks(values)
    return ProfiledSignal(
        **standing_fields(standing, places),
        values=tuple(values.tolist()),
        degenerate=standing.outliers.degenerate,
        ranks=tuple(float(order[place]) for place in places),
        precision=max(standing.highest, standing.lowest) if places else None,
    )


def _summary(whole: Mapping[str, Any], files: tuple[ProfiledFile, ...]) -> dict[str, Any]:
    """The whole result, without the signals where they are long."""
    numbers = sum(len(one.values) for file in files for one in file.signals)
    return {name: value for name, value in whole.items() if numbers <= _SUMMARY or name != "inputs"}
