"""The audit `composition`: where releases and tables place the records of the original."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.inputs import listed
from app.contracts.quasi_identifiers import Form, QuasiIdentifier, all_understood
from app.errors import FieldError, InvalidError
from workers.algorithms.tables.composition import ABSENT, Noise, Placed
from workers.algorithms.tables.locating import locate
from workers.frames.columns import numeric_columns
from workers.frames.generalized import Generalized, generalized, kept_together, records_for
from workers.methods.context import JobContext
from workers.methods.released.densities import released_densities
from workers.methods.released.links import read_link

#: A release of these is the original's rows, or follows them so closely that one person is left.
OPEN: Final = frozenset({"swaps", "condensation"})


@dataclass(frozen=True, slots=True)
class Source:
    """A table that places records: its file, the columns it places them by, and those that it shows as they are."""

    role: str
    path: Path
    wanted: tuple[QuasiIdentifier, ...]
    kept: tuple[str, ...]
    orders: dict[str, list[object]]


def sources(job: JobContext, columns: Sequence[str]) -> list[Source]:
    """Box releases, and tables of others."""
    found = []
    for role, one in listed(job.releases, "release_ids").items():
        if one.method != "boxes":
            continue
        names = {column.name for column in one.columns}
        wanted = tuple(_as_published(name, names) for name in one.spec["columns"])
        kept = tuple(one.spec.get("keep", ()))
        found.append(Source(role, job.release_path(role), wanted, kept, dict(one.spec.get("ordinal") or {})))
    for role, table in listed(job.datasets, "dataset_ids").items():
        names = {column.name for column in table.columns}
        wanted = all_understood(columns, names)
        found.append(Source(role, job.dataset_path(role), wanted, (), {}))
    return found


def _as_published(name: str, names: set[str]) -> QuasiIdentifier:
    if f"{name}_set" in names:
        return QuasiIdentifier(name, Form.SET, (f"{name}_set",))
    return QuasiIdentifier(name, Form.BOUNDS, (f"{name}_lo", f"{name}_hi"))


def placed(job: JobContext, found: Sequence[Source]) -> list[Placed]:
    """The place of every record in each source, and what it shows there.

    Raises
    ------
    InvalidError
        A source holds no record of the original.
    """
    shared = tuple(name for name in found[0].kept if all(name in one.kept for one in found)) if found else ()
    kept = kept_together([one.path for one in found], shared)
    places = []
    for at, (one, shown) in enumerate(zip(found, kept, strict=True)):
        job.tick(0.1 + 0.6 * at / len(found), "places")
        boxes = generalized(one.path, one.wanted, one.orders)
        place = _place(job.dataset_path(), boxes, one)
        if (place == ABSENT).all():
            detail = "no record of the original lies in any row of this table"
            raise InvalidError(detail, errors=[FieldError(f"/{one.role}", detail)])
        pairs, rows = np.unique(boxes.of_row * (int(shown.max(initial=0)) + 1) + shown, return_counts=True)
        of_place, value = np.divmod(pairs, int(shown.max(initial=0)) + 1)
        places.append(Placed(place, of_place, value, rows.astype(np.int64)))
    return places


def _place(original: Path, boxes: Generalized, one: Source) -> NDArray[np.int64]:
    numbers, codes = records_for(original, boxes, one.orders)
    return locate(numbers, codes, boxes.lower, boxes.upper, boxes.sets)


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
