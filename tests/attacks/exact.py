"""An oracle of counts and statistics in exact fractions: nothing of the project is imported.

A table is a list of cells by column: whole numbers, doubles, days, texts, truth values, None where one is missing. A
number is the fraction that its double is; a day is counted from 1970. Weights are doubles, 1 where there are none.
"""

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Cell = int | float | str | bool | dt.date | None
#: Whether a range, or one range for each coefficient, contains the truth; None where there is no truth.
Verdict = bool | None
EPOCH = dt.date(1970, 1, 1)


def number(cell: Any) -> Fraction:
    """A number or a day as a fraction; a text is a day."""
    if isinstance(cell, str):
        cell = dt.date.fromisoformat(cell)
    return Fraction((cell - EPOCH).days) if isinstance(cell, dt.date) else Fraction(cell)


def alike(cell: Cell, value: Cell) -> bool:
    """Return whether a cell is a value: a truth value is no number."""
    return cell is value if cell is None else isinstance(cell, bool) is isinstance(value, bool) and cell == value


@dataclass
class Table:
    """The released records, and what they weigh.

    Attributes
    ----------
    columns : cells by column.
    weights : of the records.
    classes : by column and class of a hierarchy its values.
    """

    columns: dict[str, list[Cell]]
    weights: list[float]
    classes: dict[str, dict[str, list[Cell]]] = field(default_factory=dict)

    @property
    def rows(self) -> range:
        return range(len(self.weights))

    def having(self, names: Iterable[str]) -> list[int]:
        """Records with a value of each column."""
        there = list(names)
        return [row for row in self.rows if all(self.columns[name][row] is not None for name in there)]

    def meets(self, name: str, row: int, restriction: Any) -> bool:
        """Return whether a record has one of some values, or one in an interval with its ends, never a missing one."""
        cell = self.columns[name][row]
        if isinstance(restriction, Mapping):
            meant = [value for one in restriction["values"] for value in self.meant(name, one)]
            return any(alike(cell, value) for value in meant)
        if cell is None:
            return False
        low, high = restriction
        return (low is None or number(low) <= number(cell)) and (high is None or number(cell) <= number(high))

    def meant(self, name: str, one: Any) -> list[Cell]:
        """The values that a name stands for: of a class all that are in it."""
        if isinstance(one, Mapping):
            return [one["value"]] if "value" in one else self.classes[name][one["class"]]
        return self.classes.get(name, {}).get(one, [one])

    def count(self, query: Mapping[str, Any]) -> int:
        """Records that meet all restrictions."""
        return sum(all(self.meets(name, row, one) for name, one in query.items()) for row in self.rows)

    def mean(self, rows: Sequence[int], of: Callable[[int], Fraction]) -> Fraction:
        """The weighted mean of some records' numbers."""
        weights = [Fraction(self.weights[row]) for row in rows]
        return sum((w * of(row) for w, row in zip(weights, rows, strict=True)), Fraction(0)) / sum(weights)

    def moment(self, rows: Sequence[int], one: str, other: str) -> Fraction:
        """The weighted mean product of two columns' deviations."""
        first, second = ({row: number(self.columns[name][row]) for row in rows} for name in (one, other))
        means = self.mean(rows, first.__getitem__), self.mean(rows, second.__getitem__)
        return self.mean(rows, lambda row: (first[row] - means[0]) * (second[row] - means[1]))


def contains(ends: Sequence[float] | None, truth: Fraction) -> bool:
    """Return whether a range contains a number: exactly, without slack."""
    return ends is None or (at_or_above(truth, ends[0]) and at_or_above(-truth, -ends[1]))


def contains_root(ends: Sequence[float] | None, square: Fraction) -> bool:
    """Return whether a range contains the root of a number, or the root of its size with its sign."""
    return ends is None or all(
        math.isinf(end) or (sign * square >= sign * Fraction(end) * abs(Fraction(end)))
        for sign, end in zip((1, -1), ends, strict=True)
    )


def at_or_above(truth: Fraction, end: float) -> bool:
    return end == -math.inf or (end != math.inf and truth >= Fraction(end))


def verdict(table: Table, said: Mapping[str, Any]) -> Verdict:
    """Return whether the guaranteed range of a statistic contains its value."""
    if said["guaranteed"] is None:
        return None
    return _BY_KIND[said["kind"]](table, said)


