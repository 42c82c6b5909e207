"""What sides of boxes cost the statistics requested, for columns of all kinds.

Notation as in surebox_core.influence and partition.arrays, and
--------
p_A : share of the records with a value in A, not below k/N (nor above 1 - k/N): with fewer no box could reveal it.
mu_A : mean of y among them.  f(q) : density of x at its quantile q.  h : width of the window it is estimated in.
v : design weight over its mean; all influences of a record are multiplied by it.

science.md section 5, "Influence":
of a nominal column
share of A : a set that has values in A and others costs omega; of one value v: omega_v wherever v is in a set of more.
cell (u, w) : in a set of the first column, on average over the records' second values, sum_w p_w omega_uw; and vice
    versa.
mean of y in A : N dC/dy = 1(A) / p_A, and a set that has values in A and others costs E|y - mu_A| / p_A; mu_A on a
    multiple of sigma / 4 and E|y - mu_A| on a rung (boxes.deciding).
quantile : N dC/dx = 1 / f(q) within the window about q, 0 elsewhere.
of an ordinal column, whose sides are ranges of values v, which count as x(v): the influence is a function b(v), and a
    range costs by how far b moves along it. To first order that is |b(v) - b(v')| / |x(v) - x(v')| to the neighbouring
    value v' that moves the statistic's numbers most, all summed, per unit of x:
    omega |1_A(v) - 1_A(v')| for the share of A, times |y - mu_A| / p_A for the mean of y in A, and
    omega_vw + omega_v'w for cells, w being the record's other value. For a range of two values it is exact.
Natural scales: sqrt(p (1 - p)) of shares, sigma of y or x.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.ladder import rung_from
from surebox_core.moments import Moments
from surebox_core.statistics import Statistic
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.boxes.deciding import stepped
from workers.algorithms.boxes.sides import NominalColumn

_NORMAL = 1.06  # Silverman's width for a normal density, in deviations


@dataclass(frozen=True)
class ChargedRecords:
    """Records as the costs need them.

    Attributes
    ----------
    x : (N, n), NaN where missing.
    nominal : d columns.
    share : (N,), v/N.
    at : moments of the numeric columns, pairwise where values are missing.
    least : k/N.
    survey : (N,), design weights as given; None for equal ones.
    labels : (n,), x(v) of the values of each numeric column that is ordinal, ascending; None of the others. Empty where
        none is.
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
    labels: tuple[tuple[float, ...] | None, ...] = ()

    @property
    def filled(self) -> FloatArray:
        """(N, n + e), numeric columns and indicators, means where a value is missing."""
        whole = embedded(self.x, self.nominal, self.dummies)
        missing = np.isnan(whole)
        return np.ascontiguousarray(np.where(missing, self.at.mean, whole) if missing.any() else whole)

    @property
    def codebooks(self) -> tuple[int, ...]:
        """Values of each nominal column."""
        return tuple(column.values for column in self.nominal)

    def size(self, column: int) -> int:
        """Values of a nominal or an ordinal column, numbered among all."""
        n = self.x.shape[1]
        return self.nominal[column - n].values if column >= n else len(self.labels[column] or ())

    def codes(self, column: int) -> IntArray:
        """(N,), which of its values each record has; -1 where it is missing."""
        n = self.x.shape[1]
        if column >= n:
            return np.asarray(self.nominal[column - n].codes, dtype=np.int64)
        x = self.x[:, column]
        return np.where(np.isnan(x), -1, np.searchsorted(self.labels[column] or (), x)).astype(np.int64)

    def apart(self, column: int) -> FloatArray:
        """(m - 1,), how far the neighbouring values of an ordinal column are apart."""
        return np.diff(np.array(self.labels[column] or ()))

    def among(self, column: int, values: tuple[int, ...]) -> BoolArray:
        """(N,), records with one of the values."""
        wanted = np.zeros(self.size(column) + 1, dtype=np.bool_)
        wanted[list(values)] = True
        return np.asarray(wanted[self.codes(column)])  # -1 is the last

    def masses(self, column: int) -> FloatArray:
        """Share of the records that have each value of a nominal or an ordinal column."""
        counted = np.bincount(self.codes(column) + 1, self.share, self.size(column) + 1)
        return counted[1:].astype(np.float64)  # the first is of those where it is missing

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
    if not dummies:
        return x
    indicators = [
        np.where(nominal[j].codes < 0, np.nan, (nominal[j].codes == v).astype(np.float64)) for j, v in dummies
    ]
    return np.column_stack([x, *indicators])


