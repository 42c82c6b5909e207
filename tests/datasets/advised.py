"""Files that are read otherwise than they were meant, drawn at random, each with what was meant.

Written from what people and programs write, not from the tables of the service.
"""

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from typing import Any, Final

from surebox_client.commands import anonymize, profile
from surebox_client.commands.options import reading
from surebox_client.commands.spec import specification

Values = list[Any]


@dataclass
class Meant:
    """A file, and what its columns are."""

    body: bytes
    #: By column what it is: values, None where one is missing.
    columns: dict[str, Values]
    #: Names that the advice asks for, in order; words that it asks for as missing ones.
    names: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    #: Of `comment`, which the advice leaves to the sender.
    comment: str | None = None
    #: The file without the lines that the advice asks to take out.
    shorter: bytes | None = None


def advised(detail: str) -> list[dict[str, Any]]:
    """The readings that a text advises, as parameters of an upload; the command line says the same."""
    pattern = r"[Uu]pload the file with ((?:`\w+=[^`]*`(?: \(a \w+\))?(?:, | and )?)+) \(on the command line: `(.*?)`\)"
    readings = []
    for http, command in re.findall(pattern, detail):
        pairs = re.findall(r"`(\w+)=([^`]*)`", http)
        options: dict[str, Any] = {}
        for name, value in pairs:
            options.setdefault(name, []).append(value)
        assert _typed(command) == {name: sorted(values) for name, values in options.items()}, detail
        readings.append(options)
    return readings


def renaming(detail: str) -> tuple[dict[str, Any], int] | None:
    """The reading with other names that a text advises, and how many it asks for."""
    match = re.search(
        r"upload the file with `skip_rows=(\d+)`, `header=false` and `column` for each of the (\d+) columns", detail
    )
    return None if match is None else ({"skip_rows": match[1], "header": "false"}, int(match[2]))


def _typed(command: str) -> dict[str, list[str]]:
    """Return the query that the client sends for the words of a command line."""
    given = profile.parser().parse_args(["table.csv", *shlex.split(command)])
    query: dict[str, list[str]] = {}
    for name, value in reading(given).items():
        if name == "types":
            query["type"] = sorted(f"{column}:{kind}" for column, kind in value.items())
        else:
            texts = value if isinstance(value, list) else ["false" if value is False else value]
            query[name] = sorted(map(str, texts))
    return query


def _table(rows: list[list[str]], delimiter: str = "|") -> bytes:
    return "".join(delimiter.join(row) + "\n" for row in rows).encode()


def _column(cells: list[str], values: Values, *, words: list[str] | None = None) -> Meant:
    rows = [["number", "word", "value"], *([str(i), "abc"[i % 3], cell] for i, cell in enumerate(cells))]
    return Meant(_table(rows), {"value": values}, words=words or [])


def _numbers(draw: Random, count: int) -> list[float]:
    return [float(f"{draw.choice([1, -1]) * draw.random() * 10 ** draw.randint(1, 7):.2f}") for _ in range(count)]


def _written(number: float, decimal: str, thousands: str) -> str:
    text = f"{number:,.2f}" if thousands else f"{number:.2f}"
    return text.translate(str.maketrans({",": thousands, ".": decimal}))


def numbers(draw: Random) -> Meant:
    """Numbers with a decimal mark and a mark between thousands, other than programs write them."""
    decimal, thousands = draw.choice(
        [(",", ""), (",", "."), (",", " "), (",", "\u00a0"), (",", "\u202f"), (",", "'"), (".", ","), (".", " "),
         (".", "\u202f"), (".", "'"), (".", "_")]
    )  # fmt: skip
    values = [*_numbers(draw, draw.randint(20, 60)), 12345.25]
    return _column([_written(value, decimal, thousands) for value in values], values)


