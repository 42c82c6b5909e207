"""A dataset as group anonymity sees it: in-range records only, their variables, submicrofiles and group.

    typed copy -> recoded columns -> records with every value present and in range -> doubles and codes

Read a row group at a time; of records that are left out only their number by reason is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.methods.microfile.spec import ExcludedRecords, FuzzyVariable, GroupCondition, Recodings
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.rules.fuzzified import Fuzzified, fuzzify
from workers.algorithms.groups.rules.membership import Term
from workers.frames.harmonised import Slice, distinct, joined, published, slices

Regions: TypeAlias = tuple[tuple[str | int | float | bool, ...], ...]
_NOTHING: Final[IntArray] = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The readable part of a dataset.

    Attributes
    ----------
    variables : they filter; those with terms are read.
    recode : harmonisation.
    vital : conditions that make a record one of the group's; None where the dataset does not show.
    region_columns : columns that divide the microfile; none where that does not matter.
    numbers, categories : further columns, as doubles and as codes; missing is NaN and -1.
    """

    variables: tuple[FuzzyVariable, ...]
    recode: Recodings
    vital: tuple[GroupCondition, ...] | None = None
    region_columns: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read, as they are called after recoding."""
        names = (variable.column for variable in self.variables)
        vital = (one.column for one in self.vital or ())
        return tuple(dict.fromkeys((*names, *vital, *self.region_columns, *self.numbers, *self.categories)))


@dataclass(frozen=True, slots=True)
class Microfile:
    """In-range records, in the order of the dataset.

    Attributes
    ----------
    rows : (N,) their positions in the dataset.
    variables : V arrays (N,), the variables with terms, finite.
    vital : (N,) whether they are the group's; None where that is not known.
    region : (N,) submicrofile of each.
    regions : P values in rising order, a part per region column.
    numbers : (N, n) further columns, NaN where missing.
    categories : (N, c) codes of further columns, -1 where missing.
    category_values : what the codes represent, per column.
    left_out : records that are not here, by reason.
    """

    rows: IntArray
    variables: tuple[FloatArray, ...]
    vital: BoolArray | None
    region: IntArray
    regions: Regions
    numbers: FloatArray
    categories: IntArray
    category_values: tuple[tuple[str | int | float | bool, ...], ...]
    left_out: ExcludedRecords

    def counted(self) -> "Microfile":
        """The same without the columns: who is in range, and who was left out."""
        return replace(self, variables=(), numbers=self.numbers[:0], categories=self.categories[:0])


@dataclass(slots=True)
class _Reading:
    """The records collected while slices pass by."""

    wanted: Wanted
    rows: list[IntArray] = field(default_factory=list)
    variables: list[list[FloatArray]] = field(default_factory=list)
    vital: list[BoolArray] = field(default_factory=list)
    numbers: list[FloatArray] = field(default_factory=list)
    cells: list[dict[str, Any]] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)
    out_of_range: dict[str, int] = field(default_factory=dict)
    total: int = 0

    def take(self, part: Slice) -> None:
        """Keep the part in range of some rows."""
        wanted = self.wanted
        values = {variable.column: part.numbers(variable.column) for variable in wanted.variables}
        kept = self._filtered(part, values)
        positions = np.flatnonzero(kept)
        self.total += part.rows
        self.rows.append(positions + part.first)
        self.variables.append([values[one.column][positions] for one in wanted.variables if one.terms])
        if wanted.vital is not None:
            self.vital.append(_all(part, wanted.vital)[positions])
        if wanted.numbers:
            columns = [values[name] if name in values else part.numbers(name) for name in wanted.numbers]
            self.numbers.append(np.stack([column[positions] for column in columns], axis=1))
        self.cells.append(part.taken((*wanted.region_columns, *wanted.categories), positions))

    def _filtered(self, part: Slice, values: dict[str, FloatArray]) -> BoolArray:
        kept = np.ones(part.rows, dtype=np.bool_)
        for variable in self.wanted.variables:
            x, (low, high) = values[variable.column], variable.range
            is_missing = np.isnan(x)
            inside = (x >= low) & (x <= high)
            _add(self.missing, variable.column, int(is_missing.sum()))
            _add(self.out_of_range, variable.column, int((~inside & ~is_missing).sum()))
            kept &= inside
        for name in self.wanted.region_columns:
            present = part.present(name)
            _add(self.missing, name, int((~present).sum()))
            kept &= present
        return kept


def read(path: Path, wanted: Wanted) -> Microfile:
    """Read the in-range records of a dataset.

    Parameters
    ----------
    path
        Its typed copy.
    wanted
        The data that are read; every column exists and has a fitting type.
    """
    reading = _Reading(wanted)
    for part in slices(path, wanted.columns, wanted.recode):
        reading.take(part)
    count = sum(map(len, reading.rows))
    region, values = _codes(reading.cells, wanted.region_columns)
    categories = [_codes(reading.cells, (name,)) for name in wanted.categories]
    return Microfile(
        rows=np.concatenate(reading.rows) if reading.rows else _NOTHING,
        variables=tuple(np.concatenate(column) for column in zip(*reading.variables, strict=True)),
        vital=None if wanted.vital is None else np.concatenate([*reading.vital, np.empty(0, dtype=np.bool_)]),
        region=region,
        regions=tuple(tuple(published(part) for part in value) for value in values),
        numbers=np.concatenate(reading.numbers) if reading.numbers else np.empty((count, 0)),
        categories=_stacked(categories, count),
        category_values=tuple(
            tuple(published(value[0]) for value in values if value[0] is not None) for _, values in categories
        ),
        left_out=ExcludedRecords(
            records=reading.total - count, missing=reading.missing, out_of_range=reading.out_of_range
        ),
    )


def _codes(cells: list[dict[str, Any]], names: tuple[str, ...]) -> tuple[IntArray, list[tuple[Any, ...]]]:
    return distinct(joined(cells, names)) if names and cells else (_NOTHING, [])


def _stacked(categories: Sequence[tuple[IntArray, list[tuple[Any, ...]]]], count: int) -> IntArray:
    """Codes of columns side by side, -1 where missing: the missing value is the first one, if there is one."""
    columns = [codes - 1 if values and values[0] == (None,) else codes for codes, values in categories]
    return np.stack(columns, axis=1) if columns else np.empty((count, 0), dtype=np.int64)


def _all(part: Slice, vital: tuple[GroupCondition, ...]) -> BoolArray:
    mask: NDArray[np.bool_] = np.ones(part.rows, dtype=np.bool_)
    for one in vital:
        mask &= part.matches(one.column, one.values)
    return mask


def _add(counts: dict[str, int], name: str, number: int) -> None:
    if number:
        counts[name] = counts.get(name, 0) + number


def fuzzified(microfile: Microfile, variables: Sequence[FuzzyVariable]) -> Fuzzified:
    """The records as the rules see them."""
    return fuzzify(microfile.variables, [tuple(_term(term) for term in one.terms) for one in variables if one.terms])


def _term(term: Any) -> Term:
    points = (term.sigma, term.centre) if term.shape == "gaussian" else term.points
    return Term(term.shape, points)
