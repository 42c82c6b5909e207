"""The statistical characteristics: values, natural scales, and gradients with respect to the moments.

Notation
--------
E, C, sigma : mean (n,), covariance (n, n), standard deviation (n,), population form (surebox_core.moments).
f : the sample form's variances and covariances are f times, its standard deviations sqrt(f) times those of the
    population form; and so are their natural scales and derivatives. All else does not depend on it: the
    natural scales of means, regressions and predictions are those of the population form.
T : one component of a statistic, a function of E and C. A regression has 1 + q components, intercept first.
x* : (q,), values of the predictors of a prediction, which is the fitted line there: E_0 + sum_q beta_q (x*_q - E_q).
g : (m,), dT/dE over the m columns of the statistic, in their order.
G : (m, m) symmetric, dT = g . dE + sum_ab G_ab dC_ab.

Every derivative of science.md section 1, "Statistics and influences", follows from g and G, because N dE_i/dx_i = 1 and
N dC_ab/dx_i = [a = i] u_b + [b = i] u_a with u = x - E:  b_i(x) = g_i + 2 sum_j G_ij u_j.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from surebox_core.errors import UndefinedStatisticError
from surebox_core.moments import Moments
from surebox_core.types import FloatArray

Kind = Literal[
    "mean",
    "variance",
    "standard_deviation",
    "covariance",
    "correlation",
    "regression",
    "prediction",
    "share",
    "crosstab",
    "domain_mean",
    "quantile",
]

_SIZES: dict[str, tuple[int, int | None]] = {
    "mean": (1, 1),
    "variance": (1, 1),
    "standard_deviation": (1, 1),
    "covariance": (2, 2),
    "correlation": (2, 2),
    "regression": (2, None),
    "prediction": (2, None),
    "share": (1, 1),
    "crosstab": (2, 2),
    "domain_mean": (2, 2),
    "quantile": (1, 1),
}
#: Places in `of` that take columns of values: nominal ones, and ordinal ones.
_OF_VALUES = {"share": (0,), "crosstab": (0, 1), "domain_mean": (1,)}
#: Kinds that take nominal columns by their indicators (readings): two values anywhere, any number as predictors.
BY_INDICATORS: Final = ("covariance", "correlation", "regression", "prediction")
_BINARY = 2
#: Statistics that are functions of E and C, the others being counts, means of domains and order statistics.
OF_MOMENTS: frozenset[Kind] = frozenset(
    ("mean", "variance", "standard_deviation", "covariance", "correlation", "regression", "prediction")
)
#: Statistics of a target and its predictors, in this order.
OF_LINES: frozenset[Kind] = frozenset(("regression", "prediction"))
_POWER = {"variance": 1.0, "covariance": 1.0, "standard_deviation": 0.5}  # of f
#: Below it derivatives of regressions and correlations overflow, and digits are lost: the column counts as constant.
LEAST_VARIANCE: Final = 1e-150
_COLLINEAR = 1e-10  # smallest eigenvalue of the predictors' correlation matrix that is distinguished from 0


@dataclass(frozen=True)
class Statistic:
    """One statistic requested.

    Attributes
    ----------
    kind : which.
    of : its columns (regression, prediction: the target first; `domain_mean`: the numeric column, then the one of
        values). Nominal columns are numbered after the numeric ones.
    weight : omega, of every number of the statistic; None for 1 over each one's natural scale.
    values : codes of the set A of a `share` or `domain_mean`; empty for every value on its own. Of an
        ordinal column they are its ranks.
    perhaps : codes of values that may be in A next to them: A contains all of `values`, and no others than both. None
        where A is `values`; a tuple, empty or not, makes empty `values` a set without a value that is in A for certain.
    p : of a `quantile`, in (0, 1).
    at : of a `prediction` x*, a number for each predictor; of a nominal one for each of its indicators.
    """

    kind: Kind
    of: tuple[int, ...]
    weight: float | None = None
    values: tuple[int, ...] = ()
    p: float | None = None
    perhaps: tuple[int, ...] | None = None
    at: tuple[float, ...] = ()


@dataclass(frozen=True)
class Component:
    """One number of a statistic at given moments: value, natural scale, g and G."""

    value: float
    scale: float
    by_mean: FloatArray
    by_covariance: FloatArray


def all_moments(columns: int) -> tuple[Statistic, ...]:
    """All means, variances and correlations of n columns: the request when nothing is."""
    singles = [Statistic(kind, (i,)) for kind in ("mean", "variance") for i in range(columns)]
    pairs = [Statistic("correlation", (i, j)) for i in range(columns) for j in range(i + 1, columns)]
    return tuple(singles + pairs)


def check_statistics(
    statistics: Sequence[Statistic],
    columns: int,
    codebooks: Sequence[int] = (),
    ranks: Sequence[int | None] = (),
    fewest: int = _BINARY,
) -> None:
    """Refuse statistics whose wording is wrong.

    Parameters
    ----------
    statistics : the request.
    columns : numeric ones.
    codebooks : number of values of each nominal column; these follow the numeric ones in `of`.
    ranks : number of values of each numeric column that is ordinal, None of the others; empty where none is.
    fewest : values that a nominal column must have where its indicator is taken; 0 where a statistic of fewer has no
        answer instead.

    Raises
    ------
    ValueError
        None requested.
    UndefinedStatisticError
        Wrong number of columns, a column twice or out of range, a weight that is negative or not finite.
    """
    if not statistics:
        msg = "at least one statistic is needed"
        raise ValueError(msg)
    values = (*ranks, *[None] * (columns - len(ranks)), *codebooks)
    for index, statistic in enumerate(statistics):
        fault = _fault(statistic, columns, codebooks) or _values_fault(statistic, columns, values)
        if fault:
            raise UndefinedStatisticError(index, statistic.kind, statistic.of, fault)
        several = _without_indicator(statistic, columns, codebooks, fewest)
        if several is not None:
            reason = f"nominal with {codebooks[several - columns]} values: it takes {_BINARY} here, as 0 and 1"
            raise UndefinedStatisticError(index, statistic.kind, statistic.of, reason, (several,))


def _values_fault(statistic: Statistic, columns: int, values: Sequence[int | None]) -> str | None:
    """The faults of the columns of a statistic, numeric or not, about its values or its p."""
    about = _OF_VALUES.get(statistic.kind, ())
    for place, column in enumerate(statistic.of):
        if column >= columns and statistic.kind in BY_INDICATORS:
            continue
        if values[column] is None if place in about else column >= columns:
            return f"column {column} of it must be {'nominal or ordinal' if place in about else 'numeric'}"
    if statistic.values and (not about or statistic.kind == "crosstab"):
        return "it takes no values"
    if any(not 0 <= v < (values[statistic.of[about[0]]] or 0) for v in (*statistic.values, *(statistic.perhaps or ()))):
        return "its values must be those of its column"
    if (statistic.kind == "quantile") != (statistic.p is not None and 0.0 < statistic.p < 1.0):
        return "it takes a p in (0, 1)" if statistic.kind == "quantile" else "it takes no p"
    return _at_fault(statistic, columns, values)


def _at_fault(statistic: Statistic, columns: int, values: Sequence[int | None]) -> str | None:
    """The faults of x*, if anything is."""
    if statistic.kind != "prediction":
        return "it is not at values" if statistic.at else None
    numbers = sum(1 if c < columns else (values[c] or 1) - 1 for c in statistic.of[1:])
    if len(statistic.at) != numbers or not np.isfinite(statistic.at).all():
        return f"it is at {numbers} finite numbers, one of each predictor"
    return None


def _without_indicator(statistic: Statistic, columns: int, codebooks: Sequence[int], fewest: int) -> int | None:
    """A nominal column that is no single number: only predictors may have several values."""
    if statistic.kind not in BY_INDICATORS:
        return None
    of = statistic.of[:1] if statistic.kind in OF_LINES else statistic.of
    return next((c for c in of if c >= columns and not fewest <= codebooks[c - columns] <= _BINARY), None)


def _fault(statistic: Statistic, numeric: int, codebooks: Sequence[int]) -> str | None:
    columns = numeric + len(codebooks)
    least, most = _SIZES[statistic.kind]
    size = len(statistic.of)
    if size < least or (most is not None and size > most):
        return f"it takes {least} columns, not {size}" if most else f"it takes at least {least} columns, not {size}"
    if len(set(statistic.of)) < size:
        return "its columns must differ"
    if any(not 0 <= i < columns for i in statistic.of):
        return f"its columns must be among 0 to {columns - 1}"
    if statistic.weight is not None and not 0.0 <= statistic.weight < np.inf:
        return "its weight must be a finite number, 0 or larger"
    return None


@dataclass(frozen=True)
class Fault:
    """What leaves a statistic undefined: columns of x, and what they are."""

    columns: tuple[int, ...]
    reason: str


def depends_on_ddof(kind: Kind) -> bool:
    """Whether a statistic's sample form differs from its population form."""
    return kind in _POWER


