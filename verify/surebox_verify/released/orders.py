"""Meaning of a declared order in statistics: its values count as the numbers that they are, or by rank from 1.

An order whose values are all numbers, as such or as text (`1`, `2`, `5`, `10`; ` 01`; `2.5`), counts as these numbers;
one of days counts as days from 1970. Whoever has the file alone reads the same numbers in it. Any other order (`low`,
`mid`, `high`; `<5`, `5`, `10`) counts by rank: its first value is 1, the next 2, whatever lies between them. All of
Surebox has these numbers from here: the service where boxes are made, and readers where ranges are computed again.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any, Final

from surebox_verify.boxes import even_step
from surebox_verify.released.intervals import is_within, number_of

_NUMBER: Final = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\s*", re.ASCII)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DIGITS: Final = 100  # whole numbers of more are as good as infinite
_WHOLE: Final = 2**53  # up to it every whole number is a double
_LARGEST: Final = 1e70  # of what can be computed with
#: Parts of a quantile that are values of its column.
LABELLED: Final = ("estimate", "guaranteed", "attained")


@dataclass(frozen=True)
class Order:
    """The values of an ordinal column in their order, and what each counts as.

    Attributes
    ----------
    values : as they were declared.
    numbers : of each value, ascending.
    by_rank : whether these are ranks from 1: the values are no numbers.
    """

    values: tuple[Any, ...]
    numbers: tuple[float, ...]
    by_rank: bool

    @property
    def has_means(self) -> bool:
        """Return whether boxes may have the means of their records: of numbers evenly apart."""
        return not self.by_rank and even_step(self.numbers) is not None

    def within(self, interval: Sequence[Any]) -> tuple[Any, ...]:
        """The values in a closed interval of numbers or days, None for an open end.

        Raises
        ------
        UnreadableError
            Days are compared with numbers, or the other way round.
        """
        return tuple(value for value in self.values if is_within(_read(value), interval))

    def number_of(self, value: Any) -> float | int | None:
        """The number or the day that a value is, of this order or not; None where it is neither."""
        read = _read(value)
        return None if read is None or isinstance(read, date) is not self.has_days else number_of(read)

    @property
    def has_days(self) -> bool:
        """Return whether its values are days."""
        return isinstance(_read(self.values[0]), date)

    def label(self, number: float) -> Any:
        """The value whose number is nearest; of two equally near the lower."""
        nearest = min(range(len(self.numbers)), key=lambda place: abs(self.numbers[place] - number))
        return self.values[nearest]


def order_of(values: Sequence[Any]) -> Order:
    """Order of a column, and the numbers that its values count as.

    Parameters
    ----------
    values : all that a column may have, in their order.

    Raises
    ------
    ValueError
        All are numbers, but not in ascending order, or not all of them are different numbers that a double is.
    """
    read = [_read(value) for value in values]
    if not read or any(each is None for each in read) or len({isinstance(each, date) for each in read}) > 1:
        return Order(tuple(values), tuple(float(rank) for rank in range(1, len(values) + 1)), by_rank=True)
    numbers = [number_of(each) for each in read]
    for value, number in zip(values, numbers, strict=True):
        if abs(number) > (_WHOLE if isinstance(number, int) else _LARGEST):
            msg = f"{value!r} counts as a number, and is too large to be computed with"
            raise ValueError(msg)
    exact = tuple(float(number) for number in numbers)
    for (before, after), (one, following) in zip(pairwise(values), pairwise(exact), strict=True):
        if one >= following:
            msg = f"{after!r} is after {before!r}: its values are numbers, to be listed from the lowest up, each once"
            raise ValueError(msg)
    return Order(tuple(values), exact, by_rank=False)


def orders_of(ordinal: Mapping[str, Sequence[Any]] | None) -> dict[str, Order]:
    """The orders of a specification, by column; errors as of `order_of`, with the column's name."""
    orders = {}
    for name, values in (ordinal or {}).items():
        try:
            orders[name] = order_of(values)
        except ValueError as error:
            msg = f"the order of column {name!r}: {error}"
            raise ValueError(msg) from None
    return orders


def _read(value: Any) -> float | int | date | None:
    """The number or the day that a value is; None where it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | date):
        return value
    text = str(value)
    if _NUMBER.fullmatch(text):
        digits = text.strip().lstrip("+-")
        return int(text) if digits.isdigit() and len(digits) <= _DIGITS else float(text)
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def called(kind: str, of: Sequence[str], orders: Mapping[str, Order]) -> str | None:
    """Name a statistic that is computed of ranks: `mean rank (1 = low)`; None of any other.

    Parameters
    ----------
    kind, of : the statistic.
    orders : of the columns that have one.
    """
    if kind in ("share", "crosstab"):
        return None
    numeric = of[:1] if kind == "domain_mean" else of
    ranked = [name for name in dict.fromkeys(numeric) if name in orders and orders[name].by_rank]
    if not ranked:
        return None
    plain = kind.replace("_", " ")
    if len(numeric) == 1:
        ranks = f"rank (1 = {_shown(orders[ranked[0]])})"
        return f"mean {ranks}" if kind in ("mean", "domain_mean") else f"{plain} of the {ranks}"
    ways = "; ".join(f"{name}: 1 = {_shown(orders[name])}" for name in ranked)
    return f"{plain} by rank ({ways})"


def _shown(order: Order) -> str:
    first = order.values[0]
    return str(first).lower() if isinstance(first, bool) else str(first)


def labels(
    kind: str, of: Sequence[str], orders: Mapping[str, Order], numbers: Mapping[str, Any]
) -> dict[str, Any] | None:
    """A quantile of an order as the values that it is; None of any other statistic, and where values are numbers.

    Parameters
    ----------
    kind, of, orders : as of `called`.
    numbers : its estimate and its ranges, as ranks.
    """
    order = orders.get(of[0]) if kind == "quantile" and of else None
    if order is None or not order.by_rank:
        return None
    return {name: _labelled(order, value) for name, value in numbers.items()}


def _labelled(order: Order, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [_labelled(order, each) for each in value]
    label = order.label(float(value))
    return label if isinstance(label, bool | int | float) else str(label)
