"""The audit `determination`: what the cells of a release of boxes leave, and what boxes reveal of kept columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import typed_values
from app.contracts.datasets import ColumnType
from app.contracts.quasi_identifiers import published
from app.contracts.stored import StoredSpec
from app.methods.determination.spec import DeterminedColumn, DeterminedRelease, HomogeneousColumn
from workers.algorithms.tables.homogeneity import determined as share_single_value
from workers.algorithms.tables.homogeneity import homogeneity, points
from workers.frames.codes import coded_columns, numbered
from workers.frames.generalized import BOX, Generalized, Meanings, generalized
from workers.frames.quasi_identifiers import cells
from workers.methods.context import JobContext

#: Types of bounds whose values are whole.
_WHOLE: Final = frozenset({"integer", "date"})
_ORDERED: Final = frozenset({"integer", "number", "date"})


@dataclass(frozen=True, slots=True)
class Determined:
    """A release that was read.

    Attributes
    ----------
    id
        Of the release.
    ncp
        Mean normalized certainty penalty of its cells.
    boxes
        Its different rows.
    counts
        Rows of each, shape (B,).
    whole
        Numeric columns that have whole numbers, days or ranks, from the types of their bounds.
    closed
        Whether upper bounds may be values themselves.
    kept
        Kept columns: name, codes (rows,), how many values there are, and whether their order means distance.
    box
        Box of each row, shape (rows,).
    """

    id: str
    ncp: float
    boxes: Generalized
    counts: NDArray[np.int64]
    whole: frozenset[str]
    closed: bool
    kept: tuple[tuple[str, NDArray[np.int64], int, bool], ...]
    box: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Described:
    """The statement about a release: its id, the specification of its job, and the types of its columns."""

    id: str
    spec: Mapping[str, Any]
    types: Mapping[str, str]


def read(job: JobContext, role: str) -> Determined:
    """Read one release."""
    release = job.releases[role]
    types = {column.name: str(column.type) for column in release.columns}
    return read_file(job.release_path(role), Described(release.id, release.spec, types))


def read_file(path: Path, release: Described) -> Determined:
    """Read one release from its Parquet file."""
    types, made = release.types, StoredSpec.of(release.spec)
    columns = made.quasi_identifiers
    wanted = [published(name, types) for name in columns]
    orders = made.ordinal
    boxes = generalized(path, wanted, Meanings(orders), numbered=BOX)
    names = made.keep
    kept = coded_columns(path, names)
    declared = {name: typed_values(orders[name], ColumnType(types[name])) for name in names if name in orders}
    widths = [one.certainty for one in cells(path, wanted, orders)]
    return Determined(
        id=release.id,
        ncp=float(np.mean([one.mean() for one in widths if one is not None])),
        boxes=boxes,
        counts=np.bincount(boxes.of_row).astype(np.int64),
        whole=frozenset(name for name in boxes.numeric if name in orders or types[f"{name}_lo"] in _WHOLE),
        closed=made.bounds == "tight",
        kept=tuple(
            (name, *numbered(one, declared.get(name)), types[name] in _ORDERED or name in declared)
            for name, one in zip(names, kept, strict=True)
        ),
        box=coded_columns(path, [BOX])[0].codes.astype(np.int64),
    )


def determined(one: Determined, value_step: Mapping[str, float]) -> DeterminedRelease:
    """What one release gives away."""
    return DeterminedRelease(
        release_id=one.id,
        columns=(*_numbers(one, value_step), *_sets(one)),
        kept_columns=tuple(_kept(*each, one.box) for each in one.kept),
    )


def _numbers(one: Determined, value_step: Mapping[str, float]) -> list[DeterminedColumn]:
    boxes = one.boxes
    step = np.array([value_step.get(name, 1.0 if name in one.whole else 0.0) for name in boxes.numeric])
    lower, upper = (np.where(np.isinf(side), np.nan, side) for side in (boxes.lower, boxes.upper))
    whole = np.array([name in one.whole for name in boxes.numeric], dtype=np.bool_)
    closed = np.broadcast_to(whole | one.closed, lower.shape) | (upper == np.nanmax(upper, axis=0, initial=-np.inf))
    left = points(lower, upper, step, closed)
    shares = share_single_value(left, one.counts)
    return [
        DeterminedColumn(
            column=name, share_single_value=float(shares[j]), mean_values=_mean(left[:, j], one.counts, step[j] > 0.0)
        )
        for j, name in enumerate(boxes.numeric)
    ]


def _sets(one: Determined) -> list[DeterminedColumn]:
    columns = []
    for name, allowed in zip(one.boxes.nominal, one.boxes.sets, strict=True):
        left = np.where(allowed[:, :-1].any(axis=1), allowed.sum(axis=1), np.nan)[:, None]
        share = float(share_single_value(left, one.counts)[0])
        columns.append(
            DeterminedColumn(column=name, share_single_value=share, mean_values=_mean(left[:, 0], one.counts, True))
        )
    return columns


def _mean(left: NDArray[np.float64], counts: NDArray[np.int64], finite: bool) -> float | None:
    known = ~np.isnan(left)
    if not finite or not known.any():
        return None
    return float(np.average(left[known], weights=counts[known]))


def _kept(name: str, codes: NDArray[np.int64], values: int, ordered: bool, box: NDArray[np.int64]) -> HomogeneousColumn:
    measures = homogeneity(box, codes, ranks=values if ordered else None)
    return HomogeneousColumn(
        column=name,
        share_certain=measures.share_certain,
        share_nearly_certain=measures.share_nearly_certain,
        t_closeness=measures.t,
        attribution=measures.attribution,
        baseline=measures.baseline,
    )
