"""The exact overlay of versions of a table, by hand: from their files, and from who was in the table each time.

A box whose rows are those of the version before shows whom it showed, any other whoever belongs to it; records with the
same places in all versions are a group. And all pairs of versions: rows that came, left and stayed, by kept values.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
#: Ways in which parts of a box may show what changed that are looked at.
_MOST = 1 << 12


def fits(value: Any, row: Row, name: str) -> bool:
    """Tell whether a value is in a box."""
    if f"{name}_set" in row:
        return value in row[f"{name}_set"]
    return value is not None and row[f"{name}_lo"] <= value <= row[f"{name}_hi"]


class Overlaid:
    """The view of readers of all versions, one version after the other."""

    def __init__(self, names: Sequence[str], keep: Sequence[str] = (), *, by_class: bool = False) -> None:
        self.names, self.keep, self.by_class = names, keep, by_class
        self.places: dict[Any, list[Any]] = {}  # of each record: where each version shows it
        self.boxes: list[dict[Any, Row]] = []
        self.rows: list[dict[Any, Counter[Any]]] = []  # of each version: kept values of the rows of a box
        self.shown: dict[Any, set[Any]] = {}  # records that a unit shows now
        self.torn = 0  # units that are neither as before nor as today

    def add(self, rows: Sequence[Row], records: Mapping[Any, Row]) -> None:
        """Take one version more."""
        boxes = {row["box"]: row for row in rows}
        published: dict[Any, Counter[Any]] = defaultdict(Counter)
        for row in rows:
            published[row["box"]][tuple(row[name] for name in self.keep)] += 1
        parts = self._parts(boxes)
        shown: dict[Any, set[Any]] = {}
        for number, box in boxes.items():
            there = {one for one, row in records.items() if all(fits(row[name], box, name) for name in self.names)}
            for kept in self._classes(published[number]):
                shown[number, kept] = self._of_unit(published[number], kept, parts[number], there, records)
        for of in shown.values():
            for one in of:
                self.places.setdefault(one, [None] * len(self.boxes))
        for one, places in self.places.items():
            places.append(next((unit for unit, of in shown.items() if one in of), None))
        self.boxes.append(boxes)
        self.rows.append(dict(published))
        self.shown = shown

    def _classes(self, rows: Counter[Any]) -> Collection[Any]:
        return rows if self.by_class else [None]

    def _parts(self, boxes: Mapping[Any, Row]) -> dict[Any, list[Any]]:
        """Boxes of the version before that are now a part of each."""
        last = self.boxes[-1] if self.boxes else {}
        return {number: [one for one, part in last.items() if self._within(part, box)] for number, box in boxes.items()}

    def _within(self, part: Row, box: Row) -> bool:
        for name in self.names:
            if f"{name}_set" in box:
                if not set(part[f"{name}_set"]) <= set(box[f"{name}_set"]):
                    return False
            elif part[f"{name}_lo"] < box[f"{name}_lo"] or part[f"{name}_hi"] > box[f"{name}_hi"]:
                return False
        return True

    def _of_unit(
        self, rows: Counter[Any], kept: Any, parts: list[Any], there: set[Any], records: Mapping[Any, Row]
    ) -> set[Any]:
        """Records behind a unit: parts that show whom they showed, as many as can be, and parts that show today's."""
        wanted = Counter({kept: rows[kept]}) if self.by_class else rows
        if not self.boxes:
            return {one for one in there if not self.by_class or self._kept(records[one]) == kept}
        last, options = self.boxes[-1], []
        for part in parts:
            before = self.rows[-1][part]
            before = Counter({kept: before[kept]} if self.by_class else before)
            today = {one for one in there if all(fits(records[one][name], last[part], name) for name in self.names)}
            if self.by_class:
                today = {one for one in today if self._kept(records[one]) == kept}
            now = Counter(self._kept(records[one]) for one in today)
            options.append([(+before, self.shown.get((part, kept), set()))])
            if +before != +now:  # a box that everyone has left is a part of another one because it shows that
                options[-1].insert(0 if not now else 1, (+now, today))
        matching = [
            set().union(*(of for _, of in choice))
            for choice in itertools.islice(itertools.product(*options), _MOST)
            if sum((one for one, _ in choice), Counter()) == wanted
        ]
        if not matching:
            self.torn += 1
            return set()
        return matching[0] if len(matching) == 1 else max(matching, key=self._least_part)

    def _least_part(self, shown: set[Any]) -> int:
        """Fewest records of those who were alike and are no more, where several boxes became one.

        Its rows may be those of other parts: readers cannot see which of them show today's records.
        """
        before = {one for one in self.places if self.places[one] and self.places[one][-1] is not None}
        alike = Counter(tuple(self.places.get(one, ())) for one in before | shown)
        parts = Counter((tuple(self.places.get(one, ())), one in shown) for one in before | shown)
        return min(
            (size for (places, _), size in parts.items() if not places or size < alike[places]), default=len(shown)
        )

    def _kept(self, row: Row) -> Any:
        return tuple(row[name] for name in self.keep)

    def smallest_group(self, person: Mapping[Any, Any] | None = None) -> int:
        """Records, or persons, of the smallest overlay group."""
        groups = defaultdict(set)
        for one, places in self.places.items():
            if any(place is not None for place in places):
                groups[tuple(places)].add(one if person is None else person[one])
        return min(map(len, groups.values()))

    def share_below(self, k: int) -> float:
        """Share of the records in groups of fewer than k."""
        groups = Counter(tuple(places) for places in self.places.values())
        return sum(size for size in groups.values() if size < k) / sum(groups.values())

    def fewest_apart(self) -> int:
        """Fewest rows that came to a box, left it, or stayed while others did, between any two versions."""
        figures = []
        for first, second in itertools.combinations(range(len(self.boxes)), 2):
            for number, box in self.boxes[second].items():
                was: Counter[Any] = Counter()
                for one, part in self.boxes[first].items():
                    if self._within(part, box):
                        was += self.rows[first][one]
                now = self.rows[second][number]
                for kept in {*was, *now} if self.by_class else [None]:
                    a, b = (Counter({kept: one[kept]}) if self.by_class else one for one in (+was, +now))
                    if +a != +b:
                        figures += [sum(one.values()) for one in (b - a, a - b, a & b)]
        return min((one for one in figures if one), default=10**9)

    def smallest_box(self) -> int:
        """Rows of the smallest box, or class, of any version."""
        return min(
            min(rows.values()) if self.by_class else sum(rows.values()) for one in self.rows for rows in one.values()
        )
