"""Costs of all columns for the partition, in one unit, and what the boxes that it made cost.

Notation as in boxes.charges.
"""

from dataclasses import replace

import numpy as np

from surebox_core.influence import Influences, absolute_influences, influence_deviations, influence_squares
from surebox_core.statistics import Statistic
from surebox_core.types import FloatArray, SingleArray
from workers.algorithms.boxes.charges import ChargedRecords, Sides
from workers.algorithms.boxes.partition.arranging import Costs
from workers.algorithms.boxes.sides import Boxes

_SMALL = 1e-30  # near the end of float32


def named(statistics: tuple[Statistic, ...]) -> set[int]:
    """Columns that some statistic names."""
    return {column for one in statistics for column in one.of}


def with_floor(
    charges: Sides, field: Influences, statistics: tuple[Statistic, ...], records: ChargedRecords, floor: float
) -> Sides:
    """The same with columns that no statistic names at a share of the least that is named, in natural scales.

    Parameters
    ----------
    charges : from `sides`.
    field : of the statistics of moments.
    statistics, records : as for `sides`.
    floor : share; 0 leaves such columns whole.
    """
    if floor == 0.0:
        return charges
    charges = replace(charges, value=[value.copy() for value in charges.value], constant=charges.constant.copy())
    n, of = records.x.shape[1], named(statistics)
    sigma = records.at.deviation[:n]
    filled = records.filled
    scale = _within_singles(
        field.bound(np.maximum(records.at.mean - records.at.low, records.at.high - records.at.mean))
    )
    worth = (absolute_influences(field, filled, scale).mean(axis=0, dtype=np.float64) / scale)[:n]
    if len(charges.worth):
        worth = worth + charges.worth.mean(axis=0)
    spread = [_spread(records, n + j) for j in range(len(records.nominal))]
    sizes = [float(worth[i] * sigma[i]) for i in of if i < n]
    for j in (i - n for i in of if i >= n):
        costs = charges.value[j] * spread[j]
        sizes += costs[costs > 0.0].tolist() + [float(np.ptp(score)) for score in charges.score[j]]
    least = min((size for size in sizes if size > 0.0), default=0.0)
    for i in range(n + len(records.nominal)):
        if i in of:
            continue
        if i >= n:
            charges.value[i - n] += floor * least / spread[i - n]
        elif sigma[i] > 0.0:
            charges.constant[i] = floor * least / sigma[i]
    return charges


def _within_singles(bound: FloatArray) -> FloatArray:
    """Factors that bring numbers up to `bound` into the range of float32, (n,); 1 where they are."""
    scale = np.ones(len(bound))
    far = (bound > 0.0) & ((bound < _SMALL) | (bound > 1.0 / _SMALL))
    scale[far] = 1.0 / bound[far]
    return scale


def _spread(records: ChargedRecords, column: int) -> FloatArray:
    """Deviation of the indicator of each value of a column."""
    p = np.array([records.bounded(mass) for mass in records.masses(column).tolist()])
    return np.asarray(np.sqrt(p * (1.0 - p)))


def costs(charges: Sides, field: Influences, records: ChargedRecords, *, weighted: bool) -> tuple[Costs, float]:
    """All of it for the partition, in one unit.

    Parameters
    ----------
    charges, field : from `sides` and of the statistics of moments.
    records : N of them.
    weighted : whether records have design weights.

    Returns
    -------
    costs, unit
        A cost of 1 is `unit` of the weighted statistics.
    """
    at, n = records.at, records.x.shape[1]
    extent = at.high - at.low
    span = np.maximum(at.mean - at.low, at.high - at.mean)
    size = (field.bound(span) * extent)[:n] + charges.constant * extent[:n]
    if len(charges.worth):
        size = size + charges.worth.max(axis=0) * extent[:n]
    unit = max(float(size.max(initial=0.0)), max((float(v.sum()) for v in charges.value), default=0.0))
    unit = unit if unit > 0.0 else 1.0
    scale = extent / unit
    mass = (records.share * len(records.x)).astype(np.float32) if weighted else np.empty(0, np.float32)
    worth: FloatArray | SingleArray = (field.constants[:n] + charges.constant) * scale[:n]
    value = [each.copy() for each in charges.value]
    if weighted or len(charges.worth) or not field.constant:
        per = absolute_influences(field, records.filled, scale)
        for place, (j, v) in enumerate(records.dummies):
            value[j][v] += unit * float(per[:, n + place].mean(dtype=np.float64))  # an indicator's range is 1
        per = np.ascontiguousarray(per[:, :n])
        per += (charges.constant * scale[:n]).astype(np.float32)
        if len(charges.worth):
            per += (charges.worth * scale[:n]).astype(np.float32)
        if weighted:
            per *= mass[:, None]
        worth = per
    return (
        Costs(
            worth=worth,
            omega=tuple(each / unit for each in value),
            scores=tuple(
                np.array(score).reshape(len(score), len(each)) / unit
                for each, score in zip(value, charges.score, strict=True)
            ),
            mass=mass,
        ),
        unit,
    )


def nominal_uncertainty(charges: Sides, boxes: Boxes, share: FloatArray) -> float:
    """What the sets of boxes add to the privacy uncertainty.

    Parameters
    ----------
    charges : from `sides`.
    boxes : the sets.
    share : (B,), mass of each box over all.

    Notes
    -----
    science.md section 5, "Influence": a record in S adds half of what S costs.
    """
    total = np.zeros(len(share))
    for sets, value, scores in zip(boxes.sets, charges.value, charges.score, strict=True):
        several = sets.sum(axis=1) > 1
        total += np.where(several, sets @ value, 0.0)
        for score in scores:
            most = np.where(sets, score, -np.inf).max(axis=1)
            least = np.where(sets, score, np.inf).min(axis=1)
            total += np.where(several, most - least, 0.0)
    return float(0.5 * (share @ total))


def deviations(charges: Sides, field: Influences, records: ChargedRecords) -> tuple[FloatArray, FloatArray]:
    """Weights and standard deviations of the influence functions of all numbers requested, those of moments first."""
    own = influence_deviations(influence_squares(field, records.filled), len(records.x))
    omega = [number for numbers in charges.omega for number in numbers]
    beside = [number for numbers in charges.deviations for number in numbers]
    return np.concatenate([field.omega, omega]), np.concatenate([own, beside])
