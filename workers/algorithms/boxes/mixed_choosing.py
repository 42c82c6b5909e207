"""Which boxes of columns of all kinds are published, or marked as the core: rare records marked or left out.

Notation as in rare.points. Whole boxes stay or go, so what holds in every box holds in those that stay.
"""

from dataclasses import replace

import numpy as np

from surebox_verify.core.influence import Influences, influences, no_influences
from surebox_verify.core.statistics import OF_MOMENTS, undefined_because
from surebox_verify.core.types import BoolArray, FloatArray
from workers.algorithms.boxes.charges import Records, embedded, sides
from workers.algorithms.boxes.partition.mixed.admission import taking
from workers.algorithms.boxes.rare.marking import core_boxes
from workers.algorithms.boxes.sides import Boxes, NumericColumn, multiples
from workers.algorithms.boxes.state import BoxesRequest, Mixed
from workers.algorithms.boxes.tiles import numbered, outer
from workers.algorithms.boxes.values import axes_of, pairwise


def core_of(boxes: Boxes, request: BoxesRequest) -> BoolArray:
    """Boxes of the core, from what is to be published of all.

    Parameters
    ----------
    boxes : all boxes as they are published.
    request : what is asked.
    """
    return core_boxes(
        boxes,
        request.statistics,
        confidence=request.confidence,
        at_most=request.dismiss_at_most,
        ddof=request.ddof,
        k=request.k,
        ranks=request.ranks,
    )


def left_in(mixed: Mixed, boxes: Boxes, kept: BoolArray) -> tuple[Mixed, Boxes]:
    """Records and boxes that are published when the other boxes are left out.

    Parameters
    ----------
    mixed : all records that take part.
    boxes : all boxes.
    kept : (B,), the core.

    Notes
    -----
    Weights are those at all records, so that uncertainties before and after are in one unit; of shares, cells, means
    within sets and quantiles those at the records that stay. A codebook stays what it is: with the other boxes it is
    what a release says that marks them.
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
    share = np.full(len(rows), 1.0 / len(rows)) if survey is None else survey / survey.sum()
    dummies = mixed.records.dummies
    at = pairwise(embedded(given.x, nominal, dummies), share, request.ddof)
    records = Records(given.x, nominal, share, at, request.k / len(rows), survey, dummies, request.ranks)
    found = Mixed(given, request, records, _derivatives(mixed, records), sides(request.statistics, records))
    return found, boxes if kept.all() else _drawn_in(boxes, kept, given.x, request.columns)


def _derivatives(mixed: Mixed, records: Records) -> Influences:
    """Of the statistics of moments that these records leave defined, with their weights at all records."""
    places, asked = [], []
    for index, one in enumerate(mixed.request.statistics):
        if one.kind in OF_MOMENTS:
            local = replace(one, of=axes_of(one.of, records), weight=1.0)
            if undefined_because(local, records.at) is None:
                places.append(index)
                asked.append(local)
    if not asked:
        return no_influences(records.at)
    known = np.isin(mixed.field.owner, places)
    return replace(influences(asked, records.at), omega=mixed.field.omega[known], owner=mixed.field.owner[known])


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
