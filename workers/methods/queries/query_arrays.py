"""What queries ask of a release: closed intervals of its numbers and days, and values of its other columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surebox_core.ends import Number
from surebox_verify.released.intervals import number_of
from surebox_verify.released.orders import Order

#: By column an interval, null for an open end, or the values that count, as a specification has them.
Queries: TypeAlias = Sequence[Mapping[str, Any]]


def by_values(queries: Queries, orders: Mapping[str, Order]) -> Queries:
    """Queries with the values of an order that are in an interval of it, in the interval's place.

    Parameters
    ----------
    queries
        As they were sent.
    orders
        Of the release's ordinal columns: those of numbers, or of days, are queried by intervals too.
    """

    def restricted(name: str, restriction: Any) -> Any:
        if name not in orders or isinstance(restriction, Mapping):
            return restriction
        return {"values": orders[name].within(restriction)}

    return [{name: restricted(name, one) for name, one in query.items()} for query in queries]


def intervals_of(queries: Queries, columns: Sequence[str]) -> Iterator[tuple[int, int, Number | None, Number | None]]:
    """The intervals of some queries: number of the query, of the column, and both ends, None where open.

    Parameters
    ----------
    queries
        As they were sent; whole numbers are whole numbers still.
    columns
        Columns of numbers or days, in the order in which they are numbered.
    """
    place = {name: index for index, name in enumerate(columns)}
    for row, query in enumerate(queries):
        for name, restriction in query.items():
            if not isinstance(restriction, Mapping):
                low, high = (None if end is None else number_of(end) for end in restriction)
                yield row, place[name], low, high


def interval_arrays(queries: Queries, columns: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of intervals in doubles, (Q, n) each, infinite where open and where a column is not queried; as above."""
    lower = np.full((len(queries), len(columns)), -np.inf)
    upper = np.full((len(queries), len(columns)), np.inf)
    for row, column, low, high in intervals_of(queries, columns):
        lower[row, column] = -np.inf if low is None else nearest(low)
        upper[row, column] = np.inf if high is None else nearest(high)
    return lower, upper


def nearest(end: Number) -> float:
    """The double nearest to a number; infinite where it is beyond all of them."""
    try:
        return float(end)
    except OverflowError:
        return float("inf") if end > 0 else float("-inf")


def values_of(query: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """The values that a query names, by column."""
    return {name: tuple(one["values"]) for name, one in query.items() if isinstance(one, Mapping)}
