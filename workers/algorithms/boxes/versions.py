"""New versions of data in the boxes of a published release: which boxes show what changed, and which go up.

Notation
--------
B : boxes of the release before, disjoint; N : records of today, M : rows as published before.
V : versions that were published, 0 to V - 1; a box of an earlier one is a box of the last, or a part of one.
n_b(v), m_b(v) : records of today, rows that a version has published, of kept values v in box b.
A_b = sum_v max(n_b(v) - m_b(v), 0), R_b = sum_v max(m_b(v) - n_b(v), 0) : rows that came to a box since that version,
    and that left it.
S_b = sum_v min(n_b(v), m_b(v)) : records that stayed.

science.md section 6, "New versions of the data". A box shows today's records where A_b, R_b and S_b are each 0 or at
least k, compared with *every* version: else two versions that do not follow each other would differ by fewer rows. The
others show the publications before, and wait. Rows that changed in nothing that is published have not changed. Boxes
that go up to one are compared once more, as the one that they are from then on.

*Whose rows they are.* k that came with a version and k that leave with another one may have one record in common. Where
the records that were ever shown are known (by the ledger's fingerprints), a box shows what changed only if no overlay
group of all versions falls below k (overlays.py).

*Persons with several rows.* From the files alone it is not known whose the published rows are, so an adversary who has
both versions is answered by what today's data prove. Every row that came is someone's of today: of value v at least
d(v) = max(n_b(v) - m_b(v), 0) came, of which a person with c(v) rows brought at most min(c(v), d(v)). So at least as
many persons came as are needed, those who can have brought most first, to reach A_b in all; these are k, or A_b is 0.
Of rows that left nothing of the kind is known: five may have been one person's. They are shown where no one has left,
or where all rows of the box have, for those are of k persons, as the version before held. Then whoever stayed are k
persons too, or none.

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
from workers.algorithms.boxes.overlays import NOWHERE, Moved, Moves, held, moved, refined
from workers.algorithms.core.errors import InfeasibleKError

_ROUNDING = 1e-9  # of shares


@dataclass(frozen=True)
class Sensitive:
    """A column of which boxes must show several values.

    Attributes
    ----------
    today : (N,), number of each record's value; -1 where it is missing, which is none.
    before : (M,), the same of the rows that were published, in the same numbers; None where the column was not.
    earlier : (., 2), numbers of the kept values of versions before, and the value that each has.
    """

    today: IntArray
    before: IntArray | None = None
    earlier: IntArray | None = None


@dataclass(frozen=True)
class Version:
    """Published cells of a version, one entry for each box and kept values, or more.

    Attributes
    ----------
    box : box of the last version that its box is, or is a part of; NOWHERE where there is none.
    kept : number of the kept values.
    rows : how many.
    """

    box: IntArray
    kept: IntArray
    rows: IntArray


@dataclass(frozen=True)
class EverShown:
    """Records that some version has shown; (K,) each.

    Attributes
    ----------
    group : overlay group in all versions so far.
    box, kept : where each is shown now, and the number of its kept values there; NOWHERE where it is not shown.
    record : which record of today it is; NOWHERE where it is none.
    person : number of its person, among those of `Demanded.persons`; None where each record is one.
    """

    group: IntArray
    box: IntArray
    kept: IntArray
    record: IntArray
    person: IntArray | None = None


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
class Overlay:
    """Places in which a version shows the records that were ever shown.

    Attributes
    ----------
    group, box : (K,), overlay group of each record that was shown before, and where it is shown now.
    came : (K,), those that are shown where they were not.
    fresh, fresh_group, fresh_box : records of today that are shown for the first time, group and box of each.
    """

    group: IntArray
    box: IntArray
    came: BoolArray
    fresh: IntArray
    fresh_group: IntArray
    fresh_box: IntArray


@dataclass(frozen=True)
class Renewed:
    """What a version shows.

    Attributes
    ----------
    before : (M,), the rows of the version before that are shown again.
    today : (N,), the records of today that are shown.
    group : (B,), box of the new version that each box becomes a part of.
    waiting : boxes in which something waits.
    changes, pending : sum_b (A_b + R_b), and the same of boxes (or classes) that wait.
    overlay : of all versions with this one; None where it is not known who was shown.
    """

    before: BoolArray
    today: BoolArray
    group: IntArray
    waiting: int
    changes: int = 0
    pending: int = 0
    overlay: Overlay | None = None


@dataclass(frozen=True)
class _Cells:
    """Boxes by kept values: those of each row and record, and how many of them each version has.

    Attributes
    ----------
    box, kept, unit : of each cell; a unit shows or waits: a box, or a cell where k counts kept values.
    units : how many there are.
    of_before, of_today : cell of each row that was published, and of each record.
    was : rows of each version, the last one first.
    now : records of today.
    """

    box: IntArray
    kept: IntArray
    unit: IntArray
    units: int
    of_before: IntArray
    of_today: IntArray
    was: tuple[IntArray, ...]
    now: IntArray


def renewed(
    before: tuple[IntArray, IntArray],
    today: tuple[IntArray, IntArray],
    *,
    boxes: PublishedBoxes,
    demands: Demanded,
    earlier: Sequence[Version] = (),
    ever: EverShown | None = None,
) -> Renewed:
    """Return which rows of before and which records of today are shown.

    Parameters
    ----------
    before : (M,) each, box and number of the kept values of the rows that were published.
    today : (N,) each, the same of the records, each of which is in a box.
    boxes : as published before, none with a missing side.
    demands : on every box.
    earlier : versions before that one, in any order.
    ever : the records that were ever shown; None: they are not known.

    Raises
    ------
    InfeasibleKError
        All boxes have fewer than k records together.

    Notes
    -----
    O(V (N + M) log(N + M)) time.
    """
    number = len(boxes.counts)
    cells = _cells(before, today, number, demands, earlier)
    changed = np.zeros(cells.units, dtype=np.bool_)
    changed[cells.unit[cells.was[0] != cells.now]] = True
    shown = _bearable_alone(cells, demands)
    moves = None if ever is None else _moves(cells, ever, demands)
    while True:
        if moves is not None:
            shown = held(moves, shown, changed, demands.k)
        seen = np.where(shown[cells.unit], cells.now, cells.was[0])
        group = risen(boxes, np.bincount(cells.box, weights=seen, minlength=number).astype(np.int64), demands.k)
        torn = _torn_unions(cells, seen, group, demands) & shown & changed
        if not torn.any():
            break
        growing = torn & (np.bincount(cells.unit, weights=cells.now > cells.was[0], minlength=cells.units) > 0)
        shown &= ~(growing if growing.any() else torn)  # those that everyone has left go up where they can
    there = shown[cells.unit]
    changes = np.abs(cells.now - cells.was[0])
    return Renewed(
        ~there[cells.of_before], there[cells.of_today], group, len(np.unique(cells.box[~there])),
        changes=int(changes.sum()), pending=int(changes[~there].sum()),
        overlay=None if moves is None else _overlay(cells, moves, moved(moves, shown & changed), ever),
    )  # fmt: skip


def _cells(
    before: tuple[IntArray, IntArray],
    today: tuple[IntArray, IntArray],
    boxes: int,
    demands: Demanded,
    earlier: Sequence[Version],
) -> _Cells:
    inside = [one.box != NOWHERE for one in earlier]
    pairs = [before, today, *((one.box[at], one.kept[at]) for one, at in zip(earlier, inside, strict=True))]
    span = max(int(kept.max(initial=0)) for _, kept in pairs) + 1
    cell, which = np.unique(np.concatenate([box * span + kept for box, kept in pairs]), return_inverse=True)
    of_before, of_today, *others = np.split(which.reshape(-1), np.cumsum([len(box) for box, _ in pairs])[:-1])
    size = len(cell)
    was = [np.bincount(of_before, minlength=size)]
    for one, at, of in zip(earlier, inside, others, strict=True):
        was.append(np.bincount(of, weights=one.rows[at], minlength=size).astype(np.int64))
    box = cell // span
    unit, units = (np.arange(size), size) if demands.by_class else (box, boxes)
    now = np.bincount(of_today, minlength=size)
    return _Cells(box, cell % span, unit, units, of_before, of_today, tuple(was), now)


def _bearable_alone(cells: _Cells, demands: Demanded) -> BoolArray:
    """Units of which k, and what else is demanded, came, left and stayed since each version, or nothing."""
    shown = np.ones(cells.units, dtype=np.bool_)
    values = [_values(cells, column) for column in demands.sensitive]
    for was in cells.was:
        seen = [np.maximum(cells.now - was, 0), np.maximum(was - cells.now, 0), np.minimum(was, cells.now)]
        added, gone, stayed = (np.bincount(cells.unit, weights=one, minlength=cells.units) for one in seen)
        for one in (added, gone, stayed):
            shown &= (one == 0) | (one >= demands.k)
        if demands.persons is not None:
            came = _fewest_persons(cells.of_today, demands.persons, seen[0], cells.unit, added)
            shown &= ((added == 0) | (came >= demands.k)) & ((gone == 0) | (stayed == 0))
        for value in (one for one in values if one is not None):
            for weight in seen:
                shown &= _varied(cells.unit, value, weight, cells.units, demands)
    for column, of_cell in zip(demands.sensitive, values, strict=True):
        if of_cell is not None:
            shown &= _varied(cells.unit, of_cell, cells.now, cells.units, demands)
        else:
            one_each = np.ones_like(column.today)
            shown &= _varied(cells.unit[cells.of_today], column.today, one_each, cells.units, demands)
    return shown


def _values(cells: _Cells, column: Sensitive) -> IntArray | None:
    """A sensitive column by cells, of whose kept values it is one; None where it was not published."""
    if column.before is None:
        return None
    value = np.full(int(cells.kept.max(initial=-1)) + 1, NOWHERE, dtype=np.int64)
    value[cells.kept[cells.of_before]] = column.before
    value[cells.kept[cells.of_today]] = column.today
    if column.earlier is not None:
        kept, known = column.earlier.T
        value[kept[kept < len(value)]] = known[kept < len(value)]
    return value[cells.kept]


def _torn_unions(cells: _Cells, seen: IntArray, group: IntArray, demands: Demanded) -> BoolArray:
    """Units of boxes that become one of which too few came, left or stayed since some version.

    Of persons with several rows, or where values are demanded, what came to one part must not be set off against what
    left another: then each part shows who came and left by itself, and that was held already.
    """
    torn = np.zeros(cells.units, dtype=np.bool_)
    united = (np.bincount(group) > 1)[group[cells.box]]
    at = np.flatnonzero(united)
    if not len(at):
        return torn
    span = int(cells.kept.max(initial=0)) + 1
    keys, cell = np.unique(group[cells.box[at]] * span + cells.kept[at], return_inverse=True)
    unit = np.arange(len(keys)) if demands.by_class else np.unique(keys // span, return_inverse=True)[1]
    apart = demands.persons is not None or len(demands.sensitive) > 0
    bad = np.zeros(len(keys), dtype=np.bool_)
    for was in cells.was:
        parts = seen[at] - was[at]
        whole = np.bincount(cell, weights=parts, minlength=len(keys))
        stayed = np.bincount(cell, weights=was[at], minlength=len(keys)) + np.minimum(whole, 0)
        if apart:
            bad |= np.bincount(cell, weights=np.abs(parts), minlength=len(keys)) != np.abs(whole)
            continue
        for one in (np.maximum(whole, 0), np.maximum(-whole, 0), stayed):
            total = np.bincount(unit, weights=one)[unit]
            bad |= (total > 0) & (total < demands.k)
    wrong = np.bincount(unit, weights=bad)[unit] > 0
    torn[cells.unit[at[wrong[cell]]]] = True
    return torn


def _moves(cells: _Cells, ever: EverShown, demands: Demanded) -> Moves:
    """The records that were ever shown, by units."""
    now = np.append(cells.unit[cells.of_today], NOWHERE)[ever.record]
    if demands.by_class:
        span = int(cells.kept.max(initial=0)) + 1
        keys = cells.box * span + cells.kept
        place = np.minimum(np.searchsorted(keys, ever.box * span + ever.kept), len(keys) - 1)
        there = (ever.box != NOWHERE) & (ever.kept != NOWHERE) & (keys[place] == ever.box * span + ever.kept)
        unit = np.where(there, place, NOWHERE)
    else:
        unit = ever.box
    fresh = _fresh(ever, len(cells.of_today))
    return Moves(
        ever.group, unit, now, cells.unit[cells.of_today[fresh]], ever.person,
        None if demands.persons is None else demands.persons[fresh],
    )  # fmt: skip


def _fresh(ever: EverShown, records: int) -> IntArray:
    """Records of today that no version has shown."""
    known = np.zeros(records, dtype=np.bool_)
    known[ever.record[ever.record != NOWHERE]] = True
    return np.flatnonzero(~known)


def _overlay(cells: _Cells, moves: Moves, to: Moved, ever: EverShown | None) -> Overlay | None:
    if ever is None:
        return None
    group, fresh_group = refined(moves, to)
    box_of = np.zeros(cells.units + 1, dtype=np.int64)
    box_of[cells.unit] = cells.box
    box_of[NOWHERE] = NOWHERE
    fresh = _fresh(ever, len(cells.of_today))[to.fresh]
    return Overlay(group, box_of[to.unit], to.came, fresh, fresh_group, cells.box[cells.of_today[fresh]])


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
    """Units with nothing, or with enough values of which none has too large a share of those who have one."""
    total = np.bincount(unit, weights=weight, minlength=units)
    known = (weight > 0) & (value >= 0)
    with_one = np.bincount(unit[known], weights=weight[known], minlength=units)
    span = int(value.max(initial=0)) + 1
    pairs, which = np.unique(unit[known] * span + value[known], return_inverse=True)
    counts = np.bincount(which, weights=weight[known], minlength=len(pairs))
    distinct = np.bincount(pairs // span, minlength=units)
    most = np.zeros(units)
    np.maximum.at(most, pairs // span, counts)
    enough = (distinct >= demands.least_values) & (most <= demands.largest_share * with_one * (1.0 + _ROUNDING))
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
