"""What sides of boxes cost the statistics asked, for columns of all kinds.

Notation as in core.influence and mixed.records, and
--------
p_A : share of the records with a value in A, not below k/N (nor above 1 - k/N): with fewer no box could tell it.
mu_A : mean of y among them.  f(q) : density of x at its quantile q.  h : width of the window it is estimated in.
v : design weight over its mean; all influences of a record are multiplied by it.

science.md section 5, *Influence*:
share of A : a set that has values in A and others costs omega; of one value v: omega_v wherever v is in a set of more.
cell (u, w) : in a set of the first column, on average over the records' second values, sum_w p_w omega_uw; and vice
    versa.
mean of y in A : N dC/dy = 1(A) / p_A, and a set that has values in A and others costs E|y - mu_A| / p_A.
quantile : N dC/dx = 1 / f(q) within the window about q, 0 elsewhere.
Natural scales: sqrt(p (1 - p)) of shares, sigma of y or x.
"""

from dataclasses import dataclass

import numpy as np

from surebox_verify.core.moments import Moments
from surebox_verify.core.statistics import Statistic
from surebox_verify.core.types import BoolArray, FloatArray
from workers.algorithms.boxes.sides import NominalColumn

_NORMAL = 1.06  # Silverman's width for a normal density, in deviations


@dataclass(frozen=True)
class Records:
    """Records as the costs need them.

    Attributes
    ----------
    x : (N, n), NaN where missing.
    nominal : d columns.
    share : (N,), v/N.
    at : moments of the numeric columns, pairwise where values are missing.
    least : k/N.
    survey : (N,), design weights as given; None for equal ones.
    dummies : e pairs of nominal column and value, whose indicators statistics of moments take; columns n to n + e - 1
        of `at` and of their derivatives.
    """

    x: FloatArray
    nominal: tuple[NominalColumn, ...]
    share: FloatArray
    at: Moments
    least: float
    survey: FloatArray | None = None
    dummies: tuple[tuple[int, int], ...] = ()

    @property
    def filled(self) -> FloatArray:
        """(N, n + e), numeric columns and indicators, means where a value is missing."""
        whole = embedded(self.x, self.nominal, self.dummies)
        return np.ascontiguousarray(np.where(np.isnan(whole), self.at.mean, whole))

    @property
    def codebooks(self) -> tuple[int, ...]:
        """Values of each nominal column."""
        return tuple(column.values for column in self.nominal)

    def among(self, column: int, values: tuple[int, ...]) -> BoolArray:
        """(N,), records with one of the values."""
        asked = np.zeros(self.nominal[column].values + 1, dtype=np.bool_)
        asked[list(values)] = True
        return np.asarray(asked[self.nominal[column].codes])  # -1 is the last

    def bounded(self, share: float) -> float:
        """A share that is neither too small nor too large to tell."""
        return min(max(share, self.least), max(1.0 - self.least, 0.5))


def embedded(x: FloatArray, nominal: tuple[NominalColumn, ...], dummies: tuple[tuple[int, int], ...]) -> FloatArray:
    """Numeric columns and indicators of values, NaN where missing.

    Parameters
    ----------
    x : (N, n).
    nominal : d columns.
    dummies : e pairs of a nominal column and a value of it.
    """
    indicators = [
        np.where(nominal[j].codes < 0, np.nan, (nominal[j].codes == v).astype(np.float64)) for j, v in dummies
    ]
    return np.column_stack([x, *indicators])


@dataclass(frozen=True)
class Sides:
    """Costs while they are summed, in the statistics' weighted unit; `worth` per numeric column and unit of it.

    `omega` and `deviations` hold those of each statistic's numbers (cells, values), nothing for one of moments.
    """

    value: list[FloatArray]
    score: list[list[FloatArray]]
    worth: FloatArray
    constant: FloatArray
    omega: list[list[float]]
    deviations: list[list[float]]


def sides(statistics: tuple[Statistic, ...], records: Records) -> Sides:
    """What nominal sides cost, and numeric ones beside the statistics of moments.

    Parameters
    ----------
    statistics : all that are asked; those of moments are passed over.
    records : N of them.
    """
    n = records.x.shape[1]
    per_record = any(one.kind in ("domain_mean", "quantile") for one in statistics)
    found = Sides(
        value=[np.zeros(column.values) for column in records.nominal],
        score=[[] for _ in records.nominal],
        worth=np.zeros(records.x.shape if per_record else (0, n)),
        constant=np.zeros(n),
        omega=[],
        deviations=[],
    )
    for one in statistics:
        found.omega.append([])
        found.deviations.append([])
        if one.kind == "share":
            _share(one, records, found)
        elif one.kind == "crosstab":
            _crosstab(one, records, found)
        elif one.kind == "domain_mean":
            _domain_mean(one, records, found)
        elif one.kind == "quantile":
            _quantile(one, records, found)
    return found


