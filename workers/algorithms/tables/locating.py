"""In which published box a record is: by geometry, for links to records are not kept.

Source: science.md section 6, "The ledger".

Notation
--------
lower, upper : (B, n), closed bounds; both minus infinity: the value is missing.
x : (N, n), records; minus infinity: missing.
ends : (B, 2 n), lower bounds of boxes, then upper ones.
words : (B, .), the sets of all nominal columns side by side, bit by bit; start : (m + 1,) where those of each begin.
A record on a bound that two boxes share is in the upper one: cells are half-open.

Boxes that come of cuts are divided by cuts again, at lower bounds, so that those that end at a cut stay on one side of
it; a record goes down these on its own, to few boxes. Boxes that overlap are on both sides, up to a few times as
many places as boxes; the rest then is looked at one after the other.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import BoolArray, FloatArray, IntArray

_LOOKED_AT: Final = 5
_BITS: Final = 15  # of a cell's number, divided among the columns
_DRAWN: Final = 4_096
_TOGETHER = 16  # records that go down at once
WordArray: TypeAlias = NDArray[np.uint64]
NodeArray: TypeAlias = NDArray[np.void]
#: A cut or a leaf, in one place of the memory.
NODE = np.dtype([("at", np.float64), ("child", np.int64), ("column", np.int32), ("size", np.int32)])
_FEW = 4  # boxes that are looked at one after the other
_TRIED = 32  # boxes that propose cuts and judge them, more where there are very many
_TRIED_OF_MANY = 192
_MANY = 4_096
_GROWTH = 4  # times as many places in leaves as boxes, at most: boxes that overlap are in several
_LEAF = -1
_PARTS = 64  # of a column's values, which a nominal cut is put together of


def locate(
    x: FloatArray, codes: IntArray, lower: FloatArray, upper: FloatArray, sets: tuple[BoolArray, ...]
) -> IntArray:
    """The box of each record; O((N + B) n log B) where boxes come of cuts of columns with two ends.

    Parameters
    ----------
    x : (N, n) numeric values.
    codes : (N, m) nominal values, numbered per column; beyond a set's width: a value that no box has.
    lower, upper : (B, n).
    sets : (B, values) each, which values of a nominal column are in a box.

    Returns
    -------
    (N,), -1 where there is none.
    """
    widths = np.array([one.shape[1] for one in sets], dtype=np.int64)
    parts = [_words(one) for one in sets]
    words = np.hstack([np.zeros((len(lower), 0), np.uint64), *parts])
    start = np.cumsum([0, *(one.shape[1] for one in parts)])
    ends = np.ascontiguousarray(np.hstack([lower, upper]), dtype=np.float64)
    codes = np.ascontiguousarray(np.minimum(codes, widths), dtype=np.int64)
    return box_of(np.ascontiguousarray(x, dtype=np.float64), codes, start, *divided(ends, words, start))


def rehearse() -> IntArray:
    """The boxes of forty made-up records, two in each: what jobs that find boxes need is there afterwards."""
    x, lower = np.arange(40.0)[:, None], np.arange(0.0, 40.0, 2.0)[:, None]
    return locate(x, np.zeros((40, 0), dtype=np.int64), lower, lower + 1.0, ())


def near(columns: Sequence[FloatArray]) -> IntArray:
    """An order of records in which those that are near each other are near each other; O(N) for each of the first five.

    Parameters
    ----------
    columns : (N,) each, of which the first five count: their quantiles, from some of the records, divide space.
    """
    some = columns[:_LOOKED_AT]
    bits = _BITS // len(some)
    cell = np.zeros(len(some[0]), dtype=np.uint16)
    for one in some if len(cell) else ():
        drawn = np.sort(one[:: max(len(one) // _DRAWN, 1)])
        cuts = drawn[np.arange(1, 1 << bits) * len(drawn) >> bits]
        cell = (cell << np.uint16(bits)) | np.searchsorted(cuts, one, side="right").astype(np.uint16)
    return np.argsort(cell, kind="stable")


def _words(members: BoolArray) -> WordArray:
    """A set's values as bits, with room for one more that no box has."""
    packed = np.packbits(members, axis=1, bitorder="little")
    whole = np.zeros((len(members), 8 * (members.shape[1] // 64 + 1)), dtype=np.uint8)
    whole[:, : packed.shape[1]] = packed
    return whole.view("<u8").astype(np.uint64, copy=False)


@inner_kernel
def _further(nodes: NodeArray, at: int, x: FloatArray, codes: IntArray, i: int, side: WordArray) -> int:
    """Where a record goes from a cut."""
    node = nodes[at]
    if node.column < x.shape[1]:
        return int(node.child + (x[i, node.column] >= node.at))
    code = np.uint64(codes[i, node.column - x.shape[1]])
    inside = (side[np.int64(node.at), np.int64(code >> np.uint64(6))] >> (code & np.uint64(63))) & np.uint64(1)
    return int(node.child + 1 - np.int64(inside))


@inner_kernel
def _looked_at(
    x: FloatArray, codes: IntArray, i: int, start: IntArray, boxes: IntArray, ends: FloatArray, words: WordArray,
    first: int, last: int, previous: tuple[int, int],
) -> tuple[int, int]:  # fmt: skip
    """The best box of a record in a leaf, or the one that was found before; and on how many upper bounds it is."""
    best, least = previous
    n = x.shape[1]
    for place in range(first, last):
        touching = 0
        for j in range(n):
            if x[i, j] < ends[place, j] or x[i, j] > ends[place, n + j]:
                touching = -1
                break
            touching += x[i, j] == ends[place, n + j] and ends[place, j] < ends[place, n + j]
        if touching < 0 or touching > least or (touching == least and boxes[place] > best):
            continue
        for j in range(codes.shape[1]):
            code = np.uint64(codes[i, j])
            word = words[place, start[j] + np.int64(code >> np.uint64(6))]
            if not (word >> (code & np.uint64(63))) & np.uint64(1):
                touching = -1
                break
        if touching >= 0:
            best, least = boxes[place], touching
    return best, least


@kernel
def box_of(
    x: FloatArray, codes: IntArray, start: IntArray,
    nodes: NodeArray, side: WordArray, boxes: IntArray, ends: FloatArray, words: WordArray,
) -> IntArray:  # fmt: skip
    """The box of each record; the one on whose upper bounds it is least, then the first; -1 where there is none.

    Parameters
    ----------
    x : (N, n).  codes : (N, m), within the words of their column.
    nodes, side, boxes, ends, words : what `divided` gave.
    """
    n = x.shape[1]
    assigned, waiting = np.empty(len(x), np.int64), np.empty(len(nodes) + 1, np.int64)
    at, both = np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, np.bool_)
    for begin in range(0, len(x), _TOGETHER):  # none of them waits for another one's memory
        count = min(_TOGETHER, len(x) - begin)
        at[:], both[:], going = 0, False, True
        while going:
            going = False
            for t in range(count):
                node = nodes[at[t]]
                if node.column < 0:
                    continue
                going = True
                if node.column < n and node.size:
                    both[t] |= x[begin + t, node.column] == node.at
                at[t] = _further(nodes, at[t], x, codes, begin + t, side)
        for t in range(count):
            i, best = begin + t, (-1, n + 1)
            waiting[0], size = 0 if both[t] else at[t], 1
            while size:
                size -= 1
                here = waiting[size]
                while nodes[here].column >= 0:
                    node = nodes[here]
                    if node.column < n and node.size and x[i, node.column] == node.at:
                        waiting[size] = node.child
                        size += 1
                    here = _further(nodes, here, x, codes, i, side)
                first = nodes[here].child
                best = _looked_at(x, codes, i, start, boxes, ends, words, first, first + nodes[here].size, best)
            assigned[i] = best[0]
    return assigned


@inner_kernel
def _judged(first: int, other: int) -> float:
    """What a cut costs: boxes that are on both sides go on to do so at every cut that follows."""
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
