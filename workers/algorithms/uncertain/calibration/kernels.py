"""Gaussian calibration: expected anonymity about a record as a function of its scale, and the scale for k.

Notation
--------
y : (N, n), records in scaled units; rows, blocked, start, end, box: the tree (neighbours.kernels).
T : the metric of a record: it sees its neighbour j at v_j = T (y_j - y_i). shape (S, n): diagonals of T; shape
    (S, n n): whole matrices; S = 1 for all records alike, else one for each row.
delta_j = |v_j|, sigma : scale, t = delta / (2 sigma).
Q(t) : P(M >= t), M standard normal; decreasing, and convex for t >= 0.
k : `need`, wanted expected anonymity of each row.
h : width of a bin of distances; z = h / (2 sigma), so that t = (delta / h) z.

Gaussian, AG eq. 8: A(sigma) = number of records at distance 0 + sum of Q(delta_j / (2 sigma)) over all others.
The report has a certain lower bound of A, and a certain bound of how much is missing from it:
- records seen are gathered in bins of distance, by count and sum. Q is convex, so a bin counts at least its number
  times Q at its mean (Jensen), and at most the chord between its ends.
- records unseen are in nodes of the tree left aside (the frontier): they count 0, and at most their number times Q at
  the least distance of the node's box. Nodes are opened until these add up to less than the tolerance.
- Q itself from a table: tangents are below it, chords above.
"""

import math

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.uncertain.calibration.bins import REACH, above, bin_sum, root, see, slack
from workers.algorithms.uncertain.neighbours.kernels import gap_to, largest_leaf

SAFE = 1.0 + 4e-6  # what is summed must exceed k by this: rounding here, and of the draw to its grid (`drawing`)
FINE = 1e-9  # share to which a scale is found
_COARSE = 1e-3


@kernel
def gaussian(  # noqa: C901
    rows: FloatArray,
    blocked: FloatArray,
    start: IntArray,
    end: IntArray,
    box: FloatArray,
    shape: FloatArray,
    queries: IntArray,
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
    """Scales or anonymities of the rows requested, until `budget` records were visited; returns how many are done.

    Parameters
    ----------
    queries : (m,) rows; neighbours one after the other are quickest.
    need : (m,) k.
    given : (m,) sigma where it is given, so that only the anonymity is wanted; negative where sigma is wanted.
    early : with a given sigma, stop as soon as the anonymity is known to be at least k.
    tolerance : what may be missing from the reported anonymity, in parts of it.
    scale, anonymity, missing : (m,) results: sigma, lower bound of A, bound of what it lacks (infinite where `early`
        left it unknown). Where no sigma reaches k: NaN, and the supremum.
    """
    n = rows.shape[1]
    nodes = len(start)
    inner = nodes // 2
    full = shape.shape[1] != n
    buffer = np.empty(2 * largest_leaf(start, end))
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
    for i in range(len(queries)):
        if visited > budget:
            return i
        p = queries[i]
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
            for b in range(bins + 1):
                number[b] = 0.0
                total[b] = 0.0
            same = 0
            pending = 1
            frontier[0] = 0
            away[0] = 0.0
            radius = 0.0 if early or (tries == 1 and guess == 0.0) else 1.5 * sigma * far
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
                            same += see(
                                blocked, start[node], end[node], centre, shape, mine, full, 1.0 / h, bins, number,
                                total, buffer,
                            )  # fmt: skip
                            seen += end[node] - start[node]
                            continue
                        for child in (2 * node + 2, 2 * node + 1):
                            gap = gap_to(box, child, centre, shape, mine, full, False)
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
                    z = 0.5 * h / sigma if given[i] > 0.0 else np.inf
                elif same >= k:
                    z = np.inf
                elif 0.5 * within + same <= wanted:
                    solved = False
                else:
                    z = z if 0.0 < z < np.inf else REACH / bins
                    z = root(z, wanted - same, _COARSE, filled, count, mean, table)
                    solved = z > 0.0
                low = float(same)
                if solved and z < np.inf:
                    low += bin_sum(z, filled, count, mean, table)[0]
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
                closest = np.inf
                for shell in range(512):
                    shells[shell] = 0.0
                for f in range(pending):
                    closest = min(closest, away[f])
                    t = away[f] / h * z
                    part = (end[frontier[f]] - start[frontier[f]]) * above(t, table)
                    tail += part
                    shells[min(int(t * 64.0), 511)] += part
                if tail <= 0.6 * tolerance * low:
                    if not known:
                        z = root(z, wanted - same, FINE, filled, count, mean, table)
                        low = same + bin_sum(z, filled, count, mean, table)[0]
                    break
                outside = 0.0
                shell = 511
                while shell > 0 and outside + shells[shell] <= 0.5 * tolerance * low:
                    outside += shells[shell]
                    shell -= 1
                radius = max(radius * 1.0000001, (shell + 1) / 64.0 * h / z)
                if early:
                    radius = min(radius, max(h / z * 0.5, 0.0) + 1.3 * closest)
            visited += seen + 4 * pending
            if not solved:
                if number[bins] > 0.0:  # the bins do not reach far enough
                    sigma *= 4.0
                    continue
                sigma = np.nan
                break
            if z == np.inf:
                break
            inside, over = slack(z, bins, number, total, table)
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
    return len(queries)
