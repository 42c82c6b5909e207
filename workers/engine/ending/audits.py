"""What the gate of a release demands of audits: they are run on the data to be published, before the job ends."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.contracts.datasets import NUMERIC
from app.contracts.findings import Finding, FindingSeverity
from app.contracts.inputs import DatasetInput, Inputs, ReleaseInput
from app.contracts.jobs import JobSpec, JobStage
from app.contracts.quasi_identifiers import all_understood, understood
from app.errors import InfeasibleError, InvalidError
from app.methods.catalogue import METHODS
from app.methods.linkage.check import unlinkable
from app.methods.table.spec import MOST_QUASI_IDENTIFIERS
from workers.engine.ending.composing import Candidate
from workers.engine.registry import runner_for
from workers.methods.context import InputFile, JobContext
from workers.methods.protocol import run_through

#: Of all that was published of the data, not of the release alone.
_TOGETHER: Final = "composition"


def unmet(job: JobContext, candidate: Candidate, *, fraction: float, stage: JobStage) -> tuple[Finding, ...]:
    """Findings of the gate's audits that keep a release a draft; that an audit does not apply to it is one too.

    Parameters
    ----------
    job
        That has made it, and hears of the progress.
    candidate
        The release.
    fraction, stage
        How far the job has come.
    """
    findings: list[Finding] = []
    for demand in candidate.release.made.gate:
        if demand["method"] != _TOGETHER:
            job.tick(fraction, stage)
            findings += _unmet(job, candidate, demand, fraction=fraction, stage=stage)
    return tuple(findings)


def _unmet(
    job: JobContext, candidate: Candidate, demand: Mapping[str, Any], *, fraction: float, stage: JobStage
) -> list[Finding]:
    name = demand["method"]
    role, named = ("release_ids/0", "release_ids") if name == "determination" else ("release_id", "release_id")
    spec: dict[str, Any] = {**demand, named: candidate.release.id if named == role else [candidate.release.id]}
    if name == "table" and not spec["quasi_identifiers"]:
        spec["quasi_identifiers"] = _known(candidate.release)
    if name == "linkage" and candidate.original is not None:
        spec[_original_field(name)] = candidate.original.id
    if (wrong := _wrong(candidate, spec)) is not None:
        return [_inapplicable(name, wrong)]
    try:
        findings = _findings(
            job, candidate, METHODS[name].spec.model_validate(spec), role, fraction=fraction, stage=stage
        )
    except (InvalidError, InfeasibleError) as error:
        return [_inapplicable(name, str(error))]
    return [one for one in findings if one.severity is FindingSeverity.HIGH]


def _wrong(candidate: Candidate, spec: Mapping[str, Any]) -> str | None:
    """Why an audit does not apply to a release: to its method, or to columns that it does not have."""
    release = candidate.release
    made_by = METHODS.get(release.method)
    if made_by is not None and spec["method"] not in made_by.answers:
        return f"a release of `{release.method}` cannot be put to it"
    if spec["method"] == "linkage":
        return unlinkable(release)
    return _wrong_columns(release, spec) if spec["method"] == "table" else None


def _original_field(method: str) -> str:
    """The field that names the original; in the attack by linkage the adversary knows it."""
    return "knowledge_dataset_id" if method == "linkage" else "dataset_id"


def _datasets(candidate: Candidate, method: str) -> dict[str, DatasetInput]:
    return {} if candidate.original is None else {_original_field(method): candidate.original}


def _wrong_columns(release: ReleaseInput, spec: Mapping[str, Any]) -> str | None:
    """Why the measures of a table cannot be taken of the columns of a release."""
    types = {one.name: str(one.type) for one in release.columns}
    used = {one for named in all_understood(spec["quasi_identifiers"], types) for one in named.columns}
    measured = (*spec["quasi_identifiers"], *spec.get("tolerances", ()))
    lacking = [name for name in measured if understood(name, types) is None]
    others = (*spec.get("sensitive", ()), spec.get("person_column"), spec.get("survey_weight_column"))
    lacking += [name for name in others if name is not None and name not in types]
    if lacking:
        return f"the release has no column {lacking[0]!r}"
    if (twice := next((name for name in spec.get("sensitive", ()) if name in used), None)) is not None:
        return f"{twice!r} is a quasi-identifier: an adversary who knows it need not learn it"
    weight = spec.get("survey_weight_column")
    return f"column {weight!r} is not numeric" if weight is not None and types[weight] not in NUMERIC else None


def _known(release: ReleaseInput) -> list[str]:
    """What an adversary may know, unless the gate states it: the anonymized columns, or all that is published."""
    return list(release.made.quasi_identifiers or [one.name for one in release.columns[:MOST_QUASI_IDENTIFIERS]])


def _findings(
    job: JobContext, candidate: Candidate, spec: JobSpec, role: str, *, fraction: float, stage: JobStage
) -> list[Finding]:
    """What the audit finds; its result goes nowhere else."""
    scratch = job.scratch / f"gate-{spec.method}"
    scratch.mkdir(exist_ok=True)

    files = {
        (InputFile.RELEASE, role): candidate.path,
        (InputFile.LINK, role): candidate.link,
        (InputFile.DATASET, _original_field(spec.method)): candidate.dataset,
    }

    def fetch(kind: InputFile, field: str) -> Path | None:
        return files.get((kind, field))

    inner = replace(
        job,
        method=spec.method,
        spec=spec.model_dump(mode="json"),
        seed=None,
        inputs=Inputs(_datasets(candidate, spec.method), {role: candidate.release}),
        draw=1,
        scratch=scratch,
        part=None,
        rng=np.random.default_rng(0),
        fetch=fetch,
        on_tick=lambda _: job.tick(fraction, stage),
        secrets={},
    )
    outcome = run_through(runner_for(spec.method), inner)
    return [Finding.model_validate(one) for one in outcome.result["findings"]]


def _inapplicable(audit: str, why: str) -> Finding:
    return Finding(
        audit=audit,
        severity=FindingSeverity.HIGH,
        detail=f"the audit does not apply to it: {why}",
        measured=None,
        required=None,
    )