def undefined_because(statistic: Statistic, moments: Moments) -> Fault | None:
    """What leaves the statistic without a value or a default scale at these moments; None if nothing does."""
    if depends_on_ddof(statistic.kind) and not np.isfinite(moments.inflation):
        return Fault((), "one record has no sample form; ddof 1 takes two records or more")
    zero = [i for i in statistic.of if moments.constant[i] or not moments.covariance[i, i] > LEAST_VARIANCE]
    constant = "constant (standard deviation 0)"
    if zero and statistic.kind in ("standard_deviation", "correlation"):
        return Fault((zero[0],), constant)
    if statistic.kind in OF_LINES:
        predictors = [i for i in zero if i != statistic.of[0]]
        if predictors:
            return Fault((predictors[0],), constant)
        if _collinear(statistic, moments):
            return Fault(statistic.of[1:], "collinear")
    if zero and statistic.weight is None:
        return Fault((zero[0],), f"{constant}, so it has no natural scale; give it a weight")
    return None


def _collinear(statistic: Statistic, moments: Moments) -> bool:
    predictors = np.array(statistic.of[1:])
    sigma = moments.deviation[predictors]
    matrix = moments.covariance[np.ix_(predictors, predictors)] / np.outer(sigma, sigma)
    return bool(np.linalg.eigvalsh(matrix)[0] < _COLLINEAR)


