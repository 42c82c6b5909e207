"""Kernels of the calibration: expected anonymity about a record as a function of its scale, and the scale for k.

They stand in one file because numba's cache watches only the file of the kernel that is called.

Notation
--------
y : (N, n), records in scaled units; rows, blocked, start, end, box: the tree (`neighbours_kernels`).
T : the metric of a record: it sees its neighbour j at v_j = T (y_j - y_i). shape (S, n): diagonals of T; shape
    (S, n n): whole matrices; S = 1 for all records alike, else one for each row.
delta_j = |v_j|, sigma : scale, t = delta / (2 sigma).
Q(t) : P(M >= t), M standard normal; decreasing, and convex for t >= 0.
k : `need`, wanted expected anonymity of each row.
h : width of a bin of distances; z = h / (2 sigma), so that t = (delta / h) z.

Gaussian, AG eq. 8: A(sigma) = number of records at distance 0 + sum of Q(delta_j / (2 sigma)) over all others.
What is reported is a certain lower bound of A, and a certain bound of how much is missing from it:
- records seen are gathered in bins of distance, by count and sum. Q is convex, so a bin counts at least its number times
  Q at its mean (Jensen), and at most the chord between its ends.
- records unseen lie in nodes of the tree left aside (the frontier): they count 0, and at most their number times Q at the
  least distance of the node's box. Nodes are opened until these add up to less than the tolerance.
- Q itself from a table: tangents lie below it, chords above.
Uniform, AG eq. 15: A(a) = sum_j prod_m max(1 - |v_jm| / a, 0): only records within a along all axes count; once all of
those are seen the sum is exact.
"""

import math

import numpy as np
from numba import njit

from workers.algorithms.core.types import FloatArray, IntArray

CELLS = 512  # of the table, per unit of t
REACH = 8.0  # the table ends here: Q(8) = 6e-16
SAFE = 1.0 + 4e-6  # what is summed must exceed k by this: rounding here, and of the draw to its grid (`drawing`)
_FINE = 1e-9
_COARSE = 1e-3


@njit(nogil=True, cache=True)
def _gap(
    box: FloatArray, node: int, centre: FloatArray, shape: FloatArray, mine: int, full: bool, largest: bool
) -> float:
    """Least |v| (or largest component of v) over a node's box, or a little less."""
    n = len(centre)
    total = 0.0
    for a in range(n):
        if full:
            middle = 0.0
            half = 0.0
            for c in range(n):
                weight = shape[mine, a * n + c]
                middle += weight * (0.5 * box[node, 0, c] + 0.5 * box[node, 1, c] - centre[c])
                half += abs(weight) * (0.5 * box[node, 1, c] - 0.5 * box[node, 0, c])
            w = max(abs(middle) * (1.0 - 1e-13) - half * (1.0 + 1e-13), 0.0)
        else:
            w = max(max(box[node, 0, a] - centre[a], centre[a] - box[node, 1, a]), 0.0) * shape[mine, a]
        total = max(total, w) if largest else total + w * w
    return total if largest else math.sqrt(total)


@njit(nogil=True, cache=True)
def _see(
    blocked: FloatArray,
    s: int,
    e: int,
    centre: FloatArray,
    shape: FloatArray,
    mine: int,
    full: bool,
    per_bin: float,
    bins: int,
    number: FloatArray,
    total: FloatArray,
    buffer: FloatArray,
) -> int:
    """Add the records of a leaf to the bins; the last bin holds what lies beyond. Returns how many are at distance 0."""
    n = len(centre)
    m = e - s
    q = buffer[:m]
    q[:] = 0.0
    for a in range(n):
        if full:
            v = buffer[m : 2 * m]
            v[:] = 0.0
            for c in range(n):
                weight = shape[mine, a * n + c]
                here = centre[c]
                column = blocked[s * n + c * m : s * n + c * m + m]
                for j in range(m):
                    v[j] += weight * (column[j] - here)
            for j in range(m):
                q[j] += v[j] * v[j]
        else:
            weight = shape[mine, a]
            here = centre[a]
            column = blocked[s * n + a * m : s * n + a * m + m]
            for j in range(m):
                w = (column[j] - here) * weight
                q[j] += w * w
    same = 0
    for j in range(m):
        same += q[j] == 0.0
        q[j] = min(math.sqrt(q[j]) * per_bin, float(bins))
    for j in range(m):
        b = int(q[j])
        number[b] += 1.0
        total[b] += q[j]
    number[0] -= same
    return same


