"""What boxes add to statistics of moments, and the influence functions there, at given points.

Notation as in surebox_core.influence: u is a point less the mean that the derivatives are at.
"""

import numpy as np

from surebox_core.influence import Influences
from surebox_core.types import FloatArray


def uncertainties(field: Influences, u: FloatArray, half: FloatArray) -> FloatArray:
    """sum_i a_i(u) D_i.

    Parameters
    ----------
    field : derivatives.
    u : (points, n).
    half : (points, n), D.

    Returns
    -------
    (points,) float64
    """
    g = np.zeros(len(u))
    for t, axis in enumerate(field.term_axis):
        b = np.full(len(u), field.alpha[t])
        for e in range(field.term_start[t], field.term_start[t + 1]):
            b += field.beta[e] * u[:, field.beta_column[e]]
        g += field.omega[field.term_component[t]] * np.abs(b) * half[:, axis]
    return g


def influence_values(field: Influences, u: FloatArray, component: int) -> FloatArray:
    """IF of one component, less a constant.

    Parameters
    ----------
    field : derivatives.
    u : (points, n).
    component : which.

    Returns
    -------
    (points,) float64
    """
    value = np.zeros(len(u))
    for e in range(field.linear_start[component], field.linear_start[component + 1]):
        value += field.linear[e] * u[:, field.linear_column[e]]
    for e in range(field.quadratic_start[component], field.quadratic_start[component + 1]):
        left, right = field.quadratic_columns[e]
        value += field.quadratic[e] * u[:, left] * u[:, right]
    return value
