"""What queries ask of a release: closed intervals of its numbers and days, and values of its other columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surebox_verify.released.intervals import number_of

#: By column an interval, null for an open end, or the values that count, as a specification has them.
Queries: TypeAlias = Sequence[Mapping[str, Any]]

#: An end that is open in a column that is queried: beyond every value, but not beyond missing values.
_OPEN: Final = 1e300


@dataclass(frozen=True, slots=True)
class QueryArrays:
    """Q queries: intervals (Q, n), infinite where a column is not queried, and values by column."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    values: tuple[Mapping[str, Sequence[Any]], ...]


def query_arrays(queries: Queries, columns: Sequence[str]) -> QueryArrays:
    """Queries as arrays.

    Parameters
    ----------
    queries
        As they were sent.
    columns
        Columns of numbers or days, in the order of the arrays.
    """
    place = {name: index for index, name in enumerate(columns)}
    lower = np.full((len(queries), len(columns)), -np.inf)
    upper = np.full((len(queries), len(columns)), np.inf)
    values: list[dict[str, Sequence[Any]]] = []
    for row, query in enumerate(queries):
        values.append({})
        for name, restriction in query.items():
            if isinstance(restriction, Mapping):
                values[-1][name] = tuple(restriction["values"])
                continue
            lo, hi = (None if end is None else number_of(end) for end in restriction)
            if lo is not None or hi is not None:
                lower[row, place[name]] = -_OPEN if lo is None else lo
                upper[row, place[name]] = _OPEN if hi is None else hi
    return QueryArrays(lower, upper, tuple(values))
