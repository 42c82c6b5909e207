"""Which records of two tables of a family are the same persons': by ids, rows, fingerprints.

Source: science.md section 6, "Placing persons".

Ways are tried in turn, the surest first, until it is determined of everyone who they were:

1. the family's person column, and within a person the rows that are equal;
2. rows that are equal in all columns whose values are the same as multisets, if all rows are then the same;
3. the same with recoded columns, whose values are others: a map of values is proposed by how often they occur and by
   their order, and accepted where under it all rows are the same (so that every box contains as many as it published);
4. rows that are equal in all columns of the same name: some came, or some left. Where both did, values may differ.

Of a table that is gone its family keeps fingerprints of whole rows and of released ones: 1, 2 and 4 by these.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from surebox_core.types import IntArray
from workers.algorithms.tables.classes import grouped
from workers.algorithms.tables.linking import NONE, Linked, as_many, link
from workers.algorithms.tables.recoding import bits, mapped, order_bits, proposed
from workers.algorithms.tables.sketches import bits as _bits_of_counts
from workers.frames.hashed_cells import Hashes, counts
from workers.frames.persons import Cells, Fingerprints

#: Share of the smaller table's values, or ids, that two columns have in common if they are about the same.
_COMMON: Final = 0.5
#: By so many bits a map must be more than chance: one between columns of different names, and all maps together.
_BITS, _ALL_BITS = 20.0, 5.0
#: Standard deviations beyond which values of records with the same id have something in common.
_SURE: Final = 4.0
#: Ways to recode that are followed at once.
_MAPS: Final = 4


@dataclass(frozen=True)
class Known:
    """The known facts of a table's records: its cells while it is kept, else fingerprints, and what keys these."""

    cells: Cells | None
    kept: Fingerprints | None = None
    key: bytes = b""

    @property
    def rows(self) -> int:
        """How many records it has."""
        if self.cells is not None:
            return self.cells.rows
        return 0 if self.kept is None else self.kept.rows

    def person(self, names: Mapping[str, str | None]) -> dict[str, IntArray]:
        """Keys of the persons, by the family's names of the columns that state it.

        Parameters
        ----------
        names
            Columns by these names, in a table whose cells are known; None where the name is the same.
        """
        if self.cells is None:
            return {} if self.kept is None else dict(self.kept.persons)
        there = {name: own or name for name, own in names.items()}
        return {name: self.cells.keys([own]) for name, own in there.items() if own in self.cells.names}


@dataclass(frozen=True)
class Keys:
    """By what the records of two tables are known, one after the other: later keys for those whom earlier ones left.

    Attributes
    ----------
    x, y
        The keys.
    certain
        Whether they are ids.
    bits
        By how much the maps of values that they hang on are more than chance.
    """

    x: tuple[IntArray, ...]
    y: tuple[IntArray, ...]
    certain: bool = False
    bits: float = 0.0


@dataclass(frozen=True)
class Paired:
    """Records of two tables as persons.

    Attributes
    ----------
    linked
        Who is who.
    certain
        Whether by an id, so that values may have changed.
    """

    linked: Linked
    certain: bool = False


@dataclass(frozen=True)
class DeclaredColumns:
    """What the keeper has declared of the columns of a family's tables.

    Attributes
    ----------
    persons
        Columns that state whose record one is, by the family's names: what today's table calls them.
    columns
        Columns that the keeper has mapped: by their earlier names those of today.
    """

    persons: Mapping[str, str | None] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)


def same_columns(x: Known, y: Known, given: Mapping[str, str]) -> dict[str, str]:
    """Columns of the earlier table `y` whose values are those of a column of `x`, all of them or most."""
    if x.cells is None:
        return {}
    if y.cells is None:
        return {} if y.kept is None else _by_fingerprint(_keyed(x.cells, y), y.kept.columns, given, named=True)
    equal = _by_fingerprint(x.cells, {name: y.cells.fingerprint(name) for name in y.cells.names}, given)
    return equal | _by_name(x.cells, y.cells, equal, given)


