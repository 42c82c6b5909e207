"""Derivatives of statistics at records, as sparse linear forms, and the deviations of their influence functions.

Notation
--------
u : (n,), x - E of a record, in the columns' units.
b_i^c(u) : N times the derivative of component c by a record's column i: alpha + sum_j beta_j u_j
    (surebox_core.statistics).
omega_c : weight of component c: given, or 1 / natural scale (science.md section 1, "Several characteristics").
a_i(u) : sum_c omega_c |b_i^c(u)|.
IF_c(u) : influence function of component c, g . u + sum_ab G_ab (u_a u_b - C_ab) (delta method).

A *term* t is one pair (component, axis) with b not identically 0. Terms are kept in compressed rows: the columns and
betas of term t are at term_start[t] to term_start[t + 1]. The quadratic parts of IF likewise per component.

Kernels see records in blocks, one contiguous row per column, so that inner loops are vectors. Block length 256: a block
of 50 columns stays in the first-level cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.errors import UndefinedStatisticError
from surebox_core.moments import Moments
from surebox_core.statistics import Component, Statistic, check_statistics, components, undefined_because
from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray, SingleArray

_BLOCK = 256


@dataclass(frozen=True)
class Influences:
    """All b_i^c and IF_c of a list of statistics at given moments."""

    mean: FloatArray
    omega: FloatArray
    values: FloatArray
    owner: IntArray
    term_component: IntArray
    term_axis: IntArray
    alpha: FloatArray
    term_start: IntArray
    beta_column: IntArray
    beta: FloatArray
    linear_start: IntArray
    linear_column: IntArray
    linear: FloatArray
    quadratic_start: IntArray
    quadratic_columns: IntArray
    quadratic: FloatArray

    @property
    def constant(self) -> bool:
        """Whether no derivative depends on the record (means only)."""
        return len(self.beta) == 0

    @property
    def free(self) -> BoolArray:
        """(n,), axes on which nothing requested with a positive weight depends: boxes span them."""
        counted = self.omega[self.term_component] > 0.0
        return np.asarray(np.bincount(self.term_axis[counted], minlength=len(self.mean)) == 0)

    @property
    def constants(self) -> FloatArray:
        """(n,), a_i where it depends on no record."""
        size = self.omega[self.term_component] * np.abs(self.alpha)
        return _per_axis(self, size)

    def bound(self, span: FloatArray) -> FloatArray:
        """(n,), a value that no a_i exceeds while |u| <= span, a (n,) array in the columns' units."""
        size = np.abs(self.alpha)
        term = np.repeat(np.arange(len(self.alpha)), np.diff(self.term_start))
        np.add.at(size, term, np.abs(self.beta) * span[self.beta_column])
        size *= self.omega[self.term_component]
        return _per_axis(self, size)


def influences(statistics: Sequence[Statistic], moments: Moments) -> Influences:
    """Derivatives of statistics at the records' moments.

    Parameters
    ----------
    statistics : the request; `of` indexes the columns of the moments.
    moments : mean (n,), covariance (n, n).

    Raises
    ------
    UndefinedStatisticError
        A statistic has no value, or no default scale, at these moments.

    Notes
    -----
    science.md section 1, "Statistics and influences" and "Several characteristics"; XK slide 7, XF slide 6.
    """
    check_statistics(statistics, len(moments.mean))
    parts: list[tuple[int, tuple[int, ...], Component, float]] = []
    for index, statistic in enumerate(statistics):
        fault = undefined_because(statistic, moments)
        if fault is not None:
            raise UndefinedStatisticError(index, statistic.kind, statistic.of, fault.reason, fault.columns)
        for component in components(statistic, moments):
            omega = 1.0 / component.scale if statistic.weight is None else statistic.weight
            parts.append((index, statistic.of, component, omega))
    return _compress(parts, moments)


def no_influences(moments: Moments) -> Influences:
    """Those of no statistic at all.

    Parameters
    ----------
    moments : of the columns.
    """
    return _compress([], moments)


def _per_axis(field: Influences, size: FloatArray) -> FloatArray:
    out = np.zeros(len(field.mean))
    np.add.at(out, field.term_axis, size)
    return out


