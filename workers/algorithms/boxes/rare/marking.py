"""The core of boxes as they are to be published: everything judged from centres and counts.

Notation as in rare.rarity and rare.shifted. No record is read: whoever has the table of boxes finds the same core, so a
release that leaves the other boxes out tells at most what one tells that marks them (science.md section 5, "Rare
records").
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from surebox_verify.core.influence import influences
from surebox_verify.core.moments import inflation, moments
from surebox_verify.core.statistics import Statistic, undefined_because
from surebox_verify.core.types import BoolArray
from workers.algorithms.boxes.rare import rarity
from workers.algorithms.boxes.rare.shifted import core
from workers.algorithms.boxes.sides import Boxes


def core_boxes(
    boxes: Boxes, statistics: Sequence[Statistic], *, confidence: float, at_most: float, ddof: int = 0
) -> BoolArray:
    """Boxes of the core.

    Parameters
    ----------
    boxes : bounds and counts of all boxes, of numeric columns.
    statistics : what is asked; those that the centres leave undefined do not count.
    confidence : of A.
    at_most : largest share of the records outside the core.
    ddof : as for the statistics.

    Returns
    -------
    (B,) bool
        All boxes where the centres leave every statistic undefined.
    """
    at = moments(boxes.centre, boxes.counts.astype(np.float64))
    at = replace(at, inflation=inflation(int(boxes.counts.sum()), ddof))
    defined = tuple(one for one in statistics if undefined_because(one, at) is None)
    if not defined:
        return np.ones(len(boxes.counts), dtype=np.bool_)
    field = influences(defined, at)
    g = rarity.box_uncertainty(field, boxes, 0, len(boxes.counts))
    sums = rarity.influence_sums(field, boxes, 0, len(boxes.counts))
    deviations = np.sqrt(np.maximum(sums[:, 1] - sums[:, 0] ** 2, 0.0))
    z = -float(ndtri(0.5 * (1.0 - confidence)))  # the lower tail: near 1 the upper one rounds to infinity
    statistical = z * float(field.omega @ deviations)
    found = core(
        g,
        boxes.centre,
        boxes.counts,
        statistics=defined,
        field=field,
        at=at,
        statistical=statistical,
        at_most=at_most,
    )
    return found.kept