def same_persons(
    x: Known, y: Known, declared: DeclaredColumns, *, at: tuple[IntArray, IntArray], alike: tuple[IntArray, IntArray]
) -> list[Paired]:
    """Who is who among some records of two tables; several answers where several maps of values hold.

    Parameters
    ----------
    x, y
        The tables, the later one first.
    declared
        Of their columns.
    at
        Which of their records to pair.
    alike
        Of these, equal where records are as good as each other (`linking`).

    Returns
    -------
    list[Paired]
        Nothing, where there is nothing to tell them by.
    """
    best: list[Paired] = []
    for ways in _ways(x, y, declared):
        tried = [Paired(_followed(one, at, alike), one.certain) for one in ways]
        least = min(one.linked.untold for one in tried)
        if not best or least < best[0].linked.untold:
            best = [one for one in tried if one.linked.untold == least]
        if least == 0:
            break
    return best


def _followed(keys: Keys, at: tuple[IntArray, IntArray], alike: tuple[IntArray, IntArray]) -> Linked:
    """Records paired by one key after the other."""
    other = np.full(len(at[0]), NONE, dtype=np.int64)
    mine, theirs = np.arange(len(at[0])), np.arange(len(at[1]))
    for step, (x, y) in enumerate(zip(keys.x, keys.y, strict=True)):
        linked = link(
            x[at[0][mine]], y[at[1][theirs]], x_alike=alike[0][mine], y_alike=alike[1][theirs],
            certain=keys.certain or step + 1 < len(keys.x),
        )  # fmt: skip
        known = linked.other >= 0
        other[mine] = np.where(known, theirs[np.where(known, linked.other, 0)] if len(theirs) else NONE, linked.other)
        mine, theirs = mine[linked.other == NONE], theirs[linked.left]
    return Linked(other, theirs)


def _ways(x: Known, y: Known, declared: DeclaredColumns) -> Iterator[list[Keys]]:
    if x.cells is not None and y.cells is not None:
        yield from _by_cells(x.cells, y.cells, x, y, declared)
        return
    mine = x if x.cells is None else Known(_keyed(x.cells, y))
    yield from _by_person(mine, y, declared, ())
    yield from _by_kept(x, y, declared.columns)


def _by_cells(x: Cells, y: Cells, mine: Known, theirs: Known, declared: DeclaredColumns) -> Iterator[list[Keys]]:
    """Both tables are there."""
    equal = _by_fingerprint(x, {name: y.fingerprint(name) for name in y.names}, declared.columns)
    named = _by_name(x, y, equal, declared.columns)
    rows = {**equal, **named}
    by_person = _by_person(mine, theirs, declared, (x.keys(list(rows.values())), y.keys(list(rows))))
    ids = {one for name, own in declared.persons.items() for one in (name, own)}
    values = {name: own for name, own in rows.items() if name not in ids and own not in ids}
    yield from (keys for keys in by_person if not _of_each_file(keys[0], x, y, values))
    same = {name: name for name in y.names if name in x.names and name not in {*rows, *rows.values()}}
    same = same if equal else {}  # numbers of rows alone reveal nothing: all tables have them
    for pairs in ({**equal, **same}, equal) if same else (equal,):
        keys = Keys((x.keys(list(pairs.values())),), (y.keys(list(pairs)),))
        if pairs and as_many(keys.x[0], keys.y[0]):
            yield [keys]
    if x.rows == y.rows and (recoded := _recoded(x, y, equal, declared.columns)):
        yield recoded
    if rows:
        yield [Keys((x.keys(list(rows.values())),), (y.keys(list(rows)),))]


def _by_person(x: Known, y: Known, declared: DeclaredColumns, rows: tuple[IntArray, ...]) -> Iterator[list[Keys]]:
    """By an id that both tables have; within a person by equal rows first, where these are known."""
    mine, theirs = x.person(declared.persons), y.person(_called(y, declared.persons))
    for name in mine.keys() & theirs.keys():
        ids, known = np.unique(mine[name]), np.unique(theirs[name])
        if len(np.intersect1d(ids, known, assume_unique=True)) < _COMMON * min(len(ids), len(known)):
            continue  # numbers were given anew: they reveal nothing of who was who
        x_keys, y_keys = [mine[name]], [theirs[name]]
        if rows and (len(ids) < x.rows or len(known) < y.rows):
            x_keys.insert(0, _together(mine[name], rows[0]))
            y_keys.insert(0, _together(theirs[name], rows[1]))
        yield [Keys(tuple(x_keys), tuple(y_keys), certain=True)]


