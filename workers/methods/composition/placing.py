"""The audit `composition`: what releases, and tables of others, tell of persons of the original and of earlier data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from app.contracts.inputs import ReleaseInput, listed
from app.contracts.quasi_identifiers import QuasiIdentifier, all_understood
from app.methods.composition.spec import CompositionSpec
from workers.algorithms.tables.composition import ABSENT, UNPLACED, Placed
from workers.frames.generalized import Meanings
from workers.frames.ledger import write_ledger
from workers.frames.originals import Originals
from workers.frames.persons import read_fingerprints
from workers.methods.context import InputFile, JobContext
from workers.methods.released.densities import released_densities
from workers.methods.released.earlier import LEDGERED, Earlier, FamilyTerms
from workers.methods.released.links import read_link
from workers.methods.released.placing import located


def earlier(job: JobContext, spec: CompositionSpec, roles: Sequence[str]) -> list[Earlier]:
    """The releases with what is kept of each, those of whose rows ledgers are made.

    Parameters
    ----------
    job, spec
        The audit.
    roles
        Fields that name the releases.
    """
    releases = []
    for role in roles:
        one = job.releases[role]
        if one.method not in LEDGERED:
            continue
        dataset = job.dataset_path() if one.dataset_id == spec.dataset_id else job.fetch(InputFile.ORIGINAL, role)
        key = job.fetch(InputFile.PERSONS_KEY, role)
        releases.append(
            Earlier(
                one.id, one.method, ledger(job, role), dataset_id=one.dataset_id, dataset=dataset,
                persons=job.fetch(InputFile.PERSONS, role), key=b"" if key is None else key.read_bytes(),
                scale=_scale(job, role, one, dataset),
            )
        )  # fmt: skip
    return releases


def ledger(job: JobContext, role: str) -> Path:
    """What composing needs of a release, by the field that names it."""
    path = job.scratch / f"{role.replace('/', '-')}.ledger"
    if not path.exists():
        one = job.releases[role]
        write_ledger(job.release_path(role), path, method=one.method, spec=one.spec)
    return path


def _scale(job: JobContext, role: str, release: ReleaseInput, dataset: Path | None) -> Path | None:
    """The noise of each record, as .npy, where the link says which record each row stands for."""
    if release.method != "uncertain" or dataset is None or job.link_path(role) is None:
        return None
    densities, link = released_densities(job, field=role), read_link(job, field=role)
    scale = np.full((Originals(dataset).rows, densities.reach.shape[1]), np.nan)
    scale[link] = densities.reach
    path = job.scratch / f"{role.replace('/', '-')}-scale.npy"
    np.save(path, scale, allow_pickle=False)
    return path


def terms(job: JobContext, spec: CompositionSpec) -> FamilyTerms:
    """What the audit says of the tables."""
    roles = listed(job.releases, "release_ids")
    keys = (job.fetch(InputFile.PERSONS_KEY, role) for role in roles)
    key = next((one.read_bytes() for one in keys if one is not None), None)
    kept = [read_fingerprints(one) for role in roles if (one := job.fetch(InputFile.PERSONS, role)) is not None]
    there = {column.name for column in job.datasets["dataset_id"].columns}
    named = {name for one in kept for name in one.persons} & there  # the gate counts by these too
    return FamilyTerms(
        dataset_id=spec.dataset_id or "",
        key=job.rng.bytes(32) if key is None else key,
        persons=dict.fromkeys(sorted(named if spec.person_column is None else {*named, spec.person_column})),
        columns=mapping(spec),
    )


def mapping(spec: CompositionSpec) -> Mapping[str, str]:
    """Columns of earlier data, and what the original calls them."""
    return spec.join_columns if isinstance(spec.join_columns, dict) else {}


def tables(job: JobContext, spec: CompositionSpec) -> list[Placed]:
    """Where tables of others place the records of the original; UNPLACED where nothing joins the two."""
    original, called = Originals(job.dataset_path()), mapping(spec)
    there = {column.name for column in job.datasets["dataset_id"].columns}
    placements = []
    for role, table in listed(job.datasets, "dataset_ids").items():
        names = {column.name for column in table.columns}
        wanted = [_called(one, called) for one in all_understood(tuple(spec.join_columns), names)]
        wanted = [one for one in wanted if one.name in there]
        if not wanted:
            placements.append(Placed(np.full(original.rows, UNPLACED)))
            continue
        one = located(original, job.dataset_path(role), wanted, Meanings())
        places = one.places if (one.places != ABSENT).any() else np.full_like(one.places, UNPLACED)
        rows = np.ones(len(one.of_row), dtype=np.int64)
        placements.append(Placed(places, one.of_row, np.zeros_like(one.of_row), rows))
    return placements


def _called(one: QuasiIdentifier, called: Mapping[str, str]) -> QuasiIdentifier:
    """A quasi-identifier of a table by the name that the original has for it."""
    return replace(one, name=called.get(one.name, one.name))
