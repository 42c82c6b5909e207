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
from surebox_verify.envelope import UnreadableError
from surebox_verify.released.intervals import number_of
from surebox_verify.released.naming import as_value
from surebox_verify.released.orders import Order as ValueOrder
from surebox_verify.released.orders import orders_of
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
    ordinal = {name: spec.ordinal[name] for name in order.numeric if name in spec.ordinal}
    orders = orders_of(ordinal)
    books = {**books, **{name: _order(name, types[name], values) for name, values in ordinal.items()}}
    for index, one in enumerate(spec.statistics or ()):
        of = tuple(place[name] for name in one.of)
        codes = () if one.values is None else _codes(one.values, books[one.of[-1]], index)
        of = tuple(sorted(of)) if one.kind in _SYMMETRIC else of
        at = _at(one, books, orders, index)
        entries.append(Statistic(one.kind.value, of, one.weight, codes, one.p, at=at))
    statistics = sorted(range(len(entries)), key=lambda index: _rank(entries[index]))
    return CanonicalOrder(order, tuple(statistics), tuple(entries[index] for index in statistics))


def _order(name: str, column: ColumnType, values: Sequence[Any]) -> Codebook:
    """The values of an ordinal column, whose codes are their places in the order."""
    return Codebook(name, column, tuple(typed(value, column) for value in values))


def _codes(values: Sequence[Any], book: Codebook, index: int) -> tuple[int, ...]:
    """Codes of a statistic's values, and of the values of its classes."""
    codes: set[int] = set()
    errors = []
    for number, value in enumerate(values):
        try:
            codes |= _meant(value, book)
        except UnreadableError as error:
            errors.append(FieldError(pointer("statistics", index, "values", number), str(error)))
    if errors:
        raise InvalidError(errors[0].detail, errors=errors)
    return tuple(sorted(codes))


def _at(
    one: RequestedStatistic, books: Mapping[str, Codebook], orders: Mapping[str, ValueOrder], index: int
) -> tuple[float, ...]:
    """Point of a prediction: numbers, days since 1970, what values of an order count as, indicators of others."""
    numbers: list[float] = []
    for position, (name, value) in enumerate(zip(one.of[1:], one.at or (), strict=False)):
        if name not in books:
            numbers.append(float(number_of(value)))
            continue
        order = orders.get(name)
        if order is not None and not order.by_rank and (number := order.number_of(as_value(value))) is not None:
            numbers.append(float(number))
            continue
        where = pointer("statistics", index, "at", position)
        try:
            codes = _meant(value, books[name])
        except UnreadableError as error:
            raise InvalidError.at(where, str(error)) from None
        if len(codes) > 1:
            raise InvalidError.at(where, f"a prediction is at one value of column {name!r}, not at a class of several")
        (code,) = codes
        others = range(1, len(books[name].values))
        numbers += [float(code == other) for other in others] if order is None else [order.numbers[code]]
    return tuple(numbers)


def _meant(value: Any, book: Codebook) -> frozenset[int]:
    """Codes of a value, or of a class, as every later question to the release means it.

    Raises
    ------
    UnreadableError
        The codebook has none such, or several that can be read so.
    """
    meant = book.named.meant(value)
    if meant.sure and meant.sure == meant.perhaps:
        return meant.sure
    if len(meant.perhaps) > 1:
        raise UnreadableError(f"several values of column {book.name!r} can be read so: name each as the column has it")
    detail = f"no value of column {book.name!r} that the release shows"
    if book.merged_as is not None:
        detail += f'; rarer ones are together `{{"class": "{book.merged_as}"}}`'
    raise UnreadableError(detail)


def _restored(criterion: Criterion, where: NDArray[np.int64], statistics: NDArray[np.int64]) -> Criterion:
    correlation = criterion.correlation[np.ix_(where, where)]
    owner = None if criterion.owner is None else statistics[criterion.owner]
    mean, deviation = criterion.mean[where], criterion.deviation[where]
    return replace(criterion, mean=mean, deviation=deviation, correlation=correlation, owner=owner)


def _rank(one: Statistic) -> tuple[str, tuple[int, ...], tuple[int, ...], float, float, tuple[float, ...]]:
    p, weight = (-1.0 if each is None else each for each in (one.p, one.weight))
    return one.kind, one.of, one.values, p, weight, one.at
