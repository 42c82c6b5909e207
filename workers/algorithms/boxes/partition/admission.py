"""Who takes part: classes of kept columns too rare for any box, and patterns of missing values too rare for one.

Notation
--------
pattern : which columns a record lacks, (n + d,) booleans; numeric columns first.
unit : records of one pattern and one kept class.
k : least records, or persons, of a unit.

A record whose class of kept columns has fewer than k records can be in no box and is left out, before the partition:
left out after it, 100 boxes of Adult fell below 5. Records of a pattern too rare give up values, first those of the
column that most records lack, until their pattern is another's and both have k; a value given up is published as
missing. Who has nothing left to give up is left out. Whoever is left out is one of at least k, or no one is left out:
else as many more go, of the smallest unit that has them to spare, in the order of the records, which reveals nothing.

science.md section 5, "Rare classes of kept columns" and "Missing numbers".
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.partition.constraints.holding import ConstraintArrays, constraint_arrays, holds
from workers.algorithms.boxes.sides import NominalColumn
from workers.algorithms.core.errors import SuppressionError


@dataclass(frozen=True)
class Admitted:
    """Records that take part.

    Attributes
    ----------
    rows : (M,), their places among all.
    x, nominal, demands : of these records, NaN and -1 where a value was missing or is given up.
    groups : (M,), pattern of each record, 0 to R - 1.
    given_up : (M,), how many values of each are.
    of : N, all records.
    """

    rows: IntArray
    x: FloatArray
    nominal: tuple[NominalColumn, ...]
    demands: BoxConstraints
    groups: IntArray
    given_up: IntArray
    of: int

    @property
    def blanked(self) -> int:
        """Values given up."""
        return int(self.given_up.sum())


def admit(
    x: FloatArray,
    nominal: tuple[NominalColumn, ...],
    demands: BoxConstraints,
    k: int,
    max_suppressed_classes: float,
    extent: FloatArray,
    *,
    patterns: bool,
) -> Admitted:
    """Leave out and blank what no box can contain.

    Parameters
    ----------
    x : (N, n), NaN where missing.
    nominal : d columns, -1 where missing.
    demands : what a box must contain besides k.
    k : least records of a box.
    max_suppressed_classes : largest share of the records that may be left out.
    extent : (2, n), least widths and spikes, as in partition.arrays.
    patterns : whether values may be missing, and given up.

    Raises
    ------
    SuppressionError
        More would be left out.
    """
    if not patterns and len(demands.kept) == len(demands.persons) == 0:  # complete records of no class: all take part
        everybody = np.arange(len(x))
        none = np.zeros(len(x), dtype=np.int64)
        return Admitted(everybody, x, nominal, demands, none, none, len(x))
    lacking = np.column_stack([np.isnan(x), *(column.codes < 0 for column in nominal)])
    rows, given, settled = np.arange(len(x)), lacking, False
    while not settled:
        some = taking(demands, rows)
        given, label = _merged(lacking[rows], some, k, patterns)
        if patterns:
            held = constraint_arrays(some, extent, everywhere=True)
            given, label = _demanded(given, label, x[rows], held, k)
        stays = _none_or_many(label, some, demands, rows, k, len(x))
        settled = bool(stays.all())
        rows, given = rows[stays], given[stays]
        if len(rows) == 0:
            raise SuppressionError(len(x), len(x), max_suppressed_classes)
    left_out = len(x) - len(rows)
    if left_out > max_suppressed_classes * len(x):
        raise SuppressionError(left_out, len(x), max_suppressed_classes)
    n = x.shape[1]
    blank = given
    columns = tuple(
        replace(c, codes=np.where(blank[:, n + j], -1, c.codes[rows]).astype(np.int32)) for j, c in enumerate(nominal)
    )
    groups = _numbered(blank)[1]
    return Admitted(
        rows=rows,
        x=np.where(blank[:, :n], np.nan, x[rows]),
        nominal=columns,
        demands=taking(demands, rows),
        groups=groups,
        given_up=(blank & ~lacking[rows]).sum(axis=1),
        of=len(x),
    )


def taking(demands: BoxConstraints, rows: IntArray) -> BoxConstraints:
    """The demands on some of the records."""
    return replace(
        demands,
        kept=demands.kept[rows] if len(demands.kept) else demands.kept,
        codes=demands.codes[rows] if demands.codes.shape[1] else demands.codes,
        values=demands.values[rows] if demands.values.shape[1] else demands.values,
        persons=demands.persons[rows] if len(demands.persons) else demands.persons,
    )


def _counted(demands: BoxConstraints, rows: IntArray) -> int:
    """Records, or persons, among some."""
    return len(np.unique(demands.persons[rows])) if len(demands.persons) else len(rows)


def _merged(lacking: BoolArray, demands: BoxConstraints, k: int, giving: bool) -> tuple[BoolArray, IntArray]:
    """Patterns after units below k gave up values: (N, n + d), and a label of each record, -1 where it is left out."""
    kept = demands.kept if len(demands.kept) else np.zeros(len(lacking), dtype=np.int64)
    return _giving_up(lacking, kept.astype(np.int64), lambda rows: _counted(demands, rows) >= k, giving)


def _demanded(
    given: BoolArray, label: IntArray, x: FloatArray, held: ConstraintArrays, k: int
) -> tuple[BoolArray, IntArray]:
    """The same after whole patterns gave up values because they do not contain the demands."""
    order = np.arange(len(x), dtype=np.int32)
    out = label < 0

    def good(rows: IntArray) -> bool:
        present = np.where(given[rows[0], : x.shape[1]], np.nan, x[rows])
        local = np.arange(len(rows), dtype=np.int32)
        return bool(holds(held, present, order[rows], 0, local, 0, len(rows), -1, k))

    where = np.flatnonzero(~out)
    reduced, labels = _giving_up(
        given[where], np.zeros(len(where), dtype=np.int64), lambda rows: good(where[rows]), True
    )
    given = given.copy()
    given[where] = reduced
    label = label.copy()
    label[where] = labels
    return given, label


def _giving_up(
    lacking: BoolArray, kept: IntArray, good: Callable[[IntArray], bool], giving: bool
) -> tuple[BoolArray, IntArray]:
    """Blank the rarest column of each unit that is not good, those that lack fewest columns first, until all are.

    Returns
    -------
    given, label : (N, n + d), and (N,), -1 where a unit has nothing left to give up.
    """
    rarity = lacking.sum(axis=0)
    patterns, which = _numbered(lacking)
    units: dict[tuple[bytes, int], list[IntArray]] = {}
    by_unit = np.lexsort([which, kept])
    borders = np.flatnonzero((np.diff(kept[by_unit]) != 0) | (np.diff(which[by_unit]) != 0)) + 1
    for rows in np.split(by_unit, borders) if len(by_unit) else ():
        units[(patterns[which[rows[0]]].tobytes(), int(kept[rows[0]]))] = [rows]
    given, label = lacking.copy(), np.full(len(lacking), -1, dtype=np.int64)
    settled = 0
    for lacks in range(lacking.shape[1] + 1):
        at = [key for key in units if sum(key[0]) == lacks]
        for key in sorted(at):
            rows = np.sort(np.concatenate(units.pop(key)))
            pattern = np.frombuffer(key[0], dtype=np.bool_)
            given[rows] = pattern
            if good(rows):
                label[rows] = settled
                settled += 1
            elif giving and lacks < lacking.shape[1]:
                following = pattern.copy()
                following[np.argmax(np.where(pattern, -1, rarity))] = True
                units.setdefault((following.tobytes(), key[1]), []).append(rows)
    return given, label


def _none_or_many(
    label: IntArray, some: BoxConstraints, demands: BoxConstraints, rows: IntArray, k: int, records: int
) -> BoolArray:
    """Who stays when no one is left out, or at least k are.

    Parameters
    ----------
    label : unit of each of these records, -1 for those who are left out.
    some, demands : the demands on these records, and on all.
    rows : places of these records among all.
    records : how many these are.
    """
    stays = label >= 0
    kept = some.kept if len(some.kept) else np.zeros(len(rows), dtype=np.int64)
    units, which, sizes = np.unique(
        np.column_stack([label, kept])[stays], axis=0, return_inverse=True, return_counts=True
    )
    unit_of = np.full(len(rows), -1)
    unit_of[stays] = which.reshape(-1)
    for unit in np.lexsort([np.arange(len(units)), sizes]):
        gone = np.setdiff1d(np.arange(records), rows[stays])
        short = k - _counted(demands, gone)
        if len(gone) == 0 or short <= 0:
            break
        inside = np.flatnonzero(unit_of == unit)
        if _counted(some, inside) < 2 * k:  # too few to give some away
            stays[inside] = False
            continue
        names = some.persons[inside] if len(some.persons) else np.arange(len(inside))
        outside = demands.persons[gone] if len(some.persons) else names[:0]
        fresh = inside[~np.isin(names, outside)]
        first = np.sort(np.unique(names[~np.isin(names, outside)], return_index=True)[1])[:short]
        stays[inside[np.isin(names, names[~np.isin(names, outside)][first])] if len(fresh) else inside] = False
    return stays


def _numbered(lacking: BoolArray) -> tuple[BoolArray, IntArray]:
    """The different patterns, and which each record has."""
    which = np.zeros(len(lacking), dtype=np.int64)
    for column in lacking.T:
        if column.any():
            which = 2 * which + column
            if which.max() > 2**40:
                which = np.unique(which, return_inverse=True)[1].reshape(-1)
    _, first, which = np.unique(which, return_index=True, return_inverse=True)
    return lacking[first], which.reshape(-1).astype(np.int64)
