"""Uniform calibration: overlaps of cubes, and the smallest side with k in expectation.

Notation
--------
y : (N, n), records in scaled units; rows, start, end, box: the tree, shape: the metrics (neighbours.kernels).
v_j = T (y_j - y_i), w = |v|, along each axis.  a : side of the cube.

AG eq. 15: A(a) = sum_j prod_m max(1 - w_jm / a, 0). Only records within a along all axes count; once all of those are
seen the sum is exact. A side found among the records seen so far can only be too large, so the search ends.
"""

import math

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.uncertain.calibration.kernels import FINE, SAFE
from workers.algorithms.uncertain.neighbours.kernels import gap_to


@inner_kernel
def _overlap(a: float, filled: int, w: FloatArray) -> tuple[float, float]:
    """Sum of the shares that cubes of side a have in common, and its derivative in log a (AG eq. 15)."""
    n = w.shape[1]
    value = 0.0
    slope = 0.0
    for j in range(filled):
        share = 1.0
        growth = 0.0
        for c in range(n):
            rest = 1.0 - w[j, c] / a
            if rest <= 0.0:
                share = 0.0
                break
            share *= rest
            growth += (1.0 - rest) / rest
        if share > 0.0:
            value += share
            slope += share * growth
    return value, slope


@kernel
def uniform(  # noqa: C901
    rows: FloatArray,
    start: IntArray,
    end: IntArray,
    box: FloatArray,
    shape: FloatArray,
    queries: IntArray,
    need: FloatArray,
    given: FloatArray,
    early: bool,
    budget: int,
    scale: FloatArray,
    anonymity: FloatArray,
) -> int:
    """Sides or anonymities of the rows requested, exact; parameters as for `gaussian`."""
    n = rows.shape[1]
    nodes = len(start)
    inner = nodes // 2
    full = shape.shape[1] != n
    stack = np.empty(256, np.int64)
    w = np.empty((4096, n))
    component = np.empty(n)
    guess = 0.0
    visited = 0
    for i in range(len(queries)):
        if visited > budget:
            return i
        p = queries[i]
        mine = p if len(shape) > 1 else 0
        centre = rows[p]
        wanted = need[i] * SAFE
        known = given[i] >= 0.0
        radius = given[i] if known else 1.05 * guess
        side = given[i] if known else 0.0
        value = 0.0
        same = 0
        while True:
            same = 0
            filled = 0
            total = 0.0
            furthest = 0.0
            stack[0] = 0
            top = 1
            while top > 0 and not (early and total + same >= wanted):
                top -= 1
                node = stack[top]
                if node < inner:
                    for child in (2 * node + 2, 2 * node + 1):
                        if gap_to(box, child, centre, shape, mine, full, True) <= radius:
                            stack[top] = child
                            top += 1
                    continue
                visited += end[node] - start[node]
                for j in range(start[node], end[node]):
                    largest = 0.0
                    for a in range(n):
                        if full:
                            v = 0.0
                            for c in range(n):
                                v += shape[mine, a * n + c] * (rows[j, c] - centre[c])
                        else:
                            v = shape[mine, a] * (rows[j, a] - centre[a])
                        component[a] = abs(v)
                        largest = max(largest, abs(v))
                    if largest == 0.0:
                        same += 1
                    elif largest <= radius:
                        if known:
                            share = 1.0
                            for c in range(n):
                                share *= max(1.0 - component[c] / side, 0.0)
                            total += share
                            continue
                        if filled == len(w):
                            more = np.empty((2 * filled, n))
                            for f in range(filled):
                                for c in range(n):
                                    more[f, c] = w[f, c]
                            w = more
                        for c in range(n):
                            w[filled, c] = component[c]
                        filled += 1
                    else:
                        furthest = max(furthest, largest)
            value = total + same
            if known or same >= need[i]:
                break
            whole = filled + same == len(rows)
            if filled + same <= wanted:
                if whole:
                    side = np.nan
                    break
                radius = max(1.5 * radius, 0.3 * furthest) if radius > 0.0 else furthest
                if radius == 0.0:  # the own leaf contains nothing else: as far as the records go
                    for c in range(n):
                        radius = max(radius, 1e-3 * (box[0, 1, c] - box[0, 0, c]))
                    radius = radius if radius > 0.0 else 1.0
                continue
            low = 0.0
            high = np.inf
            side = guess if guess > 0.0 else radius
            while True:
                value, slope = _overlap(side, filled, w)
                if value >= wanted - same:
                    high = side
                else:
                    low = side
                if high <= low * (1.0 + FINE) or side > 1e290:
                    break
                move = 1.0
                if value > 0.0 and slope == 0.0:  # the side is so wide that all of them overlap whole
                    move = -2.0
                elif value > 0.0:
                    move = min(max(-math.log(value / (wanted - same)) * value / slope, -2.0), 2.0)
                move = min(move, 0.0) - 2e-10 if value >= wanted - same else max(move, 0.0) + 2e-10
                side *= math.exp(move)
                if not low < side < high:
                    side = math.sqrt(low) * math.sqrt(high) if low > 0.0 else 0.5 * high
                    if high < np.inf and not low < side < high:
                        break
            side = high
            if side <= radius or whole:
                value = _overlap(side, filled, w)[0] + same
                break
            radius = min(side, 1.5 * radius)
        if known:
            scale[i] = side
            anonymity[i] = value
        elif same >= need[i]:
            scale[i] = 0.0
            anonymity[i] = same
        elif side == side:
            scale[i] = side
            anonymity[i] = value
            guess = side
        else:
            scale[i] = np.nan
            anonymity[i] = len(rows)
    return len(queries)
