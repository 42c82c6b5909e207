"""The linkage attack over all rows of a release, with confidence intervals where rows were drawn.

Notation as in linkage.attack.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surebox_core.types import FloatArray
from workers.algorithms.uncertain.linkage.attack import Linkage


@dataclass(frozen=True)
class Summary:
    """The attack over all rows tried.

    Attributes
    ----------
    rows : number of rows tried.
    mean_rank, share_rank_1, share_below_k, mean_posterior : over these.
    quantiles : rank at each probability requested.
    intervals : 95 % confidence intervals for all rows, by name, of quantiles by their probability; None where all were
        tried.
    """

    rows: int
    mean_rank: float
    share_rank_1: float
    share_below_k: float
    mean_posterior: float
    quantiles: dict[float, float]
    intervals: dict[str | float, tuple[float, float]] | None


def summary(linkage: Linkage, k: float | FloatArray, probabilities: Sequence[float]) -> Summary:
    """Summarise an attack.

    Parameters
    ----------
    linkage : what it gave.
    k : of the release, or (M,) of each row.
    probabilities : of the quantiles of the rank.

    Notes
    -----
    Intervals: normal for means, Wilson's for shares, order statistics for quantiles; rows are drawn without
    replacement from a finite number, which only makes them narrower.
    """
    rank, rows = linkage.rank, len(linkage.rows)
    wanted = k[linkage.rows] if isinstance(k, np.ndarray) else np.full(rows, float(k))
    first, below = float((rank == 1.0).mean()), float((rank < wanted).mean())
    ordered = np.sort(rank)
    quantiles = {p: float(ordered[min(int(p * rows), rows - 1)]) for p in probabilities}
    intervals: dict[str | float, tuple[float, float]] | None = None
    if linkage.total > rows:
        intervals = {
            "mean_rank": _normal(rank),
            "share_rank_1": _wilson(first, rows),
            "share_below_k": _wilson(below, rows),
            "mean_posterior": _normal(linkage.posterior),
        }
        for p in probabilities:
            slack = 1.96 * np.sqrt(rows * p * (1.0 - p))
            ends = np.clip([np.floor(rows * p - slack), np.ceil(rows * p + slack)], 0, rows - 1).astype(np.int64)
            intervals[p] = (float(ordered[ends[0]]), float(ordered[ends[1]]))
    return Summary(rows, float(rank.mean()), first, below, float(linkage.posterior.mean()), quantiles, intervals)


def _normal(values: FloatArray) -> tuple[float, float]:
    half = 1.96 * float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else np.inf
    return float(values.mean() - half), float(values.mean() + half)


def _wilson(share: float, rows: int) -> tuple[float, float]:
    square = 1.96**2
    centre = (share + square / (2.0 * rows)) / (1.0 + square / rows)
    half = 1.96 / (1.0 + square / rows) * np.sqrt(share * (1.0 - share) / rows + square / (4.0 * rows * rows))
    return max(float(centre - half), 0.0), min(float(centre + half), 1.0)
