"""Which boxes make the core of a release: rare ones left aside, but not so that the statistics shift.

Notation
--------
z_b, c_b, g_b : centres, counts and uncertainty of a record (rare.rarity) of all boxes.
S : boxes of the core; #S their records.  N : all records.
T_c(S) : component c of the statistics at the centres of S;  omega_c its weight.  A : as in rare.rarity.
J(S) = (1/#S) sum_S c g + A / sqrt(#S) + sum_c omega_c |T_c(all) - T_c(S)|.
first, second : sums over S of c z_i, and of c z_i z_j for the pairs (i, j) that the statistics need.

J is a function of the box table alone, and so is S: whoever has the table can find S again, and a release without the
other boxes tells at most what one tells that marks them. Without the last term S is a threshold on g, and leaves out
whatever is far from the middle (70 % of the records of the demo): its certain range then excludes the value for all.
With it S is no threshold. The search is greedy with exchanges, from all boxes and from the best threshold: leave one
out, take one back, exchange two, leave two out, as long as J falls. It follows from the table and nothing else; where
it ends no such step lowers J. (science.md section 5, "Rare records".)

Regressions count to first order, by their derivatives at all centres; quantiles do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from surebox_verify.core.moments import Moments
from surebox_verify.core.statistics import Component, Statistic, components
from surebox_verify.core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.boxes.rare.shifted_kernels import (
    CELL,
    CORRELATION,
    COVARIANCE,
    DEVIATION,
    DOMAIN,
    FIRST_ORDER,
    MEAN,
    VARIANCE,
    search,
)

_CANDIDATES = 1024
_WORK = 2_000_000  # numbers looked at for one step: candidates times columns, pairs and components

_KINDS = {
    "mean": MEAN,
    "share": MEAN,
    "variance": VARIANCE,
    "standard_deviation": DEVIATION,
    "covariance": COVARIANCE,
    "correlation": CORRELATION,
    "crosstab": CELL,
    "domain_mean": DOMAIN,
}


class Weighed(Protocol):
    """Weights of the components of statistics, and the place of the statistic that each is of."""

    @property
    def omega(self) -> FloatArray:
        """Weight of each component."""

    @property
    def owner(self) -> IntArray:
        """Statistic of each component."""


@dataclass(frozen=True)
class Core:
    """The boxes of the core.

    Attributes
    ----------
    kept : (B,).
    objective : J there, and of all boxes.
    """

    kept: BoolArray
    objective: float
    of_all: float


@dataclass(frozen=True)
class _Terms:
    """Components coded for the kernel: `kind`, up to two columns, and the pairs of their variances and covariance.

    First-order ones have their gradients: `by_mean` (F, n) and `by_second` (F, P).
    """

    omega: FloatArray
    kind: IntArray
    column: IntArray
    pair: IntArray
    pairs: IntArray
    by_mean: FloatArray
    by_second: FloatArray


def core(
    g: FloatArray,
    points: FloatArray,
    counts: IntArray,
    *,
    statistics: Sequence[Statistic],
    field: Weighed,
    at: Moments,
    statistical: float,
    at_most: float,
) -> Core:
    """Search for the boxes with the least J.

    Parameters
    ----------
    g : (B,), at least 0.
    points : (B, n), centres, finite.
    counts : (B,), positive.
    statistics : components' owners, `of` among the n columns; each of `field.owner`.
    field, at : weights of their components, and moments at all centres.
    statistical : A.
    at_most : largest share of the records that may be left aside, in [0, 1).

    Returns
    -------
    Core
        At least one box is in it; never more than `at_most` of the records outside.

    Notes
    -----
    Candidates to be left aside are the boxes of largest g, 1,024 at most, and fewer where components are thousands.
    O(candidates (n + P + C)) a step.
    """
    terms = _coded(statistics, field, at)
    z = points - at.mean  # small numbers: sums of squares lose nothing
    most = min(_CANDIDATES, _WORK // (len(at.mean) + len(terms.pairs) + len(terms.omega)) + 1)
    candidates = np.argsort(-g, kind="stable")[:most].astype(np.int64)
    weight = counts.astype(np.float64)
    scale = np.array([statistical, float(weight.sum()) * at_most, at.inflation])
    coded = (terms.omega, terms.kind, terms.column, terms.pair, terms.pairs, terms.by_mean, terms.by_second)
    best: Core | None = None
    for start in (np.ones(len(g), dtype=np.bool_), _threshold(g, weight, at_most, most)):
        kept = start.copy()
        objective, of_all = search(z, at.mean, weight, g, candidates, scale, *coded, kept)
        if best is None or objective < best.objective:
            best = Core(kept, objective, of_all)
    if best is None:
        raise AssertionError
    return best


def _threshold(g: FloatArray, weight: FloatArray, at_most: float, most: int) -> BoolArray:
    """All boxes but those of largest g that may be left aside, `most` at most."""
    order = np.argsort(-g, kind="stable")
    outside = np.cumsum(weight[order]) <= at_most * weight.sum()
    kept = np.ones(len(g), dtype=np.bool_)
    kept[order[outside][:most]] = False
    if not kept.any():
        kept[order[-1]] = True
    return kept


class _Coder:
    """Numbers the pairs of columns whose second moments are needed."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[int, int], int] = {}

    def number(self, i: int, j: int) -> int:
        """Place of a pair."""
        return self.pairs.setdefault((min(i, j), max(i, j)), len(self.pairs))

    def of(self, statistic: Statistic) -> tuple[int, tuple[int, int], tuple[int, int, int]]:
        """Kind, columns and pairs of a statistic with one component."""
        kind, (i, j) = _KINDS[statistic.kind], (statistic.of[0], statistic.of[-1])
        if kind == MEAN:
            return kind, (i, j), (-1, -1, -1)
        return kind, (i, j), (self.number(i, i), self.number(j, j), self.number(i, j))

    def gradients(self, parts: list[tuple[tuple[int, ...], Component]], columns: int) -> tuple[FloatArray, FloatArray]:
        """Derivatives by the means and by the second moments, of components that count to first order."""
        entries = []
        for row, (of, part) in enumerate(parts):
            for a, b in np.argwhere(part.by_covariance):
                entries.append((row, self.number(of[a], of[b]), part.by_covariance[a, b]))
        by_mean, by_second = np.zeros((len(parts), columns)), np.zeros((len(parts), len(self.pairs)))
        for row, (of, part) in enumerate(parts):
            by_mean[row, list(of)] = part.by_mean
        for row, pair, gradient in entries:
            by_second[row, pair] += gradient
        return by_mean, by_second


def _coded(statistics: Sequence[Statistic], field: Weighed, at: Moments) -> _Terms:
    coder, rows = _Coder(), []
    first_order: list[tuple[tuple[int, ...], Component]] = []
    for index, statistic in enumerate(statistics):
        weights = field.omega[field.owner == index].tolist()
        if statistic.kind == "regression":
            for part, weight in zip(components(statistic, at), weights, strict=True):
                rows.append((weight, FIRST_ORDER, (len(first_order), -1), (-1, -1, -1)))
                first_order.append((statistic.of, part))
        elif statistic.kind in _KINDS:
            rows.append((weights[0], *coder.of(statistic)))
    gradients = coder.gradients(first_order, len(at.mean))
    return _Terms(
        np.array([row[0] for row in rows], dtype=np.float64),
        np.array([row[1] for row in rows], dtype=np.int64),
        np.array([row[2] for row in rows], dtype=np.int64).reshape(-1, 2),
        np.array([row[3] for row in rows], dtype=np.int64).reshape(-1, 3),
        np.array(list(coder.pairs), dtype=np.int64).reshape(-1, 2),
        *gradients,
    )
