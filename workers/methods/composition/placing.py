"""The audit `composition`: where releases and tables place the records of the original."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.contracts.box_columns import merged_values
from app.contracts.inputs import listed
from app.contracts.quasi_identifiers import QuasiIdentifier, all_understood, telling_boxes
from app.errors import InvalidError
from workers.algorithms.tables.classes import grouped
from workers.algorithms.tables.composition import ABSENT, Noise, Placed
from workers.frames.columns import numeric_columns
from workers.frames.generalized import BOX, Meanings, kept_together
from workers.frames.originals import Originals
from workers.methods.context import JobContext
from workers.methods.released.densities import released_densities
from workers.methods.released.links import read_link
from workers.methods.released.placing import located


@dataclass(frozen=True, slots=True)
class Source:
    """A table that places records: its file, the columns it places them by, and those that it shows as they are.

    `numbered` is the column in which it numbers its boxes, if it is a release of ours.
    """

    role: str
    path: Path
    wanted: tuple[QuasiIdentifier, ...]
    kept: tuple[str, ...]
    meanings: Meanings
    numbered: str | None = None


def sources(job: JobContext, columns: Sequence[str]) -> list[Source]:
    """Box releases, and tables of others."""
    found = []
    for role, one in listed(job.releases, "release_ids").items():
        if one.method != "boxes":
            continue
        names = {column.name for column in one.columns}
        wanted = telling_boxes(one.spec, names)
        kept = tuple(one.spec.get("keep", ()))
        found.append(
            Source(
                role,
                job.release_path(role),
                wanted,
                kept,
                Meanings(one.spec.get("ordinal") or {}, merged_values(one.spec)),
                BOX,
            )
        )
    for role, table in listed(job.datasets, "dataset_ids").items():
        names = {column.name for column in table.columns}
        wanted = all_understood(columns, names)
        found.append(Source(role, job.dataset_path(role), wanted, (), Meanings()))
    return found


def placed(job: JobContext, found: Sequence[Source]) -> list[Placed]:
    """The place of every record in each source, and what it shows there.

    Raises
    ------
    InvalidError
        A source holds no record of the original.
    """
    shared = tuple(name for name in found[0].kept if all(name in one.kept for one in found)) if found else ()
    kept = kept_together([one.path for one in found], shared)
    places, original = [], Originals(job.dataset_path())
    for at, (one, shown) in enumerate(zip(found, kept, strict=True)):
        job.tick(0.1 + 0.6 * at / len(found), "places")
        there = located(original, one.path, one.wanted, one.meanings, numbered=one.numbered)
        if (there.places == ABSENT).all():
            detail = "no record of the original lies in any row of this table"
            raise InvalidError.at(f"/{one.role}", detail)
        span = int(shown.max(initial=0)) + 1
        pairs = there.of_row * span + shown
        different = grouped(pairs)
        places.append(Placed(there.places, *np.divmod(pairs[different.first], span), different.size))
    return places


def noise(job: JobContext) -> list[Noise]:
    """The uncertain releases, by record."""
    found = []
    for role, one in listed(job.releases, "release_ids").items():
        if one.method != "uncertain":
            continue
        densities, link = released_densities(job, field=role), read_link(job, field=role)
        values = np.ascontiguousarray(numeric_columns(job.dataset_path(), one.spec["columns"]).values)
        scale = np.full_like(values, np.nan)
        scale[link] = densities.reach
        unit = np.where(densities.unit > 0.0, densities.unit, 1.0)
        found.append(Noise(values / unit, scale / unit, uniform=densities.model == "uniform"))
    return found