def _sets(one: Statistic, column: NominalColumn) -> list[tuple[int, ...]]:
    return [one.values] if one.values else [(v,) for v in range(column.values)]


def _weight(one: Statistic, scale: float) -> float:
    return (1.0 / scale if scale > 0.0 else 0.0) if one.weight is None else one.weight


def _charge(found: Sides, column: int, values: tuple[int, ...], cost: float) -> None:
    """A set that has values in A and others costs so much."""
    if len(values) == 1:
        found.value[column][values[0]] += cost
    else:
        score = np.zeros(len(found.value[column]))
        score[list(values)] = cost
        found.score[column].append(score)


def _share(one: Statistic, records: Records, found: Sides) -> None:
    column = one.of[0] - records.x.shape[1]
    for values in _sets(one, records.nominal[column]):
        p = records.bounded(float(records.share @ records.among(column, values)))
        spread = float(np.sqrt(p * (1.0 - p)))
        omega = _weight(one, spread)
        _charge(found, column, values, omega)
        found.omega[-1].append(omega)
        found.deviations[-1].append(spread)


def _crosstab(one: Statistic, records: Records, found: Sides) -> None:
    first, second = (c - records.x.shape[1] for c in one.of)
    a, b = records.nominal[first], records.nominal[second]
    both = (a.codes >= 0) & (b.codes >= 0)
    cell = a.codes[both].astype(np.int64) * b.values + b.codes[both]
    table = np.bincount(cell, weights=records.share[both], minlength=a.values * b.values).reshape(a.values, b.values)
    p = np.clip(table, records.least, max(1.0 - records.least, 0.5))
    spread = np.sqrt(p * (1.0 - p))
    omega = np.full(p.shape, one.weight * len(records.x)) if one.weight is not None else 1.0 / spread  # of a share
    found.value[first] += omega @ table.sum(axis=0)
    found.value[second] += omega.T @ table.sum(axis=1)
    found.omega[-1].extend(omega.ravel().tolist())
    found.deviations[-1].extend(spread.ravel().tolist())


def _domain_mean(one: Statistic, records: Records, found: Sides) -> None:
    y, column = one.of[0], one.of[1] - records.x.shape[1]
    values = records.x[:, y]
    known = ~np.isnan(values)
    omega = _weight(one, float(records.at.deviation[y]))
    for chosen in _sets(one, records.nominal[column]):
        inside = records.among(column, chosen) & known
        mass = float(records.share @ inside)
        p = records.bounded(mass)
        mean = float(records.share[inside] @ values[inside] / mass) if mass > 0.0 else float(records.at.mean[y])
        away = np.abs(np.where(known, values, mean) - mean)
        found.worth[inside, y] += omega / p
        _charge(found, column, chosen, omega * float(records.share @ away) / p)
        found.omega[-1].append(omega)
        found.deviations[-1].append(float(np.sqrt(records.share[inside] @ away[inside] ** 2)) / p)


def _quantile(one: Statistic, records: Records, found: Sides) -> None:
    column, p = one.of[0], float(one.p or 0.5)
    values = records.x[:, column]
    known = np.flatnonzero(~np.isnan(values))
    if len(known) == 0:  # the column was given up: there is nothing to keep narrow
        found.omega[-1].append(_weight(one, 0.0))
        found.deviations[-1].append(0.0)
        return
    order = known[np.argsort(values[known], kind="stable")]
    mass = np.cumsum(records.share[order])
    q = values[order[min(int(np.searchsorted(mass, p * mass[-1])), len(order) - 1)]]
    sigma = float(records.at.deviation[column])
    h = _NORMAL * sigma * len(known) ** -0.2
    near = known[np.abs(values[known] - q) <= h]
    density = float(records.share[near].sum()) / (2.0 * h) if h > 0.0 else 0.0
    omega = _weight(one, sigma)
    if density > 0.0:
        found.worth[near, column] += omega / density
    found.omega[-1].append(omega)
    found.deviations[-1].append(float(np.sqrt(p * (1.0 - p))) / density if density > 0.0 else 0.0)
