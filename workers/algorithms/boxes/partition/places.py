"""Where in its gap a cut is: a function of the column's secret and the gap, not of the release.

Notation
--------
key : (8,) uint32, the secret of a column.
a < b : ends of the gap of a cut, neighbouring values in the box that is cut.
cell : the floats whose first d bits agree, d from 0 (all of them, up to 2^512 in size) to 64 (one float). Bits are
    those of the ordered encoding (flipped for negative numbers, else the sign alone): a cell is an interval [lo, hi).
T, X : of a cell, the first arrival and its place. Arrivals are a Poisson process on (number, time) of rate 1: T is
    exponential of rate hi - lo, X uniform on [lo, hi). A child that contains X has the same T and X; the other child's
    first arrival comes later, T + E / (width of the child), at a place of its own: waiting has no memory.

**The cut of a gap is the place in it that arrives first**: uniform on (a, b), since the process has no other than this.
The numbers drawn for a cell (E and the place) are ChaCha20 under the key, with the cell as counter and nonce, so the
whole process is a function of the key alone, of which only the cells that a gap asks for are ever computed. Therefore

- the same gap has the same cut in every release of the column: repeating a specification reveals nothing new;
- a narrower gap that contains the cut of a wider one has the same cut. So between two values that are neighbours in the
  whole column there is at most one cut, in whatever releases: cuts do not creep up to a value.

Places are drawn in steps of 2^-106 of a cell and rounded once. Cells do not depend on the data, so the last bits of a
cut reveal nothing of a or b; drawn in steps of the gap they would reveal its width (Mironov 2012).

Sources: science.md section 4, "Secrets of columns"; Maddison, Tarlow, Minka 2014 (A* sampling) for the process.
"""

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.intervals import UNIT_ROUNDOFF, two_product, two_sum
from surebox_core.types import FloatArray, IndexArray, IntArray
from workers.algorithms.core.chacha import CONSTANTS, fill_block

KeyArray = NDArray[np.uint32]
_Encoded = NDArray[np.uint64]

_LARGEST = 2.0**512
_SCALE = 2.0**400  # of widths, so that E over the narrowest of them is finite
_DEEPEST = 64
_ONE = np.uint64(1)
_SIGN = np.uint64(1 << 63)
_REST = np.uint64((1 << 63) - 1)
_UPPER = np.uint64((1 << 63) | (1023 + 512) << 52)  # the code of 2^512
_LOWER = ~_UPPER


def new_keys(columns: int, rng: np.random.Generator) -> KeyArray:
    """Secrets of columns that have none: (columns, 8). Their cuts are new ones."""
    return rng.integers(0, 2**32, (columns, 8), dtype=np.uint32)


def cut_points(gap: FloatArray, axis: IndexArray, keys: KeyArray) -> FloatArray:
    """Points strictly inside open gaps.

    Parameters
    ----------
    gap : (m, 2), a < b with a float between them, magnitudes up to 1e150.
    axis : (m,), the column of each gap.
    keys : (n, 8), the secrets of the columns.

    Returns
    -------
    (m,) float64

    Notes
    -----
    O(64) cells per gap at most, of which a cipher's block each; half of those about the gap are known from the gap
    before it, in the order of the values.
    """
    order = np.lexsort((gap[:, 0], axis))
    low = encoded(gap[order, 0] + 0.0) + _ONE
    high = gap[order, 1]
    last = encoded(np.where(high == 0.0, -0.0, high)) - _ONE
    place = np.empty(len(gap), dtype=np.uint64)
    _cut(low, last, np.asarray(axis[order], dtype=np.int64), keys, place)
    point = np.empty(len(gap))
    point[order] = _decoded(place) + 0.0
    return point


