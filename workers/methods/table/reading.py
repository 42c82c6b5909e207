"""The audit `table`: the audited data as codes, by column, and what goes with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.contracts.gate import MissingMatches
from app.contracts.quasi_identifiers import QuasiIdentifier, all_understood
from app.errors import InvalidError
from app.methods.table.spec import TableSpec
from workers.frames.codes import Coded, coded_columns
from workers.frames.columns import numeric_columns
from workers.frames.quasi_identifiers import cells
from workers.methods.context import JobContext


@dataclass(frozen=True, slots=True)
class Sensitive:
    """One sensitive column: codes in the order of its values, without gaps; whether that order means distance."""

    name: str
    codes: NDArray[np.int64]
    ordered: bool


@dataclass(frozen=True, slots=True)
class Sums:
    """What a table of sums is made of: cells, and the magnitude of each record."""

    cell: NDArray[np.int32]
    value: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Audited:
    """A table under audit, N records.

    Attributes
    ----------
    quasi_identifiers
        As understood, d of them.
    codes
        Shape (d, N).
    ncp
        Mean normalized certainty penalty of all cells; None where some column's cannot be measured.
    not_measured
        Names of such columns.
    sensitive
        The sensitive columns.
    person, weight, region
        Codes of persons (N,), persons of the population a record represents (N,), codes of regions (r, N); or None.
    sums
        One for each that was requested.
    records, dropped
        N, and records left out.
    """

    quasi_identifiers: tuple[QuasiIdentifier, ...]
    codes: NDArray[np.int32]
    ncp: float | None
    not_measured: tuple[str, ...]
    sensitive: tuple[Sensitive, ...]
    person: NDArray[np.int64] | None
    weight: NDArray[np.float64] | None
    region: NDArray[np.int32] | None
    sums: tuple[Sums, ...]
    records: int
    dropped: int


def read(job: JobContext, spec: TableSpec) -> Audited:
    """Read the audited data.

    Raises
    ------
    InvalidError
        Nothing is left to audit, or weights are none.
    """
    field = "dataset_id" if spec.release_id is None else "release_id"
    path = job.dataset_path() if spec.release_id is None else job.release_path()
    source = job.datasets[field] if spec.release_id is None else job.releases[field]
    types = {column.name: str(column.type) for column in source.columns}
    wanted = all_understood(spec.quasi_identifiers, types)
    orders = {} if spec.release_id is None else job.releases[field].made.ordinal
    read_cells = cells(path, wanted, orders)
    codes = np.array([one.codes for one in read_cells], dtype=np.int32)
    sensitive = coded_columns(path, spec.sensitive)
    kept = _kept(spec, codes, sensitive)
    if not kept.any():
        detail = "no record has all of these values" if len(kept) else "there are no records"
        raise InvalidError.at("/quasi_identifiers", detail)
    person = (
        None
        if spec.person_column is None
        else coded_columns(path, [spec.person_column])[0].codes[kept].astype(np.int64) + 1
    )
    weight = None if spec.survey_weight_column is None else _weights(path, spec.survey_weight_column)[kept]
    return Audited(
        quasi_identifiers=wanted,
        codes=np.ascontiguousarray(codes[:, kept]),
        ncp=_mean_penalty([one.certainty for one in read_cells], kept),
        not_measured=tuple(one.name for one, each in zip(wanted, read_cells, strict=True) if each.certainty is None),
        sensitive=tuple(
            Sensitive(name, _without_gaps(one.codes[kept]), types[name] in {"integer", "number", "date"})
            for name, one in zip(spec.sensitive, sensitive, strict=True)
        ),
        person=person,
        weight=weight,
        region=_together(path, spec.region_columns, kept) if spec.region_columns else None,
        sums=tuple(
            Sums(_together(path, one.by, kept), numeric_columns(path, [one.of]).values[kept, 0]) for one in spec.sums
        ),
        records=int(kept.sum()),
        dropped=int((~kept).sum()),
    )


def _mean_penalty(columns: Sequence[NDArray[np.float64] | None], kept: NDArray[np.bool_]) -> float | None:
    means = [float(one[kept].mean()) for one in columns if one is not None]
    return float(np.mean(means)) if len(means) == len(columns) else None


def _kept(spec: TableSpec, codes: NDArray[np.int32], sensitive: list[Coded]) -> NDArray[np.bool_]:
    """Records that take part: all, unless those with missing values are to be dropped."""
    if spec.missing_matches is not MissingMatches.DROP_RECORDS:
        return np.ones(codes.shape[1], dtype=np.bool_)
    complete: NDArray[np.bool_] = np.vstack([codes, *(one.codes for one in sensitive)]).min(axis=0) >= 0
    return complete


def _together(path: Path, names: tuple[str, ...], kept: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.array([one.codes[kept] for one in coded_columns(path, names)], dtype=np.int32)


def _without_gaps(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Codes of the values that occur, a missing one before all others."""
    present = np.bincount(codes + 1) > 0
    return (np.cumsum(present) - 1)[codes + 1]


def _weights(path: Path, name: str) -> NDArray[np.float64]:
    weight = np.ascontiguousarray(numeric_columns(path, [name]).values[:, 0])
    wrong = int(np.count_nonzero(~(weight > 0.0) | np.isinf(weight)))
    if wrong:
        detail = f"column {name!r} has {wrong} cells that are no positive number: a record represents someone"
        raise InvalidError.at("/survey_weight_column", detail)
    return weight
