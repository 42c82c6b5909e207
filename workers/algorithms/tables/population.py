"""How many persons of the population no one else resembles, estimated from a sample of it.

Notation
--------
n, N : records, persons of the population; pi = n / N the sampling fraction.
c_j : classes of j records; u = sum c_j classes.
theta, alpha : parameters of Pitman's sampling formula, alpha within [0, 1), theta > -alpha.
Pitman (Hoshino 2001): theta, alpha by maximum likelihood,
    L = sum_{i=1}^{u-1} ln(theta + i alpha) - sum_{i=1}^{n-1} ln(theta + i) + sum_j c_j sum_{i=1}^{j-1} ln(i - alpha);
    a person is alone among N with probability prod_{i=1}^{N-1} (theta + i - 1 + alpha)/(theta + i).
Zayatz (1991): classes of the population are taken to have the sizes of those of the sample; of a class of j persons
    exactly one is drawn with probability H(j) = j C(N - j, n - 1) / C(N, n); so a sample unique is alone in the
    population with probability c_1 H(1) / sum_j c_j H(j), and they are drawn at pi.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, gammaln

from surebox_core.types import FloatArray, IntArray

_STARTS: Final = ((0.01, 0.7), (1.0, 0.2))  # theta by the classes, alpha
_OPTIONS: Final = {"xatol": 1e-7, "fatol": 1e-9, "maxiter": 2000}


@dataclass(frozen=True)
class PopulationUniques:
    """Persons of the population who are alone in their class.

    Attributes
    ----------
    pitman, zayatz : estimates of their number, at most N; None where the model has none for these counts.
    """

    pitman: float | None
    zayatz: float | None


def population_uniques(size: IntArray, number: IntArray, fraction: float) -> PopulationUniques:
    """Two estimates of the population's uniques.

    Parameters
    ----------
    size, number : sizes of classes that occur, and how many classes have each.
    fraction : pi, within (0, 1].
    """
    alone = int(number[size == 1].sum())
    if alone == 0 or fraction >= 1.0:
        return PopulationUniques(float(alone), float(alone))
    records = int((size * number).sum())
    people = max(round(records / fraction), records)
    return PopulationUniques(_pitman(size, number, records, people), _zayatz(size, number, records, people))


def log_likelihood(theta: float, alpha: float, size: IntArray, number: IntArray) -> float:
    """L of Pitman's formula for the class counts c_j."""
    records, classes = int((size * number).sum()), int(number.sum())
    joined = (classes - 1) * np.log(alpha) + gammaln(theta / alpha + classes) - gammaln(theta / alpha + 1.0)
    drawn = gammaln(theta + records) - gammaln(theta + 1.0)
    within = float((number * (gammaln(size - alpha) - gammaln(1.0 - alpha))).sum())
    return float(joined - drawn) + within


def alone_probability(theta: float, alpha: float, people: int) -> float:
    """Probability that one of `people` persons is alone in their class."""
    inside = gammaln(theta + alpha + people - 1) - gammaln(theta + alpha)
    return float(np.exp(inside - gammaln(theta + people) + gammaln(theta + 1.0)))


def _pitman(size: IntArray, number: IntArray, records: int, people: int) -> float | None:
    if int(number.sum()) in {1, records}:  # all alike or all alone: the likelihood has no maximum inside
        return None

    def loss(point: FloatArray) -> float:
        value = -log_likelihood(*_parameters(point), size, number)
        return value if np.isfinite(value) else 1e300

    classes = int(number.sum())
    starts = [(np.log(max(classes * share, 1e-3)), np.log(alpha / (1.0 - alpha))) for share, alpha in _STARTS]
    fits = [minimize(loss, start, method="Nelder-Mead", options=_OPTIONS) for start in starts]
    theta, alpha = _parameters(min(fits, key=lambda one: float(one.fun)).x)
    return min(people * alone_probability(theta, alpha, people), float(people))


def _parameters(point: FloatArray) -> tuple[float, float]:
    """Theta above 0, alpha inside [1e-4, 1): smaller ones are as good as none, and cost the precision of L."""
    return float(np.exp(np.clip(point[0], -30.0, 40.0))), float(1e-4 + (1.0 - 2e-4) * expit(point[1]))


def _zayatz(size: IntArray, number: IntArray, records: int, people: int) -> float | None:
    if records >= people:
        return float(number[size == 1].sum())
    once = np.zeros(len(size))
    possible = size <= people - records + 1
    j = size[possible].astype(np.float64)
    rest = people - j
    log_choose = gammaln(rest + 1) - gammaln(records) - gammaln(rest - records + 2)
    log_all = gammaln(people + 1) - gammaln(records + 1) - gammaln(people - records + 1)
    once[possible] = j * np.exp(log_choose - log_all)
    alone = number[size == 1].sum()
    chance = alone * once[size == 1].sum() / float((number * once).sum())
    return float(min(alone * chance * people / records, people))