def signed(draw: Random) -> Meant:
    """Numbers of other programs, of which some that are above zero have a plus."""
    decimal, thousands = draw.choice([(".", ""), (",", ""), (",", "."), (".", ","), (",", " ")])
    values = [*_numbers(draw, draw.randint(20, 60)), 12345.25, 0.5]
    marks = ["" if value < 0 else draw.choice(["", "+"]) for value in values[:-2]]
    cells = [_written(value, decimal, thousands) for value in values]
    return _column([mark + cell for mark, cell in zip([*marks, "+", ""], cells, strict=True)], values)


def whole_numbers(draw: Random) -> Meant:
    """Whole numbers below a million with a mark between thousands, which may be read as a fraction too."""
    mark = draw.choice([",", ".", " ", "'"])
    values = [draw.randrange(1000, 999_999) for _ in range(draw.randint(5, 60))]
    return _column([f"{value:,}".replace(",", mark) for value in values], values)


def _days(draw: Random, count: int) -> list[date]:
    return [date(1930, 1, 1) + timedelta(draw.randrange(34_000)) for _ in range(count)]


def days(draw: Random) -> Meant:
    """Days in an order, with a mark; the names of months may be those of English."""
    form = draw.choice(
        ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y.%m.%d", "%d %m %Y", "%d-%b-%Y", "%d%b%Y",
         "%d %b %Y", "%b %d, %Y", "%Y%m%d", "%d%m%Y"]
    )  # fmt: skip
    values = _days(draw, draw.randint(4, 60))
    if draw.random() < 0.3:  # both orders fit
        values = [value.replace(day=draw.randint(1, 12)) for value in values]
    cells = [value.strftime(form) for value in values]
    return _column([draw.choice([str.upper, str])(cell) for cell in cells], list(values))


def missing(draw: Random) -> Meant:
    """Numbers, days or flags, and a word of programs where there is none."""
    word = draw.choice(["NA", "N/A", "#N/A", "NULL", ".", "?", "-", "None"])
    count = draw.randint(20, 60)
    kind = draw.choice(["numbers", "commas", "days", "flags"])
    values: Values = {
        "numbers": _numbers(draw, count),
        "commas": _numbers(draw, count),
        "days": list(_days(draw, count)),
        "flags": [draw.random() < 0.5 for _ in range(count)],
    }[kind]
    values = [None if draw.random() < 0.2 else value for value in values]
    values[0] = None
    write: dict[str, Callable[[Any], str]] = {
        "numbers": str,
        "commas": lambda value: _written(value, ",", ""),
        "days": str,
        "flags": lambda value: str(value).lower(),
    }
    return _column([word if value is None else write[kind](value) for value in values], values)


def words(draw: Random) -> Meant:
    """Numbers, and words of the sender's own where there is none."""
    values: Values = [None if i % 7 == 0 else value for i, value in enumerate(_numbers(draw, 50))]
    own = draw.sample(["refused", "not asked", "see note", "abroad", "lost"], 2)
    cells = [draw.choice(own) if value is None else _written(value, ",", ".") for value in values]
    return _column([*cells, *own, "1.234,50"], [*values, None, None, 1234.5], words=own)


def sentinels(draw: Random) -> Meant:
    """Numbers, and one that means missing; or words, and a sign that does."""
    count = draw.randint(20, 60)
    if draw.random() < 0.5:
        word = draw.choice(["-9", "-99", "-999", "9999"])
        values: Values = [draw.randrange(1, 90) for _ in range(count)]
    else:
        word = draw.choice(["NA", "?", ".", "NULL", "N/A"])
        values = [draw.choice(["nurse", "clerk", "cook"]) for _ in range(count)]
    values = [None if i < 2 or draw.random() < 0.2 else value for i, value in enumerate(values)]
    return _column([word if value is None else str(value) for value in values], values)


def _people(draw: Random, count: int) -> dict[str, Values]:
    return {
        "age": [draw.randint(18, 90) for _ in range(count)],
        "sex": [draw.choice("mf") for _ in range(count)],
        "wage": [draw.randrange(1000, 9000) for _ in range(count)],
    }


def _rows(columns: dict[str, Values]) -> list[list[str]]:
    return [[str(value) for value in row] for row in zip(*columns.values(), strict=True)]


