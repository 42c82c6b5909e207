"""Neighbourhoods: what an adversary sees of the records that they cannot distinguish from one of a class.

Notation
--------
N, d, codes, G : as in tables.classes; s : (N,) codes of a sensitive value, from 0 on, or of persons.
pattern : which columns of a class are missing.
neighbourhood of a class : the records that agree with it in every column. Where a missing value is a value of its own,
    these are the class; where it matches anything, those that agree wherever neither is missing, which is no relation
    of equivalence any more: neighbourhoods overlap.
entries : (class, value, how many of the neighbourhood have it), class by class, values ascending.

science.md section 7, "Table": `missing` own_value or matches_anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surebox_core.types import FloatArray, IndexArray, IntArray
from workers.algorithms.tables.classes import Classes, grouped, keys


@dataclass(frozen=True)
class Histograms:
    """What values the neighbourhoods of classes contain.

    Attributes
    ----------
    classes : (C,) the classes.
    start : (C + 1,) where the entries of each begin.
    value, count : (E,) the entries.
    """

    classes: IntArray
    start: IntArray
    value: IntArray
    count: IntArray


@dataclass(frozen=True)
class _Pair:
    """Classes of two patterns, and the number of what both have of each."""

    mine: IntArray
    others: IntArray
    of_mine: IntArray
    of_others: IntArray
    number: int


def _pairs(codes: IndexArray, classes: Classes) -> Iterator[list[_Pair]]:
    """Of every pattern its pairs with all patterns, itself included."""
    seen = codes[:, classes.first]
    pattern = grouped(keys((seen < 0).astype(np.int32)))
    parts = [np.flatnonzero(pattern.of_record == at) for at in range(len(pattern.size))]
    for mine in parts:
        pairs = []
        for others in parts:
            both = (seen[:, mine[0]] >= 0) & (seen[:, others[0]] >= 0)
            joint = grouped(keys(seen[both][:, np.concatenate([mine, others])]))
            of_mine, of_others = np.split(joint.of_record, [len(mine)])
            pairs.append(_Pair(mine, others, of_mine, of_others, len(joint.size)))
        yield pairs


def neighbours(codes: IndexArray, classes: Classes) -> IntArray:
    """Records in the neighbourhood of each class, where a missing value matches anything.

    Parameters
    ----------
    codes : (d, N).
    classes : their classes.

    Returns
    -------
    (G,). O(P^2 G d) for P patterns.
    """
    return summed_over_neighbours(codes, classes, classes.size.astype(np.float64)).astype(np.int64)


def summed_over_neighbours(codes: IndexArray, classes: Classes, weight: FloatArray) -> FloatArray:
    """What the classes in the neighbourhood of each class count for together.

    Parameters
    ----------
    codes, classes : as for `neighbours`.
    weight : (G,) what each class counts for.

    Returns
    -------
    (G,).
    """
    total = np.zeros(len(classes.size))
    for pairs in _pairs(codes, classes):
        for pair in pairs:
            sums = np.bincount(pair.of_others, weights=weight[pair.others], minlength=pair.number)
            total[pair.mine] += sums[pair.of_mine]
    return total


def histograms(classes: Classes, value: IntArray) -> Histograms:
    """The values within each class.

    Parameters
    ----------
    classes : G classes.
    value : (N,) from 0 on.

    Returns
    -------
    Histograms
        Of all classes. O(N log N), by one sort of numbers that contain class and value.
    """
    values = int(value.max(initial=-1)) + 1
    ordered = classes.of_record * max(values, 1) + value
    ordered.sort()
    return _counted(np.arange(len(classes.size)), ordered, np.ones(len(ordered), dtype=np.int64), values)


def neighbourhood_histograms(codes: IndexArray, classes: Classes, value: IntArray) -> Iterator[Histograms]:
    """The values within the neighbourhood of each class where a missing value matches anything, pattern by pattern.

    Parameters
    ----------
    codes, classes : as for `neighbours`.
    value : (N,) from 0 on.
    """
    own = histograms(classes, value)
    values = int(value.max(initial=-1)) + 1
    of_entry = np.repeat(np.arange(len(classes.size)), np.diff(own.start))
    place = np.empty(len(classes.size), dtype=np.int64)
    for pairs in _pairs(codes, classes):
        mine = pairs[0].mine
        key, count = [], []
        for pair in pairs:
            place[:] = -1
            place[pair.others] = pair.of_others
            held = place[of_entry] >= 0
            joint = _summed(place[of_entry[held]] * values + own.value[held], own.count[held], pair.number, values)
            width = np.diff(joint.start)[pair.of_mine]
            at = _spread(joint.start[pair.of_mine], width)
            key.append(np.repeat(np.arange(len(mine)), width) * values + joint.value[at])
            count.append(joint.count[at])
        merged = _summed(np.concatenate(key), np.concatenate(count), len(mine), values)
        yield Histograms(mine, merged.start, merged.value, merged.count)


def _spread(start: IntArray, width: IntArray) -> IntArray:
    """Places start, start + 1 ... of every stretch, one stretch after the other."""
    begun = np.cumsum(width) - width
    places: IntArray = np.arange(int(width.sum())) + np.repeat(start - begun, width)
    return places


def _summed(key: IntArray, count: IntArray, number: int, values: int) -> Histograms:
    order = np.argsort(key, kind="stable")
    return _counted(np.arange(number), key[order], count[order], values)


def _counted(numbers: IntArray, ordered: IntArray, count: IntArray, values: int) -> Histograms:
    """Entries from sorted numbers class * values + value."""
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else ordered[:0]
    of_class, value = np.divmod(ordered[begins], max(values, 1))
    start = np.searchsorted(of_class, np.arange(len(numbers) + 1))
    return Histograms(numbers, start, value, np.add.reduceat(count, begins) if len(begins) else count[:0])
