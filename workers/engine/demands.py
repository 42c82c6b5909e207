"""What the gate of a release demands of audits: they are run on what is to be published, before the job ends."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.contracts import linkable
from app.contracts.datasets import NUMERIC
from app.contracts.findings import Finding, Severity
from app.contracts.inputs import DatasetInput, Inputs, ReleaseInput
from app.contracts.jobs import JobSpec
from app.contracts.methods import METHODS
from app.contracts.quasi_identifiers import all_understood, understood
from app.contracts.tables import MOST_QUASI_IDENTIFIERS
from app.errors import InfeasibleError, InvalidError
from workers.engine.registry import runner_for
from workers.methods.context import InputFile, JobContext
from workers.methods.protocol import run_through

#: Of all that was published of the data, not of the release alone.
_TOGETHER: Final = "composition"


@dataclass(frozen=True, slots=True)
class Audited:
    """The release that is audited.

    Attributes
    ----------
    release, path
        What is known of it, and its Parquet file.
    link
        Which record each of its rows stands for, as .npy; None where rows do not stand for one.
    original, original_path
        The dataset that it was made from, and its typed copy; None in a series.
    """

    release: ReleaseInput
    path: Path
    link: Path | None = None
    original: DatasetInput | None = None
    original_path: Path | None = None


def unmet(job: JobContext, audited: Audited, *, fraction: float, stage: str) -> tuple[Finding, ...]:
    """What stands against a release by the audits of its gate; an audit that cannot be asked of it stands too.

    Parameters
    ----------
    job
        That has made it, and hears of the progress.
    audited
        The release.
    fraction, stage
        How far the job has come.
    """
    found: list[Finding] = []
    for demand in audited.release.spec.get("gate", ()):
        if demand["method"] != _TOGETHER:
            job.tick(fraction, stage)
            found += _unmet(job, audited, demand, fraction=fraction, stage=stage)
    return tuple(found)


def _unmet(
    job: JobContext, audited: Audited, demand: Mapping[str, Any], *, fraction: float, stage: str
) -> list[Finding]:
    name = demand["method"]
    role, named = ("release_ids/0", "release_ids") if name == "determination" else ("release_id", "release_id")
    asked: dict[str, Any] = {**demand, named: audited.release.id if named == role else [audited.release.id]}
    if name == "table" and not asked["quasi_identifiers"]:
        asked["quasi_identifiers"] = _known(audited.release)
    if name == "linkage" and audited.original is not None:
        asked["dataset_id"] = audited.original.id
    if (wrong := _wrong(audited, asked)) is not None:
        return [_not_asked(name, wrong)]
    try:
        told = _findings(job, audited, METHODS[name].spec.model_validate(asked), role, fraction=fraction, stage=stage)
    except (InvalidError, InfeasibleError) as error:
        return [_not_asked(name, str(error))]
    return [one for one in told if one.severity is Severity.HIGH]


def _wrong(audited: Audited, asked: Mapping[str, Any]) -> str | None:
    """Why an audit cannot be asked of a release: of its method, or about columns that it does not have."""
    release = audited.release
    made_by = METHODS.get(release.method)
    if made_by is not None and asked["method"] not in made_by.answers:
        return f"a release of `{release.method}` cannot be put to it"
    if asked["method"] == "linkage":
        return linkable.unfit(release)
    return _wrong_columns(release, asked) if asked["method"] == "table" else None


def _datasets(audited: Audited) -> dict[str, DatasetInput]:
    return {} if audited.original is None else {"dataset_id": audited.original}


def _wrong_columns(release: ReleaseInput, asked: Mapping[str, Any]) -> str | None:
    """Why the measures of a table cannot be taken of the columns of a release."""
    types = {one.name: str(one.type) for one in release.columns}
    used = {one for named in all_understood(asked["quasi_identifiers"], types) for one in named.columns}
    lacking = [name for name in asked["quasi_identifiers"] if understood(name, types) is None]
    others = (*asked.get("sensitive", ()), asked.get("person"), asked.get("weight"))
    lacking += [name for name in others if name is not None and name not in types]
    if lacking:
        return f"the release has no column {lacking[0]!r}"
    if (twice := next((name for name in asked.get("sensitive", ()) if name in used), None)) is not None:
        return f"{twice!r} is a quasi-identifier: what an adversary knows he need not learn"
    weight = asked.get("weight")
    return f"column {weight!r} is not numeric" if weight is not None and types[weight] not in NUMERIC else None


def _known(release: ReleaseInput) -> list[str]:
    """What an adversary may know, unless the gate says it: what was anonymized, or all that is published."""
    return list(release.spec.get("columns") or [one.name for one in release.columns[:MOST_QUASI_IDENTIFIERS]])


def _findings(
    job: JobContext, audited: Audited, spec: JobSpec, role: str, *, fraction: float, stage: str
) -> list[Finding]:
    """What the audit finds; its result goes nowhere else."""
    scratch = job.scratch / f"gate-{spec.method}"
    scratch.mkdir(exist_ok=True)

    files = {
        (InputFile.RELEASE, role): audited.path,
        (InputFile.LINK, role): audited.link,
        (InputFile.DATASET, "dataset_id"): audited.original_path,
    }

    def lay(kind: InputFile, field: str) -> Path | None:
        return files.get((kind, field))

    inner = replace(
        job,
        method=spec.method,
        spec=spec.model_dump(mode="json"),
        seed=None,
        inputs=Inputs(_datasets(audited), {role: audited.release}),
        draw=1,
        scratch=scratch,
        part=None,
        rng=np.random.default_rng(0),
        lay=lay,
        on_tick=lambda _: job.tick(fraction, stage),
        secrets={},
    )
    outcome = run_through(runner_for(spec.method), inner)
    return [Finding.model_validate(one) for one in outcome.result["findings"]]


def _not_asked(audit: str, why: str) -> Finding:
    return Finding(
        audit=audit, severity=Severity.HIGH, detail=f"the audit cannot be asked of it: {why}", figure=None, limit=None
    )
