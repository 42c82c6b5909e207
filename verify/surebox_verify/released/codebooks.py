"""What a question means by a value: which of the values that a release shows its records may have.

A release shows a column without numbers as sets of codes. A question names values as a person knows them, and a certain
answer is certain about these: a value may be under `other` with all that were too rare to be shown, a class of a
hierarchy means all of its values, and a text and a number may be the same value. So each value that is named has two
sets of codes: a record with a code in `sure` has the value, one with a code outside `perhaps` has not. The lower end of
a range is of the one, the upper end of the other.

A name has one meaning (`naming`): a value, if the column has one that reads so, else a class of its hierarchy. A class
is all values whose rows name it, at whatever level; the missing value is in none. Jobs, questions to a release, and
whoever verifies it read names here.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from functools import cached_property
from math import isfinite
from typing import Any, Final

from surebox_core.spellings import are_alike, in_normal_form
from surebox_verify.envelope import UnreadableError
from surebox_verify.released.boxes import ReleasedBoxes
from surebox_verify.released.naming import CLASS, VALUE, Name, as_value, may_be_merged, named

_TRUTH: Final = {True: ("true", "1", "1.0"), False: ("false", "0", "0.0")}
_SHOWN: Final = 12
_CLOSE: Final = 3
_LONGEST: Final = 60


class UnlistedValueError(UnreadableError):
    """A column has no such value, as far as it was declared or is shown."""


@dataclass(frozen=True)
class Meant:
    """Codes of values that were named: `sure` is within `perhaps`.

    Attributes
    ----------
    sure : codes whose records have one of the values.
    perhaps : codes whose records may have one of them.
    missing : whether the records without a value of the column are meant.
    """

    sure: frozenset[int] = frozenset()
    perhaps: frozenset[int] = frozenset()
    missing: bool = False


@dataclass(frozen=True)
class Codebook:
    """The values of a column as questions name them.

    Attributes
    ----------
    name : the column.
    values : by code; None is the missing value.
    listed : all values that were declared, in a box or not; None where the codebook is taken from the data.
    rows : of its hierarchy, each a value, its class, the class of that, …, and everything.
    classes_unknown : whether there is a hierarchy that is not known here.
    complete : whether rows have the column as it is, so that nothing is under another name.
    merged : of a codebook from the data the word for all values that it does not list, if there are any; None where it
        is not known whether a word that may be one (`other`) is a value.
    """

    name: str
    values: Sequence[Any]
    listed: Sequence[Any] | None = None
    rows: Sequence[Sequence[str]] = ()
    classes_unknown: bool = False
    complete: bool = False
    merged: Collection[str] | None = None

    def meant(self, value: Any) -> Meant:
        """Codes of a value, or of a class of values.

        Parameters
        ----------
        value : as a question has it.

        Raises
        ------
        UnlistedValueError
            There is neither such a value nor such a class: a declared codebook does not list it, or one from the data
            shows none and has no values under another name, or shows another spelling of it.
        UnreadableError
            It may be a class of a hierarchy that is not known.
        """
        name = named(value)
        if name.name is None:
            codes = frozenset(code for code, known in enumerate(self.values) if known is None)
            return Meant(codes, codes, missing=not codes)
        if name.kind != CLASS and (readings := self._readings(name.name)):
            return Meant(frozenset.intersection(*readings), frozenset.union(*readings))
        if name.kind != VALUE and (codes_of := self._classes.get(_text(name.name))) is not None:
            return Meant(codes_of, codes_of)
        if name.kind == CLASS and (merged := self._merged(name.name)) is not None:
            return merged
        if self.listed is not None or (name.kind == CLASS and not self.classes_unknown):
            raise UnlistedValueError(self._unlisted(name))
        if self.classes_unknown and name.kind != VALUE:
            msg = (
                f"{_short(name.name)} is no value that the file shows in {self.name!r}, but it may be a class of its "
                "hierarchy, which the file does not have: name the values, or give the release's `nominal`"
            )
            raise UnreadableError(msg)
        if self._is_complete_without(name.name):
            raise UnlistedValueError(self._not_shown(name.name))
        return Meant(perhaps=self._rest)

    def name_of(self, code: int) -> Any:
        """Name of a code in a question: its value, or the class of the values that are not listed."""
        value = self.values[code]
        if self.merged and code in self._rest:
            return {CLASS: value}
        return value if value is None or isinstance(value, bool | int | float) else str(value)

    def is_unsure(self, code: int) -> bool:
        """Return whether a code may be a value, or that of all values which are not listed."""
        return self.merged is None and code in self._rest

    def all_of(self, values: Sequence[Any]) -> Meant:
        """Codes of several values together; errors as of `meant`."""
        each = [self.meant(value) for value in values]
        sure = frozenset[int]().union(*(one.sure for one in each))
        perhaps = frozenset[int]().union(*(one.perhaps for one in each))
        return Meant(sure, perhaps, missing=any(one.missing for one in each))

    @cached_property
    def _by_key(self) -> Mapping[tuple[str, Any], Sequence[int]]:
        """Codes by what they are found by."""
        codes: dict[tuple[str, Any], list[int]] = {}
        for code, known in enumerate(self.values):
            for key in () if known is None else _keys_of_known(known):
                codes.setdefault(key, []).append(code)
        return codes

    @cached_property
    def _keys_listed(self) -> frozenset[tuple[str, Any]]:
        """What the declared values are found by."""
        return frozenset(key for known in self.listed or () if known is not None for key in _keys_of_known(known))

    @cached_property
    def _rest(self) -> frozenset[int]:
        """The code that contains values which no one declared; several where it is not known which of them does."""
        if self.listed is not None or self.complete or self.classes_unknown:  # below a hierarchy nothing is merged
            return frozenset()
        is_word = may_be_merged if self.merged is None else self.merged.__contains__
        return frozenset(code for code, known in enumerate(self.values) if is_word(known))

    @cached_property
    def _classes(self) -> Mapping[str, frozenset[int]]:
        """Codes of each class: of the values whose rows name it."""
        classes: dict[str, set[int]] = {}
        for row in self.rows:
            codes = {code for key in _keys(row[0]) for code in self._by_key.get(key, ())}
            for label in row[1:]:
                classes.setdefault(label, set()).update(codes)
        return {label: frozenset(codes) for label, codes in classes.items()}

    def _readings(self, value: Any) -> list[frozenset[int]]:
        """Each way in which a value can be read: a number may be several texts."""
        keys = _keys(value)
        matching = {code for key in keys for code in self._by_key.get(key, ())}
        if self.merged:  # its word is none of the values
            matching -= self._rest
        exact = {
            code
            for code in matching
            if isinstance(value, str)
            and isinstance(known := self.values[code], str)
            and in_normal_form(known) == in_normal_form(value)
        }
        readings = [frozenset({code}) for code in exact or matching]
        if not readings and not self._keys_listed.isdisjoint(keys):
            readings = [frozenset()]  # declared, and in no box
        if any(self.is_unsure(code) for code in exact or matching):
            readings.append(frozenset())  # all that is under it, or the records that have this very value
        if readings and not exact and self.listed is None and self._rest and _is_spelt_in_several_ways(keys):
            readings.append(self._rest)  # another text for the same, which too few records have
        return readings

    def _merged(self, word: Any) -> Meant | None:
        """The values that a codebook from the data does not list, by the word for them; None where it is another."""
        codes = frozenset(code for code in self._rest if self.values[code] == word)
        if self.merged is None:
            return Meant(perhaps=codes) if codes else None
        return Meant(codes, codes) if word in self.merged else None

    def _is_complete_without(self, value: Any) -> bool:
        """Return whether nobody has a value that is not shown, as far as it is no other spelling of one that is.

        Of numbers and days next to the boxes that is certain: there is one way to write them. Of texts it is not: who
        names another spelling would take the certain 0 for a figure about the value that they mean.
        """
        texts = [known for code, known in enumerate(self.values) if isinstance(known, str) and code not in self._rest]
        if self.complete:
            return bool(texts)
        return not self._rest or any(are_alike(known, _text(value)) for known in texts)

    def _not_shown(self, value: Any) -> str:
        shown = [_text(known) for code, known in enumerate(self.values) if known is not None and code not in self._rest]
        close = _nearest(value, shown)
        message = f"no value {_short(value)} of column {self.name!r} is shown"
        if close:
            return f"{message} (nearest: {', '.join(map(_short, close))})"
        rest = ", …" if len(shown) > _SHOWN else ""
        return f"{message}; there are {len(shown)}: {', '.join(map(_short, shown[:_SHOWN]))}{rest}"

    def _unlisted(self, name: Name) -> str:
        known = [_text(each) for each in self.listed or () if each is not None]
        value, what = name.name, CLASS if name.kind == CLASS else VALUE
        if what == CLASS and not self._classes:
            merged = f" but {', '.join(map(repr, self.merged))}" if self.merged else ""
            return f"column {self.name!r} has no classes{merged}"
        close = _nearest(value, [*(known if what == VALUE else ()), *self._classes])
        message = f"{_short(value)} is no {what} of column {self.name!r}"
        if close:
            return f"{message}; did you mean {' or '.join(map(repr, close))}?"
        there = known if what == VALUE else [*self._classes]
        rest = ", …" if len(there) > _SHOWN else ""
        return f"{message}; it has {len(there)}: {', '.join(map(_short, there[:_SHOWN]))}{rest}"


def codebooks_of(
    boxes: ReleasedBoxes,
    parameters: Mapping[str, Any] | None = None,
    *,
    classed: Collection[str] = (),
    beside: Collection[str] = (),
) -> dict[str, Codebook]:
    """The codebooks of a release, by column.

    Parameters
    ----------
    boxes : of the release.
    parameters : how it was made, as far as that is public; None where that is not known.
    classed : columns of which the file has classes next to their sets.
    beside : columns that rows have as they are: their values are all there are.
    """
    declared, words = (parameters or {}).get("nominal") or {}, (parameters or {}).get("merged_as")
    codebooks = {}
    for name, values in zip(boxes.nominal, boxes.codebooks, strict=True):
        if name in beside:
            codebooks[name] = Codebook(name, values, complete=True)
            continue
        one = declared.get(name) or {}
        rows, listed = _rows(one), _listed(one, values)
        unknown = name in classed and not rows
        merged = None if words is None else [words[name]] if name in words else []
        codebooks[name] = Codebook(name, values, listed, rows, classes_unknown=unknown, merged=merged)
    for name, order in boxes.orders.items():
        codebooks[name] = Codebook(name, order.values, order.values)
    return codebooks


def declared_values(boxes: ReleasedBoxes, parameters: Mapping[str, Any]) -> dict[str, list[Any]]:
    """All values of the columns whose codebook a specification declares, and both of booleans; in boxes or not.

    Parameters
    ----------
    boxes : of the release.
    parameters : how it was made.
    """
    books: dict[str, list[Any]] = {}
    for name, book in zip(boxes.nominal, boxes.codebooks, strict=True):
        one = (parameters.get("nominal") or {}).get(name) or {}
        books[name] = [*(_listed(one, book) or ()), *([None] if one.get("missing_is_value") else [])]
    return books


def _rows(declared: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    """The rows of a column's hierarchy; none where it has none."""
    return (declared.get("hierarchy") or {}).get("rows") or ()