def encoded(values: FloatArray) -> _Encoded:
    """64 bits whose order as whole numbers is that of the values."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    return np.where(bits >> np.uint64(63), ~bits, bits | _SIGN)


def _decoded(code: _Encoded) -> FloatArray:
    return np.where(code >> np.uint64(63), code & _REST, ~code).view(np.float64)


@inner_kernel
def _number(code: np.uint64, word: _Encoded, number: FloatArray) -> float:
    """The float of a code, within 2^512 in size; `word` and `number` are the same eight bytes."""
    if code >= _UPPER:
        return _LARGEST
    if code <= _LOWER:
        return -_LARGEST
    word[0] = code & _REST if code & _SIGN else ~code
    return float(number[0])


@inner_kernel
def _first(state: KeyArray, block: KeyArray, word: _Encoded, start: np.uint64, depth: int) -> tuple[float, np.uint64]:
    """How long a cell waits for an arrival, and the code of its place."""
    final = start | (_REST >> np.uint64(depth - 1) if depth > 0 else ~np.uint64(0))
    number = word.view(np.float64)
    low = _number(start, word, number)
    high = _number(final + _ONE if final < _UPPER else final, word, number)
    width = high - low
    if not width > 0.0:  # beyond the largest
        return np.inf, start
    state[12] = start & np.uint64(0xFFFFFFFF)
    state[13] = start >> np.uint64(32)
    state[14] = depth
    fill_block(state, block)
    share = np.empty(3)
    for i in range(3):  # 53 bits each
        share[i] = (np.int64(block[2 * i]) * 2097152.0 + np.float64(block[2 * i + 1] >> 11)) * UNIT_ROUNDOFF
    step, step_error = two_product(width, share[0])
    total, total_error = two_sum(low, step)
    number[0] = total + (total_error + (step_error + width * (UNIT_ROUNDOFF * share[1])))
    code = ~word[0] if word[0] & _SIGN else word[0] | _SIGN
    code = min(max(code, start), final)
    return -np.log1p(-share[2]) / (width * _SCALE), code


@kernel
def _cut(  # noqa: C901 (a kernel)
    low: _Encoded, last: _Encoded, axis: IntArray, keys: KeyArray, place: _Encoded
) -> None:
    """Places that arrive first in gaps of codes `low` to `last`.

    From the whole down, into the parts that meet the gap: a part whose own first arrival misses the gap is divided, one
    whose time is past is left. The cells about all of a gap are kept for the next gap of the column.
    """
    state = np.zeros(16, dtype=np.uint32)
    block = np.empty(16, dtype=np.uint32)
    word = np.empty(1, dtype=np.uint64)
    for i in range(4):
        state[i] = CONSTANTS[i]
    times, places = np.empty(_DEEPEST + 1), np.empty(_DEEPEST + 1, dtype=np.uint64)
    starts, depths = np.empty(_DEEPEST + 2, dtype=np.uint64), np.empty(_DEEPEST + 2, dtype=np.int64)
    since, drawn = np.empty(_DEEPEST + 2), np.empty(_DEEPEST + 2, dtype=np.uint64)
    column, before, known = np.int64(-1), np.uint64(0), np.int64(-1)
    for g in range(len(low)):
        first, final = low[g], last[g]
        if axis[g] != column:
            column, known = axis[g], np.int64(-1)
            for i in range(8):
                state[4 + i] = keys[column, i]
        while known > 0 and (first ^ before) >> np.uint64(_DEEPEST - known):
            known -= 1
        before = first
        about = np.int64(_DEEPEST)
        while about > 0 and (first ^ final) >> np.uint64(_DEEPEST - about):
            about -= 1
        known = min(known, about)
        soonest, chosen = np.inf, first
        for depth in range(known + 1):
            if first <= places[depth] <= final:
                soonest, chosen = times[depth], places[depth]
                break
        starts[0], depths[0] = (first >> np.uint64(_DEEPEST - known)) << np.uint64(_DEEPEST - known), known
        if known <= 0:
            starts[0], depths[0] = np.uint64(0), np.int64(0)
        since[0], drawn[0] = (times[known], places[known]) if known >= 0 else (0.0, ~np.uint64(0))
        top = 1
        while top > 0:
            top -= 1
            start, depth, time, own = starts[top], depths[top], since[top], drawn[top]
            if time >= soonest:
                continue
            if known < 0 or (depth > 0 and (own ^ start) >> np.uint64(_DEEPEST - depth)):
                delay, own = _first(state, block, word, start, depth)
                time += delay
            if depth <= about:
                times[depth], places[depth] = time, own
                known = depth
            if time >= soonest:
                continue
            if first <= own <= final:
                soonest, chosen = time, own
                continue
            if depth == _DEEPEST:
                continue
            half = _ONE << np.uint64(_DEEPEST - 1 - depth)
            for turn in range(2):  # the part with the arrival on top: it may make the other one late
                part = start | half if ((own & half) == 0) == (turn == 0) else start
                if part <= final and part + (half - _ONE) >= first:
                    starts[top], depths[top], since[top], drawn[top] = part, depth + 1, time, own
                    top += 1
        place[g] = chosen
