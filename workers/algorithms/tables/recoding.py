"""Which values of a column are which of another one: proposals, from how often they occur and how they are ordered.

Notation
--------
old, new : (N,) codes of two columns of the same number of records, in the order of their values; -1: missing.
map : (values of old,), code of the new value that each old one is.
h : bits by which a map is more than chance: -log2 of the probability that the old values, dealt at random to records of
    known keys, fall to these keys as often as they do: prod_k n_k! prod_v n_v! / (N! prod_kv n_kv!).

Any two columns without ties have a map, so a proposal is but a question: the demands on it are where it is used.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import permutations, product
from math import factorial, log, prod
from typing import Final

import numpy as np
from scipy.special import gammaln

from surebox_core.types import IntArray
from workers.algorithms.tables.classes import grouped

#: Maps that are tried of two columns whose values occur equally often.
_MOST: Final = 24
#: Different values up to which classes are distinguished by their counts alone.
_CLASSES: Final = 64


def proposed(old: IntArray, new: IntArray, *, coarser: bool = False) -> Iterator[IntArray]:
    """Maps under which the new column has each value as often as it is to, best reasons first.

    Parameters
    ----------
    old, new : (N,) codes.
    coarser : whether several old values may be one new one, neighbours in their order.
    """
    if len(old) != len(new) or np.count_nonzero(old < 0) != np.count_nonzero(new < 0):
        return
    was, now = (np.bincount(one[one >= 0]) for one in (old, new))
    seen: set[bytes] = set()
    for mapping in (*_ordered(was, now, coarser=coarser), *_by_counts(was, now)):
        if (key := mapping.tobytes()) not in seen:
            seen.add(key)
            yield mapping


def _ordered(was: IntArray, now: IntArray, *, coarser: bool) -> Iterator[IntArray]:
    """Maps that keep the order, and that turn it round."""
    for target, turned in ((now, False), (now[::-1], True)):
        if coarser and len(target) < len(was):
            ends = np.cumsum(target)
            code = np.searchsorted(ends, np.cumsum(was))
            fits = bool(np.array_equal(np.bincount(code, weights=was, minlength=len(target)), target))
        else:
            code, fits = np.arange(len(was)), bool(np.array_equal(was, target))
        if fits:
            yield (len(target) - 1 - code if turned else code).astype(np.int64)


def _by_counts(was: IntArray, now: IntArray) -> Iterator[IntArray]:
    """Maps between values that occur equally often, whatever their order."""
    if len(was) != len(now) or len(was) > _CLASSES or Counter(was.tolist()) != Counter(now.tolist()):
        return
    ties = [(np.flatnonzero(was == count), np.flatnonzero(now == count)) for count in np.unique(was)]
    if prod(factorial(len(mine)) for mine, _ in ties) > _MOST:
        return  # all of them are looked at, or none: which are valid must not depend on where one stops
    for chosen in product(*(permutations(theirs.tolist()) for _, theirs in ties)):
        mapping = np.empty(len(was), dtype=np.int64)
        for (mine, _), theirs in zip(ties, chosen, strict=True):
            mapping[mine] = theirs
        yield mapping


def mapped(old: IntArray, to: IntArray) -> IntArray:
    """The new codes of old ones; missing stays missing."""
    return np.append(to, -1)[old]


def order_bits(codes: IntArray) -> float:
    """By how much it is more than chance that two columns have values in an order that occur equally often; 0: no ties.

    Parameters
    ----------
    codes : (N,), of one of them: -log2 of the share of the orders of its values in which they occur as often, place by
        place, as they do.
    """
    times = np.unique(np.bincount(codes[codes >= 0]), return_counts=True)[1]
    return float((gammaln(times.sum() + 1.0) - gammaln(times + 1.0).sum()) / log(2.0))


def bits(keys: IntArray, codes: IntArray) -> float:
    """h, by which it is more than chance how often each value falls to each key; O(N).

    Parameters
    ----------
    keys, codes : (N,), the known facts of records, and their values.
    """
    key, value = grouped(keys), grouped(codes)
    both = grouped(key.of_record * len(value.size) + value.of_record)
    ways = gammaln(len(keys) + 1.0) + gammaln(both.size + 1.0).sum()
    return float((ways - gammaln(key.size + 1.0).sum() - gammaln(value.size + 1.0).sum()) / log(2.0))
