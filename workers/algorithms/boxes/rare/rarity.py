"""Which boxes are rare, judged by published quantities only: the uncertainty a box adds, and that of the statistics.

Notation
--------
z_b, D_i(b), c_b : (B, n), (B, n), (B,), centres, half-widths and counts of *all* boxes, the rare ones among them.
E, sigma, rho : moments of the centres, each centre counting c_b times and at most at the k-th value from either end of
    its column, rounded to two digits (E: of sigma).
omega_C, a_i, IF_C : as in surebox_core.influence, at those moments.
g_b : sum_i a_i(z_b) D_i(b), the privacy uncertainty that a record of the box adds (= n c).
A : sum_C omega_C z sd(IF_C) over the centres, two digits; that of N records is A / sqrt(N).

Privacy (science.md section 1, "c of a box"): a g that averages a_i over true values lets the weights be inverted.
Whatever follows from g and A follows from boxes and counts, which are k-anonymous; of records only the k-th values of
columns are used. Moments of a weighed release are published with it, and are also those of boxes that it leaves out:
with centres as they are they gave away the far bound of one (0.99 million for a record of 1.23 million). With centres
up to the k-th value fewer than k records can be as far off as they like. Moments of the boxes that stay would be
another way, but then these are judged by less and less of the data: of 3,000 records 190 stayed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from surebox_core.adding import influence_values, uncertainties
from surebox_core.influence import Influences, influences, no_influences
from surebox_core.moments import Moments, moments
from surebox_core.statistics import Statistic, undefined_because
from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.boxes import PublishedBoxes
from workers.algorithms.boxes.bounds import outer_bounds
from workers.algorithms.boxes.sides import Boxes

RareRecords: TypeAlias = Literal["keep", "mark", "suppress", "weigh"]

_DIGITS = 2
_DEFINITE = 0.01  # least eigenvalue of the rounded correlations


@dataclass(frozen=True)
class Criterion:
    """What boxes are judged by; may be published.

    Attributes
    ----------
    mean, deviation : (n,), moments of the box centres, rounded.
    correlation : (n, n), likewise; 0 next to a column whose centres all agree.
    statistical : A, rounded; 0 before it is known.
    prices : (m,), of a unit of shift of each component, rounded; None where shifts do not count.
    owner : (m,), the statistic of each.
    reference : (m,), mean IF of all records, what shifts are from. Restricted.
    """

    mean: FloatArray
    deviation: FloatArray
    correlation: FloatArray
    statistical: float = 0.0
    prices: FloatArray | None = None
    owner: IntArray | None = None
    reference: FloatArray | None = None


def middles(boxes: Boxes, x: FloatArray, k: int) -> Boxes:
    """Boxes as points: their centres, not beyond the k-th value from either end of a column.

    Parameters
    ----------
    boxes : all boxes.
    x : (N, n), all records.
    k : at most N.
    """
    ends = np.partition(x, (k - 1, len(x) - k), axis=0)
    low, high = np.minimum(ends[k - 1], ends[len(x) - k]), np.maximum(ends[k - 1], ends[len(x) - k])
    point = np.clip(boxes.centre, low, high)
    return replace(boxes, lower=point, upper=point)


def rounded_moments(boxes: Boxes) -> Criterion:
    """Moments of the box centres, two digits of each.

    Parameters
    ----------
    boxes : bounds and counts of all boxes.

    Notes
    -----
    A mean is rounded to two digits of its column's deviation, a correlation to 0.01. Rounding may leave a matrix that
    no data have; it is then drawn towards the identity.
    """
    at = moments(boxes.centre, boxes.counts.astype(np.float64))
    sigma = np.array([_rounded(float(s)) for s in at.deviation])
    varies = sigma > 0.0
    mean = np.array([_to_unit(float(e), float(s)) for e, s in zip(at.mean, sigma, strict=True)])
    spread = np.where(varies, at.deviation, 1.0)
    rho = np.round(at.covariance / np.outer(spread, spread), _DIGITS)
    rho[~varies, :] = rho[:, ~varies] = 0.0
    np.fill_diagonal(rho, 1.0)
    least = float(np.linalg.eigvalsh(rho)[0])
    if least < _DEFINITE:
        share = (_DEFINITE - least) / (1.0 - least)
        rho = (1.0 - share) * rho + share * np.eye(len(rho))
    return Criterion(mean, sigma, rho)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS - 1}e}")


def _to_unit(mean: float, sigma: float) -> float:
    """Mean in two digits of sigma; as it is where all centres agree, and so do all boxes' bounds."""
    if sigma == 0.0:
        return mean
    unit = Decimal(1).scaleb(Decimal(sigma).adjusted() - _DIGITS + 1)
    return float((Decimal(mean) / unit).to_integral_value() * unit)


