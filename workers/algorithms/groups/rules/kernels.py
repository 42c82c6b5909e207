"""The kernels that judge rules: sums of fuzzy memberships over bit sets, and the highest of several rules per record.

Notation as in rules.patterns, and
--------
rules : (R, V) int8, term of every variable, 0 for any.
APC : product of mu over a rule's terms in the order of the variables, 0 below alpha (TC 11, 12).
sums : (R, 2), sum of APC over vital records and over all others.
"""

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray, IntArray

Words = NDArray[np.uint64]
Rules = NDArray[np.int8]

_BATCH = 1024  # survivors multiplied at a time: their products stay in the nearest cache


@inner_kernel
def _ones(word: np.uint64) -> int:
    """Bits set, counted in pairs, nibbles and bytes; compilers know the form."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner_kernel
def _active(
    rule: NDArray[np.int8], first: IntArray, reach: IntArray, rows: IntArray, fuzzy: IntArray
) -> tuple[int, int]:
    """Rows of a rule's bit sets, rarest term first, and its variables whose term has grades between 0 and 1."""
    some = 0
    between = 0
    for v in range(len(rule)):
        if rule[v] == 0:
            continue
        row = first[v] + rule[v] - 1
        at = some
        while at > 0 and reach[rows[at - 1], 0] > reach[row, 0]:
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = row
        some += 1
        if reach[row, 0] != reach[row, 1]:
            fuzzy[between] = v
            between += 1
    return some, between


@inner_kernel
def _multiplied(
    rule: NDArray[np.int8],
    fuzzy: IntArray,
    codes: IndexArray,
    table: FloatArray,
    count: FloatArray,
    alpha: float,
    slots: NDArray[np.uint32],
    product: FloatArray,
) -> float:
    """Sum of APC over the slots: variable by variable, so that what is fetched for one does not wait for another."""
    for p in range(len(slots)):
        product[p] = 1.0
    for v in fuzzy:
        mu = table[rule[v]]
        code = codes[v]
        for p in range(len(slots)):
            product[p] *= mu[np.uint32(code[slots[p]])]
    total = 0.0
    for p in range(len(slots)):
        if product[p] >= alpha:
            total += count[slots[p]] * product[p]
    return total


@kernel
def judge(  # noqa: C901
    rules: Rules,
    codes: IndexArray,
    table: FloatArray,
    first: IntArray,
    some: Words,
    full: Words,
    reach: IntArray,
    count: FloatArray,
    vital_words: int,
    several_words: int,
    alpha: float,
    sums: FloatArray,
) -> None:
    """Fill `sums`: words of survivors, those of full grade counted, the others multiplied (TC 13 to 16)."""
    rows = np.empty(rules.shape[1], dtype=np.int64)
    fuzzy = np.empty(rules.shape[1], dtype=np.int64)
    slots = np.empty(_BATCH + 64, dtype=np.uint32)  # unsigned: no index from the end
    product = np.empty(_BATCH + 64)
    width = some.shape[1]
    for r in range(len(rules)):
        rule = rules[r]
        terms, between = _active(rule, first, reach, rows, fuzzy)
        if terms == 0:
            sums[r, 0] = count[: 64 * vital_words].sum()
            sums[r, 1] = count[64 * vital_words :].sum()
            continue
        total = 0.0
        waiting = 0
        sums[r, 0] = 0.0
        for w in range(width):
            if w == vital_words:
                total += _multiplied(rule, fuzzy[:between], codes, table, count, alpha, slots[:waiting], product)
                waiting = 0
                sums[r, 0] = total
                total = 0.0
            word = some[rows[0], w]
            for i in range(1, terms):
                if word == 0:
                    break
                word &= some[rows[i], w]
            if word == 0:
                continue
            whole = word
            if between > 0:
                for i in range(between):
                    whole &= full[first[fuzzy[i]] + rule[fuzzy[i]] - 1, w]
                word ^= whole
            else:
                word = np.uint64(0)
            if w >= several_words:
                total += _ones(whole)
            else:
                while whole != 0:
                    low = whole & (~whole + np.uint64(1))
                    total += count[64 * w + _ones(low - np.uint64(1))]
                    whole ^= low
            while word != 0:
                low = word & (~word + np.uint64(1))
                word ^= low
                slots[waiting] = 64 * w + _ones(low - np.uint64(1))
                waiting += 1
            if waiting >= _BATCH:
                total += _multiplied(rule, fuzzy[:between], codes, table, count, alpha, slots[:waiting], product)
                waiting = 0
        total += _multiplied(rule, fuzzy[:between], codes, table, count, alpha, slots[:waiting], product)
        if width > vital_words:
            sums[r, 1] = total
        else:
            sums[r, 0] = total
            sums[r, 1] = 0.0


@kernel
def highest(rules: Rules, codes: IndexArray, table: FloatArray, alpha: float, best: FloatArray) -> None:
    """best_p = max over rules of APC_alpha of record p, from the grades of its codes (TC: union of the rules)."""
    terms = np.empty(rules.size, dtype=np.int64)
    variables = np.empty(rules.size, dtype=np.int64)
    end = np.empty(len(rules), dtype=np.int64)
    at = 0
    for r in range(len(rules)):
        for v in range(rules.shape[1]):
            if rules[r, v] != 0:
                variables[at] = v
                terms[at] = rules[r, v]
                at += 1
        end[r] = at
    for p in range(len(best)):
        top = 0.0
        i = 0
        for r in range(len(rules)):
            product = 1.0
            while i < end[r]:
                product *= table[terms[i], codes[variables[i], p]]
                i += 1
                if product <= top or product < alpha:
                    i = end[r]
                    product = 0.0
            top = max(top, product)
            if top == 1.0:
                break
        best[p] = top
