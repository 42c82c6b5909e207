"""The stage of boxes.stages in which rare boxes are marked, left out or weighed; columns are complete numbers."""

from dataclasses import replace

import numpy as np

from surebox_verify.core.moments import inflation, moments
from workers.algorithms.boxes.rare import rarity
from workers.algorithms.boxes.rare.choice import dismissed, weighed, with_prices
from workers.algorithms.boxes.rare.marking import core_boxes
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.boxes.state import Anticipating, Bounding, Choosing, Chosen, rows_of_derivatives


def chosen(state: Bounding, boxes: Boxes) -> Choosing | Anticipating:
    """What boxes are judged by where rare ones are not kept; else all of them."""
    request = state.request
    if request.rare_records == "keep":
        return Anticipating(state.x, request, state.field, state.deviations, boxes, Chosen(None, state.field))
    if request.rare_records == "mark" or (request.rare_records == "dismiss" and request.objective == "with_shift"):
        return _core(state, boxes)
    middles = rarity.middles(boxes, state.x, request.k)
    criterion = rarity.rounded_moments(middles)
    factor = inflation(len(state.x), request.ddof)
    published = rarity.derivatives_at(criterion, request.statistics, factor)
    sums = np.zeros((0 if published is None else len(published.omega), 2))
    common = (state.x, state.request, state.field, state.deviations, boxes, criterion, published)
    allowed = request.dismiss_at_most * len(state.x) if request.objective == "with_shift" else np.inf
    return Choosing(*common, np.zeros(len(boxes.counts)), sums, 0, np.arange(len(state.x)), middles, allowed)


def _core(state: Bounding, boxes: Boxes) -> Anticipating:
    """Mark the boxes of the core, or leave the others out."""
    request = state.request
    kept = core_boxes(
        boxes,
        request.statistics,
        confidence=request.confidence,
        at_most=request.dismiss_at_most,
        ddof=request.ddof,
    )
    common = (request, state.field, state.deviations)
    if request.rare_records == "mark":
        return Anticipating(state.x, *common, boxes, Chosen(None, state.field, core=kept))
    rows = np.flatnonzero(kept[boxes.box])
    x = state.x[rows]
    if not kept.all():
        boxes = rarity.kept_boxes(boxes, kept, x)
    field = rarity.derivatives_of_kept(request.statistics, moments(x, None, request.ddof), state.field)
    return Anticipating(x, *common, boxes, Chosen(rows, field))


def choose(state: Choosing, derivatives: int) -> Choosing | Anticipating:
    """Judge the next boxes; after the last one leave the rare ones out, or weigh them.

    Bounds that nobody declared shrink when boxes are left out. Weights must follow from the bounds as published: boxes
    that stay are weighed again, by the same criterion, until none leaves.
    """
    published, criterion = state.published, state.criterion
    if published is not None:
        last = min(state.box + rows_of_derivatives(published, derivatives), len(state.g))
        state.g[state.box : last] = rarity.box_uncertainty(published, state.boxes, state.box, last)
        if state.middles is not None:
            state.sums[:] += rarity.influence_sums(published, state.middles, state.box, last)
        if last < len(state.g):
            return replace(state, box=last)
        if state.middles is not None:
            criterion = rarity.with_statistical(criterion, published, state.sums, state.request.confidence)
            if state.request.rare_records == "weigh" and state.request.objective == "with_shift":
                at_most = state.request.dismiss_at_most
                criterion = with_prices(criterion, published, state.g, state.boxes, state.middles, at_most)
    if state.request.rare_records == "weigh":
        choice = weighed(state.g, state.boxes, criterion, published, state.allowed)
    else:
        choice = dismissed(state.g, state.boxes, criterion)
    x, boxes, rows, weights = state.x, state.boxes, state.rows, choice.weights
    if not choice.kept.all():
        kept = choice.kept[boxes.box]
        x, rows = x[kept], rows[kept]
        boxes = rarity.kept_boxes(boxes, choice.kept, x)
        if weights is not None:
            allowed = state.allowed - (len(state.x) - len(x))
            common = replace(state, x=x, boxes=boxes, criterion=choice.criterion, rows=rows, allowed=allowed)
            return replace(common, g=np.zeros(len(boxes.counts)), box=0, middles=None)
    at = moments(x, None if weights is None else weights[boxes.box], state.request.ddof)
    field = rarity.derivatives_of_kept(state.request.statistics, at, state.field)
    found = Chosen(rows, field, weights, choice.optimum, choice.criterion)
    return Anticipating(x, state.request, state.field, state.deviations, boxes, found)
