"""Kernels of cores: what the living records within reach add to a record, and what the dead take away again.

Notation
--------
y : (N, n), records in scaled units; blocked, start, end, box: the tree (neighbours.kernels).
s : scale, of all records alike.
p_ij : what j adds to i. Gaussian: Q(t), t = delta_ij / (2 s), a lower bound from the polynomial `curve`: its end, then
    its coefficients from the highest power down; at the end it is 0, and beyond nobody counts. Uniform: prod_m
    max(1 - w_ijm / s, 0). 1 where the two are equal. p_ij = p_ji up to rounding: what was added is what is taken away.
A_i : sum of p_ij over the living j, itself included (AG eqs. 8, 15; what lies beyond the curve's end counts 0).
"""

import math

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import BoolArray, FloatArray, IntArray

DEGREE = 14  # of the curve


@inner_kernel(inline="always")
def _gap(box: FloatArray, node: int, centre: FloatArray, gaussian: bool) -> float:
    """Squared distance of a point from a node's box; uniform: the largest component, squared."""
    total = 0.0
    for c in range(len(centre)):
        w = max(box[node, 0, c] - centre[c], centre[c] - box[node, 1, c], 0.0)
        total = total + w * w if gaussian else max(total, w * w)
    return total


@inner_kernel(fastmath={"contract", "reassoc"})
def _evaluate(out: FloatArray, m: int, per: float, curve: FloatArray) -> None:
    """The curve at squared distances, in place."""
    end = curve[0]
    c1, c2, c3, c4, c5 = curve[1], curve[2], curve[3], curve[4], curve[5]
    c6, c7, c8, c9, c10 = curve[6], curve[7], curve[8], curve[9], curve[10]
    c11, c12, c13, c14, c15 = curve[11], curve[12], curve[13], curve[14], curve[15]
    for j in range(m):
        q = out[j]
        t = min(math.sqrt(q) * per, end)
        v = c1 * t + c2
        v = v * t + c3
        v = v * t + c4
        v = v * t + c5
        v = v * t + c6
        v = v * t + c7
        v = v * t + c8
        v = v * t + c9
        v = v * t + c10
        v = v * t + c11
        v = v * t + c12
        v = v * t + c13
        v = v * t + c14
        v = v * t + c15
        out[j] = 1.0 if q == 0.0 else max(v, 0.0)


@inner_kernel(fastmath={"contract", "reassoc"})
def _shares(
    blocked: FloatArray, s: int, m: int, centre: FloatArray, scale: float, gaussian: bool, curve: FloatArray,
    out: FloatArray,
) -> None:  # fmt: skip
    """What the m records of a leaf add, p."""
    n = len(centre)
    if not gaussian:
        per = 1.0 / scale
        for j in range(m):
            out[j] = 1.0
        for c in range(n):
            here = centre[c]
            column = blocked[s * n + c * m : s * n + c * m + m]
            for j in range(m):
                out[j] *= max(1.0 - abs(column[j] - here) * per, 0.0)
        return
    here = centre[0]
    first = blocked[s * n : s * n + m]
    for j in range(m):
        w = first[j] - here
        out[j] = w * w
    for c in range(1, n - 1, 2):  # two at a time: half the traffic
        here = centre[c]
        there = centre[c + 1]
        column = blocked[s * n + c * m : s * n + c * m + m]
        other = blocked[s * n + (c + 1) * m : s * n + (c + 1) * m + m]
        for j in range(m):
            w = column[j] - here
            v = other[j] - there
            out[j] += w * w + v * v
    if n % 2 == 0:
        here = centre[n - 1]
        column = blocked[s * n + (n - 1) * m : s * n + (n - 1) * m + m]
        for j in range(m):
            w = column[j] - here
            out[j] += w * w
    _evaluate(out, m, 0.5 / scale, curve)


@inner_kernel(fastmath={"contract", "reassoc"})
def _sum(shares: FloatArray, living: FloatArray, s: int, m: int) -> float:
    total = 0.0
    for j in range(m):
        total += shares[j] * living[s + j]
    return total


@kernel
def gather(
    rows: FloatArray,
    blocked: FloatArray,
    start: IntArray,
    end: IntArray,
    box: FloatArray,
    living: FloatArray,
    queries: IntArray,
    enough: FloatArray,
    scale: float,
    reach: float,
    gaussian: bool,
    curve: FloatArray,
    budget: int,
    low: FloatArray,
    whole: BoolArray,
) -> int:
    """Sum A of the rows asked for, until `budget` records were visited; returns how many rows are done.

    Parameters
    ----------
    living : (N,) 1 or 0, in leaf order.
    queries : (m,) rows.
    enough : (N,) a sum that need not be exceeded.
    reach : nobody further away counts.
    low, whole : (N,) results: A or a part of it that is enough, and whether it is all.
    """
    n = rows.shape[1]
    inner = len(start) // 2
    widest = 0
    for node in range(inner, len(start)):
        widest = max(widest, end[node] - start[node])
    shares = np.empty(widest)
    stack = np.empty(128, np.int64)
    limit = reach * reach * (1.0 + 1e-9)
    visited = 0
    for i in range(len(queries)):
        if visited > budget:
            return i
        centre = rows[queries[i]]
        total = 0.0
        top = 1
        stack[0] = 0
        while top > 0 and total < enough[queries[i]]:
            top -= 1
            node = stack[top]
            if node >= inner:
                m = end[node] - start[node]
                visited += m
                _shares(blocked, start[node], m, centre, scale, gaussian, curve, shares)
                total += _sum(shares, living, start[node], m)
                continue
            visited += n
            left = _gap(box, 2 * node + 1, centre, gaussian)
            right = _gap(box, 2 * node + 2, centre, gaussian)
            far, near = (2 * node + 2, 2 * node + 1) if left <= right else (2 * node + 1, 2 * node + 2)
            if max(left, right) <= limit:
                stack[top] = far
                top += 1
            if min(left, right) <= limit:
                stack[top] = near
                top += 1
        low[queries[i]] = total
        whole[queries[i]] = top == 0
    return len(queries)


@kernel
def take_away(
    rows: FloatArray,
    blocked: FloatArray,
    start: IntArray,
    end: IntArray,
    box: FloatArray,
    dead: IntArray,
    root: int,
    scale: float,
    reach: float,
    gaussian: bool,
    curve: FloatArray,
    budget: int,
    low: FloatArray,
) -> int:
    """Take what some rows had added from all sums below a node; returns how many of them are done."""
    n = rows.shape[1]
    inner = len(start) // 2
    widest = 0
    for node in range(inner, len(start)):
        widest = max(widest, end[node] - start[node])
    shares = np.empty(widest)
    stack = np.empty(128, np.int64)
    limit = reach * reach * (1.0 + 1e-9)
    visited = 0
    for i in range(len(dead)):
        if visited > budget:
            return i
        centre = rows[dead[i]]
        top = 1
        stack[0] = root
        while top > 0:
            top -= 1
            node = stack[top]
            if node >= inner:
                m = end[node] - start[node]
                visited += m
                _shares(blocked, start[node], m, centre, scale, gaussian, curve, shares)
                for j in range(m):
                    low[start[node] + j] -= shares[j]
                continue
            visited += n
            for child in (2 * node + 1, 2 * node + 2):
                if _gap(box, child, centre, gaussian) <= limit:
                    stack[top] = child
                    top += 1
    return len(dead)