@njit(nogil=True, cache=True)
def _sum(z: float, filled: int, count: FloatArray, mean: FloatArray, table: FloatArray) -> tuple[float, float]:
    """Lower bound of the sum of Q over the bins, and minus its derivative in log z."""
    last = table.shape[1] - 1
    low = 0.0
    slope = 0.0
    for b in range(filled):
        t = mean[b] * z
        j = int(t * CELLS + 0.5)
        if j >= last:
            break
        steep = count[b] * table[1, j]
        low += count[b] * table[0, j] - steep * (t - j / CELLS)
        slope += steep * t
    return low, slope


@njit(nogil=True, cache=True)
def _above(t: float, table: FloatArray) -> float:
    """Upper bound of Q: the chord of the table's cell."""
    j = int(t * CELLS)
    last = table.shape[1] - 1
    if j >= last:
        return float(table[0, last])
    return float(table[0, j] + (t * CELLS - j) * (table[0, j + 1] - table[0, j]))


@njit(nogil=True, cache=True)
def _slack(z: float, bins: int, number: FloatArray, total: FloatArray, table: FloatArray) -> tuple[float, float]:
    """How much the seen records may count more than their lower bound: in the bins, and beyond the last one."""
    more = 0.0
    for b in range(bins):
        if number[b] > 0.0:
            left = _above(b * z, table)
            right = _above((b + 1) * z, table)
            place = min(max(total[b] / number[b] - b, 0.0), 1.0)
            more += number[b] * (left + place * (right - left))
    return more, number[bins] * _above(bins * z, table)


@njit(nogil=True, cache=True)
def _root(
    z: float, wanted: float, fine: float, filled: int, count: FloatArray, mean: FloatArray, table: FloatArray
) -> float:
    """Largest z, up to a share `fine`, with a sum of at least `wanted`; 0 where there is none.

    Newton on logarithms inside a bracket; steps go a little beyond the root, so that the bracket closes from both sides.
    """
    low = 0.0
    high = np.inf
    for _ in range(400):
        value, slope = _sum(z, filled, count, mean, table)
        if value >= wanted:
            low = z
        else:
            high = z
        if low > 0.0 and high <= low * (1.0 + fine):
            return low
        if z < 1e-290 or z > 1e290:
            return low
        move = 0.0
        if value > 0.0 and slope > 0.0:
            move = math.log(value / wanted) * value / slope
        elif value < wanted:
            move = -2.0
        else:
            move = 2.0
        move = min(max(move, -2.0), 2.0)
        move = max(move, 0.0) + 0.3 * fine if value >= wanted else min(move, 0.0) - 0.3 * fine
        z *= math.exp(move)
        if not low < z < high:
            z = math.sqrt(low * high) if low > 0.0 else 0.5 * high
            if not low < z < high:
                return low
    return low