def _listed(declared: Mapping[str, Any], shown: Sequence[Any]) -> Sequence[Any] | None:
    """All values that are declared of a column, as the file has those that it shows; None where none are."""
    values = declared.get("values") or [as_shown(row[0], shown) for row in _rows(declared)]
    return values or _booleans(shown)


def as_shown(value: Any, shown: Sequence[Any]) -> Any:
    """A value that a specification writes, as the file would have it next to those that it shows.

    Parameters
    ----------
    value : a text, or as JSON has it.
    shown : the values of the column.
    """
    first = next((known for known in shown if known is not None), None)
    if not isinstance(value, str) or isinstance(first, bool | str):
        return value
    if not isinstance(first, date):
        number = None if first is None else _number(value)
        return value if number is None else number
    try:
        return date.fromisoformat(value)
    except ValueError:
        return value


def _booleans(values: Sequence[Any]) -> tuple[bool, ...] | None:
    """Both of them, where a column has booleans: there are no others."""
    known = [value for value in values if value is not None]
    return (False, True) if known and all(isinstance(value, bool) for value in known) else None


def same(known: Any, value: Any) -> bool:
    """Whether a question's value is one that a release has: numbers, days and booleans by their texts too.

    Parameters
    ----------
    known : as the release has it.
    value : as a question has it.
    """
    value = as_value(value)
    if known is None or value is None:
        return known is value
    return not _keys_of_known(known).isdisjoint(_keys(value))