def _of_each_file(ids: Keys, x: Cells, y: Cells, columns: Mapping[str, str]) -> bool:
    """Whether ids number each file's rows and are no persons': records with the same one have nothing in common.

    Parameters
    ----------
    ids
        Keys of the persons, last.
    x, y
        The tables.
    columns
        By the names of `y`, columns whose values are the same, all of them or most: of persons who are the same some
        agree, or rise and fall together, more often than by chance.
    """
    mine, theirs = _single(ids.x[-1]), _single(ids.y[-1])
    _, at, there = np.intersect1d(ids.x[-1][mine], ids.y[-1][theirs], assume_unique=True, return_indices=True)
    at, there = mine[at], theirs[there]
    if not columns or len(at) < _COMMON * min(x.rows, y.rows):
        return False  # nothing to see it by: most persons have several records
    return not any(_related(x.hashes(own)[at], y.hashes(name)[there]) for name, own in columns.items()) and not any(
        _related_in_order(x.codes(own)[at], y.codes(name)[there]) for name, own in columns.items()
    )


def _single(ids: IntArray) -> IntArray:
    """The records whose id is theirs alone."""
    _, first, times = np.unique(ids, return_index=True, return_counts=True)
    single: IntArray = first[times == 1].astype(np.int64)
    return single


def _related(a: Hashes, b: Hashes) -> bool:
    """Whether values agree more often than those of any two records would."""
    values, code = np.unique(np.concatenate([a, b]), return_inverse=True)
    shares = [np.bincount(one, minlength=len(values)) / len(a) for one in np.split(code, [len(a)])]
    chance = float(shares[0] @ shares[1])
    room = min(_SURE * np.sqrt(chance * (1 - chance) / len(a)), 0.9 * (1 - chance))
    return bool((a == b).mean() - chance > room)


def _related_in_order(a: IntArray, b: IntArray) -> bool:
    """Whether values rise and fall together more than those of any two records would."""
    if not (np.ptp(a) and np.ptp(b)):
        return False
    return bool(abs(np.corrcoef(a, b)[0, 1]) > min(_SURE / np.sqrt(len(a)), 0.9))


def _called(y: Known, persons: Mapping[str, str | None]) -> dict[str, str | None]:
    """What an earlier table calls the family's person columns: by their names, else as today's table does."""
    there = () if y.cells is None else y.cells.names
    return {name: name if name in there else own for name, own in persons.items()}


def _together(one: IntArray, other: IntArray) -> IntArray:
    """A key of two, whose collisions are those of 64 bits."""
    mixed: IntArray = (one.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ other.view(np.uint64)).view(np.int64)
    return mixed


def _keyed(x: Cells, y: Known) -> Cells:
    """The cells as the fingerprints of another table are keyed: families that became one had secrets of their own."""
    return x if y.kept is None or y.key in (b"", x.key) else Cells(x.path, y.key)


def _by_kept(x: Known, y: Known, given: Mapping[str, str]) -> Iterator[list[Keys]]:
    """One of the tables is gone: by fingerprints of whole rows, else of those that were released."""
    if x.cells is None or y.kept is None:
        a, b = x.kept, y.kept
        if a is not None and b is not None and a.under == b.under:
            if list(a.columns) == list(b.columns):
                yield [Keys((a.whole,), (b.whole,))]
            if a.released == b.released:
                yield [Keys((a.shown,), (b.shown,))]
        return
    cells = _keyed(x.cells, y)
    known = _by_fingerprint(cells, y.kept.columns, given, named=True)
    for names, keys in ((sorted(y.kept.columns), y.kept.whole), (y.kept.released, y.kept.shown)):
        if all(name in known for name in names):
            yield [Keys((cells.keys([known[name] for name in names]),), (keys,))]


def _by_fingerprint(
    x: Cells, columns: Mapping[str, str | None], given: Mapping[str, str], *, named: bool = False
) -> dict[str, str]:
    """Earlier columns whose values are the same multiset, the same name first; else, if `named`, those of the name."""
    matches: dict[str, str] = {}
    known = {name: one for name, one in columns.items() if one is not None}
    for other in (False, True):
        for name, fingerprint in known.items():
            free = [one for one in x.names if one not in matches.values() and given.get(name, one) == one]
            free = [one for one in free if one not in given.values() or given.get(name) == one]
            right = [one for one in free if (one == name) != other and x.fingerprint(one) == fingerprint]
            right = [one for one in right if one in (name, given.get(name)) or _telling(x.hashes(one)) >= _ALL_BITS]
            if name not in matches and right:
                matches[name] = right[0]
    for name in columns if named else ():
        own = given.get(name, name)
        if name not in matches and own in x.names and own not in matches.values():
            matches[name] = own
    return matches