def row_names(draw: Random) -> Meant:
    """A column of row names, as pandas writes it (without a name) or R (without a field in the header)."""
    columns = _people(draw, draw.randint(5, 50))
    rows = [[str(i + draw.choice([0, 1])), *row] for i, row in enumerate(_rows(columns))]
    header = [*([""] if draw.random() < 0.5 else []), *columns]
    names = ["row", "years", "gender", "income"]
    meant = dict(zip(names[1:], columns.values(), strict=True))
    above = [["Extract of Monday"]] * draw.choice([0, 0, 1, 2])
    return Meant(_table([*above, header, *rows], draw.choice(",;\t|")), meant, names=names)


def trailing(draw: Random) -> Meant:
    """A delimiter at the end of all lines, of the header, or of the records."""
    columns = _people(draw, draw.randint(5, 50))
    of_header, of_rows = draw.choice([(True, True), (True, False), (False, True)])
    rows = [[*row, *([""] if of_rows else [])] for row in _rows(columns)]
    header = [*columns, *([""] if of_header else [])]
    names = ["years", "gender", "income", *(["nothing"] if of_rows else [])]
    meant = dict(zip(names, columns.values(), strict=False))
    return Meant(_table([header, *rows], draw.choice(",;\t|")), meant, names=names)


def titles(draw: Random) -> Meant:
    """Lines above the header, of other widths, or filled with delimiters as spreadsheets do."""
    columns = _people(draw, draw.randint(5, 50))
    filled = [""] * 2 if draw.random() < 0.4 else []
    above = [
        [draw.choice(["Wages of 2024", "Table 3", "Survey of households"]), *filled] for _ in range(draw.randint(1, 4))
    ]
    blank = [[""]] * draw.choice([0, 1])
    return Meant(_table([*above, *blank, list(columns), *_rows(columns)], draw.choice(",;\t|")), dict(columns))


def notes(draw: Random) -> Meant:
    """Lines below the last record."""
    columns = _people(draw, draw.randint(8, 50))
    below = [["Source: registry"]] * draw.randint(1, 3)
    return Meant(
        _table([list(columns), *_rows(columns), *below], draw.choice(",;\t|")), dict(columns), comment="Source"
    )


def totals(draw: Random) -> Meant:
    """A record of sums below the others; the header may begin so too, and fields have quotes or blanks around them."""
    columns = _people(draw, draw.randint(8, 50))
    word = draw.choice(["Total", "TOTAL", "Sum", "Summe", "Grand Total"])
    first = draw.choice(["place", f"{word} of"])
    names = {first: [draw.choice(["north", "south"]) for _ in columns["age"]], **columns}
    quoted = draw.choice(["{}", '"{}"', " {}"])
    last = [quoted.format(word), "", "", str(sum(columns["wage"]))]
    kept = [list(names), *([quoted.format(place), *row] for place, *row in _rows(names))]
    return Meant(_table([*kept, last]), names, shorter=_table(kept))


def compact_days(draw: Random) -> Meant:
    """Days as whole numbers."""
    values = _days(draw, draw.randint(3, 60))
    return _column([value.strftime("%Y%m%d") for value in values], list(values))


def other_delimiters(draw: Random) -> Meant:
    """A delimiter other than the one that the request gives."""
    columns = _people(draw, 20)
    return Meant(_table([list(columns), *_rows(columns)], ";"), dict(columns))


def headless(draw: Random) -> Meant:
    """No names."""
    columns = _people(draw, 20)
    return Meant(_table(_rows(columns)), {f"column_{i}": values for i, values in enumerate(columns.values(), 1)})


#: Kinds that an option reads.
READ: Final = (
    numbers, signed, whole_numbers, days, missing, words, sentinels, row_names, trailing, titles, notes, totals,
    compact_days, headless,
)  # fmt: skip


Write = Callable[[Random], tuple[str, Any]]


def _day(form: str) -> Write:
    def write(draw: Random) -> tuple[str, Any]:
        (value,) = _days(draw, 1)
        return value.strftime(form), value

    return write


