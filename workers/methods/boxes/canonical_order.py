"""Columns, statistics and records in an order that follows from what they are; the outcome in the specification's.

The partition breaks ties by the order of columns and records, and its sums are rounded in that of statistics. So that
the same question has the same boxes bit for bit, however it is written and in whatever order the rows were uploaded,
the algorithm gets all three in a canonical order: columns by their secrets (which no client can choose), numeric ones
before nominal ones; statistics by kind and columns; records by value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import ColumnKind, typed
from app.contracts.datasets import ColumnType
from app.contracts.statistics import Statistic as RequestedStatistic
from app.errors import FieldError, InvalidError, pointer
from app.methods.boxes.spec import BoxesSpec
from surebox_core.statistics import Statistic
from surebox_verify.released.intervals import number_of
from workers.algorithms.boxes.rare.rarity import Criterion
from workers.algorithms.boxes.state import BoxesOutcome
from workers.methods.boxes.codebooks import Codebook

_SYMMETRIC = ("covariance", "correlation")


@dataclass(frozen=True, slots=True)
class Order:
    """Names of the columns, numeric and nominal, in their canonical order, and the secret of each."""

    numeric: tuple[str, ...]
    nominal: tuple[str, ...]
    keys: NDArray[np.uint32]

    @property
    def place(self) -> Mapping[str, int]:
        """Number of each column among all."""
        return {name: number for number, name in enumerate((*self.numeric, *self.nominal))}


def ordered(spec: BoxesSpec, kinds: Mapping[str, ColumnKind], secrets: Mapping[str, bytes]) -> Order:
    """The canonical order of a specification's columns.

    Parameters
    ----------
    spec
        The request.
    kinds, secrets
        Of its columns.
    """
    names = sorted(spec.quasi_identifiers, key=lambda name: (secrets[name], name))
    numeric = tuple(name for name in names if kinds[name] is not ColumnKind.NOMINAL)
    nominal = tuple(name for name in names if kinds[name] is ColumnKind.NOMINAL)
    weights = () if spec.survey_weight_column is None else (spec.survey_weight_column,)
    keys = np.array([np.frombuffer(secrets[name], dtype="<u4") for name in (*numeric, *nominal, *weights)])
    return Order(numeric, nominal, keys.astype(np.uint32))


@dataclass(frozen=True, slots=True)
class CanonicalOrder:
    """Columns and statistics of a specification in canonical order, and the places of both in it."""

    order: Order
    statistics: tuple[int, ...]
    statistics_in_order: tuple[Statistic, ...]

    def name(self, column: int) -> str:
        """A column by its number."""
        return (*self.order.numeric, *self.order.nominal)[column]

    def restored(self, outcome: BoxesOutcome, spec: BoxesSpec) -> BoxesOutcome:
        """The outcome in the order of the specification: numeric columns, nominal ones and statistics."""
        numeric, nominal = self._places(self.order.numeric, spec), self._places(self.order.nominal, spec)
        boxes, chosen = outcome.boxes, outcome.chosen
        if chosen.criterion is not None:
            where, of = np.array(numeric, dtype=np.int64), np.array(self.statistics, dtype=np.int64)
            chosen = replace(chosen, criterion=_restored(chosen.criterion, where, of))
        return replace(
            outcome,
            boxes=replace(
                boxes,
                lower=np.ascontiguousarray(boxes.lower[:, numeric]),
                upper=np.ascontiguousarray(boxes.upper[:, numeric]),
                outer_from_data=boxes.outer_from_data[numeric],
                sets=tuple(boxes.sets[index] for index in nominal),
                means=None if boxes.means is None else (boxes.means[0][:, numeric], boxes.means[1][:, numeric]),
            ),
            chosen=chosen,
            certificates=tuple(outcome.certificates[index] for index in np.argsort(self.statistics)),
        )

    @staticmethod
    def _places(names: tuple[str, ...], spec: BoxesSpec) -> list[int]:
        return [names.index(name) for name in spec.quasi_identifiers if name in names]


def in_canonical_order(
    spec: BoxesSpec, order: Order, books: Mapping[str, Codebook], types: Mapping[str, ColumnType]
) -> CanonicalOrder:
    """The canonical order of a specification's statistics.

    Parameters
    ----------
    spec
        The request.
    order
        Of its columns.
    books
        Codebooks of the nominal ones.
    types
        Of the columns.

    Raises
    ------
    InvalidError
        A statistic about a value that the codebook, or the order, does not have.
    """
    place, entries = order.place, []
    ranked = {name: _order(name, types[name], spec.ordinal[name]) for name in order.numeric if name in spec.ordinal}
    books = {**books, **ranked}
    for index, one in enumerate(spec.statistics or ()):
        of = tuple(place[name] for name in one.of)
        codes = () if one.values is None else _codes(one.values, books[one.of[-1]], index)
        of = tuple(sorted(of)) if one.kind in _SYMMETRIC else of
        at = _at(one, books, frozenset(ranked), index)
        entries.append(Statistic(one.kind.value, of, one.weight, codes, one.p, at=at))
    statistics = sorted(range(len(entries)), key=lambda index: _rank(entries[index]))
    return CanonicalOrder(order, tuple(statistics), tuple(entries[index] for index in statistics))


def _order(name: str, column: ColumnType, values: Sequence[Any]) -> Codebook:
    """The values of an ordinal column, whose codes are their ranks."""
    return Codebook(name, column, tuple(typed(value, column) for value in values))


def _codes(values: Sequence[Any], book: Codebook, index: int) -> tuple[int, ...]:
    """Codes of a statistic's values."""
    codes = [_code(value, book) for value in values]
    errors = [
        FieldError(pointer("statistics", index, "values", number), f"not a value of {book.name!r}")
        for number, code in enumerate(codes)
        if code is None
    ]
    if errors:
        detail = f"values that the codebook of column {book.name!r} has not; those of too few records are `other`"
        raise InvalidError(detail, errors=errors)
    return tuple(sorted(code for code in codes if code is not None))


def _at(
    one: RequestedStatistic, books: Mapping[str, Codebook], ranked: frozenset[str], index: int
) -> tuple[float, ...]:
    """Where a prediction is made: numbers, days since 1970, ranks, and the indicators of nominal values."""
    numbers: list[float] = []
    for position, (name, value) in enumerate(zip(one.of[1:], one.at or (), strict=False)):
        if name not in books:
            numbers.append(float(number_of(value)))
            continue
        code = _code(value, books[name])
        if code is None:
            detail = f"not a value of {name!r}; those of too few records are `other`"
            raise InvalidError.at(pointer("statistics", index, "at", position), detail)
        others = range(1, len(books[name].values))
        numbers += [float(code)] if name in ranked else [float(code == other) for other in others]
    return tuple(numbers)


def _code(value: Any, book: Codebook) -> int | None:
    """Code of a value; None where the codebook, or the column's type, has none such."""
    try:
        return book.values.index(typed(value, book.type))
    except ValueError:
        return None


def _restored(criterion: Criterion, where: NDArray[np.int64], statistics: NDArray[np.int64]) -> Criterion:
    correlation = criterion.correlation[np.ix_(where, where)]
    owner = None if criterion.owner is None else statistics[criterion.owner]
    mean, deviation = criterion.mean[where], criterion.deviation[where]
    return replace(criterion, mean=mean, deviation=deviation, correlation=correlation, owner=owner)


def _rank(one: Statistic) -> tuple[str, tuple[int, ...], tuple[int, ...], float, float, tuple[float, ...]]:
    p, weight = (-1.0 if each is None else each for each in (one.p, one.weight))
    return one.kind, one.of, one.values, p, weight, one.at
