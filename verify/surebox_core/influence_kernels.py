"""Kernels of surebox_core.influence: records in blocks, one contiguous row per column, so that inner loops are vectors.

Notation as in surebox_core.influence. Block length 256: a block of 50 columns stays in the first-level cache.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray, IntArray, SingleArray

_BLOCK = 256


@inner_kernel
def _centre(x: FloatArray, mean: FloatArray, first: int, count: int, u: FloatArray) -> None:
    for p in range(count):
        for j in range(len(mean)):
            u[j, p] = x[first + p, j] - mean[j]


@inner_kernel
def _form(alpha: float, columns: IntArray, beta: FloatArray, u: FloatArray, count: int, value: FloatArray) -> None:
    for p in range(count):
        value[p] = alpha
    for e in range(len(beta)):
        row = u[columns[e]]
        factor = beta[e]
        for p in range(count):
            value[p] += factor * row[p]


@kernel
def absolute_block(
    x: FloatArray,
    mean: FloatArray,
    omega: FloatArray,
    axis: IntArray,
    alpha: FloatArray,
    start: IntArray,
    columns: IntArray,
    beta: FloatArray,
    scale: FloatArray,
    out: SingleArray,
) -> None:
    """out[p, i] = scale_i sum_t omega_t |alpha_t + beta_t . u_p| over the terms t of axis i."""
    n = x.shape[1]
    u = np.empty((n, _BLOCK))
    a = np.empty((n, _BLOCK))
    value = np.empty(_BLOCK)
    for first in range(0, x.shape[0], _BLOCK):
        count = min(_BLOCK, x.shape[0] - first)
        _centre(x, mean, first, count, u)
        for j in range(n):
            for p in range(count):
                a[j, p] = 0.0
        for t in range(len(alpha)):
            _form(alpha[t], columns[start[t] : start[t + 1]], beta[start[t] : start[t + 1]], u, count, value)
            row = a[axis[t]]
            factor = omega[t] * scale[axis[t]]
            for p in range(count):
                row[p] += factor * abs(value[p])
        for p in range(count):
            for j in range(n):
                out[first + p, j] = a[j, p]


@kernel
def influence_sums(
    x: FloatArray,
    mean: FloatArray,
    linear_start: IntArray,
    linear_column: IntArray,
    linear: FloatArray,
    quadratic_start: IntArray,
    quadratic_columns: IntArray,
    quadratic: FloatArray,
    out: FloatArray,
) -> None:
    """out[c] += sum over records of IF_c and IF_c^2, IF without its constant."""
    n = x.shape[1]
    u = np.empty((n, _BLOCK))
    value = np.empty(_BLOCK)
    for first in range(0, x.shape[0], _BLOCK):
        count = min(_BLOCK, x.shape[0] - first)
        _centre(x, mean, first, count, u)
        for c in range(out.shape[0]):
            span = slice(linear_start[c], linear_start[c + 1])
            _form(0.0, linear_column[span], linear[span], u, count, value)
            for e in range(quadratic_start[c], quadratic_start[c + 1]):
                left = u[quadratic_columns[e, 0]]
                right = u[quadratic_columns[e, 1]]
                factor = quadratic[e]
                for p in range(count):
                    value[p] += factor * left[p] * right[p]
            sum_one = 0.0
            sum_two = 0.0
            for p in range(count):
                sum_one += value[p]
                sum_two += value[p] * value[p]
            out[c, 0] += sum_one
            out[c, 1] += sum_two


@kernel
def absolute_half_width_sums(
    x: FloatArray,
    box: IndexArray,
    mean: FloatArray,
    component: IntArray,
    axis: IntArray,
    alpha: FloatArray,
    start: IntArray,
    columns: IntArray,
    beta: FloatArray,
    half_width: FloatArray,
    weight: FloatArray,
    out: FloatArray,
) -> None:
    """out[c] += sum over points of w |b_i^c| D_i over the terms of c; w and D are those of the point's box."""
    n = x.shape[1]
    u = np.empty((n, _BLOCK))
    d = np.empty((n, _BLOCK))
    value = np.empty(_BLOCK)
    for first in range(0, x.shape[0], _BLOCK):
        count = min(_BLOCK, x.shape[0] - first)
        _centre(x, mean, first, count, u)
        for p in range(count):
            b = box[first + p]
            for j in range(n):
                d[j, p] = half_width[b, j] * weight[b]
        for t in range(len(alpha)):
            _form(alpha[t], columns[start[t] : start[t + 1]], beta[start[t] : start[t + 1]], u, count, value)
            row = d[axis[t]]
            subtotal = 0.0
            for p in range(count):
                subtotal += row[p] * abs(value[p])
            out[component[t]] += subtotal
