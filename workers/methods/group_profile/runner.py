"""Runner of the audit `group_profile`: all that a group's rules see of places, at every grade."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from app.contracts.findings import Finding, Severity
from app.contracts.group_audits import GroupProfileResult, GroupProfileSpec, ProfiledFile, ProfiledSignal
from app.contracts.groups import GroupSpec
from app.contracts.microfiles import Recodings, Variable
from workers.algorithms.groups.rules.rules import Rules
from workers.algorithms.groups.signals.profile import ProfileSignal, precision, profile, ranks
from workers.methods.context import JobContext
from workers.methods.microfile.attack import attack, no_records, stand_out
from workers.methods.microfile.files import AuditedFile, audited_files, detections, wanted_places
from workers.methods.microfile.given_model import learned_by, rules_by
from workers.methods.microfile.microfile import Wanted, fuzzified, read
from workers.methods.outcome import Outcome

#: Numbers that a summary shows at most.
_SUMMARY: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Model:
    """What is held against files."""

    spec: GroupProfileSpec
    variables: tuple[Variable, ...]
    rules: Rules
    alpha: float


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
        found = tuple(_profiled(model, file, job, done=at / len(files)) for at, file in enumerate(files))
        findings = tuple(_findings(found))
        made = GroupProfileResult(
            alpha=alpha,
            rules=len(rules),
            files=found,
            **detections(
                spec.places, findings, looked=sum(len(file.signals) for file in found), by="signals of the rules"
            ),
        )
        whole = made.model_dump(mode="json")
        return Outcome(summary=_summary(whole, found), result=whole)


def _reading(spec: GroupProfileSpec, learned: GroupSpec | None) -> tuple[tuple[Variable, ...], Recodings]:
    if spec.model is not None:
        return spec.model.variables, spec.model.recode
    return ((), {}) if learned is None else (learned.variables, learned.recode_of_target)


def _profiled(model: _Model, file: AuditedFile, job: JobContext, *, done: float) -> ProfiledFile:
    spec = model.spec
    job.tick(done, "read")
    microfile = read(file.path, Wanted(model.variables, file.recode, parameter=spec.parameter))
    if not len(microfile.rows):
        raise no_records("a file", microfile, "/model" if spec.model is not None else "/model_job_id")
    seen = fuzzified(microfile, model.variables)
    lowest = min(model.alpha, *spec.grid)
    grades = attack(microfile, seen, model.rules, lowest, tick=lambda _: job.tick(done, "profile")).membership
    groups, places = len(microfile.parameter_values), wanted_places(microfile.parameter_values, spec.places)
    fitting = grades > 0.0
    found = profile(microfile.parameter[fitting], groups, grades[fitting], model.alpha, sorted(set(spec.grid)))
    return ProfiledFile(
        id=file.id,
        in_range=len(microfile.rows),
        parameter_values=microfile.parameter_values,
        sizes=tuple(np.bincount(microfile.parameter, minlength=groups).tolist()),
        places=places,
        signals=tuple(_signal(spec, one, places) for one in found),
    )


def _signal(spec: GroupProfileSpec, signal: ProfileSignal, places: tuple[int, ...]) -> ProfiledSignal:
    outliers, order = stand_out(signal.values, spec.outliers, ()), ranks(signal.values)
    return ProfiledSignal(
        name=signal.name,
        alpha=signal.alpha,
        values=tuple(signal.values.tolist()),
        outliers=outliers.indexes,
        degenerate=outliers.degenerate,
        found=tuple(place for place in outliers.indexes if place in places),
        ranks=tuple(float(order[place]) for place in places),
        precision=max(precision(signal.values, places, largest=one) for one in (True, False)) if places else None,
    )


def _findings(files: tuple[ProfiledFile, ...]) -> Iterator[Finding]:
    for number, file in enumerate(files):
        for one in file.signals:
            if one.found:
                yield Finding(
                    audit="group_profile",
                    severity=Severity.HIGH,
                    detail=f"file {number}: places that must not stand out do, in `{one.name}` from grade {one.alpha} "
                    "on; mask them with this alpha in `profile`",
                    figure=float(len(one.found)),
                    limit=0.0,
                )


def _summary(whole: Mapping[str, Any], files: tuple[ProfiledFile, ...]) -> dict[str, Any]:
    """The whole result, without the signals where they are long."""
    numbers = sum(len(one.values) for file in files for one in file.signals)
    return {name: value for name, value in whole.items() if numbers <= _SUMMARY or name != "files"}