@dataclass(frozen=True)
class Sides:
    """Costs while they are summed, in the statistics' weighted unit; `worth` per numeric column and unit of it.

    `omega` and `deviations` contain those of each statistic's numbers (cells, values), nothing for one of moments.
    """

    value: list[FloatArray]
    score: list[list[FloatArray]]
    worth: FloatArray
    constant: FloatArray
    omega: list[list[float]]
    deviations: list[list[float]]


def sides(statistics: tuple[Statistic, ...], records: ChargedRecords) -> Sides:
    """What nominal sides cost, and numeric ones next to the statistics of moments.

    Parameters
    ----------
    statistics : all that are requested; those of moments are passed over.
    records : N of them.
    """
    n = records.x.shape[1]
    per_record = any(
        one.kind in ("domain_mean", "quantile")
        or (one.kind in ("share", "crosstab") and any(column < n for column in one.of))
        for one in statistics
    )
    charges = Sides(
        value=[np.zeros(column.values) for column in records.nominal],
        score=[[] for _ in records.nominal],
        worth=np.zeros(records.x.shape if per_record else (0, n)),
        constant=np.zeros(n),
        omega=[],
        deviations=[],
    )
    for one in statistics:
        charges.omega.append([])
        charges.deviations.append([])
        if one.kind == "share":
            _share(one, records, charges)
        elif one.kind == "crosstab":
            _crosstab(one, records, charges)
        elif one.kind == "domain_mean":
            _domain_mean(one, records, charges)
        elif one.kind == "quantile":
            _quantile(one, records, charges)
    return charges


def _sets(one: Statistic, records: ChargedRecords) -> list[tuple[int, ...]]:
    return [one.values] if one.values else [(v,) for v in range(records.size(one.of[-1]))]


def _weight(one: Statistic, scale: float) -> float:
    return (1.0 / scale if scale > 0.0 else 0.0) if one.weight is None else one.weight


def _charge(charges: Sides, column: int, values: tuple[int, ...], cost: float) -> None:
    """A set that has values in A and others costs so much."""
    if len(values) == 1:
        charges.value[column][values[0]] += cost
    else:
        score = np.zeros(len(charges.value[column]))
        score[list(values)] = cost
        charges.score[column].append(score)


def _step(records: ChargedRecords, column: int, values: tuple[int, ...]) -> FloatArray:
    """Mark where an ordinal column leaves or enters a set: 1 between such neighbouring values, else 0."""
    inside = np.zeros(records.size(column))
    inside[list(values)] = 1.0
    return np.abs(np.diff(inside))


def _charge_steps(
    charges: Sides, records: ChargedRecords, column: int, costs: list[tuple[FloatArray, float | FloatArray]]
) -> None:
    """Steps between an ordinal column's values, and what they cost a record: one number, or one for each."""
    codes, apart = records.codes(column), records.apart(column)
    below, above = np.zeros(len(codes)), np.zeros(len(codes))
    for step, cost in costs:
        below += cost * np.append(0.0, step / apart)[codes]
        above += cost * np.append(step / apart, 0.0)[codes]
    charges.worth[:, column] += np.where(codes < 0, 0.0, np.maximum(below, above))


