"""Boxes divided by cuts once; `descending_kernels` leads records down them. Notation as in tables.locating.

ends : (B, 2 n), lower bounds of boxes, then upper ones.
words : (B, .), the sets of all nominal columns side by side, bit by bit; start : (m + 1,) where those of each begin.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IntArray

WordArray: TypeAlias = NDArray[np.uint64]
NodeArray: TypeAlias = NDArray[np.void]

#: A cut or a leaf, in one place of the memory.
NODE = np.dtype([("at", np.float64), ("child", np.int64), ("column", np.int32), ("size", np.int32)])

_FEW = 4  # boxes that are looked at one after the other
_TRIED = 32  # boxes that propose cuts and judge them, more where there are very many
_TRIED_OF_MANY = 192
_MANY = 4_096
_GROWTH = 4  # times as many places in leaves as boxes, at most: boxes that overlap stand in several
_LEAF = -1
_PARTS = 64  # of a column's values, which a nominal cut is put together of


@inner_kernel
def _judged(first: int, other: int) -> float:
    """What a cut costs: boxes that stand on both sides go on to do so at every cut that follows."""
    return first + other + 0.2 * max(first, other)


@inner_kernel
def _ascending(values: FloatArray, size: int) -> None:
    for place in range(1, size):
        value, to = values[place], place
        while to > 0 and values[to - 1] > value:
            values[to] = values[to - 1]
            to -= 1
        values[to] = value


@inner_kernel
def _numeric_cut(ends: FloatArray, tried: IntArray, j: int, spare: FloatArray) -> tuple[float, float]:
    """The lower bound that divides the boxes tried best, and how well."""
    size, n, points = len(tried), ends.shape[1] // 2, 0
    lower, upper, point = spare[0], spare[1], spare[2]
    for place in range(size):
        lower[place], upper[place] = ends[tried[place], j], ends[tried[place], n + j]
        if lower[place] == upper[place]:
            point[points] = lower[place]
            points += 1
    _ascending(lower, size)
    _ascending(upper, size)
    _ascending(point, points)
    best, at, over, here = np.inf, 0.0, 0, 0
    for below in range(1, size):
        if lower[below] == lower[below - 1]:
            continue
        while over < size and upper[over] <= lower[below]:
            over += 1
        while here < points and point[here] < lower[below]:
            here += 1
        beyond = here
        while beyond < points and point[beyond] == lower[below]:
            beyond += 1
        judged = _judged(below, size - over + beyond - here)  # points at the cut are above it
        if judged < best:
            best, at = judged, lower[below]
    return best, at


@inner_kernel
def _meets(words: WordArray, box: int, first: int, side: WordArray, width: int, off: bool) -> bool:
    """Whether a box has a value on a side, or off it."""
    met = np.uint64(0)
    for w in range(width):
        met |= words[box, first + w] & (~side[w] if off else side[w])
    return bool(met != np.uint64(0))


@inner_kernel
def _united(words: WordArray, tried: IntArray, first: int, width: int) -> tuple[WordArray, IntArray]:
    """Sets of the boxes tried, united where they have values in common; how many boxes make up each."""
    parts, weight, count = np.zeros((_PARTS, width), np.uint64), np.zeros(_PARTS, np.int64), 0
    for box in tried:
        home, place = -1, 0
        while place < count:
            if not _meets(words, box, first, parts[place], width, False):
                place += 1
            elif home < 0:
                home, place = place, place + 1
            else:  # it joins two
                count -= 1
                for w in range(width):
                    parts[home, w] |= parts[place, w]
                    parts[place, w] = parts[count, w]
                weight[home] += weight[place]
                weight[place] = weight[count]
        if home < 0 and count == _PARTS:
            home = 0
        elif home < 0:
            home, count = count, count + 1
            parts[home, :], weight[home] = np.uint64(0), 0
        for w in range(width):
            parts[home, w] |= words[box, first + w]
        weight[home] += 1
    return parts[:count], weight[:count]


@inner_kernel
def _nominal_cut(words: WordArray, tried: IntArray, first: int, width: int) -> tuple[float, WordArray]:
    """Values that divide the boxes tried well, and how well: parts that no box joins, else the set of one of them."""
    side, other, best = np.zeros(width, np.uint64), np.zeros(width, np.uint64), np.inf
    parts, weight = _united(words, tried, first, width)
    if len(parts) > 1:
        here, there = 0, 0
        for _ in range(len(parts)):
            place = np.argmax(weight)
            if here <= there:
                here += weight[place]
                for w in range(width):
                    side[w] |= parts[place, w]
            else:
                there += weight[place]
            weight[place] = -1
        return _judged(here, there), side
    for turn in range(0, len(tried), max(len(tried) // 8, 1)):
        inside, outside = 0, 0
        for w in range(width):
            other[w] = words[tried[turn], first + w]
        for box in tried:
            inside += _meets(words, box, first, other, width, False)
            outside += _meets(words, box, first, other, width, True)
        judged = _judged(inside, outside)
        if judged < best and max(inside, outside) < len(tried):
            best = judged
            side, other = other, side
    return best, side


@kernel
def divided(  # noqa: C901
    ends: FloatArray, words: WordArray, start: IntArray
) -> tuple[NodeArray, WordArray, IntArray, FloatArray, WordArray]:
    """Cuts that leave a few boxes each.

    Returns
    -------
    nodes : of each cut its column, n + j for nominal ones; `at`, below which a record goes to the child, at and above
        it to the next node (nominal: the row of `side`); `size` is 1 where a box below ends at the cut itself, so
        that records there go to both. Of each leaf column -1, and where in `boxes` its `size` begin.
    side : values that go to the child, a row for each nominal cut.
    boxes : those of leaves, one leaf after the other, ascending in each.
    ends, words : the same of these.
    """
    n, broadest = ends.shape[1] // 2, 1
    for j in range(len(start) - 1):
        broadest = max(broadest, start[j + 1] - start[j])
    room = _GROWTH * len(ends) + _FEW
    tree, nodes = np.empty(2 * room + 1, NODE), 1
    side, sides = np.zeros((16, broadest), np.uint64), 0
    boxes, bounds = np.empty(room, np.int64), np.empty((room, 2 * n))
    held, filled, spare = np.empty((room, words.shape[1]), np.uint64), 0, np.empty((3, _TRIED_OF_MANY))
    waiting = [(0, np.arange(len(ends)), ends, words, room)]
    while waiting:
        node, mine, its, own, allowed = waiting.pop()
        size = len(mine)
        best, chosen, at, values = np.inf, _LEAF, 0.0, side[0]
        if size > _FEW:
            count = min(size, _TRIED_OF_MANY if size > _MANY else _TRIED)
            tried = np.empty(count, np.int64)
            for place in range(count):
                tried[place] = place * size // count
            for j in range(n):
                judged, cut = _numeric_cut(its, tried, j, spare)
                if judged < best:
                    best, chosen, at = judged, j, cut
            for j in range(len(start) - 1):
                judged, one = _nominal_cut(own, tried, start[j], start[j + 1] - start[j])
                if judged < best:
                    best, chosen, values = judged, n + j, one
        below, above, touched = 0, 0, False
        here, there = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        for box in range(size if chosen >= 0 else 0):
            if chosen < n:
                here[box] = its[box, chosen] < at
                there[box] = its[box, n + chosen] > at or not here[box]
                touched = touched or (its[box, n + chosen] == at and here[box])
            else:
                first, width = start[chosen - n], start[chosen - n + 1] - start[chosen - n]
                here[box] = _meets(own, box, first, values, width, False)
                there[box] = _meets(own, box, first, values, width, True)
            below += here[box]
            above += there[box]
        if chosen < 0 or max(below, above) == size or below + above > allowed:
            for place in range(size):
                boxes[filled + place] = mine[place]
                for j in range(2 * n):
                    bounds[filled + place, j] = its[place, j]
                for w in range(words.shape[1]):
                    held[filled + place, w] = own[place, w]
            tree[node].column, tree[node].child, tree[node].size = _LEAF, filled, size
            filled += size
            continue
        tree[node].column, tree[node].child, tree[node].size, tree[node].at = chosen, nodes, touched, at
        if chosen >= n:
            if sides == len(side):
                wider = np.zeros((2 * sides, broadest), np.uint64)
                for row in range(sides):
                    for w in range(broadest):
                        wider[row, w] = side[row, w]
                side = wider
            for w in range(len(values)):
                side[sides, w] = values[w]
            tree[node].at = sides
            sides += 1
        share = min(max(allowed * below // (below + above), below), allowed - above)
        waiting.append((nodes + 1, mine[there], its[there], own[there], allowed - share))
        waiting.append((nodes, mine[here], its[here], own[here], share))
        nodes += 2
    return tree[:nodes].copy(), side, boxes[:filled].copy(), bounds[:filled].copy(), held[:filled].copy()
