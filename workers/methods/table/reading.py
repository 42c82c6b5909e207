"""The audit `table`: the audited data as codes, by column, and what goes with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.contracts.gate import MissingMatches
from app.contracts.quasi_identifiers import QuasiIdentifier, all_understood
from app.errors import InvalidError
from app.methods.table.spec import MOST_PEOPLE, SumsAudit, TableSpec
from workers.frames.codes import Coded, coded_columns
from workers.frames.columns import numeric_columns
from workers.frames.quasi_identifiers import cells
from workers.frames.spellings import spelled_as_one
from workers.methods.context import JobContext


@dataclass(frozen=True, slots=True)
class Sensitive:
    """One sensitive column.

    Attributes
    ----------
    name
        Of the column.
    codes
        In the order of its values, without gaps, a missing one first; texts that are spellings of one word are one.
    ordered
        Whether the order means distance.
    missing
        Whether the first code is that of the missing value.
    texts
        Codes of texts as they are, where some are alike: t is of these.
    """

    name: str
    codes: NDArray[np.int64]
    ordered: bool
    missing: bool = False
    texts: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Sums:
    """Data of a table of sums: cells, the magnitude of each record, and the values that define cells."""

    cell: NDArray[np.int32]
    value: NDArray[np.float64]
    names: tuple[tuple[str, ...], ...]


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
    kept
        Which rows of the file are records that were looked at, shape (rows,).
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
    kept: NDArray[np.bool_]

    @property
    def records(self) -> int:
        """N."""
        return int(self.kept.sum())

    @property
    def dropped(self) -> int:
        """Records left out."""
        return int((~self.kept).sum())


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
            _sensitive(name, one.taking(np.flatnonzero(kept)), ordered=types[name] in {"integer", "number", "date"})
            for name, one in zip(spec.sensitive, sensitive, strict=True)
        ),
        person=person,
        weight=weight,
        region=_together(path, spec.region_columns, kept) if spec.region_columns else None,
        sums=tuple(_sums(path, one, kept) for one in spec.sums),
        kept=kept,
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


def _sums(path: Path, table: SumsAudit, kept: NDArray[np.bool_]) -> Sums:
    by = coded_columns(path, table.by)
    names = tuple(tuple(str(value) for value in one.values.to_pylist()) for one in by)
    cell = np.array([one.codes[kept] for one in by], dtype=np.int32)
    return Sums(cell, numeric_columns(path, [table.of]).values[kept, 0], names)


def _together(path: Path, names: tuple[str, ...], kept: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.array([one.codes[kept] for one in coded_columns(path, names)], dtype=np.int32)


def _sensitive(name: str, column: Coded, *, ordered: bool) -> Sensitive:
    plain, spelled = _without_gaps(column.codes), _without_gaps(spelled_as_one(column))
    missing = bool((column.codes < 0).any())
    return Sensitive(name, spelled, ordered, missing, None if spelled.max() == plain.max() else plain)


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
    with np.errstate(over="ignore"):
        people = float(weight.sum())
    if people > MOST_PEOPLE:
        detail = f"column {name!r} adds up to more than 2^53 people: name the people that each record represents"
        raise InvalidError.at("/survey_weight_column", detail)
    return weight
