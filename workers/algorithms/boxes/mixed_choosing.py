"""Which boxes of columns of all kinds are published, or marked as the core: rare records marked or left out.

Notation as in rare.points. Whole boxes stay or go, so a demand that every box meets is met by those that stay.
"""

from dataclasses import replace

import numpy as np

from surebox_core.ends import multiples
from surebox_core.types import BoolArray, FloatArray
from workers.algorithms.boxes.charges import ChargedRecords, embedded, sides
from workers.algorithms.boxes.partition.admission import taking
from workers.algorithms.boxes.rare.shifted import core_boxes
from workers.algorithms.boxes.sides import Boxes, NumericColumn, numbered_like
from workers.algorithms.boxes.state import BoxesRequest, Mixed
from workers.algorithms.boxes.tiles import numbered, outer
from workers.algorithms.boxes.values import derivatives, pairwise, shares


def core_of(boxes: Boxes, request: BoxesRequest) -> BoolArray:
    """Boxes of the core, from the part to be published of all.

    Parameters
    ----------
    boxes : all boxes as they are published.
    request : the request.
    """
    return core_boxes(
        boxes,
        request.statistics,
        confidence=request.confidence,
        at_most=request.max_suppressed,
        ddof=request.ddof,
        k=request.k,
        labels=request.labels,
    )


def left_in(mixed: Mixed, boxes: Boxes, judged: Boxes, kept: BoolArray) -> tuple[Mixed, Boxes]:
    """Records and boxes that are published when the other boxes are left out.

    Parameters
    ----------
    mixed : all records that take part.
    boxes : all boxes.
    judged : the same with the bounds that the records as seen would give them.
    kept : (B,), the core.

    Notes
    -----
    Weights are those at all records, so that uncertainties before and after are in one unit; of shares, cells, means
    within sets and quantiles those at the records that stay. A codebook stays what it is: with the other boxes it is
    what a release states that marks them.
    """
    rows = np.flatnonzero(kept[boxes.box])
    given, request = mixed.given, mixed.request
    nominal = tuple(replace(column, codes=column.codes[rows]) for column in given.nominal)
    given = replace(
        given,
        rows=given.rows[rows],
        x=given.x[rows],
        nominal=nominal,
        demands=taking(given.demands, rows),
        groups=given.groups[rows],
        given_up=given.given_up[rows],
    )
    survey = None if request.survey is None else request.survey[rows]
    request = replace(request, nominal=nominal, demands=given.demands, survey=survey)
    x, share, dummies = mixed.x[rows], shares(survey, len(rows)), mixed.records.dummies
    at = pairwise(embedded(x, nominal, dummies), share, request.ddof)
    records = ChargedRecords(x, nominal, share, at, request.k / len(rows), survey, dummies, request.labels)
    field = derivatives(request.statistics, records, mixed.deciding)
    weights = None if mixed.seen_weights is None else mixed.seen_weights[rows]
    stay = Mixed(given, x, request, records, field, sides(request.statistics, records), mixed.deciding, weights)
    if kept.all():
        return stay, boxes
    again = _drawn_in(judged, kept, given.x, request.columns)
    return stay, numbered_like(_drawn_in(boxes, kept, x, request.columns), again)


def _drawn_in(boxes: Boxes, kept: BoolArray, x: FloatArray, columns: tuple[NumericColumn, ...]) -> Boxes:
    """The boxes that stay, as if there had been no others (rare.rarity.kept_boxes)."""
    low, high = outer(x, (None,) * x.shape[1])
    for i, column in enumerate(columns):
        if column.step is not None:
            low[i] = multiples(np.ceil(low[i] / column.step), column.step)
            high[i] = multiples(np.floor(high[i] / column.step), column.step)
    number = np.cumsum(kept) - 1
    stay = boxes.taking(np.flatnonzero(kept), number[boxes.box[kept[boxes.box]]].astype(np.int32))
    free = boxes.outer_from_data
    lower = np.where(free, np.maximum(stay.lower, low), stay.lower) + 0.0
    upper = np.where(free, np.minimum(stay.upper, high), stay.upper) + 0.0
    return numbered(replace(stay, lower=lower, upper=upper))