@njit(nogil=True, cache=True)
def gaussian(
    rows: FloatArray,
    blocked: FloatArray,
    start: IntArray,
    end: IntArray,
    box: FloatArray,
    shape: FloatArray,
    asked: IntArray,
    need: FloatArray,
    given: FloatArray,
    early: bool,
    tolerance: float,
    table: FloatArray,
    budget: int,
    scale: FloatArray,
    anonymity: FloatArray,
    missing: FloatArray,
) -> int:
    """Scales or anonymities of the rows asked for, until `budget` records were visited; returns how many are done.

    Parameters
    ----------
    asked : (m,) rows; neighbours one after the other are quickest.
    need : (m,) k.
    given : (m,) sigma where it is given, so that only the anonymity is wanted; negative where sigma is wanted.
    early : with a given sigma, stop as soon as the anonymity is known to be at least k.
    tolerance : what may be missing from the reported anonymity, in parts of it.
    scale, anonymity, missing : (m,) results: sigma, lower bound of A, bound of what it lacks (infinite where `early` left
        it unknown). Where no sigma reaches k: NaN, and the supremum.
    """
    n = rows.shape[1]
    nodes = len(start)
    inner = nodes // 2
    full = shape.shape[1] != n
    widest = 0
    for node in range(inner, nodes):
        widest = max(widest, end[node] - start[node])
    buffer = np.empty(2 * widest)
    most = 8192
    usual = 512 if n <= 8 else 2048
    while usual < most and usual * usual * tolerance < 200.0:
        usual *= 2
    number = np.zeros(most + 1)
    total = np.zeros(most + 1)
    count = np.empty(most + 1)
    mean = np.empty(most + 1)
    frontier = np.empty(nodes, np.int64)
    away = np.empty(nodes)
    later = np.empty(nodes, np.int64)
    later_away = np.empty(nodes)
    stack = np.empty(256, np.int64)
    shells = np.empty(512)
    guess = 0.0
    far = 3.5
    visited = 0
    for i in range(len(asked)):
        if visited > budget:
            return i
        p = asked[i]
        mine = p if len(shape) > 1 else 0
        centre = rows[p]
        k = need[i]
        wanted = k * SAFE
        known = given[i] >= 0.0
        sigma = given[i] if known else guess
        bins = usual
        tries = 0
        while True:
            tries += 1
            if sigma <= 0.0:  # nothing known yet: half the way across the own leaf, or across everything
                leaf = inner
                while end[leaf] <= p:
                    leaf += 1
                for node in (leaf, 0):
                    if sigma <= 0.0:
                        for j in range(start[node], end[node]):
                            q = 0.0
                            for a in range(n):
                                if full:
                                    v = 0.0
                                    for c in range(n):
                                        v += shape[mine, a * n + c] * (rows[j, c] - centre[c])
                                else:
                                    v = shape[mine, a] * (rows[j, a] - centre[a])
                                q += v * v
                            sigma = max(sigma, 0.5 * math.sqrt(q))
                if sigma <= 0.0:
                    sigma = 1.0
            h = 2.0 * sigma * REACH / bins
            number[: bins + 1] = 0.0
            total[: bins + 1] = 0.0
            same = 0
            pending = 1
            frontier[0] = 0
            away[0] = 0.0
            radius = 0.0 if early or tries == 1 and guess == 0.0 else 1.5 * sigma * far
            z = REACH / bins
            seen = 0
            while True:
                kept = 0
                for f in range(pending):
                    if away[f] > radius:
                        later[kept] = frontier[f]
                        later_away[kept] = away[f]
                        kept += 1
                        continue
                    top = 1
                    stack[0] = frontier[f]
                    while top > 0:
                        top -= 1
                        node = stack[top]
                        if node >= inner:
                            same += _see(
                                blocked, start[node], end[node], centre, shape, mine, full, 1.0 / h, bins, number,
                                total, buffer,
                            )  # fmt: skip
                            seen += end[node] - start[node]
                            continue
                        for child in (2 * node + 2, 2 * node + 1):
                            gap = _gap(box, child, centre, shape, mine, full, False)
                            if gap <= radius:
                                stack[top] = child
                                top += 1
                            else:
                                later[kept] = child
                                later_away[kept] = gap
                                kept += 1
                frontier, later = later, frontier
                away, later_away = later_away, away
                pending = kept
                filled = 0
                within = 0.0
                for b in range(bins):
                    if number[b] > 0.0:
                        count[filled] = number[b]
                        mean[filled] = total[b] / number[b]
                        within += number[b]
                        filled += 1
                solved = True
                if known:
                    z = 0.5 * h / sigma if sigma > 0.0 else np.inf
                elif same >= k:
                    z = np.inf
                elif 0.5 * within + same <= wanted:
                    solved = False
                else:
                    z = z if 0.0 < z < np.inf else REACH / bins
                    z = _root(z, wanted - same, _COARSE, filled, count, mean, table)
                    solved = z > 0.0
                low = float(same)
                if solved and z < np.inf:
                    low += _sum(z, filled, count, mean, table)[0]
                enough = early and low >= wanted
                if solved and (z == np.inf or enough):
                    tail = 0.0
                    break
                if not solved:
                    if pending == 0 or 0.5 * (within + number[bins]) + same > wanted:
                        break
                    nearest = np.inf
                    for f in range(pending):
                        nearest = min(nearest, away[f])
                    radius = max(1.5 * radius, 1.3 * nearest)
                    continue
                tail = 0.0
                shells[:] = 0.0
                for f in range(pending):
                    t = away[f] / h * z
                    part = (end[frontier[f]] - start[frontier[f]]) * _above(t, table)
                    tail += part
                    shells[min(int(t * 64.0), 511)] += part
                if tail <= 0.6 * tolerance * low:
                    if not known:
                        z = _root(z, wanted - same, _FINE, filled, count, mean, table)
                        low = same + _sum(z, filled, count, mean, table)[0]
                    break
                outside = 0.0
                shell = 511
                while shell > 0 and outside + shells[shell] <= 0.5 * tolerance * low:
                    outside += shells[shell]
                    shell -= 1
                radius = max(radius * 1.0000001, (shell + 1) / 64.0 * h / z)
                if early:
                    radius = min(radius, max(h / z * 0.5, 0.0) + 1.3 * away[:pending].min())
            visited += seen + 4 * pending
            if not solved:
                if number[bins] > 0.0:  # the bins do not reach far enough
                    sigma *= 4.0
                    continue
                sigma = np.nan
                break
            if z == np.inf:
                break
            inside, over = _slack(z, bins, number, total, table)
            excess = inside - (low - same) + over
            if enough or tail + excess <= tolerance * low or tries > 60:
                missing_here = np.inf if enough else tail + excess
                if not known:
                    sigma = 0.5 * h / z
                break
            if known:
                bins = min(2 * bins, most)
                tries = 61 if bins == most else tries
                continue
            closer = 0.5 * h / z
            if 0.8 < closer / sigma < 1.25:
                tries = 60 if bins == most else tries
                bins = min(2 * bins, most)
            sigma = closer
        if not solved:
            scale[i] = np.nan
            anonymity[i] = same + 0.5 * (len(rows) - same)
            missing[i] = 0.0
        elif z == np.inf:
            scale[i] = given[i] if known else 0.0
            anonymity[i] = same
            missing[i] = 0.0
        else:
            scale[i] = sigma
            anonymity[i] = low
            missing[i] = missing_here
            if not known:
                guess = sigma
                far = min(max(radius / (2.0 * sigma), 1.0), 7.0)
    return len(asked)


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def uniform(
    rows: FloatArray,
    start: IntArray,
    end: IntArray,
    box: FloatArray,
    shape: FloatArray,
    asked: IntArray,
    need: FloatArray,
    given: FloatArray,
    early: bool,
    budget: int,
    scale: FloatArray,
    anonymity: FloatArray,
) -> int:
    """Sides or anonymities of the rows asked for, exact; parameters as for `gaussian`."""
    n = rows.shape[1]
    nodes = len(start)
    inner = nodes // 2
    full = shape.shape[1] != n
    stack = np.empty(256, np.int64)
    w = np.empty((4096, n))
    component = np.empty(n)
    guess = 0.0
    visited = 0
    for i in range(len(asked)):
        if visited > budget:
            return i
        p = asked[i]
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
                        if _gap(box, child, centre, shape, mine, full, True) <= radius:
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
                            more[:filled] = w
                            w = more
                        w[filled] = component
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
                if radius == 0.0:  # the own leaf holds nothing else: as far as the records go
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
                if high <= low * (1.0 + _FINE) or side > 1e290:
                    break
                if value > 0.0:
                    move = min(max(-math.log(value / (wanted - same)) * value / slope, -2.0), 2.0)
                else:
                    move = 1.0
                move = min(move, 0.0) - 2e-10 if value >= wanted - same else max(move, 0.0) + 2e-10
                side *= math.exp(move)
                if not low < side < high:
                    side = math.sqrt(low * high) if low > 0.0 else 0.5 * high
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
    return len(asked)
