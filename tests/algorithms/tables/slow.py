"""Tables measured record by record in plain Python: what the fast measures are held against."""

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Table:
    """Rows of codes, -1 for missing; a sensitive value each."""

    rows: tuple[tuple[int, ...], ...]
    sensitive: tuple[int, ...]

    @property
    def codes(self) -> np.ndarray:
        return np.array(self.rows, dtype=np.int32).reshape(len(self.rows), -1).T.copy()

    @property
    def values(self) -> np.ndarray:
        return np.array(self.sensitive, dtype=np.int64)

    def neighbourhood(self, at: int, columns: tuple[int, ...] | None = None, *, anything: bool = False) -> list[int]:
        """Rows that cannot be told from one; itself included."""
        columns = tuple(range(len(self.rows[0]))) if columns is None else columns

        def agrees(a: int, b: int) -> bool:
            return a == b or (anything and -1 in (a, b))

        return [other for other, row in enumerate(self.rows) if all(agrees(row[j], self.rows[at][j]) for j in columns)]

    def shares(self, rows: list[int] | None = None) -> dict[int, Fraction]:
        rows = list(range(len(self.rows))) if rows is None else rows
        return {v: Fraction(n, len(rows)) for v, n in Counter(self.sensitive[at] for at in rows).items()}

    def minimal_uniques(self, depth: int, *, anything: bool = False) -> dict[tuple[int, ...], set[int]]:
        """By set of columns the rows that are alone on it and on no part of it."""
        width = len(self.rows[0])
        alone = {
            subset: {at for at in range(len(self.rows)) if len(self.neighbourhood(at, subset, anything=anything)) == 1}
            for size in range(1, depth + 1)
            for subset in itertools.combinations(range(width), size)
        }
        return {
            subset: rows - set().union(*(alone[part] for part in alone if set(part) < set(subset)))
            for subset, rows in alone.items()
        }


def measures(table: Table, rows: list[int], values: list[int]) -> dict[str, float]:
    """Every measure of one class from its definition."""
    p, q = table.shares(rows), table.shares()
    differences = [p.get(v, Fraction(0)) - q[v] for v in values]
    cumulated = list(itertools.accumulate(differences))
    likeness = {v: (p[v] - q[v]) / q[v] for v in p}
    return {
        "distinct": len(p),
        "top": float(max(p.values())),
        "entropy": -sum(float(one) * math.log(one) for one in p.values()),
        "equal": float(sum(abs(one) for one in differences) / 2),
        "ordered": float(sum(abs(one) for one in cumulated) / (len(values) - 1)) if len(values) > 1 else 0.0,
        "delta": max(abs(math.log(p[v] / q[v])) for v in p),
        "beta": max(0.0, *(float(one) for one in likeness.values())),
    }


@st.composite
def tables(draw: st.DrawFn, *, missing: bool = True) -> Table:
    width = draw(st.integers(1, 4))
    cell = st.integers(-1 if missing else 0, 2)
    rows = draw(st.lists(st.tuples(*[cell] * width), min_size=1, max_size=24))
    sensitive = draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    seen = sorted(set(sensitive))
    return Table(tuple(rows), tuple(seen.index(one) for one in sensitive))
