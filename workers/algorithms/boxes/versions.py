"""New versions of data in the boxes of a published release: which boxes show what changed, and which go up.

Notation
--------
B : boxes of the release before, disjoint; N : records of today, M : rows as published before.
n_b(v), m_b(v) : records of today, rows published before, of kept values v in box b.
A_b = sum_v max(n_b(v) - m_b(v), 0), R_b = sum_v max(m_b(v) - n_b(v), 0) : rows that came to a box, and that left it.
S_b = sum_v min(n_b(v), m_b(v)) : records that stayed.

science.md section 6, "New versions of the data". A box shows today's records where A_b and R_b are each 0 or at least
k; the others show the publications before, and wait. Beyond that, S_b too is 0 or at least k: else the values that
both versions have would reveal of the few who are known to have stayed. A function of the published data and of today's
records alone: what a box has shown need not be kept elsewhere, and rows that changed in nothing that is published have
not changed. So between a version and the one before every box that both have differs by nothing or by what at least k
records did.

*Persons with several rows.* Whose the published rows are is not kept, so an adversary who has both versions is answered
by what today's data prove. Every row that came is someone's of today: of value v at least d(v) = max(n_b(v) - m_b(v),
0) came, of which a person with c(v) rows brought at most min(c(v), d(v)). So at least as many persons came as are
needed, those who can have brought most first, to reach A_b in all; these are k, or A_b is 0. Of rows that left nothing
of the kind is known: five may have been one person's. They are shown where no one has left, or where all rows of the
box have, for those are of k persons, as the version before held. Then whoever stayed are k persons too, or none.

*Sensitive values* (l, alpha). Who is known to have come is among the rows that came, who left among those that left,
who stayed among those that stayed: where the sensitive column is published, all three contain the demand, each by
itself or by being nothing, and so does the box. Where it is not, nothing that is published reveals its values, and the
demand is that of the box alone.

*Counted kept columns.* The class of a row is its box with its kept values: every class shows or waits by itself, with
the conditions above for each. A class too rare for the release is one that no one sees come.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from surebox_core.types import BoolArray, IntArray
from surebox_verify.boxes import PublishedBoxes
from workers.algorithms.core.errors import InfeasibleKError

_ROUNDING = 1e-9  # of shares


@dataclass(frozen=True)
class Sensitive:
    """A column of which boxes must show several values.

    Attributes
    ----------
    today : (N,), number of each record's value; -1 where it is missing, which is none.
    before : (M,), the same of the rows that were published, in the same numbers; None where the column was not.
    """

    today: IntArray
    before: IntArray | None = None


@dataclass(frozen=True)
class Demanded:
    """Demands on every box, and on changes in it.

    Attributes
    ----------
    k : fewest records, or persons, that may be seen to come, to go, or to stay.
    persons : (N,), number of each record's person; None: each record is one.
    least_values, largest_share : l and alpha of each sensitive column.
    sensitive : these columns.
    by_class : whether k counts box and kept values together; then there are no sensitive columns.
    """

    k: int
    persons: IntArray | None = None
    least_values: int = 0
    largest_share: float = 1.0
    sensitive: Sequence[Sensitive] = field(default=())
    by_class: bool = False


@dataclass(frozen=True)
class Renewed:
    """What a version shows.

    Attributes
    ----------
    before : (M,), the rows of the version before that are shown again.
    today : (N,), the records of today that are shown.
    waiting : boxes in which something waits.
    changes, pending : sum_b (A_b + R_b), and the same of boxes (or classes) that wait.
    """

    before: BoolArray
    today: BoolArray
    waiting: int
    changes: int = 0
    pending: int = 0


def renewed(
    before: tuple[IntArray, IntArray], today: tuple[IntArray, IntArray], *, boxes: int, demands: Demanded
) -> Renewed:
    """Which rows of before and which records of today are shown.

    Parameters
    ----------
    before : (M,) each, box and number of the kept values of the rows that were published.
    today : (N,) each, the same of the records, each of which is in a box.
    boxes : B.
    demands : on every box.

    Notes
    -----
    O((N + M) log(N + M)) time.
    """
    rows = len(before[0])
    span = int(max(before[1].max(initial=0), today[1].max(initial=0))) + 1
    cell, which = np.unique(
        np.concatenate([before[0] * span + before[1], today[0] * span + today[1]]), return_inverse=True
    )
    was, now = (np.bincount(part, minlength=len(cell)) for part in (which[:rows], which[rows:]))
    seen = [np.maximum(now - was, 0), np.maximum(was - now, 0), np.minimum(was, now)]
    box = cell // span
    unit, units = (np.arange(len(cell)), len(cell)) if demands.by_class else (box, boxes)
    shown = np.ones(units, dtype=np.bool_)
    added, gone, stayed = (np.bincount(unit, weights=one, minlength=units) for one in seen)
    for one in (added, gone, stayed):
        shown &= (one == 0) | (one >= demands.k)
    if demands.persons is not None:
        came = _fewest_persons(which[rows:], demands.persons, seen[0], unit, added)
        shown &= ((added == 0) | (came >= demands.k)) & ((gone == 0) | (stayed == 0))
    for column in demands.sensitive:
        if column.before is None:
            shown &= _varied(unit[which[rows:]], column.today, np.ones_like(column.today), units, demands)
            continue
        value = np.empty(len(cell), dtype=np.int64)
        value[which] = np.concatenate([column.before, column.today])
        for weight in (*seen, now):
            shown &= _varied(unit, value, weight, units, demands)
    there = shown[unit]
    changes = added + gone
    return Renewed(
        ~there[which[:rows]], there[which[rows:]], len(np.unique(box[~there])),
        changes=int(changes.sum()), pending=int(changes[~shown].sum()),
    )  # fmt: skip


def _fewest_persons(of: IntArray, persons: IntArray, came: IntArray, unit: IntArray, added: IntArray) -> IntArray:
    """Fewest persons who can have brought what came, of each unit.

    Parameters
    ----------
    of, persons : (N,), cell and person of the records of today.
    came, unit : of each cell, rows that came and the unit that it is a part of.
    added : of each unit, rows that came.
    """
    span = int(persons.max(initial=0)) + 1
    pairs, own = np.unique(of * span + persons, return_counts=True)
    brought = np.minimum(own, came[pairs // span])
    holders, where = np.unique(unit[pairs // span] * span + pairs % span, return_inverse=True)
    brought = np.bincount(where, weights=brought, minlength=len(holders))
    home = holders // span
    order = np.lexsort((-brought, home))
    home, brought = home[order], brought[order]
    total = np.cumsum(brought)
    before = np.r_[0.0, total][np.searchsorted(home, home)]  # of the units before
    return np.bincount(home[total - brought - before < added[home]], minlength=len(added))


def _varied(unit: IntArray, value: IntArray, weight: IntArray, units: int, demands: Demanded) -> BoolArray:
    """Units with nothing, or with enough values of which none has too large a share."""
    total = np.bincount(unit, weights=weight, minlength=units)
    known = (weight > 0) & (value >= 0)
    span = int(value.max(initial=0)) + 1
    pairs, which = np.unique(unit[known] * span + value[known], return_inverse=True)
    counts = np.bincount(which, weights=weight[known], minlength=len(pairs))
    distinct = np.bincount(pairs // span, minlength=units)
    most = np.zeros(units)
    np.maximum.at(most, pairs // span, counts)
    enough = (distinct >= demands.least_values) & (most <= demands.largest_share * total * (1.0 + _ROUNDING))
    return np.asarray((total == 0) | enough, dtype=np.bool_)


def risen(boxes: PublishedBoxes, counts: IntArray, k: int) -> IntArray:
    """Box of the new version that each box becomes a part of: one with fewer than k records goes up.

    Parameters
    ----------
    boxes : as published before, none with a missing side.
    counts : (B,), records that each shows now.
    k : least number of records.

    Returns
    -------
    (B,) int64, numbered from 0 in the order of their first boxes.

    Raises
    ------
    InfeasibleKError
        All boxes have fewer than k records together.

    Notes
    -----
    Cuts divide the space, so the boxes on both sides of each can be distinguished again from their sides: halves are
    cut in two as evenly as can be. The lowest part with k records becomes one box, and covers what its boxes covered.
    """
    if int(counts.sum()) < k:
        raise InfeasibleKError(k, int(counts.sum()))
    group = np.arange(len(counts), dtype=np.int64)
    waiting = [group.copy()]
    while waiting:
        members = waiting.pop()
        if int(counts[members].min(initial=k)) >= k:
            continue
        parts = _parts(boxes, members)
        if parts is None or min(int(counts[part].sum()) for part in parts) < k:
            group[members] = members.min()
        else:
            waiting.extend(parts)
    return np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64)


def numbers(before: IntArray, group: IntArray) -> IntArray:
    """Numbers of the boxes of the new version: a box keeps its own, one that several became has one never used before.

    Parameters
    ----------
    before : (B,), numbers of the boxes.
    group : (B,), what each becomes a part of.
    """
    parts = np.bincount(group)
    renumbered = np.zeros(len(parts), dtype=np.int64)
    renumbered[group] = before
    united = parts > 1
    renumbered[united] = int(before.max(initial=0)) + 1 + np.arange(int(united.sum()))
    return renumbered


def _parts(boxes: PublishedBoxes, members: IntArray) -> tuple[IntArray, IntArray] | None:
    """The boxes on both sides of the most even cut that divides none of them; None where there is none."""
    if len(members) == 1:
        return None
    best: tuple[int, IntArray, int] | None = None
    for position, starts in (*_numeric_cuts(boxes, members), *_nominal_cuts(boxes.sets, members)):
        if not len(starts):
            continue
        at = int(starts[np.argmin(np.abs(2 * starts - len(members)))])
        fewer = min(at, len(members) - at)
        if best is None or fewer > best[0]:
            best = (fewer, position, at)
    return None if best is None else (members[best[1][: best[2]]], members[best[1][best[2] :]])


def _numeric_cuts(boxes: PublishedBoxes, members: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Of each column with two ends: the members in its order, and how many may be before a cut."""
    cuts = []
    for j in range(boxes.lower.shape[1]):
        lower, upper = boxes.lower[members, j], boxes.upper[members, j]
        order = np.lexsort((upper, lower))
        reached, starts = np.maximum.accumulate(upper[order])[:-1], lower[order]
        cuts.append((order, np.flatnonzero((reached <= starts[1:]) & (starts[:-1] < starts[1:])) + 1))
    return cuts


def _nominal_cuts(sets: Sequence[BoolArray], members: IntArray) -> list[tuple[IntArray, IntArray]]:
    """The same of each nominal column: boxes that share a value, directly or through others, stay together."""
    cuts = []
    for one in sets:
        held = one[members]
        part = np.arange(held.shape[1])
        for row in np.unique(held, axis=0):
            values = np.flatnonzero(row)
            part[np.isin(part, part[values])] = part[values].min(initial=held.shape[1])
        of_box = part[np.argmax(held, axis=1)]
        order = np.argsort(of_box, kind="stable")
        cuts.append((order, np.flatnonzero(np.diff(of_box[order])) + 1))
    return cuts