def derivatives_at(criterion: Criterion, statistics: Sequence[Statistic], inflation: float = 1.0) -> Influences | None:
    """Derivatives at the rounded moments, of the statistics that have one there; None where none has.

    Parameters
    ----------
    criterion : from `rounded_moments`.
    statistics : the request; `owner` counts among them.
    inflation : N / (N - ddof) of all records.
    """
    sigma = criterion.deviation
    covariance = criterion.correlation * np.outer(sigma, sigma)
    at = Moments(criterion.mean, covariance, criterion.mean - sigma, criterion.mean + sigma, inflation)
    places = [index for index, one in enumerate(statistics) if undefined_because(one, at) is None]
    if not places:
        return None
    derivatives = influences([statistics[index] for index in places], at)
    return replace(derivatives, owner=np.array(places, dtype=np.int64)[derivatives.owner])


def box_uncertainty(field: Influences, boxes: PublishedBoxes, first: int, last: int) -> FloatArray:
    """What a record of each of some boxes adds, g: a function of the box's own bounds and the moments.

    Parameters
    ----------
    field : from `derivatives_at`.
    boxes : bounds and counts.
    first, last : the boxes requested.

    Returns
    -------
    (last - first,) float64
    """
    return uncertainties(field, boxes.centre[first:last] - field.mean, boxes.half_width[first:last])


def influence_sums(field: Influences, boxes: PublishedBoxes, first: int, last: int) -> FloatArray:
    """Parts of the mean of IF and of IF squared over the records, each taken at its box's centre.

    Parameters
    ----------
    field : from `derivatives_at`.
    boxes : bounds and counts.
    first, last : the boxes counted; the parts add up.

    Returns
    -------
    (components, 2) float64
    """
    u = np.asfortranarray(boxes.centre[first:last] - field.mean)
    share = boxes.counts[first:last] / boxes.counts.sum()
    out = np.zeros((len(field.omega), 2))
    for c in range(len(field.omega)):
        value = influence_values(field, u, c)
        out[c] = share @ value, share @ (value * value)
    return out


def with_statistical(criterion: Criterion, field: Influences, sums: FloatArray, confidence: float) -> Criterion:
    """The criterion with its A.

    Parameters
    ----------
    criterion : from `rounded_moments`.
    field : from `derivatives_at`.
    sums : `influence_sums` of all boxes.
    confidence : in (0, 1).

    Notes
    -----
    The sum over statistics, which bounds (science.md section 1, "Dismissing rare records").
    """
    deviations = np.sqrt(np.maximum(sums[:, 1] - sums[:, 0] ** 2, 0.0))
    z = -float(ndtri(0.5 * (1.0 - confidence)))  # the lower tail: near 1 the upper one rounds to infinity
    return replace(criterion, statistical=_rounded(float(z * (field.omega @ deviations))))


def derivatives_at_records(statistics: Sequence[Statistic], at: Moments, everywhere: Influences) -> Influences:
    """Derivatives at records' own (weighted) moments, of the statistics that they leave defined. Restricted.

    Parameters
    ----------
    statistics : the request.
    at : moments of all records, or of those that are kept.
    everywhere : derivatives at the moments that decide; its omega and owner are used, so that all uncertainties are in
        one unit. (A column may be constant among the records and have no natural scale there.)
    """
    plain = [replace(one, weight=1.0) for one in statistics]
    places = [index for index, one in enumerate(plain) if undefined_because(one, at) is None]
    if not places:
        return no_influences(at)
    derivatives = influences([plain[index] for index in places], at)
    defined = np.isin(everywhere.owner, places)
    return replace(derivatives, omega=everywhere.omega[defined], owner=everywhere.owner[defined])


def kept_boxes(boxes: Boxes, kept: BoolArray, x: FloatArray) -> Boxes:
    """The boxes to publish, with their records only, as if there had been no others.

    Parameters
    ----------
    boxes : all boxes.
    kept : (B,).
    x : (M, n), the records in kept boxes, in their order.

    Notes
    -----
    Bounds that no one declared come from these records: a box reached out to a record that is left out, or to a cut
    halfway there. Boxes are numbered anew, by their bounds: a missing number would reveal that a box is missing.
    """
    low, high = outer_bounds(x, (None,) * x.shape[1])
    free = boxes.outer_from_data
    lower = np.where(free, np.maximum(boxes.lower[kept], low), boxes.lower[kept])
    upper = np.where(free, np.minimum(boxes.upper[kept], high), boxes.upper[kept])
    position = np.lexsort(lower.T[::-1])
    number = np.zeros(len(kept), dtype=np.int32)
    number[np.flatnonzero(kept)[position]] = np.arange(len(position), dtype=np.int32)
    box = number[boxes.box[kept[boxes.box]]]
    return Boxes(lower[position], upper[position], boxes.counts[kept][position], box, free)
