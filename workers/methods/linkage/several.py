"""The linkage audit of several releases: boxes and kept values leave candidates, and noisy rows rank them.

Who knows the original knows the values that releases keep as they are. That someone may be missing from a release that
keeps a column is not counted against them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.inputs import ReleaseInput, listed
from app.errors import InvalidError
from app.methods.linkage.spec import EXHAUSTIVE
from workers.algorithms.tables.classes import classes
from workers.algorithms.uncertain.linkage.attack import Linkage
from workers.algorithms.uncertain.linkage.several import Groups, Noisy, Ranked, attack
from workers.frames.codes import coded_columns
from workers.frames.columns import numeric_columns
from workers.frames.originals import Originals
from workers.methods.context import JobContext
from workers.methods.linkage.knowledge import KNOWN_SHARE
from workers.methods.released.densities import released_densities
from workers.methods.released.links import read_link
from workers.methods.released.placing import located_in

_AT_ONCE: Final = 500_000  # candidates that are looked at in one go
_IN_ALL: Final = 20_000_000  # beyond them records are drawn


@dataclass(frozen=True, slots=True)
class Jointly:
    """What several releases show an adversary who joins them.

    Attributes
    ----------
    linkages
        Attacks by name: `fit`, `fit_90`.
    records, candidates
        Records in some release; records that the adversary knows.
    k
        The least of the releases.
    best
        Fields of the result about the best candidate of each record.
    """

    linkages: Mapping[str, Linkage]
    records: int
    candidates: int
    k: float
    best: Mapping[str, Any]


def attack_together(job: JobContext) -> Jointly:
    """Attack all releases that the specification names.

    Raises
    ------
    InvalidError
        No record of the original is in any of them.
    """
    releases = listed(job.releases, "release_ids")
    rows = job.datasets["knowledge_dataset_id"].rows
    original = Originals(job.dataset_path("knowledge_dataset_id"))
    boxes = [(role, one) for role, one in releases.items() if one.method == "boxes"]
    places = [located_in(original, job.release_path(role), one).places for role, one in boxes]
    noisy = [_noisy(job, role, one, rows) for role, one in releases.items() if one.method == "uncertain"]
    present = np.zeros(rows, dtype=np.bool_)
    for where in (*places, *(one.row for one in noisy)):
        present |= where >= 0
    if not present.any():
        detail = "no record of the original is in any of these releases"
        raise InvalidError.at("/release_ids", detail)
    there = {column.name for column in job.datasets["knowledge_dataset_id"].columns}
    kept = dict.fromkeys(name for one in releases.values() for name in one.made.keep if name in there)
    keys = [*places, *(one.codes for one in coded_columns(job.dataset_path("knowledge_dataset_id"), list(kept)))]
    group = classes(np.array(keys, dtype=np.int32)).of_record if keys else np.zeros(rows, dtype=np.int64)
    some = np.zeros(rows, dtype=np.bool_)
    some[job.rng.permutation(rows)[: int(KNOWN_SHARE * rows)]] = True
    whole, made = _attacked(job, noisy, Groups.of(group, np.ones(rows, dtype=np.bool_)), present, 0.1)
    attacks = {"fit": whole}
    if (present & some).any():
        attacks["fit_90"] = _attacked(job, noisy, Groups.of(group, some), present & some, 0.55)[0]
    least = min(float(one.made.k or 1.0) for one in releases.values())
    return Jointly(attacks, int(present.sum()), rows, least, _best(made))


def _noisy(job: JobContext, role: str, release: ReleaseInput, rows: int) -> Noisy:
    link = read_link(job, field=role)
    row = np.full(rows, -1, dtype=np.int64)
    row[link] = np.arange(len(link))
    values = np.ascontiguousarray(
        numeric_columns(job.dataset_path("knowledge_dataset_id"), release.made.quasi_identifiers).values
    )
    return Noisy(released_densities(job, field=role), row, values)


def _attacked(
    job: JobContext, noisy: list[Noisy], groups: Groups, mask: NDArray[np.bool_], begun: float
) -> tuple[Linkage, Ranked]:
    """Attack the records of the mask, or as many of them as their candidates allow, drawn."""
    records = np.flatnonzero(mask)
    sizes = groups.sizes
    most = min(EXHAUSTIVE, max(200, int(len(records) * _IN_ALL / max(int(sizes[records].sum()), 1))))
    tried = records if len(records) <= most else np.sort(job.rng.choice(records, most, replace=False))
    ends = np.cumsum(sizes[tried])
    cuts = np.unique(np.searchsorted(ends, np.arange(0, int(ends[-1]), _AT_ONCE), side="right"))
    parts: list[Ranked] = []
    for part in np.split(tried, cuts[cuts > 0]):
        job.tick(begun + 0.4 * len(parts) / (len(cuts) + 1), "joint_attack")
        if len(part):
            parts.append(attack(noisy, groups, part))
    made = Ranked(
        np.concatenate([one.rank for one in parts]),
        np.concatenate([one.posterior for one in parts]),
        np.concatenate([one.best for one in parts]),
        np.concatenate([one.right for one in parts]),
    )
    return Linkage(np.arange(len(tried)), made.rank.astype(np.float64), made.posterior, len(records)), made


def _best(outcome: Ranked) -> dict[str, Any]:
    above = outcome.best > 0.5
    return {
        "share_posterior_above_half": float(above.mean()),
        "precision_above_half": float(outcome.right[above].mean()) if above.any() else None,
    }
