"""Regression coefficients from the certain facts about the moments, where of the boxes' weights intervals are known.

Notation
--------
C : covariances of the predictors, c : with the target; each within its certain range (science.md section 1, "Guaranteed
    ranges").
beta : the solution of C beta = c.  R : the inverse of C at the middle of the ranges.

beta = R c + (I - R C) beta. Where the largest row sum rho of |I - R C| over the ranges is below 1, every |beta_i| is at
most b = max |R c| / (1 - rho), and beta is within R c +- |I - R C| b: certain, and no more than outer, since entries
are taken as if they were free of each other. Where rho is not below 1 nothing is proven.
"""

from collections.abc import Generator, Sequence

import numpy as np

from surebox_core.intervals import Interval
from surebox_core.types import FloatArray
from surebox_verify.ranges.column import BoxColumn
from surebox_verify.ranges.guaranteed import Range, certain, combine
from surebox_verify.ranges.pairs import covariance_work
from surebox_verify.ranges.steps import Work

_ROUNDED = 1e-9  # of the largest term: far above the rounding of sums of a few products


def moment_regression_work(columns: tuple[BoxColumn, ...], effort: int) -> Work:
    """Ranges of the intercept and the coefficients; as `moment_coefficients`."""
    coefficients = yield from moment_coefficients(columns, effort)
    if coefficients is None:
        return (combine(None, None),) * len(columns)
    intercept = _line(columns, coefficients, (0.0,) * len(coefficients))
    ranges: tuple[Range, ...] = tuple(combine(each, None) for each in (intercept, *coefficients))
    return ranges


def moment_prediction_work(columns: tuple[BoxColumn, ...], at: tuple[float, ...], effort: int) -> Work:
    """Range of the fitted line at given values of the predictors, in their units; as `moment_coefficients`."""
    coefficients = yield from moment_coefficients(columns, effort)
    return (combine(None if coefficients is None else _line(columns, coefficients, at), None),)


def _line(columns: tuple[BoxColumn, ...], coefficients: Sequence[Interval], at: tuple[float, ...]) -> Interval:
    """E_0 + sum_q beta_q (x*_q - E_q), each within its range."""
    line = certain(columns[0].mean.outer)
    for slope, x, value in zip(coefficients, columns[1:], at, strict=True):
        line = line - slope * (certain(x.mean.outer) - Interval(value, value))
    return line


def moment_coefficients(columns: tuple[BoxColumn, ...], effort: int) -> Generator[int, None, list[Interval] | None]:
    """Ranges of the coefficients, None where nothing is proven; yields passes over the boxes as they are made.

    Parameters
    ----------
    columns : the target, then its predictors.
    effort : passes that each covariance may cost, about.

    Notes
    -----
    science.md section 5, "Weights of a survey". As many covariances as pairs of columns.
    """
    n = len(columns)
    low, high = np.zeros((n, n)), np.zeros((n, n))
    scale = np.array([max(certain(each.variance.outer).upper, 0.0) for each in columns]) ** 0.5
    if not (scale[1:] > 0.0).all():
        return None
    scale[0] = scale[0] or 1.0
    for i in range(n):
        variance = certain(columns[i].variance.outer)
        low[i, i], high[i, i] = variance.lower, variance.upper
        for j in range(i):
            (pair,) = yield from covariance_work(columns[i], columns[j], max(effort // (n * n), 16))
            outer = certain(pair.outer)
            low[i, j] = low[j, i] = outer.lower
            high[i, j] = high[j, i] = outer.upper
    unit = np.outer(scale, scale)
    slopes = _solved(
        low[1:, 1:] / unit[1:, 1:], high[1:, 1:] / unit[1:, 1:], low[1:, 0] / unit[1:, 0], high[1:, 0] / unit[1:, 0]
    )
    if slopes is None:
        return None
    back = scale[0] / scale[1:]
    return [
        Interval(a * s, b * s) for a, b, s in zip(slopes[0].tolist(), slopes[1].tolist(), back.tolist(), strict=True)
    ]


def _solved(
    low: FloatArray, high: FloatArray, target_low: FloatArray, target_high: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Bounds of beta; None where C may be singular."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    try:
        inverse = np.linalg.inv(middle)
    except np.linalg.LinAlgError:
        return None
    rest = np.abs(np.eye(len(middle)) - inverse @ middle) + np.abs(inverse) @ half
    rest = rest * (1.0 + _ROUNDED) + _ROUNDED * np.abs(inverse).sum() * 1e-6
    rho = float(rest.sum(axis=1).max())
    if not rho < 1.0:
        return None
    at = inverse @ (0.5 * (target_low + target_high))
    play = np.abs(inverse) @ (0.5 * (target_high - target_low))
    largest = float((np.abs(at) + play).max()) / (1.0 - rho) * (1.0 + _ROUNDED)
    reach = (play + rest.sum(axis=1) * largest) * (1.0 + _ROUNDED) + _ROUNDED * np.abs(at) * 1e-3
    return at - reach, at + reach
