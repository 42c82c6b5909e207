"""Columns, statistics and records in an order that follows from what they are, and the outcome in the asked one again.

The partition breaks ties by the order of columns and records, and its sums are rounded in that of statistics. So that
the same question has the same boxes bit for bit, however it is written and in whatever order the rows were uploaded,
the algorithm gets all three in a canonical order: columns by their secrets (nobody can choose it), statistics by kind
and columns, records by value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.contracts.boxes import BoxesSpec
from surebox_verify.core.statistics import Statistic
from surebox_verify.core.types import FloatArray
from workers.algorithms.boxes.rare.rarity import Criterion
from workers.algorithms.boxes.state import BoxesOutcome
from workers.algorithms.core.ordering import canonical_order

_SYMMETRIC = ("covariance", "correlation")


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Which of the specification's columns and statistics stands where."""

    columns: tuple[int, ...]
    statistics: tuple[int, ...]
    asked: tuple[Statistic, ...]
    keys: NDArray[np.uint32]

    def records(self, values: FloatArray, rows: NDArray[np.int64]) -> tuple[FloatArray, NDArray[np.int64]]:
        """Records in canonical order, row by row, and where each was.

        Parameters
        ----------
        values : all of the dataset's, in the specification's columns, column by column.
        rows : those that take part.
        """
        taking = np.empty((len(rows), len(self.columns)))
        for index, place in enumerate(self.columns):
            taking[:, index] = values[:, place] if len(rows) == len(values) else values[rows, place]
        taking += 0.0  # zero has no sign
        order = canonical_order(taking)
        return taking.take(order, axis=0, mode="clip"), rows[order]  # without `clip` it is first put elsewhere

    def restored(self, outcome: BoxesOutcome) -> BoxesOutcome:
        """The outcome in the order of the specification."""
        where = np.argsort(self.columns)
        boxes, chosen = outcome.boxes, outcome.chosen
        if chosen.criterion is not None:
            chosen = replace(chosen, criterion=_restored(chosen.criterion, where))
        return replace(
            outcome,
            boxes=replace(
                boxes,
                lower=np.ascontiguousarray(boxes.lower[:, where]),
                upper=np.ascontiguousarray(boxes.upper[:, where]),
                outer_from_data=boxes.outer_from_data[where],
            ),
            chosen=chosen,
            certificates=tuple(outcome.certificates[index] for index in np.argsort(self.statistics)),
        )


def _restored(criterion: Criterion, where: NDArray[np.int64]) -> Criterion:
    correlation = criterion.correlation[np.ix_(where, where)]
    return replace(criterion, mean=criterion.mean[where], deviation=criterion.deviation[where], correlation=correlation)


def arranged(spec: BoxesSpec, secrets: Mapping[str, bytes]) -> Arrangement:
    """The canonical order of a specification.

    Parameters
    ----------
    spec : what is asked.
    secrets : of its columns.
    """
    columns = sorted(range(len(spec.columns)), key=lambda index: (secrets[spec.columns[index]], spec.columns[index]))
    place = {spec.columns[index]: number for number, index in enumerate(columns)}
    asked = []
    for one in spec.statistics or ():
        of = tuple(place[name] for name in one.of)
        asked.append(Statistic(one.kind.value, tuple(sorted(of)) if one.kind in _SYMMETRIC else of, one.weight))
    statistics = sorted(range(len(asked)), key=lambda index: _rank(asked[index]))
    return Arrangement(
        columns=tuple(columns),
        statistics=tuple(statistics),
        asked=tuple(asked[index] for index in statistics),
        keys=np.array([np.frombuffer(secrets[spec.columns[index]], dtype="<u4") for index in columns]).astype(
            np.uint32
        ),
    )


def _rank(one: Statistic) -> tuple[str, tuple[int, ...], float]:
    return one.kind, one.of, -1.0 if one.weight is None else one.weight
