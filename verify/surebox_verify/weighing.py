"""Weights of a weighed release, computed again from its boxes and from what they are said to follow from.

Notation
--------
z_b, D_b, c_b, w_b : centres, half-widths, counts and weights of the released boxes.
E, sigma, rho, A, u : `weighed_by`: moments of the centres of all boxes, uncertainty of one record, prices of shifts.
g_b : sum_i a_i(z_b) D_i(b), at these moments.  IF_b : influence of a record at z_b, not beyond ten sigma from E.
S : sqrt(sum_b c_b w_b^2).

The weights minimise sum w (g + IF u) + A sqrt(sum w^2) over sum w = 1, w >= 0 (science.md section 1, "Fuzzy weights").
So all boxes that have a weight have one and the same lambda,

    g_b + IF_b u + A w_b / S = lambda,

whatever their weights are divided by, and whatever boxes were left out: those have a cost of lambda or more.

Boxes are judged by the bounds that the records as the search sees them would have. These are the published ones, but
where a bound follows the k - 1 outermost values of a column: with `cells` and a declared domain nowhere; else in boxes
that may hold one of them. A box holds none of the least k values of a column if it begins above the end of some box,
which has k records below; likewise at the other end. Only such boxes are held against each other.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from surebox_core.adding import influence_values, uncertainties
from surebox_core.influence import Influences, influences
from surebox_core.moments import Moments
from surebox_core.statistics import OF_MOMENTS, Statistic, undefined_because
from surebox_core.types import BoolArray, FloatArray
from surebox_verify.released.boxes import ReleasedBoxes

_FARTHEST: Final = 10.0  # deviations
_NEAR: Final = 1e-7  # of the largest part of lambda that differs between boxes


def compared(boxes: ReleasedBoxes, said: Mapping[str, Any]) -> BoolArray:
    """(B,), boxes whose bounds are those that they were judged by.

    Parameters
    ----------
    boxes : of the release, no nominal columns.
    said : how the release was made: `bounds`, `domains`.
    """
    same = np.ones(len(boxes.counts), dtype=np.bool_)
    domains = said.get("domains") or {}
    for index, name in enumerate(boxes.numeric):
        if said.get("bounds") == "cells" and domains.get(name) is not None:
            continue
        low, high = boxes.lower[:, index], boxes.upper[:, index]
        same &= (low > high.min()) & (high < low.max())
    return same


def follow(boxes: ReleasedBoxes, said: Mapping[str, Any]) -> bool | None:
    """Whether the weights follow from `weighed_by`; None where there are not two boxes to see it by.

    Parameters
    ----------
    boxes : of the release, with weights and without nominal columns.
    said : how the release was made: `statistics`, `weighed_by`, `bounds`, `domains`.

    Raises
    ------
    ValueError, LookupError, TypeError
        What is said is of no weighed release of these columns.
    """
    these = compared(boxes, said)
    if boxes.weights is None or these.sum() < 2:
        return None
    by = said["weighed_by"]
    size = float(np.sqrt(boxes.counts @ boxes.weights**2))
    share = float(by["uncertainty_of_one_record"]) * boxes.weights / size
    cost = _costs(boxes, said["statistics"], by)
    if cost is None:
        return None
    level = (cost + share)[these]
    scale = max(float(np.ptp(cost[these])), float(share[these].max()))
    return bool(np.ptp(level) <= _NEAR * scale)


def _costs(boxes: ReleasedBoxes, statistics: Sequence[Mapping[str, Any]], by: Mapping[str, Any]) -> FloatArray | None:
    """(B,), g + IF u; None where no statistic has a value at these moments."""
    mean, sigma = (np.asarray(by[name], dtype=np.float64) for name in ("mean", "deviation"))
    at = Moments(
        mean, np.asarray(by["correlation"], dtype=np.float64) * np.outer(sigma, sigma), mean - sigma, mean + sigma
    )
    named = {index: _statistic(one, boxes.numeric) for index, one in enumerate(statistics)}
    steering = {index: one for index, one in named.items() if one is not None and undefined_because(one, at) is None}
    if not steering:
        return None
    field = influences(list(steering.values()), at)
    cost = uncertainties(field, boxes.centre - mean, boxes.half_width)
    return cost if by.get("prices") is None else cost + _shifts(field, boxes, sigma, list(steering), by["prices"])


def _statistic(one: Mapping[str, Any], names: Sequence[str]) -> Statistic | None:
    """A statistic of moments of these columns; None of another, which steers nothing."""
    kind, of, weight = one["kind"], one["of"], one.get("weight")
    if kind not in OF_MOMENTS or one.get("interval") is not None or not set(of) <= set(names):
        return None
    at = tuple(float(each) for each in one.get("at") or ())
    return Statistic(kind, tuple(names.index(name) for name in of), None if weight is None else float(weight), at=at)


def _shifts(
    field: Influences, boxes: ReleasedBoxes, sigma: FloatArray, places: Sequence[int], prices: Sequence[Sequence[float]]
) -> FloatArray:
    """(B,), IF u, less a constant."""
    u = np.array([price for index in places for price in prices[index]], dtype=np.float64)
    if len(u) != len(field.omega):
        msg = "prices of other statistics"
        raise ValueError(msg)
    away = _FARTHEST * sigma
    points = np.asfortranarray(np.clip(boxes.centre - field.mean, -away, away))
    values = np.column_stack([influence_values(field, points, component) for component in range(len(u))])
    return np.asarray(values @ u)