def _compress(parts: list[tuple[int, tuple[int, ...], Component, float]], moments: Moments) -> Influences:
    terms = [
        (c, of[i], float(part.by_mean[i]), [(of[j], 2.0 * g) for j, g in enumerate(part.by_covariance[i]) if g])
        for c, (_, of, part, _) in enumerate(parts)
        for i in range(len(of))
    ]
    terms = [term for term in terms if term[2] or term[3]]
    linear = [[(of[i], g) for i, g in enumerate(part.by_mean) if g] for _, of, part, _ in parts]
    quadratic = [
        [
            (of[a], of[b], part.by_covariance[a, b] * (1.0 if a == b else 2.0))
            for a in range(len(of))
            for b in range(a, len(of))
            if part.by_covariance[a, b]
        ]
        for _, of, part, _ in parts
    ]
    return Influences(
        mean=moments.mean,
        omega=np.array([omega for *_, omega in parts], dtype=np.float64),
        values=np.array([part.value for _, _, part, _ in parts], dtype=np.float64),
        owner=np.array([index for index, *_ in parts], dtype=np.int64),
        term_component=np.array([t[0] for t in terms], dtype=np.int64),
        term_axis=np.array([t[1] for t in terms], dtype=np.int64),
        alpha=np.array([t[2] for t in terms], dtype=np.float64),
        term_start=_starts([len(t[3]) for t in terms]),
        beta_column=np.array([j for t in terms for j, _ in t[3]], dtype=np.int64),
        beta=np.array([g for t in terms for _, g in t[3]], dtype=np.float64),
        linear_start=_starts([len(row) for row in linear]),
        linear_column=np.array([i for row in linear for i, _ in row], dtype=np.int64),
        linear=np.array([g for row in linear for _, g in row], dtype=np.float64),
        quadratic_start=_starts([len(row) for row in quadratic]),
        quadratic_columns=np.array([q[:2] for row in quadratic for q in row], dtype=np.int64).reshape(-1, 2),
        quadratic=np.array([q[2] for row in quadratic for q in row], dtype=np.float64),
    )


def _starts(lengths: list[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))]).astype(np.int64)


def derivatives(field: Influences, component: int, x: FloatArray) -> FloatArray:
    """b_i of one component at each record, signed.

    Parameters
    ----------
    field : from `influences`.
    component : which.
    x : (N, n) records.

    Returns
    -------
    (N, n) float64
        Component's unit per unit of the column.
    """
    u = x - field.mean
    b = np.zeros_like(x)
    for t in np.flatnonzero(field.term_component == component):
        rows = slice(field.term_start[t], field.term_start[t + 1])
        b[:, field.term_axis[t]] += field.alpha[t] + u[:, field.beta_column[rows]] @ field.beta[rows]
    return b


def absolute_influences(field: Influences, x: FloatArray, scale: FloatArray) -> SingleArray:
    """a_i at each record, times a scale per column.

    Parameters
    ----------
    field : from `influences`.
    x : (N, n) records, C-contiguous.
    scale : (n,), e.g. the columns' ranges over a common factor, so that float32 contains the result.

    Returns
    -------
    (N, n) float32

    Notes
    -----
    O(N times the number of betas).
    """
    out = np.zeros(x.shape, dtype=np.float32)
    terms = (field.omega[field.term_component], field.term_axis, field.alpha, field.term_start)
    absolute_block(np.ascontiguousarray(x), field.mean, *terms, field.beta_column, field.beta, scale, out)
    return out


def influence_squares(field: Influences, x: FloatArray) -> FloatArray:
    """Sums over records of IF and IF squared, without the constant of IF.

    Parameters
    ----------
    field : from `influences`.
    x : (m, n) records, C-contiguous: all, or one part of them.

    Returns
    -------
    (components, 2) float64
        Add the results of parts; `influence_deviations` turns the sum into deviations.
    """
    out = np.zeros((len(field.omega), 2))
    linear = (field.linear_start, field.linear_column, field.linear)
    quadratic = (field.quadratic_start, field.quadratic_columns, field.quadratic)
    influence_sums(np.ascontiguousarray(x), field.mean, *linear, *quadratic, out)
    return out


def influence_deviations(sums: FloatArray, records: int) -> FloatArray:
    """Standard deviation of each component's influence function, from the sums over all records."""
    mean = sums[:, 0] / records
    return np.sqrt(np.maximum(sums[:, 1] / records - mean * mean, 0.0))


def half_width_sums(
    field: Influences, x: FloatArray, box: IndexArray, half_width: FloatArray, weight: FloatArray
) -> FloatArray:
    """Sum over points of w |b_i^c| D_i, per component: the linear Delta (XK slide 6).

    Parameters
    ----------
    field : from `influences`.
    x : (m, n) points (records, or centres of boxes), C-contiguous.
    box : (m,) int32, box of each point.
    half_width : (B, n), D_i of each box, in the columns' units.
    weight : (B,), weight of one point of each box.

    Returns
    -------
    (components,) float64
        Each in its statistic's unit.
    """
    out = np.zeros(len(field.omega))
    terms = (field.term_component, field.term_axis, field.alpha, field.term_start, field.beta_column, field.beta)
    absolute_half_width_sums(
        np.ascontiguousarray(x), box, field.mean, *terms, np.ascontiguousarray(half_width), weight, out
    )
    return out


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
