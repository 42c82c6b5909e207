"""Overlay groups of all versions of a table: which boxes can show what changed and leave k persons in each group.

Notation
--------
K : records that some version has shown; F : records of today that none has.
g(i) : overlay group of record i of the K: equal for two records that every version so far has shown in the same places,
absence being a place too.
u(i), t(i) : unit (a box, or a box with its kept values) in which record i is shown now, and to which it belongs today;
NOWHERE where there is none.

science.md section 6, "New versions of the data". A version refines the groups: record i is in the group of g(i) and of
where it shows i. A unit that shows today's records loses those of t(i) != u(i) and takes those of t(i) = u != u(i); one
that waits shows the records that it showed. Of no group a part of fewer than k is split off, those who come for the
first time are k of a unit, and no record is shown twice. So the smallest group of all versions has at least k records,
or persons, where that of the versions before has; and if all units wait, all groups stay as they are.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.types import BoolArray, IntArray

#: The unit of a record that is in none.
NOWHERE: Final = -1


@dataclass(frozen=True)
class Moves:
    """Records that were ever shown, and those of today that were not.

    Attributes
    ----------
    group, unit, now : (K,) each, g, u and t.
    fresh : (F,), unit of the records that no version has shown.
    persons, fresh_persons : (K,) and (F,), number of each record's person; None: each record is one.
    """

    group: IntArray
    unit: IntArray
    now: IntArray
    fresh: IntArray
    persons: IntArray | None = None
    fresh_persons: IntArray | None = None


@dataclass(frozen=True)
class Moved:
    """Places in which a version shows all records.

    Attributes
    ----------
    unit : (K,), where records that were shown before are shown now.
    left, came : (K,), records that are no more shown where they were, and those that are shown elsewhere.
    fresh : (F,), records that are shown for the first time.
    """

    unit: IntArray
    left: BoolArray
    came: BoolArray
    fresh: BoolArray


def moved(moves: Moves, active: BoolArray) -> Moved:
    """Return where all records are shown if some units show what changed.

    Parameters
    ----------
    moves : the records.
    active : (units,), those that show today's records.
    """
    shows = np.append(active, False)  # of NOWHERE, which shows nothing
    elsewhere = moves.now != moves.unit
    left, came = shows[moves.unit] & elsewhere, shows[moves.now] & elsewhere
    unit = np.where(came, moves.now, np.where(left, NOWHERE, moves.unit))
    return Moved(unit, left, came, shows[moves.fresh])


def held(moves: Moves, shown: BoolArray, changed: BoolArray, k: int) -> BoolArray:
    """Return the units that can show what changed: the others wait, so that no overlay group falls below k.

    Parameters
    ----------
    moves : the records.
    shown : (units,), those that may show what changed by all else.
    changed : (units,), those of which the publication changes if they show today's records.
    k : fewest records, or persons, in a group.

    Notes
    -----
    O(K + F) for each round; each but the last takes units from those that are shown.
    """
    shown = shown.copy()
    while len(torn := _torn(moves, moved(moves, shown & changed), k)):
        shown[torn] = False
    return shown


def refined(moves: Moves, to: Moved) -> tuple[IntArray, IntArray]:
    """Return the overlay groups with one version more: of the K records, and of those shown for the first time.

    Parameters
    ----------
    moves, to : the records, and where the version shows them.
    """
    fresh = moves.fresh[to.fresh]
    numbers = _parts(np.append(moves.group, np.full(len(fresh), NOWHERE)), np.append(to.unit, fresh))
    return numbers[: len(moves.group)], numbers[len(moves.group) :]


def sizes(group: IntArray, persons: IntArray | None = None) -> IntArray:
    """Return the records, or persons, of each group.

    Parameters
    ----------
    group : (K,), numbers from 0.
    persons : (K,), number of each record's person; None: each record is one.
    """
    number = int(group.max(initial=-1)) + 1
    if persons is None:
        return np.bincount(group, minlength=number)
    span = int(persons.max(initial=0)) + 1
    return np.bincount(np.unique(group * span + persons) // span, minlength=number)


def numbered(keys: IntArray) -> IntArray:
    """Return numbers from 0 of equal keys."""
    return np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _parts(group: IntArray, unit: IntArray) -> IntArray:
    """Numbers of records that agree in both."""
    span = int(unit.max(initial=0)) + 2
    return numbered((group + 1) * span + unit + 1)


def _torn(moves: Moves, to: Moved, k: int) -> IntArray:
    """Units that would tear a group, or show a record twice, or too few for the first time."""
    torn = [_few_fresh(moves, to, k), moves.now[to.came & ~to.left & (moves.unit != NOWHERE)]]
    touched = np.zeros(int(moves.group.max(initial=-1)) + 1, dtype=np.bool_)
    touched[moves.group[to.left | to.came]] = True
    at = np.flatnonzero(touched[moves.group]) if len(moves.group) else np.zeros(0, np.int64)
    part = _parts(moves.group[at], to.unit[at])
    whole = numbered(moves.group[at])
    persons = None if moves.persons is None else moves.persons[at]
    few = sizes(part, persons)[part]
    bad = (few < k) & (few < sizes(whole, persons)[whole])
    came = to.came[at]
    torn.append(moves.now[at[bad & came]])
    of = np.zeros(len(touched), dtype=np.bool_)
    of[moves.group[at[bad & ~came]]] = True
    of = of[moves.group[at]]
    torn += [moves.unit[at[of & to.left[at]]], moves.now[at[of & came]]]
    return np.unique(np.concatenate(torn))


def _few_fresh(moves: Moves, to: Moved, k: int) -> IntArray:
    """Units that would show fewer than k for the first time."""
    unit = moves.fresh[to.fresh]
    persons = None if moves.fresh_persons is None else moves.fresh_persons[to.fresh]
    number = sizes(unit, persons)
    return np.flatnonzero((number > 0) & (number < k))