def _share(one: Statistic, records: ChargedRecords, charges: Sides) -> None:
    column, n = one.of[0], records.x.shape[1]
    step = np.zeros(max(records.size(column) - 1, 0))
    masses = records.masses(column)
    for values in _sets(one, records):
        p = records.bounded(float(masses[list(values)].sum()))
        spread = float(np.sqrt(p * (1.0 - p)))
        omega = _weight(one, spread)
        if column < n:
            step += omega * _step(records, column, values)
        else:
            _charge(charges, column - n, values, omega)
        charges.omega[-1].append(omega)
        charges.deviations[-1].append(spread)
    if column < n:
        _charge_steps(charges, records, column, [(step, 1.0)])


def _crosstab(one: Statistic, records: ChargedRecords, charges: Sides) -> None:
    a, b = (records.codes(column) for column in one.of)
    sizes = records.size(one.of[0]), records.size(one.of[1])
    both = (a >= 0) & (b >= 0)
    cell = a[both] * sizes[1] + b[both]
    table = np.bincount(cell, weights=records.share[both], minlength=sizes[0] * sizes[1]).reshape(sizes)
    p = np.clip(table, records.least, max(1.0 - records.least, 0.5))
    spread = np.sqrt(p * (1.0 - p))
    omega = np.full(p.shape, one.weight * len(records.x)) if one.weight is not None else 1.0 / spread  # of a share
    _charge_cells(charges, records, one.of[0], omega, b, table.sum(axis=0))
    _charge_cells(charges, records, one.of[1], omega.T, a, table.sum(axis=1))
    charges.omega[-1].extend(omega.ravel().tolist())
    charges.deviations[-1].extend(spread.ravel().tolist())


def _charge_cells(
    charges: Sides, records: ChargedRecords, column: int, omega: FloatArray, other: IntArray, shares: FloatArray
) -> None:
    """One column of a cross-table; `omega` of its values against the other's, whose codes and shares are given."""
    n = records.x.shape[1]
    if column >= n:
        charges.value[column - n] += omega @ shares
        return
    step = (omega[1:] + omega[:-1]) / records.apart(column)[:, None]
    nothing = np.zeros((1, omega.shape[1]))
    steep = np.maximum(np.vstack([step, nothing]), np.vstack([nothing, step]))
    codes = records.codes(column)
    known = (codes >= 0) & (other >= 0)
    charges.worth[known, column] += steep[codes[known], other[known]]


def _domain_mean(one: Statistic, records: ChargedRecords, charges: Sides) -> None:
    y, column, n = one.of[0], one.of[1], records.x.shape[1]
    values = records.x[:, y]
    known = ~np.isnan(values)
    omega = _weight(one, float(records.at.deviation[y]))
    ranked: list[tuple[FloatArray, float | FloatArray]] = []
    for chosen in _sets(one, records):
        inside = records.among(column, chosen) & known
        mass = float(records.share @ inside)
        p = records.bounded(mass)
        mean = float(records.share[inside] @ values[inside] / mass) if mass > 0.0 else float(records.at.mean[y])
        mean = stepped(mean, float(records.at.deviation[y]))
        away = np.abs(np.where(known, values, mean) - mean)
        charges.worth[inside, y] += omega / p
        if column < n:
            ranked.append((_step(records, column, chosen), omega * away / p))
        else:
            _charge(charges, column - n, chosen, omega * rung_from(float(records.share @ away)) / p)
        charges.omega[-1].append(omega)
        charges.deviations[-1].append(float(np.sqrt(records.share[inside] @ away[inside] ** 2)) / p)
    if ranked:
        _charge_steps(charges, records, column, ranked)


def _quantile(one: Statistic, records: ChargedRecords, charges: Sides) -> None:
    column, p = one.of[0], float(one.p or 0.5)
    values = records.x[:, column]
    known = np.flatnonzero(~np.isnan(values))
    if len(known) == 0:  # the column was given up: there is nothing to keep narrow
        charges.omega[-1].append(_weight(one, 0.0))
        charges.deviations[-1].append(0.0)
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
        charges.worth[near, column] += omega / density
    charges.omega[-1].append(omega)
    charges.deviations[-1].append(float(np.sqrt(p * (1.0 - p))) / density if density > 0.0 else 0.0)
