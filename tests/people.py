"""Pairs of tables: of independent people, and of the same people in a table that was rewritten."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import product
from typing import Any, Final

import numpy as np
import polars as pl

from workers.algorithms.tables.recognition import Table
from workers.frames.sketched import hashed_frame

Pair = tuple[pl.DataFrame, pl.DataFrame]
_KEY: Final = bytes(range(32))


def table_of(frame: pl.DataFrame) -> Table:
    """The table as it is compared."""
    return hashed_frame(frame, key=_KEY)


def population(draw: np.random.Generator, rows: int) -> pl.DataFrame:
    """People whose columns depend on each other, as in a census."""
    place = draw.choice(40, rows, p=np.arange(40, 0, -1) / 820)
    age = np.clip(draw.gamma(6, 7, rows), 0, 95).astype(int)
    school = np.clip(draw.normal(4 + (age > 20), 1.5, rows).round(), 0, 9).astype(int)
    income = np.where(draw.random(rows) < 0.15, 0, draw.lognormal(9 + school / 8, 0.7, rows).round(-1))
    return pl.DataFrame({
        "age": age, "sex": draw.choice(["m", "f"], rows), "town": place, "school": school, "income": income,
        "marital": np.where(age < 20, "never", draw.choice(["never", "married", "divorced"], rows, p=[0.3, 0.5, 0.2])),
        "hours": np.where(draw.random(rows) < 0.4, 40, draw.integers(0, 80, rows)),
        "job": draw.choice(30, rows, p=np.arange(30, 0, -1) / 465), "children": draw.poisson(1.1, rows),
    })  # fmt: skip


@dataclass
class Drawn:
    """The sources from which tables are drawn.

    Attributes
    ----------
    draw : the generator.
    tables : by name; none: made-up populations.
    least, most : rows of a table.
    alike : tables of one kind, by the beginning of their names.
    panels : tables with each unit in several records: those of one month are the same units as those of another.
    """

    draw: np.random.Generator
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    least: int = 100
    most: int = 3000
    alike: tuple[str, ...] = ()
    panels: tuple[str, ...] = ()

    @classmethod
    def without_files(cls, draw: np.random.Generator) -> "Drawn":
        """Made-up populations."""
        return cls(draw, {name: population(draw, 8000) for name in ("one", "other")}, alike=("o",))

    def rows(self, most: int) -> int:
        """Draw a number of rows, small and large ones alike."""
        most = min(most, self.most)
        return int(min(most, np.exp(self.draw.uniform(np.log(self.least), np.log(max(most, self.least + 1))))))

    def table(self, beginning: str = "") -> pl.DataFrame:
        """One of the tables."""
        names = [name for name in self.tables if name.startswith(beginning)]
        return self.tables[names[int(self.draw.integers(len(names)))]]

    def sample(self, frame: pl.DataFrame, rows: int | None = None) -> pl.DataFrame:
        """Some rows in any order."""
        return frame[pl.Series(self.draw.permutation(frame.height)[: rows or self.rows(frame.height)])]

    def columns(self, frame: pl.DataFrame, least: int, most: int) -> list[str]:
        """Some of the columns in their order."""
        number = int(self.draw.integers(least, min(most, frame.width) + 1))
        return [frame.columns[at] for at in sorted(self.draw.permutation(frame.width)[:number])]

    def people(self) -> pl.DataFrame:
        """A sample of a table with all or some of its columns."""
        frame = self.sample(self.table())
        return frame if self.draw.random() < 0.5 else frame.select(self.columns(frame, 5, frame.width))


def _disjoint(drawn: Drawn) -> Pair:
    frame = drawn.table()
    first = drawn.rows(frame.height // 2)
    second = first if drawn.draw.random() < 0.4 else drawn.rows(frame.height // 2)
    order = drawn.draw.permutation(frame.height)
    return frame[pl.Series(order[:first])], frame[pl.Series(order[first : first + second])]


def _few_columns(drawn: Drawn) -> Pair:
    one, other = _disjoint(drawn)
    names = drawn.columns(one, 2, 5)
    return one.select(names), other.select(names)


def _populations(drawn: Drawn) -> Pair:
    """Of other places or years."""
    beginning = drawn.alike[int(drawn.draw.integers(len(drawn.alike)))]
    names = [name for name in drawn.tables if name.startswith(beginning)]
    one, other = drawn.draw.permutation(names)[:2]
    return drawn.sample(drawn.tables[one]), drawn.sample(drawn.tables[other])


def _part(drawn: Drawn) -> Pair:
    """Those with one value in one column, and others of the whole, of a table with one record for each unit."""
    drawn = replace(drawn, tables={name: one for name, one in drawn.tables.items() if name not in drawn.panels})
    frame = drawn.table()
    column = frame.columns[int(drawn.draw.integers(frame.width))]
    inside = np.flatnonzero(frame[column].eq_missing(frame[column][int(drawn.draw.integers(frame.height))]).to_numpy())
    if len(inside) < drawn.least:
        return _disjoint(drawn)
    chosen = drawn.draw.permutation(inside)[: drawn.rows(len(inside))]
    rest = np.setdiff1d(np.arange(frame.height), chosen)
    if len(rest) < drawn.least:
        return _disjoint(drawn)
    return frame[pl.Series(chosen)], frame[pl.Series(drawn.draw.permutation(rest)[: drawn.rows(len(rest))])]


def _numbered(drawn: Drawn) -> Pair:
    one, other = _few_columns(drawn)
    return one.with_row_index("id", offset=1), other.with_row_index("id", offset=1)


def _numbered_texts(drawn: Drawn) -> Pair:
    def coded(frame: pl.DataFrame) -> pl.DataFrame:
        code = pl.format("P{}", pl.col("id").cast(pl.String).str.zfill(6))
        return drawn.sample(frame.with_columns(code.alias("id")), max(2, frame.height * 4 // 5))

    one, other = _numbered(drawn)
    return coded(one), coded(other)


def _two(make: Callable[[np.random.Generator, Drawn], dict[str, Any]]) -> Callable[[Drawn], Pair]:
    return lambda drawn: (pl.DataFrame(make(drawn.draw, drawn)), pl.DataFrame(make(drawn.draw, drawn)))


def _portal(draw: np.random.Generator, _: Drawn) -> dict[str, Any]:
    rows = int(draw.integers(300, 501))
    return {
        "age": draw.integers(18, 81, rows), "job": draw.choice(["nurse", "clerk"], rows),
        f"v{draw.integers(10**6)}": draw.integers(0, 10**6, rows),
    }  # fmt: skip


def _in_turn(draw: np.random.Generator, drawn: Drawn) -> dict[str, Any]:
    at = np.arange(drawn.rows(3000))
    return {"age": 20 + at % 9, "sex": at % 2, "day": at % 7, "value": draw.normal(0, 1, len(at)).round(2)}


def _factorial(draw: np.random.Generator, _: Drawn) -> dict[str, Any]:
    cells = np.array(list(product(range(10), range(6), range(2), range(5))))
    names = ("region", "class", "sex", "year")
    return dict(zip(names, cells.T, strict=True)) | {"count": draw.poisson(20, len(cells))}


def _quotas(draw: np.random.Generator, _: Drawn) -> dict[str, Any]:
    school = np.repeat(np.arange(50) * 97 + 1000, 20)
    return {
        "school": school, "sex": draw.choice(["m", "f"], len(school)), "grade": draw.integers(1, 7, len(school)),
        "score": draw.normal(500, 100, len(school)).round(),
    }  # fmt: skip


def _daily(draw: np.random.Generator, _: Drawn) -> dict[str, Any]:
    days = int(draw.integers(200, 900))
    first = date(2021, 1, 1)
    return {
        "day": pl.date_range(first, pl.lit(first) + pl.duration(days=days - 1), eager=True),
        "weekday": np.arange(days) % 7, "visits": draw.poisson(30, days), "staff": draw.poisson(3, days),
    }  # fmt: skip


def _visits(drawn: Drawn) -> Pair:
    """Ten rows a person."""

    def one() -> pl.DataFrame:
        persons = drawn.sample(drawn.table(), int(drawn.draw.integers(50, 300))).with_row_index("person")
        pressure = pl.Series("pressure", drawn.draw.integers(90, 180, persons.height * 10))
        return pl.concat([persons] * 10).with_columns(pressure)

    return one(), one()


def _unlike(drawn: Drawn) -> Pair:
    one, other = drawn.draw.permutation(list(drawn.tables))[:2]
    return drawn.sample(drawn.tables[one]), drawn.sample(drawn.tables[other])


INDEPENDENT: Final[Mapping[str, Callable[[Drawn], Pair]]] = {
    "disjoint halves": _disjoint, "few columns": _few_columns, "other places or years": _populations,
    "a part and others": _part, "numbered": _numbered, "numbered by texts": _numbered_texts, "portal": _two(_portal),
    "values in turn": _two(_in_turn), "all combinations": _two(_factorial), "quotas": _two(_quotas),
    "days": _two(_daily), "visits": _visits, "other tables": _unlike,
}  # fmt: skip


def _less(drawn: Drawn, frame: pl.DataFrame) -> pl.DataFrame:
    return drawn.sample(frame, frame.height - 1)


def _stamped(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    later = _less(drawn, frame)
    return frame.with_columns(month=pl.lit("2026-01")), later.with_columns(month=pl.lit("2026-02"))


def _fresh_pseudonym(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    one, other = (
        each.with_columns(code=pl.Series(drawn.draw.integers(0, 10**12, each.height)))
        for each in (frame, _less(drawn, frame))
    )
    return one, other


def _export_day(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    later = _less(drawn, frame)
    days = (
        pl.Series(drawn.draw.integers(30 * at, 30 * at + 30, each.height)) for at, each in enumerate((frame, later))
    )
    return frame.with_columns(day=next(days)), later.with_columns(day=next(days))


def _other_units(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    name, later = frame.columns[int(drawn.draw.integers(frame.width))], _less(drawn, frame)
    column = pl.col(name) * 100 if frame[name].dtype.is_numeric() else pl.lit("x") + pl.col(name).cast(pl.String)
    return frame, later.with_columns(column.alias(name))


def _half(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    return frame, drawn.sample(frame, frame.height // 2)


def _fewer_columns(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    return frame, _less(drawn, frame).select(drawn.columns(frame, max(3, frame.width // 2), frame.width))


def _more_columns(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    later = _less(drawn, frame)
    return frame, later.with_columns(
        **{f"new{at}": pl.Series(drawn.draw.integers(0, 50, later.height)) for at in range(6)}
    )


def _renamed(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    later = _less(drawn, frame).rename({name: f"c{at}" for at, name in enumerate(frame.columns)})
    return frame, later.select(drawn.draw.permutation(later.columns).tolist())


def _appended(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    return drawn.sample(frame, frame.height * 3 // 4), frame


def _overlapping(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    order, rows = drawn.draw.permutation(frame.height), frame.height * 2 // 3
    return frame[pl.Series(order[:rows])], frame[pl.Series(order[-rows:])]


def _own_columns(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    names = drawn.draw.permutation(frame.columns).tolist()
    common, rest = names[: max(4, len(names) // 2)], names[max(4, len(names) // 2) :]
    return frame.select(common + rest[::2]), _less(drawn, frame).select(common + rest[1::2])


def _corrected(drawn: Drawn, frame: pl.DataFrame) -> Pair:
    """Two of a hundred values of each column are another's."""
    changed = [
        pl.when(pl.Series(drawn.draw.random(frame.height) < 0.02)).then(pl.col(name).shuffle(1)).otherwise(name)
        for name in frame.columns
    ]
    return frame, frame.with_columns(one.alias(name) for one, name in zip(changed, frame.columns, strict=True))


def _of(rewrite: Callable[[Drawn, pl.DataFrame], Pair]) -> Callable[[Drawn], Pair]:
    return lambda drawn: rewrite(drawn, drawn.people())


REWRITTEN: Final[Mapping[str, Callable[[Drawn], Pair]]] = {
    "a month, a row less": _of(_stamped), "fresh pseudonyms, a row less": _of(_fresh_pseudonym),
    "a day of export, a row less": _of(_export_day), "other units, a row less": _of(_other_units),
    "typed as text, a row less": _of(lambda drawn, frame: (frame, _less(drawn, frame).cast(pl.String))),
    "half of the rows": _of(_half), "fewer columns, a row less": _of(_fewer_columns),
    "more columns, a row less": _of(_more_columns), "renamed, a row less": _of(_renamed),
    "appended rows": _of(_appended), "two thirds, half of them new": _of(_overlapping),
    "columns of each one's own": _of(_own_columns), "2 % of all values": _of(_corrected),
}  # fmt: skip
