"""Advice about data that were read otherwise than they were meant: the kinds, and what reads each, in one table.

Reading an upload measures which kind a column or a file is, and checks of specifications which columns
cannot be computed with; the words are here, so that one kind has one remedy. A remedy is options of an upload, as HTTP
and as the command line name them, and the type that the column has then; where no option reads a kind, it is how to
write the values, and that the column can be left out or get a hierarchy. No sentence has a cell in it: only words
that programs write for missing values (:data:`MISSING_WORDS`) and for totals (:data:`TOTALS`) are named.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.contracts.datasets import ColumnType
from app.sentences import listed

#: Options of an upload by name; `missing_values` has several.
Options = Mapping[str, str | tuple[str, ...]]

#: Words by which programs mark a missing value, in columns of anything else ...
MISSING_WORDS: Final = (
    "NA", "N/A", "n/a", "na", "#N/A", "<NA>", "NaN", "nan", "NULL", "Null", "null", "(null)", "None", "none", "nil",
    "?", ".", "..", "-", "missing", "Missing", "unknown", "Unknown",
)  # fmt: skip
#: ... those of them that are hardly a value of a column of texts ...
MISSING_IN_TEXTS: Final = ("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "(null)", "?", ".", "..")
#: ... and numbers that stand for one.
MISSING_NUMBERS: Final = (-9, -99, -999, -9999, 999, 9999)
#: First words of records that are sums of others.
TOTALS: Final = tuple(
    form
    for word in ("total", "totals", "grand total", "subtotal", "sum", "summe", "gesamt", "insgesamt", "somme", "suma",
                 "totale", "totaal", "average", "mean")
    for form in (word, word.capitalize(), word.upper(), word.title())
)  # fmt: skip

_DECIMALS: Final = {".": "a point", ",": "a comma"}
_GROUPS: Final = {"": "", ",": "commas", ".": "points", "'": "apostrophes", "_": "underscores", " ": "spaces"}
_SHOWN: Final = {" ": " (a space)", "\t": " (a tab)"}
_PARTS: Final = {"%d": "day", "%m": "month", "%b": "name of the month", "%Y": "year"}


@dataclass(frozen=True, slots=True)
class Reading:
    """A way of reading cells of text that options of an upload ask for.

    Attributes
    ----------
    options
        Of the upload, without those that name missing values or types.
    what
        The cells so read, in the plural.
    days
        Whether they are days.
    typed
        The type that has to be declared for it, where cells so written are not inferred to be of it.
    """

    options: Mapping[str, str]
    what: str
    days: bool = False
    typed: ColumnType | None = None


def _numbers(decimal: str, thousands: str) -> Reading:
    parts = [f"{_DECIMALS[decimal]} before the fraction"] if decimal != "." else []
    parts += [f"{_GROUPS[thousands]} between thousands"] if thousands else []
    options = {"decimal": decimal} | ({"thousands": thousands} if thousands else {})
    return Reading(options, f"numbers with {listed(parts)}" if parts else "numbers")


def _days(form: str) -> Reading:
    order = [_PARTS[form[i : i + 2]] for i in range(len(form)) if form[i : i + 2] in _PARTS]
    return Reading({"date_format": form}, f"days ({', '.join(order)})", days=True)


_ORDERS: Final = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%Y{0}%d{0}%m")
_NAMED: Final = ("%d{0}%b{0}%Y", "%b{0}%d{0}%Y", "%Y{0}%b{0}%d")

#: All ways of reading numbers; of those that read the same the first is meant.
NUMBERS: Final = tuple(
    _numbers(decimal, thousands)
    for decimal, thousands in [
        (".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"), (".", "_"),
        (",", "_"),
    ]
)  # fmt: skip
#: All ways of writing days, but for YYYY-MM-DD, which is always read.
DAYS: Final = tuple(
    _days(form)
    for form in [
        *(order.format(mark) for mark in ("", ".", "/", "-", " ") for order in _ORDERS),
        "%d. %m. %Y",
        *(order.format(mark) for mark in ("", "-", " ", ".", "/") for order in _NAMED),
        "%b %d, %Y", "%b. %d, %Y", "%d. %b %Y", "%d %b, %Y", "%d-%b, %Y",
    ]
    if not form.startswith("%Y-%d")
)  # fmt: skip
#: Kinds that are inferred without an option, beside other cells; texts of Parquet and NDJSON only with a declared type.
PLAIN_DAYS: Final = Reading({}, "days", days=True, typed=ColumnType.DATE)
BOOLEANS: Final = Reading({}, "`true` or `false`", typed=ColumnType.BOOLEAN)
#: Numbers some of which have a plus, which makes codes of them (as of telephones) where nothing is declared.
SIGNED: Final = tuple(Reading(one.options, f"{one.what}, some with a plus", typed=ColumnType.NUMBER) for one in NUMBERS)


@dataclass(frozen=True, slots=True)
class Unread:
    """A kind of text that no option reads.

    Attributes
    ----------
    what
        The cells, in the plural.
    write
        How to write them, so that they are read.
    pattern
        What they look like: a regular expression without assertions and references, for whole cells.
    days
        Whether they are days; else numbers.
    one_unit
        Whether the letters next to the digits have to be the same in nearly all cells.
    """

    what: str
    write: str
    pattern: str
    days: bool = False
    one_unit: bool = False


_NUMBER: Final = r"[-+\x{2212}]?\d[\d.,'\x{2019}_ \x{a0}\x{202f}\x{2009}]*"
_MONEY: Final = (
    r"(?:\p{Sc}|(?:US|CA|AU?|NZ|HK|R|C)\$|kr\.?|zł|Kč|Ft|Fr\.?|lei|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|"
    r"NOK|DKK|PLN|CZK|HUF|RON|BGN|TRY|BRL|MXN|ZAR|KRW|RUB)"
)
_MONTH: Final = (
    r"(?i:jan|feb|fév|fev|mar|mär|mrt|maa|apr|avr|abr|may|mai|mei|mag|maj|jun|jui|giu|jul|lug|lip|aug|aou|aoû|ago|sep|"
    r"set|oct|okt|out|ott|nov|dec|dez|déc|dic|des|ene|gen)\p{L}*\.?"
)
_CLOCK: Final = r"\d{1,2}[:.h]\d{2}(?:[:.]\d{2}(?:[.,]\d+)?)?\s*(?:[AaPp]\.?[Mm]\.?)?"
_DATED: Final = rf"(?:\d{{1,4}}[./ -]?\s?(?:\d{{1,2}}|{_MONTH})[./ -]?,?\s?\d{{1,4}}|{_MONTH}\s?\d{{1,2}},?\s\d{{4}})"
_ALONE: Final = "Write the number alone, without the"
_PLAIN_DAYS: Final = "Write days as YYYY-MM-DD"

#: Kinds of text that no option reads; the first that fits is meant.
UNREAD: Final = (
    Unread(
        "days with a time", "Write the day alone, as YYYY-MM-DD",
        rf"{_DATED}[T ,:]+\s?{_CLOCK}\s*(?:Z|UTC|GMT|[A-Z]{{3,4}}|[+-]\d{{2}}:?\d{{2}})?", days=True,
    ),
    Unread(
        "times of the day", "Write a number of hours or minutes",
        r"\d{1,2}(?::|h\s?)\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:[AaPp]\.?[Mm]\.?)?", days=True,
    ),
    Unread("percentages", f"{_ALONE} sign", rf"{_NUMBER}\s*[%‰]"),
    Unread(
        "amounts with the sign of a currency", f"{_ALONE} sign",
        rf"[-+\x{{2212}}(]?\s*{_MONEY}\s*{_NUMBER}\)?|[-+\x{{2212}}(]?{_NUMBER}\s*{_MONEY}\)?",
    ),
    Unread(
        "days with a year of two digits", "Write years with four digits",
        rf"\d{{1,2}}[./ -]\s?(?:\d{{1,2}}|{_MONTH})[./ -]\s?\d{{2}}|'?\d{{2}}[./-]\d{{1,2}}[./-]\d{{1,2}}|"
        rf"\d{{2}}{_MONTH}\d{{2}}",
        days=True,
    ),
    Unread(
        "days with the name of the month", _PLAIN_DAYS,
        rf"(?:\p{{L}}+\.?,?\s)?(?:\d{{1,2}}(?:\.|st|nd|rd|th|er|º|ª)?[\s./-]*(?:de\s|of\s)?{_MONTH},?[\s./-]*"
        rf"(?:del?\s)?\d{{4}}|{_MONTH}\s?\d{{1,2}}(?:st|nd|rd|th)?,?\s?\d{{4}})",
        days=True,
    ),
    Unread(
        "months, quarters or weeks", "Write a day of each, as YYYY-MM-DD",
        rf"\d{{4}}[-/.](?:0?[1-9]|1[0-2])|(?:0?[1-9]|1[0-2])[-/.]\d{{4}}|{_MONTH}[\s-]?(?:\d{{2}}|\d{{4}})|"
        rf"\d{{4}}[\s-]?{_MONTH}|"
        r"\d{4}[\s-]?[QqWwKk]\w?\d{1,2}|[Qq][1-4][\s/-]?\d{4}",
        days=True,
    ),
    Unread(
        "days in another notation", _PLAIN_DAYS,
        r"\d{4}\s?\p{Lo}\s?\d{1,2}\s?\p{Lo}\s?\d{1,2}\s?\p{Lo}?|\d{1,2}[./-]\d{1,2}[./-]\d{4}\s?\p{L}{1,3}\.?",
        days=True,
    ),
    Unread(
        "numbers in a notation of their own", "Write them as programs do, such as -1234.5",
        r"\([\d.,' ]+\)|[\x{2212}\x{2013}]\s?\d[\d.,']*|\d[\d.,']*-|"
        r"-?\d{1,3}(?:[\x{2019}\x{2009}\x{2007}]\d{3})+(?:[.,]\d+)?|-?\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?|"
        r"[\x{660}-\x{669}\x{6f0}-\x{6f9}\x{966}-\x{96f}.,\x{66b}\x{66c}]+|-?\d{1,3}(?:·\d+)",
    ),
    Unread("numbers with a unit", f"{_ALONE} unit", rf"{_NUMBER}\s?[\p{{L}}°²³/]{{1,6}}", one_unit=True),
)  # fmt: skip

NO_OPTION: Final = "leave the column out, or give it a hierarchy (`nominal`)"


@dataclass(frozen=True, slots=True)
class Ordered:
    """Words that have an order, which a column of text does not have.

    Attributes
    ----------
    what
        The words, in the plural.
    forms
        Ways of writing them: all words of each, in their order, capitalized.
    pattern
        What they look like, where they are too many to be listed: a regular expression for whole cells.
    """

    what: str
    forms: tuple[tuple[str, ...], ...] = ()
    pattern: str | None = None


def _forms(*lines: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.replace("_", " ") for line in each.split()) for each in lines)


#: Kinds of words that have an order; the first that fits is meant.
ORDERED: Final = (
    Ordered("names of months", _forms(
        "January February March April May June July August September October November December",
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec",
        "Jan. Feb. Mar. Apr. May Jun. Jul. Aug. Sep. Oct. Nov. Dec.",
        "Jan. Feb. Mar. Apr. May June July Aug. Sept. Oct. Nov. Dec.",
    )),
    Ordered("days of the week", _forms(
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday", "Mon Tue Wed Thu Fri Sat Sun",
        "Mon Tues Wed Thur Fri Sat Sun", "Mon Tues Wed Thurs Fri Sat Sun", "Mo Tu We Th Fr Sa Su",
    )),
    Ordered("quarters", _forms("Q1 Q2 Q3 Q4", "1Q 2Q 3Q 4Q")),
    Ordered("grades", _forms(
        "Very_low Low Medium High Very_high", "Low Middle High", "Low Moderate High", "Low Average High",
        "Mild Moderate Severe", "Very_poor Poor Fair Good Very_good Excellent", "Poor Average Good",
        "Very_bad Bad Fair Good Very_good", "Small Medium Large", "Never Rarely Sometimes Often Always",
        "Strongly_disagree Disagree Neutral Agree Strongly_agree", "XS S M L XL XXL XXXL",
        "Very_dissatisfied Dissatisfied Neutral Satisfied Very_satisfied",
    )),
    Ordered("classes of numbers", pattern=(
        r"\d[\d.,]*\s?(?:-|\x{2013}|to)\s?\d[\d.,]*|(?:[<>\x{2264}\x{2265}]=?|under |over |below |above )\s?\d[\d.,]*|"
        r"\d[\d.,]*\s?(?:\+|and (?:over|more|older)|or (?:over|more|older))|"
        r"[\[(]\s?-?(?:\d[\d.]*|inf),\s?(?:\d[\d.]*|inf)\s?[\])]"
    )),
)  # fmt: skip
#: Different words from which on an order says more than a set.
LEAST_ORDERED: Final = 3


def spelled(options: Options) -> str:
    """Return options as HTTP and as the command line name them.

    Parameters
    ----------
    options
        By name; a value of several texts is repeated.
    """
    pairs = [(name, text) for name, value in options.items() for text in ([value] if isinstance(value, str) else value)]
    named = [f"`{name}={text}`{_SHOWN.get(text, '')}" for name, text in pairs]
    return f"{listed(named)} (on the command line: `{command_line(options)}`)"


def command_line(options: Options) -> str:
    """Return options of an upload as `surebox` takes them."""
    words: list[str] = []
    for name, value in options.items():
        for text in [value] if isinstance(value, str) else value:
            words += _word(name, text)
    return shlex.join(words)


def _word(name: str, text: str) -> list[str]:
    if name == "header":
        return ["--no-header"]
    if name == "missing_values":
        return [f"--missing-value={text}"] if text.startswith("-") else ["--missing-value", text]
    if name == "type":
        column, _, kind = text.rpartition(":")
        return ["--type", f"{column}={kind}"]
    return ["--read", f"{name}={text}"]


def cells(count: int, total: int) -> str:
    """Return how many of its cells a column has of a kind, as the beginning of a statement."""
    if count == total:
        return "its one cell is" if total == 1 else f"all of its {total} cells are"
    return f"{count} of its {total} cells {'is' if count == 1 else 'are'}"


def read_with(options: Options, *, others: int) -> str:
    """Return the sentence that names the options of a reading.

    Parameters
    ----------
    options
        Of the upload; none where only what means missing is to be named.
    others
        Cells that are neither of the reading nor a word that programs write for missing values.
    """
    rest = "Name those of the others that mean missing by `missing_values`" if others else ""
    if not options:
        return f"{rest} (on the command line: `--missing-value`); as long as any is left, it stays text."
    otherwise = "the upload is refused" if "type" in options else "it stays text"
    return f"Upload the file with {spelled(options)}." + (f" {rest} too, or {otherwise}." if others else "")


def either(ways: Sequence[tuple[str, Options]]) -> str:
    """Return the sentence about readings of which only the sender knows which is meant.

    Parameters
    ----------
    ways
        What the cells are, and with which options, of each reading.
    """
    parts = [f"for {what} upload the file with {spelled(options)}" for what, options in ways]
    return f"Only you know which is meant, for the values differ: {', or '.join(parts)}."


def unread(kind: Unread | Reading) -> str:
    """Return the sentences about cells that no option reads."""
    write = kind.write if isinstance(kind, Unread) else in_notation(days=kind.days)
    return f"No option reads them here. {write}; or {NO_OPTION}."


def in_order(
    name: str, order: Sequence[str], *, several: bool, commas: bool, missing: Sequence[str], others: int
) -> str:
    """Return the sentences about words that have an order.

    Parameters
    ----------
    name
        Of the column.
    order
        All words of the form that the column is written in; none where no table has them.
    several
        Whether the same words are written in several ways.
    commas
        Whether some have a comma, which divides words on the command line.
    missing
        Words of it that programs write for missing values.
    others
        Cells with something else.
    """
    shown = list(order) or ["FIRST", "...", "LAST"]
    field = json.dumps({name: shown}, ensure_ascii=False)
    words = ["--set", f"ordinal={field}"] if commas else ["--ordinal", f"{name}={','.join(shown)}"]
    words += [word for text in missing for word in _word("missing_values", text)]
    options = listed([f'`"ordinal": {field}`', *(f"`missing_values={text}`" for text in missing)])
    alike = "They are written in several ways: write them alike. " if several else ""
    rest = ", those of the other cells too," if others else ""
    return (
        f"As text they have no order. {alike}A job that lists all values in their order{rest} has it: {options} (on "
        f"the command line: `{shlex.join(words)}`). Or {NO_OPTION}."
    )


def unlike(*, days: bool) -> str:
    """Return the sentences about cells that are written in several ways, of which options read one."""
    return (
        f"They are written in several ways, which no option reads together. {in_notation(days=days)}; or {NO_OPTION}."
    )


def in_notation(*, days: bool) -> str:
    """Return how numbers, or days, are written so that every upload reads them."""
    return "Write all days as YYYY-MM-DD" if days else "Write all numbers as programs do, such as -1234.5"


def groups_or_fraction(where: str) -> str:
    """Return the question about numbers whose points could all stand between thousands."""
    options = {"decimal": ",", "thousands": "."}
    return (
        f"The points of {where} were read as the beginning of a fraction, and all of them could stand between "
        f"thousands. If they do, upload the file with {spelled(options)}."
    )


def numbers_or_days(where: str, *, can_read: bool) -> str:
    """Return the question about whole numbers all of which are days, written without a mark."""
    how = f"upload the file with {spelled({'date_format': '%Y%m%d'})}" if can_read else "write them as YYYY-MM-DD"
    return f"{where} was read as whole numbers, and all of them are days written YYYYMMDD. If they are days, {how}."


def value_or_missing(where: str, word: str, count: int, *, number: bool) -> str:
    """Return the question about a value that programs write for a missing one."""
    why = ", far from all others" if number else ""
    counted = f"1 cell of {where} is" if count == 1 else f"{count} cells of {where} are"
    return (
        f"{counted} `{word}`{why}, taken as a value. If it means missing, upload the file with "
        f"{spelled({'missing_values': word})}; this is so of all columns."
    )


def _lines(count: int) -> str:
    return "this line" if count == 1 else "these lines"


def nobodys_rows(count: int, first: int) -> str:
    """Return the statement about records without a value; `first` counts records from 1."""
    counted = (
        f"Record {first} has no value at all: it is"
        if count == 1
        else f"{count} records have no value at all, the first of them record {first}: they are"
    )
    return f"{counted} nobody's, and yet counted. Take {_lines(count)} out of the file."


def totals(where: str, word: str, count: int, *, leads: bool) -> str:
    """Return the question about records that are sums of others, by a word in one of their columns.

    Parameters
    ----------
    where, word, count
        The column, what stands in it, and in how many records.
    leads
        Whether lines begin with it, so that an option leaves them out.
    """
    counted = "1 record has" if count == 1 else f"{count} records have"
    meant = "it is a sum" if count == 1 else "they are sums"
    how = f"upload the file with {spelled({'comment': word})}, or " if leads else ""
    return (
        f"{counted} `{word}` in {where}. If {meant} of others and nobody's record, {how}take {_lines(count)} out of "
        "the file."
    )


def repeated_header(count: int) -> str:
    """Return the statement about records that are the names of the columns once more."""
    counted = "1 record repeats" if count == 1 else f"{count} records repeat"
    return f"{counted} the names of the columns, as of files that were joined. Take {_lines(count)} out of the file."


def renamed(lines: int, width: int) -> str:
    """Return how to read a file whose header does not name its columns.

    Parameters
    ----------
    lines
        Lines until the header ends, which are left out.
    width
        Fields of a record.
    """
    return (
        f"upload the file with `skip_rows={lines}`, `header=false` and `column` for each of the {width} columns, in "
        f"order (on the command line: `--read skip_rows={lines} --columns A,B,...`), or write the names into the file"
    )


def below_title(lines: int) -> str:
    """Return how to read a file with lines above its header."""
    above = "The first line does" if lines == 1 else f"The first {lines} lines do"
    return f"{above} not belong to the table: upload the file with {spelled({'skip_rows': str(lines)})}."


def above_notes(count: int) -> str:
    """Return how to read a file with lines below its last record."""
    which, whose = ("the last line of the file is a note", "its") if count == 1 else (
        f"the last {count} lines of the file are notes", "their"
    )  # fmt: skip
    return (
        f"If {which}, take {_lines(count)} out, or upload the file with `comment` and {whose} first characters, where "
        "no record begins with them (on the command line: `--read comment=...`)."
    )


def second_header(lines: int) -> str:
    """Return the question about a first record that looks like names of columns."""
    return (
        f"The first record looks like names of columns. If it has them, upload the file with "
        f"{spelled({'skip_rows': str(lines)})}; if it has units or descriptions, take this line out of the file: as it "
        "is, it counts as a person."
    )


def beyond_exact(name: str, *, as_values: bool) -> str:
    """Return the refusal of whole numbers that a computation with doubles would round.

    Parameters
    ----------
    name
        Of the column.
    as_values
        Whether the method takes columns of values, with a hierarchy, too.
    """
    ways = "; if they are codes, list them under `nominal`, as `values` or in a `hierarchy`" if as_values else ""
    return (
        f"Column {name!r} has whole numbers beyond 2^53 in size, which computing would round. Leave it out; if they "
        f"are quantities, upload it with smaller numbers (another unit, or the distance from one of them){ways}."
    )