def _number(form: str) -> Write:
    def write(draw: Random) -> tuple[str, Any]:
        value = draw.randrange(1000, 10**6)
        return form.format(value), value

    return write


_GERMAN = [
    *("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August"),
    *("September", "Oktober", "November", "Dezember"),
]


def _german(draw: Random) -> tuple[str, Any]:
    (value,) = _days(draw, 1)
    return f"{value.day}. {_GERMAN[value.month - 1]} {value.year}", value


def _typographic(draw: Random) -> tuple[str, Any]:
    value = draw.randrange(1000, 10**6)
    return f"{value:,}".replace(",", "\u2019"), value


#: Cells that no option reads, each with what it says.
UNREAD: Final[dict[str, Write]] = {
    "timestamps": _day("%Y-%m-%d 00:00:00"),
    "instants": _day("%Y-%m-%dT12:30:00.125Z"),
    "days with a time": _day("%d.%m.%Y 08:15"),
    "american times": _day("%m/%d/%Y 1:30 PM"),
    "short years": _day("%d.%m.%y"),
    "oracle": _day("%d-%b-%y"),
    "long months": _day("%B %d, %Y"),
    "german months": _german,
    "percent": _number("{}%"),
    "dollars": _number("${:,}.00"),
    "euros": _number("{} €"),
    "codes of currencies": _number("CHF {}"),
    "accounts": _number("({:,})"),
    "units": _number("{} kg"),
    "typographic": _typographic,
}


def unread(kind: str, draw: Random) -> tuple[Meant, bytes]:
    """Return a file with a column that no option reads, and the same one with the column written as programs do."""
    cells = [UNREAD[kind](draw) for _ in range(draw.randint(20, 60))]
    values = [value for _, value in cells]
    return _column([cell for cell, _ in cells], values), _column([str(value) for value in values], values).body


#: Words that have an order, all of them in it.
ORDERED: Final[dict[str, list[str]]] = {
    "months": [date(2000, month, 1).strftime("%B") for month in range(1, 13)],
    "short months": [date(2000, month, 1).strftime("%b") for month in range(1, 13)],
    "loud months": [date(2000, month, 1).strftime("%b").upper() for month in range(1, 13)],
    "days of the week": [date(2024, 1, day).strftime("%A") for day in range(1, 8)],
    "quarters": ["Q1", "Q2", "Q3", "Q4"],
    "grades": ["very low", "low", "medium", "high", "very high"],
    "classes of ages": ["<18", "18-24", "25-34", "35-64", "65+"],
    "cuts of R": ["(0,10]", "(10,20]", "(20,30]"],
}


#: Words that programs write for missing values, in half of the files.
GAPS: Final = ("unknown", "NA")


def in_order(kind: str, draw: Random) -> tuple[Meant, list[str]]:
    """Return a file with a column of words that have an order, most of them or all, and the order."""
    order = ORDERED[kind]
    present = draw.sample(order, draw.randint(3, len(order)))
    values: Values = [*present, *draw.choices(present, k=draw.randint(20, 60))]
    values += [None] * draw.choice([0, 5])
    draw.shuffle(values)
    gap = draw.choice(GAPS)
    return _column([gap if value is None else value for value in values], values), order


def order_advised(detail: str) -> tuple[dict[str, list[str]], list[str]]:
    """The order that a text advises, and the words for missing values; the command line says the same."""
    ((field, more, command),) = re.findall(
        r'`"ordinal": (\{.*?\})`((?:(?:,| and) `missing_values=[^`]*`)*) \(on the command line: `(--.*?)`\)', detail
    )
    advice: dict[str, list[str]] = json.loads(field)
    missing = re.findall(r"=([^`]*)`", more)
    given = anonymize.parser().parse_args(["table.csv", *shlex.split(command)])
    assert (specification(given)["ordinal"], reading(given)) == (
        advice, {"missing_values": missing} if missing else {},
    ), detail  # fmt: skip
    return advice, missing