def _numbers(table: Table, said: Mapping[str, Any]) -> Verdict:
    own, ends = said["of"][0], said["guaranteed"]
    rows = table.having(said["of"])
    if not rows:
        return None
    match said["kind"]:
        case "mean":
            return contains(ends, table.mean(rows, lambda row: number(table.columns[own][row])))
        case "quantile":
            return contains(ends, _quantile(table, rows, own, said["p"]))
        case "variance":
            return contains(ends, table.moment(rows, own, own))
        case "standard_deviation":
            return contains_root(ends, table.moment(rows, own, own))
    product = table.moment(rows, *said["of"])
    if said["kind"] == "covariance":
        return contains(ends, product)
    both = table.moment(rows, own, own) * table.moment(rows, said["of"][1], said["of"][1])
    return contains_root(ends, product * abs(product) / both) if both else None


def _quantile(table: Table, rows: Sequence[int], own: str, p: float) -> Fraction:
    """The least value at or below which at least a share p of the weight is."""
    ordered = sorted(rows, key=lambda row: number(table.columns[own][row]))
    whole, below = sum(Fraction(table.weights[row]) for row in rows), Fraction(0)
    for row in ordered:
        below += Fraction(table.weights[row])
        if below >= Fraction(str(p)) * whole:
            return number(table.columns[own][row])
    raise AssertionError


def _share(table: Table, said: Mapping[str, Any]) -> Verdict:
    (own,), rows = said["of"], table.having(said["of"])
    about = _restriction(said)
    return (
        contains(said["guaranteed"], table.mean(rows, lambda row: Fraction(table.meets(own, row, about))))
        if rows
        else None
    )


def _restriction(said: Mapping[str, Any]) -> Any:
    return said["interval"] if said.get("interval") is not None else {"values": said["values"]}


def _domain_mean(table: Table, said: Mapping[str, Any]) -> Verdict:
    own, of = said["of"]
    rows = [row for row in table.having(said["of"]) if table.meets(of, row, _restriction(said))]
    if not rows:
        return bool(said["domain_may_be_empty"])
    return contains(said["guaranteed"], table.mean(rows, lambda row: number(table.columns[own][row])))


def _cell(table: Table, said: Mapping[str, Any]) -> Verdict:
    rows = [
        row
        for row in table.having(said["of"])
        if all(
            table.meets(name, row, {"values": [value]}) for name, value in zip(said["of"], said["values"], strict=True)
        )
    ]
    return contains(said["guaranteed"], sum((Fraction(table.weights[row]) for row in rows), Fraction(0)))


def _lines(table: Table, said: Mapping[str, Any]) -> Verdict:
    """A regression on one or two predictors, or its line at a point."""
    target, *predictors = said["of"]
    rows = table.having(said["of"])
    slopes = _slopes(table, rows, target, predictors)
    if slopes is None:
        return None
    means = {name: table.mean(rows, lambda row, name=name: number(table.columns[name][row])) for name in said["of"]}
    if said["kind"] == "prediction":
        at = [number(one) for one in said["at"]]
        line = sum((b * (x - means[name]) for b, x, name in zip(slopes, at, predictors, strict=True)), means[target])
        return contains(said["guaranteed"], line)
    intercept = means[target] - sum(b * means[name] for b, name in zip(slopes, predictors, strict=True))
    return all(map(contains, said["guaranteed"], [intercept, *slopes]))


def _slopes(table: Table, rows: Sequence[int], target: str, predictors: Sequence[str]) -> list[Fraction] | None:
    """Coefficients of the predictors, by Cramer's rule; None where they are not determined."""
    if not rows:
        return None
    square = [[table.moment(rows, a, b) for b in predictors] for a in predictors]
    right = [table.moment(rows, a, target) for a in predictors]
    if len(predictors) == 1:
        return [right[0] / square[0][0]] if square[0][0] else None
    (a, b), (c, d) = square
    determinant = a * d - b * c
    if not determinant:
        return None
    return [(right[0] * d - b * right[1]) / determinant, (a * right[1] - c * right[0]) / determinant]


_BY_KIND: Mapping[str, Callable[[Table, Mapping[str, Any]], Verdict]] = {
    **dict.fromkeys(("mean", "variance", "standard_deviation", "quantile", "covariance", "correlation"), _numbers),
    "share": _share,
    "domain_mean": _domain_mean,
    "crosstab": _cell,
    "regression": _lines,
    "prediction": _lines,
}