def components(statistic: Statistic, moments: Moments) -> tuple[Component, ...]:
    """Values, natural scales and gradients of a statistic that is defined at the moments.

    Parameters
    ----------
    statistic : the request.
    moments : E and C, weighted or not.

    Returns
    -------
    tuple of Component
        One, but for a regression: intercept, then a coefficient per predictor.

    Notes
    -----
    science.md section 1, "Statistics and influences"; XK slides 3 and 7. O(q^3) for a regression with q predictors.
    """
    of = np.array(statistic.of)
    mean = moments.mean[of]
    covariance = moments.covariance[np.ix_(of, of)]
    sigma = np.sqrt(np.diag(covariance))
    if statistic.kind in OF_LINES:
        slopes = _slopes(covariance, sigma)
        at = np.array(statistic.at) if statistic.kind == "prediction" else np.zeros(len(of) - 1)
        line = _line(mean, sigma, slopes, at)
        return (line,) if statistic.kind == "prediction" else (line, *slopes)
    if statistic.kind in ("covariance", "correlation"):
        part = _pair(statistic.kind, covariance, sigma)
    else:
        part = _single(statistic.kind, mean, covariance, sigma)
    return (_inflated(part, moments.inflation ** _POWER.get(statistic.kind, 0.0)),)


def _inflated(part: Component, factor: float) -> Component:
    if factor == 1.0:
        return part
    return Component(part.value * factor, part.scale * factor, part.by_mean * factor, part.by_covariance * factor)


def _single(kind: str, mean: FloatArray, covariance: FloatArray, sigma: FloatArray) -> Component:
    variance, s = float(covariance[0, 0]), float(sigma[0])
    if kind == "mean":
        return Component(float(mean[0]), s, np.ones(1), np.zeros((1, 1)))  # b = 1
    if kind == "variance":
        return Component(variance, variance, np.zeros(1), np.ones((1, 1)))  # b = 2 (x - E)
    return Component(s, s, np.zeros(1), np.full((1, 1), 0.5 / s))  # b = (x - E) / sigma


def _pair(kind: str, covariance: FloatArray, sigma: FloatArray) -> Component:
    product = float(sigma[0] * sigma[1])
    off = np.array([[0.0, 0.5], [0.5, 0.0]])
    if kind == "covariance":
        return Component(float(covariance[0, 1]), product, np.zeros(2), off)  # b_i = x_j - E_j
    rho = float(np.clip(covariance[0, 1] / product, -1.0, 1.0))
    # b_i = [(x_j - E_j) - (C_ij / sigma_i^2)(x_i - E_i)] / (sigma_i sigma_j)
    gradient = off / product - np.diag(0.5 * rho / np.diag(covariance))
    return Component(rho, 1.0, np.zeros(2), gradient)


def _slopes(covariance: FloatArray, sigma: FloatArray) -> tuple[Component, ...]:
    """Normal equations M beta = r on C (XK slide 3): d beta = M^-1 (dr - dM beta)."""
    inverse = np.linalg.inv(covariance[1:, 1:] / np.outer(sigma[1:], sigma[1:])) / np.outer(sigma[1:], sigma[1:])
    beta = inverse @ covariance[1:, 0]
    slopes = []
    for q, row in enumerate(inverse):
        gradient = np.zeros_like(covariance)
        gradient[0, 1:] = gradient[1:, 0] = 0.5 * row
        gradient[1:, 1:] = -0.5 * (np.outer(row, beta) + np.outer(beta, row))
        slopes.append(Component(float(beta[q]), float(sigma[0] / sigma[q + 1]), np.zeros(len(sigma)), gradient))
    return tuple(slopes)


def _line(mean: FloatArray, sigma: FloatArray, slopes: Sequence[Component], at: FloatArray) -> Component:
    """The fitted line at x*, from E (XK slide 3): the intercept at 0."""
    beta = np.array([slope.value for slope in slopes])
    away = at - mean[1:]
    by_mean = np.concatenate([[1.0], -beta])
    by_covariance = sum(
        (u * slope.by_covariance for u, slope in zip(away, slopes, strict=True)), np.zeros((len(mean), len(mean)))
    )
    return Component(float(mean[0] + beta @ away), float(sigma[0]), by_mean, by_covariance)
