"""Which boxes are left out, and what the others weigh, by what they are judged by (rare.rarity).

Notation as in rare.rarity and rare.balance.
"""

from dataclasses import dataclass, replace

import numpy as np

from surebox_core.adding import influence_values
from surebox_core.influence import Influences
from surebox_core.types import BoolArray, FloatArray
from surebox_verify.boxes import PublishedBoxes
from workers.algorithms.boxes.rare.balance import balanced, upward, weigh_any
from workers.algorithms.boxes.rare.dismissal import dismiss
from workers.algorithms.boxes.rare.rarity import Criterion
from workers.algorithms.boxes.sides import Boxes

_FARTHEST = 10.0  # deviations


@dataclass(frozen=True)
class Choice:
    """Boxes to publish.

    Attributes
    ----------
    kept : (B,).
    weights : (B,), of each record of a box; `counts @ weights` is 1. None where records are not weighed.
    optimum : lambda, None likewise.
    criterion : what they follow from.
    """

    kept: BoolArray
    criterion: Criterion
    weights: FloatArray | None = None
    optimum: float | None = None


def with_prices(
    criterion: Criterion, field: Influences, g: FloatArray, boxes: Boxes, points: Boxes, at_most: float
) -> Criterion:
    """The criterion with the prices of shifts, and with an A large enough for `at_most` (rare.balance).

    Parameters
    ----------
    criterion : with its A.
    field : from `derivatives_at`.
    g : (B,), `box_uncertainty` of all boxes.
    boxes : all boxes.
    points : from `middles`: shifts are from the statistics of these.
    at_most : largest share of the records without a weight.
    """
    share = points.counts / points.counts.sum()
    reference = share @ _influences(field, points, criterion)
    influence = _influences(field, boxes, criterion) - reference
    prices, statistical = balanced(
        g, influence, field.omega, boxes.counts, statistical=criterion.statistical, at_most=at_most
    )
    return replace(criterion, prices=prices, owner=field.owner, reference=reference, statistical=statistical)


def _influences(field: Influences, boxes: PublishedBoxes, criterion: Criterion) -> FloatArray:
    """(B, m), IF, each less a constant, at the centres, or ten deviations from the mean where these are farther off.

    A box far away would else be the cheapest way to balance many others: its g and its shift grow alike.
    """
    away = _FARTHEST * criterion.deviation
    u = np.asfortranarray(np.clip(boxes.centre - field.mean, -away, away))
    return np.column_stack([influence_values(field, u, c) for c in range(len(field.omega))])


def weighed(g: FloatArray, boxes: Boxes, criterion: Criterion, field: Influences | None, allowed: float) -> Choice:
    """Weights by the papers' objective, or by prices of shifts too.

    Parameters
    ----------
    g : (B,), `box_uncertainty` of the boxes.
    boxes : their bounds and counts.
    criterion : A, and prices where shifts count.
    field : from `derivatives_at`.
    allowed : how many records may go without a weight where shifts count; A grows until no more do.
    """
    counts, statistical = boxes.counts, criterion.statistical
    if criterion.prices is None or criterion.reference is None or field is None:
        solution = weigh_any(g, counts, statistical=statistical)
        return Choice(solution.positive, criterion, solution.weights, solution.optimum)
    cost = g + _influences(field, boxes, criterion) @ criterion.prices
    solution = weigh_any(cost, counts, statistical=statistical)
    while counts[~solution.positive].sum() > allowed:
        statistical = upward(1.1 * statistical)
        solution = weigh_any(cost, counts, statistical=statistical)
    optimum = solution.optimum - float(criterion.reference @ criterion.prices)
    return Choice(solution.positive, replace(criterion, statistical=statistical), solution.weights, optimum)


def dismissed(g: FloatArray, boxes: Boxes, criterion: Criterion) -> Choice:
    """Boxes kept by the papers' objective.

    Parameters
    ----------
    g : (B,), `box_uncertainty` of all boxes.
    boxes : the counts.
    criterion : A.
    """
    return Choice(dismiss(g, boxes.counts, statistical=criterion.statistical).kept, criterion)
