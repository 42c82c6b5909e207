"""Files that a model of a group is held against: releases and datasets, read alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.contracts.findings import Finding, MeasuredDemand, all_met
from app.contracts.inputs import listed
from app.methods.group.spec import GroupSpec
from app.methods.microfile.spec import Recodings, Region
from workers.methods.context import JobContext
from workers.methods.microfile.attack import Places
from workers.methods.microfile.microfile import Regions


@dataclass(frozen=True, slots=True)
class AuditedFile:
    """One file: its id, its typed copy, and how it is harmonised."""

    id: str
    path: Path
    recode: Recodings


def audited_files(job: JobContext, learned: GroupSpec | None, given: Recodings) -> tuple[AuditedFile, ...]:
    """Releases first, then datasets; the auxiliary dataset of the model is harmonised as such."""
    usual = given if learned is None else learned.recode_of_target
    releases = [
        AuditedFile(one.id, job.release_path(role), usual) for role, one in listed(job.releases, "release_ids").items()
    ]
    datasets = []
    for role, one in listed(job.datasets, "dataset_ids").items():
        as_auxiliary = learned is not None and one.id == learned.auxiliary_dataset_id != learned.target_dataset_id
        recode = learned.recode.auxiliary if learned is not None and as_auxiliary else usual
        datasets.append(AuditedFile(one.id, job.dataset_path(role), recode))
    return (*releases, *datasets)


def detections(
    places: tuple[Region, ...] | None, findings: Sequence[Finding], *, looked: int, by: str
) -> dict[str, Any]:
    """The fields of a result that judge it: nothing may show the places that were named, where some were.

    Parameters
    ----------
    places
        Those that must not stand out; None: none were named.
    findings
        What shows them.
    looked, by
        How many signals or classifiers were looked at, and which of the two.
    """
    shown = len(findings)
    demands = {} if places is None else {"detected": MeasuredDemand(required=0, measured=shown, met=not shown)}
    verdict = f"{shown} of {looked} {by} show places that must not stand out."
    if places is None:
        verdict = f"What {looked} {by} see of each place is in `inputs`; name `masked_regions` to have it judged."
    elif not shown:
        verdict = f"None of {looked} {by} shows a place that must not stand out."
    return {"passed": all_met(demands), "demands": demands, "findings": tuple(findings), "verdict": verdict}


def wanted_places(values: Regions, regions: tuple[Region, ...] | None) -> tuple[int, ...]:
    """The places that matter, of which there are records."""
    return tuple(Places(values).known(regions or ())) if values else ()