def _keys_of_known(known: Any) -> set[tuple[str, Any]]:
    """What a value of a release is found by."""
    if isinstance(known, bool):
        return {("boolean", known)}
    if isinstance(known, (int, float)):
        return {("number", known), ("text", str(known))}
    text = in_normal_form(str(known))
    return {("text", text), *(("spelt", truth) for truth, spelt in _TRUTH.items() if text.lower() == spelt[0])}


def _keys(value: Any) -> set[tuple[str, Any]]:
    """What a value of a question looks for."""
    if isinstance(value, bool):
        return {("boolean", value), ("spelt", value)}
    text = in_normal_form(str(value))
    keys: set[tuple[str, Any]] = {("text", text)}
    keys |= {("boolean", truth) for truth, spelt in _TRUTH.items() if text.lower() in spelt}
    number = _number(text)
    if number is not None:
        keys.add(("number", number))
        if isinstance(value, float) and value.is_integer():
            keys.add(("text", str(int(number))))
    return keys


def _nearest(value: Any, known: Sequence[str]) -> list[str]:
    """Return the texts that a value may be meant for: its other spellings, else those that are written much like it."""
    text = _text(value)[:_LONGEST]
    alike = [each for each in known if are_alike(each, text)]
    return alike[:_CLOSE] or get_close_matches(text, known, n=_CLOSE)


def _is_spelt_in_several_ways(keys: set[tuple[str, Any]]) -> bool:
    """Whether several texts are what a question looks for: of a truth in any case, of a whole number with its point."""
    kinds = [kind for kind, _ in keys]
    return "spelt" in kinds or kinds.count("text") > 1


def _number(text: str) -> float | int | None:
    """The number that a text is; None where it is none."""
    try:
        number = int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        return None
    return number if isinstance(number, int) or isfinite(number) else None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else _text(value)
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")
