"""Which boxes make the core of a release: rare ones left aside, but not so that the statistics shift.

Notation
--------
z_b, c_b, g_b : centres, counts and uncertainty of a record (rare.points) of all boxes.  m_b : c_b times the published
    weight of the box's records; c_b where records count alike.
S : boxes of the core; #S their records.  N : all records.
T_c(S) : component c of the statistics at the centres of the boxes of S that have its columns, each counting m_b;
    omega_c its weight.  A : z sum omega_c sd(f IF_c), notation in rare.points.
J(S) = (1/#S) sum_S c g + A / sqrt(#S) + sum_c omega_c |T_c(all) - T_c(S)|.

J is a function of the box table alone, and so is S: whoever has the table can find S again, and a release without the
other boxes reveals at most as much as one that marks them. Without the last term S is a threshold on g, and leaves
out whatever is far from the middle (70 % of the records of the demo): its certain range then excludes the value for
all. With it S is no threshold. The search is greedy with exchanges, from all boxes and from the best threshold: leave
one out, take one back, exchange two, leave two out, as long as J falls. It follows from the table and nothing else;
where it ends no such step lowers J. (science.md section 5, "Rare records".)

#S counts records, whatever they weigh: g and IF carry the weights as multiples of their mean, so sd(v IF / mean v) /
sqrt(#S) is the deviation of a weighted mean of #S records, by how much their weights differ included; and what may be
left aside is a share of the records, for these are whom it is about. Where boxes lack columns #S counts them all
too, and f carries that a statistic is about few of them.

No set is a core that leaves a column, or a statistic, without a record that has it, or a mean within a set without one
that may be in the set. Regressions count to first order, by their derivatives at all centres; variances and covariances
of the sample form as multiples of those of the population form, by the factor of all records that have the columns;
quantiles do not count, but keep a record.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from surebox_core.statistics import Statistic
from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.boxes import PublishedBoxes
from workers.algorithms.boxes.rare.features import Features
from workers.algorithms.boxes.rare.points import Judged, judged
from workers.algorithms.boxes.rare.shifted_kernels import search

_CANDIDATES = 1024
_WORK = 2_000_000  # numbers looked at for one step: candidates times sums and components


@dataclass(frozen=True)
class Core:
    """The boxes of the core.

    Attributes
    ----------
    kept : (B,).
    objective : J there, and of all boxes.
    """

    kept: BoolArray
    objective: float
    of_all: float


def core_boxes(
    boxes: PublishedBoxes,
    statistics: Sequence[Statistic],
    *,
    confidence: float,
    at_most: float,
    ddof: int = 0,
    k: int = 1,
    labels: tuple[tuple[float, ...] | None, ...] = (),
) -> BoolArray:
    """Boxes of the core, from the table of boxes as they are to be published.

    No record is read, so a release that leaves the other boxes out reveals at most as much as one that marks them.
    The boxes are those that the records as the search sees them would have (science.md section 4, "The search sees
    winsorized values"): as published where they are cells of declared domains.

    Parameters
    ----------
    boxes : bounds, sets, counts and weights of all boxes, as published.
    statistics : the request; those that the centres leave undefined do not count, nor do quantiles.
    confidence : of A.
    at_most : largest share of the records outside the core.
    ddof : as for the statistics.
    k : least records of a box: what fewer have is no scale.
    labels : what the values of the numeric columns that are ordinal count as, None of the others.

    Returns
    -------
    (B,) bool
        All boxes where no statistic counts.
    """
    judgement = judged(boxes, statistics, ddof=ddof, least=k / float(boxes.counts.sum()), labels=labels)
    if judgement is None:
        return np.ones(len(boxes.counts), dtype=np.bool_)
    z = -float(ndtri(0.5 * (1.0 - confidence)))  # the lower tail: near 1 the upper one rounds to infinity
    return core(judgement, statistical=z * judgement.uncertainty, at_most=at_most).kept


def core(boxes: Judged, *, statistical: float, at_most: float) -> Core:
    """Search for the boxes with the least J.

    Parameters
    ----------
    boxes : centres, masses, counts, g and the statistics.
    statistical : A.
    at_most : largest share of the records that may be left aside, in [0, 1).

    Returns
    -------
    Core
        At least one box is in it; never more than `at_most` of the records outside.

    Notes
    -----
    Candidates to be left aside are the boxes of largest g, 1,024 at most, and fewer where components are thousands.
    O(candidates F) a step, F the sums and components.
    """
    g, weight, features = boxes.g, boxes.counts.astype(np.float64), Features(boxes)
    terms = features.terms
    most = min(_CANDIDATES, _WORK // (features.size + len(terms.omega)) + 1)
    order = np.argsort(-g, kind="stable")
    candidates = order[:most]
    sums, of_candidates = features.sums(), features.of(candidates)
    best: Core | None = None
    for start in (np.ones(len(g), dtype=np.bool_), _threshold(order, weight, at_most, most)):
        own = start[candidates]
        objective, of_all = search(
            sums,
            of_candidates,
            statistical,
            float(weight.sum()) * at_most,
            terms.needs,
            terms.omega,
            terms.firsts,
            terms.at,
            terms.pairs,
            terms.floor,
            terms.kind,
            terms.first,
            terms.pair,
            terms.inflation,
            terms.by_mean,
            terms.by_second,
            own,
        )
        if best is None or objective < best.objective:
            kept = start.copy()
            kept[candidates] = own
            best = Core(kept, objective, of_all)
    if best is None:
        raise AssertionError
    return best


def _threshold(order: IntArray, weight: FloatArray, at_most: float, most: int) -> BoolArray:
    """All boxes but those of largest g that may be left aside, `most` at most."""
    outside = np.cumsum(weight[order]) <= at_most * weight.sum()
    kept = np.ones(len(order), dtype=np.bool_)
    kept[order[outside][:most]] = False
    if not kept.any():
        kept[order[-1]] = True
    return kept
