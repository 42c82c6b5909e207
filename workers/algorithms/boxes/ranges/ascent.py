"""What a statistic reaches on data consistent with the boxes: alternating ascent over the boxes' vertices.

Notation
--------
z : (B, m), the value that all records of box b take in the statistic's columns; within the boxes throughout.
b_i : N dT/dx_i at z, from the gradient in the moments (core.statistics).

Given the other columns, a covariance is linear in one column: its best value is the vertex by the sign of b_i, and the
alternation climbs. For correlation and regression the vertex is a proposal, shortened until it climbs. Whatever is
found is reached, so it bounds the range from inside; it need not be the largest.
"""

from dataclasses import dataclass

import numpy as np

from workers.algorithms.core.moments import Moments
from workers.algorithms.core.rounding import Interval
from workers.algorithms.core.statistics import Component, Statistic, components, undefined_because
from workers.algorithms.core.types import FloatArray

_ROUNDS = 12
_MANY = 200_000  # boxes from which a third of the rounds must do: the first ones find nearly all
_STEPS = (1.0, 0.5, 0.125)
_GAIN = 1e-12


def reached(
    statistic: Statistic, lower: FloatArray, upper: FloatArray, counts: FloatArray
) -> tuple[Interval | None, ...]:
    """Ranges of a statistic's components that some data consistent with the boxes reach.

    Parameters
    ----------
    statistic : what is asked.
    lower, upper : (B, n), bounds of the boxes.
    counts : (B,), records in each.

    Returns
    -------
    tuple of Interval or None
        None for all components where the statistic is undefined at the boxes' centres.

    Notes
    -----
    science.md section 1, "inner by alternating vertex ascent". O(B m^2) per round and column.
    """
    of = np.array(statistic.of)
    local = Statistic(statistic.kind, tuple(range(len(of))), 1.0)
    low, high = np.asfortranarray(lower[:, of]), np.asfortranarray(upper[:, of])
    start = _at_centres(low, high, counts / counts.sum())
    if undefined_because(local, _moments(start)):
        return (None,) * (len(of) if statistic.kind == "regression" else 1)
    found = []
    for index in range(len(components(local, _moments(start)))):
        most = _climb(local, index, 1.0, start, (low, high))
        least = _climb(local, index, -1.0, start, (low, high))
        found.append(Interval(-least, most))
    return tuple(found)


@dataclass(frozen=True)
class _Point:
    """Data consistent with the boxes: share of records and centred values (B, m), mean and covariance."""

    share: FloatArray
    u: FloatArray
    mean: FloatArray
    covariance: FloatArray


def _at_centres(low: FloatArray, high: FloatArray, share: FloatArray) -> _Point:
    z = 0.5 * low + 0.5 * high
    mean = share @ z
    u = np.asfortranarray(z - mean)
    return _Point(share, u, mean, (share[:, None] * u).T @ u)


def _moved(point: _Point, i: int, values: FloatArray) -> _Point:
    """Replace column i; only its row of the covariance changes. O(B m)."""
    mean = float(point.share @ values)
    column = values - mean
    u = point.u.copy(order="F")
    u[:, i] = column
    row = (point.share * column) @ u
    covariance = point.covariance.copy()
    covariance[i, :] = covariance[:, i] = row
    means = point.mean.copy()
    means[i] = mean
    return _Point(point.share, u, means, covariance)


def _moments(point: _Point) -> Moments:
    spread = np.sqrt(np.diag(point.covariance))
    return Moments(point.mean, point.covariance, point.mean - spread, point.mean + spread)


def _climb(statistic: Statistic, index: int, sign: float, point: _Point, boxes: tuple[FloatArray, FloatArray]) -> float:
    """Largest value of sign times the component that the alternation finds."""
    low, high = boxes
    part = components(statistic, _moments(point))[index]
    for _ in range(_ROUNDS if len(low) < _MANY else _ROUNDS // 3):
        before = part.value
        for i in range(len(point.mean)):
            slope = part.by_mean[i] + 2.0 * (point.u @ part.by_covariance[i])
            here = point.u[:, i] + point.mean[i]
            vertex = np.where(sign * slope > 0.0, high[:, i], low[:, i])
            for step in _STEPS:
                trial = _moved(point, i, here + step * (vertex - here))
                option = _component(statistic, index, trial)
                if option is not None and sign * (option.value - part.value) > 0.0:
                    point, part = trial, option
                    break
        if sign * (part.value - before) <= _GAIN * abs(before):
            break
    return sign * part.value


def _component(statistic: Statistic, index: int, point: _Point) -> Component | None:
    at = _moments(point)
    if undefined_because(statistic, at) is not None:
        return None
    return components(statistic, at)[index]
