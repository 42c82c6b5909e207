"""l, t and alpha of published columns, counted again box by box.

Notation
--------
p_v, q_v : share of value v among the rows of a box, and among all rows.
t : 1/2 sum |p - q|, where a missing value is one more value; or of ordered values, among rows that have one, the earth
    mover's 1/(m - 1) sum |cumulated p - q|.

A missing value counts for no l, is never the value of which a box has too much, and is not among the rows of which it
has too much. Texts that are spellings of one word are one value, but for t (`surebox_core.spellings`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from surebox_core.spellings import spelling_classes
from surebox_core.types import FloatArray, IntArray
from surebox_verify.disclosure import agrees

_ROUNDED: Final = 1e-9
#: How often a guess of a sensitive value can be right, by the names that results and certificates have for it.
GUESSES: Final = ("largest_share", "share_above_60_percent")


@dataclass(frozen=True)
class Sensitive:
    """The rows of a release of boxes, and the demands on its sensitive columns.

    Attributes
    ----------
    table : with the kept columns.
    of_row : (rows,), box of each row, numbered from 0.
    said : how the release was made.
    """

    table: pa.Table
    of_row: IntArray
    said: Mapping[str, Any]

    def problems(self) -> Iterator[str]:
        """Columns of which a box has too few values, or too much of one; shares of one value that are others."""
        yield from self._wrong_guesses()
        withheld = {str(each) for each in self.said.get("withheld") or ()}
        if shown := sorted(withheld & self._there()):
            yield f"withheld: {', '.join(map(repr, shown))} published, and the file has it"
        if others := sorted(withheld - set(self._demanded())):
            yield f"withheld: {', '.join(map(repr, others))} published, not one of `sensitive`"
        for name in self._demanded():
            if name in self._there() and self.table.num_rows:
                yield from self._wrong(name)
        for name, apart in (self.said.get("min_separation") or {}).items():
            if name in self._there() and self.table.num_rows:
                yield from self._too_near(name, float(apart))

    def beyond_the_file(self) -> Iterator[str]:
        """Demands about columns that are not published."""
        names = [*self._demanded(), *(self.said.get("min_separation") or {})]
        if absent := sorted({name for name in names if name not in self._there()}):
            demands = [
                f"{each} of {self.said[each]}" for each in ("l", "t", "alpha") if self.said.get(each) is not None
            ]
            yield f"{', '.join(demands)}: the file has no column {', '.join(map(repr, absent))}"

    def _demanded(self) -> Sequence[str]:
        return [str(each) for each in self.said.get("sensitive") or ()]

    def _there(self) -> set[str]:
        return {str(each) for each in self.said.get("keep") or ()} & set(self.table.column_names)

    def _wrong_guesses(self) -> Iterator[str]:
        """Yield shares of one value in a box, and of rows where it is above 0.6, that are not the file's."""
        there = [name for name in self._demanded() if name in self._there() and self.table.num_rows]
        again = {
            name: self._guesses(name) for name in there if any(self.said.get(each) is not None for each in GUESSES)
        }
        for place, figure in enumerate(GUESSES):
            published = self.said.get(figure)
            if published is None:
                continue
            if not isinstance(published, Mapping) or set(published) != set(there):
                yield f"{figure}: published of other columns than the sensitive ones of the file"
                continue
            for name, figures in again.items():
                if not agrees(published[name], figures[place]):
                    yield f"{figure}: {published[name]} of {name!r} published, the file has {figures[place]}"

    def _guesses(self, name: str) -> tuple[float, float]:
        """The largest share of one value in a box, and the share of rows in boxes where it is above 0.6."""
        whole = self._counts(name)
        counts = self._spelled_as_one(name, whole[:, :-1])
        most, rows = counts.max(axis=1, initial=0.0), counts.sum(axis=1)
        above = whole.sum(axis=1)[5.0 * most > 3.0 * rows].sum() / whole.sum()
        return float((most / np.maximum(rows, 1.0)).max()), float(above)

    def _wrong(self, name: str) -> Iterator[str]:
        all_counts = self._counts(name)
        counts = self._spelled_as_one(name, all_counts[:, :-1])
        rows = counts.sum(axis=1)
        least, most = self.said.get("l"), self.said.get("alpha")
        if least is not None and int((counts > 0).sum(axis=1).min()) < int(least):
            yield f"l: {least} published, a box has {int((counts > 0).sum(axis=1).min())} values of {name!r}"
        share = counts.max(axis=1, initial=0.0) / np.maximum(rows, 1)
        if most is not None and float(share.max()) > float(most) + _ROUNDED:
            yield f"alpha: {most} published, one value of {name!r} has {float(share.max()):g} of those in a box"
        t = self.said.get("t")
        if t is not None and (distance := self._distance(name, all_counts)) > float(t) + _ROUNDED:
            yield f"t: {t} published, a box is {distance:g} from all rows in {name!r}"

    def _counts(self, name: str) -> FloatArray:
        """(B, m + 1), rows of each box with each value, in the values' order, and without one."""
        column, values = self.table.column(name).combine_chunks(), self._values(name)
        codes = pc.index_in(column, value_set=values).fill_null(len(values)).to_numpy(zero_copy_only=False)
        boxes, columns = int(self.of_row.max()) + 1, len(values) + 1
        flat = self.of_row * columns + codes
        return np.bincount(flat, minlength=boxes * columns).reshape(boxes, columns).astype(np.float64)

    def _values(self, name: str) -> pa.Array:
        """The values of a column, in their order."""
        column = self.table.column(name).combine_chunks()
        order = (self.said.get("ordinal") or {}).get(name)
        return pa.array(order).cast(column.type) if order else pc.unique(column.drop_null()).sort()

    def _spelled_as_one(self, name: str, counts: FloatArray) -> FloatArray:
        """(B, m), rows of each box with any of the values that are alike, at the place of the first."""
        if not _is_text(self.table.schema.field(name).type):
            return counts
        first = spelling_classes(self._values(name).cast(pa.string()).to_pylist())
        together = np.zeros(counts.shape)
        for value, place in enumerate(first):
            together[:, place] += counts[:, value]
        return together

    def _distance(self, name: str, counts: FloatArray) -> float:
        """T."""
        kind = self.table.schema.field(name).type
        has_order = name in (self.said.get("ordinal") or {}) or (
            name not in (self.said.get("nominal") or {}) and not (_is_text(kind) or pa.types.is_boolean(kind))
        )
        if (self.said.get("t_distance") or {}).get(name, "ordered" if has_order else "equal") == "ordered":
            apart = _apart(counts[:, :-1])
            steps = max(apart.shape[1] - 1, 1)
            return float((np.abs(np.cumsum(apart, axis=1)).sum(axis=1) / steps).max(initial=0.0))
        return float((0.5 * np.abs(_apart(counts)).sum(axis=1)).max(initial=0.0))

    def _too_near(self, name: str, apart: float) -> Iterator[str]:
        """Boxes with fewer than l values pairwise so far apart."""
        least = int(self.said.get("l") or 0)
        values = self.table.column(name).cast(pa.float64(), safe=False).to_numpy()
        order = np.lexsort((values, self.of_row))
        count, box, last = 0, -1, 0.0
        counts = np.zeros(int(self.of_row.max()) + 1, dtype=np.int64)
        for row in order[~np.isnan(values[order])].tolist():
            if self.of_row[row] != box:
                count, box = 0, int(self.of_row[row])
            if count == 0 or values[row] - last >= apart:
                count, last = count + 1, float(values[row])
                counts[box] = count
        if int(counts.min()) < least:
            yield f"l: {least} published, a box has {int(counts.min())} values of {name!r} that are {apart:g} apart"


def _apart(counts: FloatArray) -> FloatArray:
    """Shares of each value in a box less those in all rows, of boxes that have one."""
    rows = counts.sum(axis=1, keepdims=True)
    apart = counts / np.maximum(rows, 1.0) - counts.sum(axis=0) / max(counts.sum(), 1.0)
    return np.asarray(apart[rows[:, 0] > 0.0], dtype=np.float64)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