def _telling(cells: Hashes) -> float:
    """By how much it is more than chance that another column has the same values."""
    return _bits_of_counts(counts(cells))


def _by_name(x: Cells, y: Cells, equal: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Columns of the same name, or mapped by the keeper, that have most of their values in common."""
    matches = {}
    for name in y.names:
        own = given.get(name, name)
        if name in equal or own in equal.values() or own not in x.names or (own in given.values()) != (name in given):
            continue
        if x.fingerprint(own) is None and y.fingerprint(name) is None:
            continue  # numbers of rows, which all tables have
        if _common(x.hashes(own), y.hashes(name)) >= _COMMON:
            matches[name] = own
    return matches


def _common(a: Hashes, b: Hashes) -> float:
    """Share of the smaller multiset that is in both."""
    (mine, m), (theirs, t) = np.unique(a, return_counts=True), np.unique(b, return_counts=True)
    _, at, there = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    return float(np.minimum(m[at], t[there]).sum() / max(min(len(a), len(b)), 1))


def _recoded(x: Cells, y: Cells, equal: Mapping[str, str], given: Mapping[str, str]) -> list[Keys]:
    """Keys with as many recoded columns as can be accepted, besides those that are equal."""
    ways = [Keys((x.keys(list(equal.values())),), (y.keys(list(equal)),))]
    taken = set(equal.values())
    for name in y.names:
        if name in equal:
            continue
        for own in _candidates(x, y, name, taken, given):
            more = _accepted(ways, x, y, (name, own), sure=own in (name, given.get(name)), coarser=name in given)
            if 0 < len(more) <= _MAPS:  # all of them are followed, or none
                ways = more
                taken.add(own)
                break
    return [one for one in ways if one.bits >= _ALL_BITS]


def _candidates(x: Cells, y: Cells, name: str, taken: set[str], given: Mapping[str, str]) -> list[str]:
    """Columns that may be an earlier one recoded, its own name first: their values occur as often."""
    if name in given:
        return [given[name]] if given[name] in x.names and given[name] not in taken else []
    free = [one for one in x.names if one not in taken and one not in given.values()]
    free = [one for one in free if x.occurrences(one) == y.occurrences(name)]
    return sorted(free, key=lambda one: one != name)


def _accepted(
    ways: Sequence[Keys], x: Cells, y: Cells, pair: tuple[str, str], *, sure: bool, coarser: bool
) -> list[Keys]:
    """The ways with one more column, by each map under which all rows are the same."""
    name, own = pair
    if not coarser and _distinct_common(x.hashes(own), y.hashes(name)) > _COMMON:
        return []  # its values are still there: persons have others now, which no map explains
    old, new = y.codes(name), x.codes(own)
    accepted = []
    for to in proposed(old, new, coarser=coarser):
        codes = mapped(old, to)
        for way in ways:
            more = bits(way.x[0], new) + order_bits(new)
            keys = Keys((_together(way.x[0], new),), (_together(way.y[0], codes),), bits=way.bits + more)
            if as_many(keys.x[0], keys.y[0]) and (sure or more >= _BITS):
                accepted.append(keys)
    return accepted


def _distinct_common(a: Hashes, b: Hashes) -> float:
    """Share of the different values of the column with fewer of them that the other one has too."""
    mine, theirs = np.unique(a), np.unique(b)
    return len(np.intersect1d(mine, theirs, assume_unique=True)) / max(min(len(mine), len(theirs)), 1)


def alike_in(*columns: IntArray) -> IntArray:
    """Numbers of records that agree in all columns."""
    numbers = np.zeros(len(columns[0]), dtype=np.int64)
    for one in columns:
        both = grouped(numbers)
        groups = grouped(one)
        numbers = grouped(both.of_record * len(groups.size) + groups.of_record).of_record
    return numbers
