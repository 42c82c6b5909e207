"""The stage of boxes.stages in which rare boxes are marked, left out or weighed; columns are complete numbers."""

from dataclasses import replace

import numpy as np

from surebox_core.moments import inflation, moments
from surebox_core.types import BoolArray, FloatArray
from workers.algorithms.boxes.rare import rarity
from workers.algorithms.boxes.rare.choice import Choice, dismissed, weighed, with_prices
from workers.algorithms.boxes.rare.shifted import core_boxes
from workers.algorithms.boxes.sides import Boxes, numbered_like
from workers.algorithms.boxes.state import Anticipating, Bounding, Choosing, Chosen, rows_of_derivatives


def chosen(state: Bounding, boxes: Boxes, judged: Boxes) -> Choosing | Anticipating:
    """What boxes are judged by where rare ones are not kept; else all of them.

    Parameters
    ----------
    state : the records.
    boxes : as they are published.
    judged : the same with the bounds that the records as seen would give them.
    """
    request = state.request
    if request.rare_records == "keep":
        return Anticipating(state.x, request, state.true, state.deviations, boxes, Chosen(None, state.true))
    if request.rare_records == "mark" or (request.rare_records == "suppress" and request.objective == "bias_aware"):
        return _core(state, boxes, judged)
    middles = rarity.middles(judged, state.seen, request.k)
    criterion = rarity.rounded_moments(middles)
    factor = inflation(len(state.x), request.ddof)
    published = rarity.derivatives_at(criterion, request.statistics, factor)
    allowed = request.max_suppressed * len(state.x) if request.objective == "bias_aware" else np.inf
    return Choosing(
        x=state.x,
        seen=state.seen,
        request=request,
        field=state.field,
        true=state.true,
        deviations=state.deviations,
        boxes=boxes,
        judged=judged,
        criterion=criterion,
        published=published,
        g=np.zeros(len(boxes.counts)),
        sums=np.zeros((0 if published is None else len(published.omega), 2)),
        box=0,
        rows=np.arange(len(state.x)),
        middles=middles,
        allowed=allowed,
    )


def _core(state: Bounding, boxes: Boxes, judged: Boxes) -> Anticipating:
    """Mark the boxes of the core, or leave the others out."""
    request = state.request
    kept = core_boxes(
        judged,
        request.statistics,
        confidence=request.confidence,
        at_most=request.max_suppressed,
        ddof=request.ddof,
    )
    common = (request, state.true, state.deviations)
    if request.rare_records == "mark":
        return Anticipating(state.x, *common, boxes, Chosen(None, state.true, core=kept))
    rows = np.flatnonzero(kept[boxes.box])
    x = state.x[rows]
    if not kept.all():
        boxes, _ = _staying(boxes, judged, kept, x, state.seen[rows])
    at = moments(x, None, request.ddof)
    return Anticipating(
        x, *common, boxes, Chosen(rows, rarity.derivatives_at_records(request.statistics, at, state.field))
    )


def _staying(boxes: Boxes, judged: Boxes, kept: BoolArray, x: FloatArray, seen: FloatArray) -> tuple[Boxes, Boxes]:
    """The boxes to publish without the others, and what they are judged by; numbered alike."""
    again = rarity.kept_boxes(judged, kept, seen)
    return numbered_like(rarity.kept_boxes(boxes, kept, x), again), again


def choose(state: Choosing, derivatives: int) -> Choosing | Anticipating:
    """Judge the next boxes; after the last one leave the rare ones out, or weigh them.

    Bounds that no one declared shrink when boxes are left out. Weights must follow from the bounds that boxes are
    judged by: those that stay are weighed again, by the same criterion, until none leaves.
    """
    published, criterion = state.published, state.criterion
    if published is not None:
        last = min(state.box + rows_of_derivatives(published, derivatives), len(state.g))
        state.g[state.box : last] = rarity.box_uncertainty(published, state.judged, state.box, last)
        if state.middles is not None:
            state.sums[:] += rarity.influence_sums(published, state.middles, state.box, last)
        if last < len(state.g):
            return replace(state, box=last)
        if state.middles is not None:
            criterion = rarity.with_statistical(criterion, published, state.sums, state.request.confidence)
            if state.request.rare_records == "weigh" and state.request.objective == "bias_aware":
                at_most = state.request.max_suppressed
                criterion = with_prices(criterion, published, state.g, state.judged, state.middles, at_most)
    if state.request.rare_records == "weigh":
        choice = weighed(state.g, state.judged, criterion, published, state.allowed)
    else:
        choice = dismissed(state.g, state.judged, criterion)
    return _followed(state, choice)


def _followed(state: Choosing, choice: Choice) -> Choosing | Anticipating:
    """The boxes that stay; weighed ones are judged again where others left."""
    x, boxes, rows, weights = state.x, state.boxes, state.rows, choice.weights
    if not choice.kept.all():
        kept = choice.kept[boxes.box]
        x, seen, rows = x[kept], state.seen[kept], rows[kept]
        boxes, judged = _staying(boxes, state.judged, choice.kept, x, seen)
        if weights is not None:
            allowed = state.allowed - (len(state.x) - len(x))
            common = replace(state, x=x, seen=seen, boxes=boxes, judged=judged, criterion=choice.criterion, rows=rows)
            return replace(common, allowed=allowed, g=np.zeros(len(boxes.counts)), box=0, middles=None)
    at = moments(x, None if weights is None else weights[boxes.box], state.request.ddof)
    field = rarity.derivatives_at_records(state.request.statistics, at, state.field)
    made = Chosen(rows, field, weights, choice.optimum, choice.criterion)
    return Anticipating(x, state.request, state.true, state.deviations, boxes, made)
