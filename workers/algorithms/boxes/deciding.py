"""Moments that decide: of winsorized records, on rungs; and the derivatives of statistics there.

Notation
--------
x : (N, n), records, NaN where missing.
m : max(k, 0.5 % of the records, or persons, that have a value of the column).
E, C, sigma, rho : as in surebox_core.moments, over records whose values beyond the m-th from an end count as it.

Natural scales and influences go into every cut, so they state about all boxes what one record does to them. Winsorized,
they are the same wherever the m - 1 outermost of a column are beyond the m-th; on rungs, any other record moves them
rarely, and then by a rung (science.md section 4, "Moments on rungs"):

- sigma : the lowest rung of the ladder that is not below it, ten to a decade;
- E : the nearest multiple of sigma / 4;
- rho : the nearest multiple of 1/16, at most 15/16 in size; eigenvalues of the matrix below 1/32 become 1/32, and its
  diagonal 1 again;
- of a column that winsorizing leaves constant sigma is the width of its declared domain. Where none is declared, it has
  no natural scale: statistics of it have no default weight, and count with a weight that was given.

E and C have signs: no ladder of ratios contains them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from surebox_core.influence import Influences, influences
from surebox_core.ladder import SMALLEST, rung_from
from surebox_core.moments import Moments
from surebox_core.statistics import Statistic
from surebox_core.types import BoolArray, FloatArray, IndexArray
from workers.algorithms.core.winsorized import tail, winsorized

_MEAN_STEPS = 4.0  # of a mean, in a deviation
_CORRELATION_STEPS = 16.0
_LEAST_EIGENVALUE = 1.0 / 32.0


def tempered(x: FloatArray, k: int, persons: IndexArray) -> FloatArray:
    """Records of which moments are taken.

    Parameters
    ----------
    x : (N, n), NaN where missing.
    k : least records, or persons, of a box.
    persons : (N,), or empty where records count.

    Returns
    -------
    (N, n) float64
    """
    table = np.empty(x.shape)
    for i in range(x.shape[1]):
        known = ~np.isnan(x[:, i])
        own = int(np.count_nonzero(known)) if len(persons) == 0 else len(np.unique(persons[known]))
        table[:, i] = winsorized(x[:, i : i + 1], tail(k, own), persons)[:, 0]
    return table


def on_rungs(at: Moments, domains: Sequence[tuple[float, float] | None]) -> Moments:
    """Moments rounded as the notation states; sigma is 0 in a column that has no scale.

    Parameters
    ----------
    at : of the tempered records; columns beyond the domains (indicators of values) are 0 or 1.
    domains : declared ends of each numeric column, or None; an empty list where none is declared.
    """
    n = len(at.mean)
    declared = [*domains, *[None] * (n - len(domains))] if domains else [None] * n
    sigma = np.array([_scale(float(s), d) for s, d in zip(_deviations(at), declared, strict=True)])
    mean = np.array([stepped(float(e), float(s)) for e, s in zip(at.mean, sigma, strict=True)])
    rho = _correlations(at)
    return Moments(mean, rho * np.outer(sigma, sigma), at.low, at.high, at.inflation)


def stepped(mean: float, sigma: float) -> float:
    """A mean on the nearest multiple of sigma / 4; as it is where sigma is 0, which it is of a constant column."""
    step = sigma / _MEAN_STEPS
    return float(np.rint(mean / step)) * step if step > 0.0 else mean


def _deviations(at: Moments) -> FloatArray:
    return np.where(at.constant, 0.0, at.deviation)


def _scale(deviation: float, domain: tuple[float, float] | None) -> float:
    """Sigma on its rung."""
    if deviation <= SMALLEST:
        deviation = 0.0 if domain is None else domain[1] - domain[0]
    return rung_from(deviation) if deviation > SMALLEST else 0.0


def _correlations(at: Moments) -> FloatArray:
    """Rho on its steps, of a matrix that some data have."""
    sigma = _deviations(at)
    varies = sigma > 0.0
    spread = np.where(varies, sigma, 1.0)
    rho = np.rint(at.covariance / spread[:, None] / spread[None, :] * _CORRELATION_STEPS) / _CORRELATION_STEPS
    most = 1.0 - 1.0 / _CORRELATION_STEPS
    rho = np.clip(np.where(np.outer(varies, varies), rho, 0.0), -most, most)
    np.fill_diagonal(rho, 1.0)
    values, vectors = np.linalg.eigh(rho)
    if len(values) and values[0] < _LEAST_EIGENVALUE:
        rho = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
        size = np.sqrt(np.diag(rho))
        rho = 0.5 * (rho + rho.T) / np.outer(size, size)
        np.fill_diagonal(rho, 1.0)
    return rho


def deciding_influences(statistics: Sequence[Statistic], at: Moments) -> Influences:
    """Derivatives of the statistics at moments on rungs: of all of them, whatever the records are.

    Parameters
    ----------
    statistics : of moments; `owner` counts among them.
    at : from `on_rungs`.

    Raises
    ------
    UndefinedStatisticError
        The wording of a statistic is wrong, or one record has no sample form.

    Notes
    -----
    Which statistics the records leave undefined is not requested here: that would reveal a column of one value from one
    in which a single record differs. It follows from the published bounds.
    """
    lacking = at.deviation == 0.0
    weighed = [
        replace(one, weight=0.0) if one.weight is None and lacking[list(one.of)].any() else one for one in statistics
    ]
    return influences(weighed, _defined(at, lacking))


def mean_shares(
    statistics: Sequence[Statistic], k: int, rounding: float, steps: Sequence[float | None]
) -> FloatArray | None:
    """Of each statistic the share of its weight that cuts count; None where that is all of every one.

    Parameters
    ----------
    statistics : all that are requested.
    k : least records of a box.
    rounding : rho of rounded means; 0 where boxes have no means.
    steps : of each numeric column the number whose multiples its values are, None for any numbers; empty where nothing
        is known of any.

    Notes
    -----
    Where boxes have means, the range of a mean is as wide as these are, so a side w adds rho w / k at most in the place
    of w, of multiples of a step twice that, where a person has one row. A mean keeps its weight in a column that
    another statistic names, where it holds sides together at values of little influence; and where nothing but means is
    requested.
    """
    others = {column for one in statistics if one.kind != "mean" for column in one.of}
    if rounding == 0.0 or not others:
        return None
    shares = [1.0] * len(statistics)
    for place, one in enumerate(statistics):
        if one.kind == "mean" and one.of[0] not in others:
            is_stepped = bool(steps) and steps[one.of[0]] is not None
            shares[place] = min(1.0, (2.0 if is_stepped else 1.0) * rounding / k)
    return np.array(shares) if min(shares) < 1.0 else None


def weighed(field: Influences, shares: FloatArray | None) -> Influences:
    """The influences with shares of their statistics' weights.

    Parameters
    ----------
    field : of statistics.
    shares : from `mean_shares`.
    """
    return field if shares is None else replace(field, omega=field.omega * shares[field.owner])


def _defined(at: Moments, lacking: BoolArray) -> Moments:
    """The same with a deviation of 1 where there is none: without a default weight it is worth nothing anyway."""
    sigma = np.where(lacking, 1.0, at.deviation)
    covariance = at.covariance + np.diag(np.where(lacking, 1.0, 0.0))
    return Moments(at.mean, covariance, at.mean - sigma, at.mean + sigma, at.inflation)
