"""The public statistics of an uncertain release: what is estimated of the original from the published rows alone."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from app.methods.uncertain.spec import SCALING_UNIT, EstimatedStatistic
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.density.estimates import estimates


def public_estimates(columns: Sequence[str], densities: Densities) -> list[dict[str, Any]]:
    """Mean and variance of every column, covariance and correlation of every pair, and the columns' units.

    Parameters
    ----------
    columns : names of the columns.
    densities : what is published, and nothing else.
    """
    return [one.model_dump(mode="json") for one in _estimated(columns, densities)]


def _estimated(columns: Sequence[str], densities: Densities) -> Iterator[EstimatedStatistic]:
    moments = estimates(densities)
    for i, name in enumerate(columns):
        yield _one("mean", (name,), moments.mean[i], moments.mean_error[i])
    for i, name in enumerate(columns):
        yield _one("variance", (name,), moments.covariance[i, i], moments.covariance_error[i, i])
    for i, j in combinations(range(len(columns)), 2):
        yield _one("covariance", (columns[i], columns[j]), moments.covariance[i, j], moments.covariance_error[i, j])
    for i, j in combinations(range(len(columns)), 2):
        yield _one("correlation", (columns[i], columns[j]), moments.correlation[i, j], moments.correlation_error[i, j])
    for i, name in enumerate(columns):
        yield _one(SCALING_UNIT, (name,), densities.unit[i], math.nan)


def _one(kind: str, of: tuple[str, ...], estimate: float, error: float) -> EstimatedStatistic:
    return EstimatedStatistic(kind=kind, of=of, estimate=_finite(estimate), standard_error=_finite(error))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
