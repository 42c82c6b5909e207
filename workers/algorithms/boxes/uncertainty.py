"""Linear privacy uncertainty and statistical uncertainty.

Notation
--------
D_i(b) : (B, n), half-widths of the boxes as published.
b_i^c, a_i, omega_c, IF_c : as in surebox_core.influence.
Delta_c : (1/N) sum_p sum_i |b_i^c(x_p)| D_i(p), in the statistic's unit.      (XK slide 6, science.md section 1,
    "Half-widths around a point")
A : sum_c omega_c z sd(IF_c), z the two-sided quantile of the confidence level. (science.md section 1, "Dismissing rare
    records")
"""

import numpy as np
from scipy.special import ndtri

from surebox_core.influence import Influences, half_width_sums
from surebox_core.types import FloatArray
from workers.algorithms.boxes.sides import Boxes


def record_delta(
    field: Influences, x: FloatArray, boxes: Boxes, first: int, last: int, weights: FloatArray | None = None
) -> FloatArray:
    """Part of Delta_c with the derivatives at the true records; restricted.

    Parameters
    ----------
    field : derivatives at the (weighted) moments of the records.
    x : (N, n) records.
    boxes : their boxes.
    first, last : the records counted; the parts add up.
    weights : (B,), of each record of a box, summing to 1 over the records; None for 1/N.

    Returns
    -------
    (components,) float64
        `omega` times the sum over all records is the privacy uncertainty sum_p w_p sum_i a_i(x_p) D_i(p).
    """
    weight = np.full(len(boxes.counts), 1.0 / len(x)) if weights is None else weights
    return half_width_sums(field, x[first:last], boxes.box[first:last], boxes.half_width, weight)


def statistical_uncertainty(omega: FloatArray, deviations: FloatArray, confidence: float, records: float) -> float:
    """Return A / sqrt(N): half-width of the confidence interval, summed over the weighted statistics.

    Parameters
    ----------
    omega : (components,), weights.
    deviations : (components,), standard deviations of the influence functions.
    confidence : in (0, 1).
    records : N; of weighted records 1 / sum w^2.

    Notes
    -----
    The sum over statistics, not the root of squares: it is the one that bounds (science.md section 1, "Dismissing rare
    records").
    """
    z = -float(ndtri(0.5 * (1.0 - confidence)))  # the lower tail: near 1 the upper one rounds to infinity
    return float(z * (omega @ deviations) / np.sqrt(records))
