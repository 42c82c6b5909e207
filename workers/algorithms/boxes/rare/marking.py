"""The core of boxes as they are to be published: everything judged from centres, counts and weights.

Notation as in rare.points and rare.shifted. No record is read: from the table of boxes follows the core, so a release
that leaves the other boxes out tells at most what one tells that marks them (science.md section 5, "Rare records"). The
boxes are those that the records as the search sees them would have (section 4, "The search sees winsorized values"): as
published where they are cells of declared domains.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from surebox_core.statistics import Statistic
from surebox_core.types import BoolArray
from surebox_verify.boxes import PublishedBoxes
from workers.algorithms.boxes.rare.points import judged
from workers.algorithms.boxes.rare.shifted import core


def core_boxes(
    boxes: PublishedBoxes,
    statistics: Sequence[Statistic],
    *,
    confidence: float,
    at_most: float,
    ddof: int = 0,
    k: int = 1,
    ranks: tuple[int | None, ...] = (),
) -> BoolArray:
    """Boxes of the core.

    Parameters
    ----------
    boxes : bounds, sets, counts and weights of all boxes, as published.
    statistics : what is asked; those that the centres leave undefined do not count, nor do quantiles.
    confidence : of A.
    at_most : largest share of the records outside the core.
    ddof : as for the statistics.
    k : least records of a box: what fewer have is no scale.
    ranks : values of the numeric columns that are ordinal, None of the others.

    Returns
    -------
    (B,) bool
        All boxes where no statistic counts.
    """
    judgement = judged(boxes, statistics, ddof=ddof, least=k / float(boxes.counts.sum()), ranks=ranks)
    if judgement is None:
        return np.ones(len(boxes.counts), dtype=np.bool_)
    z = -float(ndtri(0.5 * (1.0 - confidence)))  # the lower tail: near 1 the upper one rounds to infinity
    return core(judgement, statistical=z * judgement.uncertainty, at_most=at_most).kept
