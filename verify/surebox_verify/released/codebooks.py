"""What a question means by a value: which of the values that a release shows its records may have.

A release shows a column without numbers as sets of codes. A question names values as a person knows them, and a certain
answer is certain about these: a value may be under `other` with all that were too rare to be shown, a class of a
hierarchy means all of its values, and a text and a number may be the same value. So each value that is named has two
sets of codes: a record with a code in `sure` has the value, one with a code outside `perhaps` has not. The lower end of
a range is of the one, the upper end of the other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from math import isfinite
from typing import Any, Final

from surebox_verify.envelope import UnreadableError
from surebox_verify.released.boxes import ReleasedBoxes

#: What a codebook that no one declared has in the place of values that too few records have.
OTHER: Final = "other"
_TRUTH: Final = {True: ("true", "1", "1.0"), False: ("false", "0", "0.0")}
_SHOWN: Final = 12
_LONGEST: Final = 60


class UnlistedValueError(UnreadableError):
    """The codebook of a column was declared, and does not have the value."""


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
    verbatim : whether `other` means the values under it, as in statistics that a release publishes, and never a value
        of that name.
    """

    name: str
    values: Sequence[Any]
    listed: Sequence[Any] | None = None
    rows: Sequence[Sequence[str]] = ()
    classes_unknown: bool = False
    complete: bool = False
    verbatim: bool = False

    def meant(self, value: Any) -> Meant:
        """Codes of a value, or of a class of values.

        Parameters
        ----------
        value : as a question has it.

        Raises
        ------
        UnlistedValueError
            A declared codebook has neither such a value nor such a class.
        UnreadableError
            It may be a class of a hierarchy that is not known.
        """
        if value is None:
            codes = frozenset(code for code, known in enumerate(self.values) if known is None)
            return Meant(codes, codes, missing=not codes)
        readings = self._readings(value)
        if readings:
            return Meant(frozenset.intersection(*readings), frozenset.union(*readings))
        if self.listed is not None:
            raise UnlistedValueError(self._unlisted(value))
        if self.classes_unknown:
            msg = (
                f"{_short(value)} is no value that the file shows in {self.name!r}, but it may be a class of its "
                "hierarchy, which the file does not have: name the values, or give the release's `nominal`"
            )
            raise UnreadableError(msg)
        return Meant(perhaps=self._rest)

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
        """The code that may contain values that no one declared."""
        return frozenset(code for code, known in enumerate(self.values) if known == OTHER and not self.complete)

    @cached_property
    def _classes(self) -> Mapping[str, Sequence[frozenset[int]]]:
        """Codes of each class: a set for each level at which it is."""
        by_level: dict[tuple[str, int], set[int]] = {}
        lacking = [code for code, known in enumerate(self.values) if known is None]
        for row in self.rows:
            codes = {code for key in _keys(row[0]) for code in self._by_key.get(key, ())}
            for level, label in enumerate(row[1:], start=1):
                by_level.setdefault((label, level), set()).update(codes)
        classes: dict[str, list[frozenset[int]]] = {}
        for (label, level), codes_of in by_level.items():
            classes.setdefault(label, []).append(frozenset(codes_of))
            if lacking and level == len(self.rows[0]) - 1:  # everything: with the missing value or without
                classes[label].append(frozenset({*codes_of, *lacking}))
        return classes

    def _readings(self, value: Any) -> list[frozenset[int]]:
        """Each way in which a value can be read: as itself, and as a class of the same name."""
        keys = _keys(value)
        matching = {code for key in keys for code in self._by_key.get(key, ())}
        exact = {code for code in matching if self.values[code] == value and isinstance(value, str)}
        readings = [frozenset({code}) for code in exact or matching]
        if not readings and not self._keys_listed.isdisjoint(keys):
            readings = [frozenset()]  # declared, and in no box
        if self.listed is None and not (self.verbatim or self.complete) and value == OTHER and readings:
            readings.append(frozenset())  # all that is under it, or the records that have this very value
        if readings and not exact and self.listed is None and self._rest and _is_spelt_in_several_ways(keys):
            readings.append(self._rest)  # another text for the same, which too few records have
        return [*readings, *self._classes.get(_text(value), ())]

    def _unlisted(self, value: Any) -> str:
        known = [_text(each) for each in self.listed or () if each is not None]
        close = get_close_matches(_text(value)[:_LONGEST], [*known, *self._classes], n=3)
        message = f"{_short(value)} is no value of column {self.name!r}"
        if close:
            return f"{message}; did you mean {' or '.join(map(repr, close))}?"
        rest = ", …" if len(known) > _SHOWN else ""
        return f"{message}; it has {len(known)}: {', '.join(map(_short, known[:_SHOWN]))}{rest}"


def codebooks_of(
    boxes: ReleasedBoxes,
    parameters: Mapping[str, Any] | None = None,
    *,
    classed: Collection[str] = (),
    beside: Collection[str] = (),
    verbatim: bool = False,
) -> dict[str, Codebook]:
    """The codebooks of a release, by column.

    Parameters
    ----------
    boxes : of the release.
    parameters : how it was made, as far as that is public; None where that is not known.
    classed : columns of which the file has classes next to their sets.
    beside : columns that rows have as they are: their values are all there are.
    verbatim : whether `other` means the values under it.
    """
    declared = (parameters or {}).get("nominal") or {}
    codebooks = {}
    for name, values in zip(boxes.nominal, boxes.codebooks, strict=True):
        if name in beside:
            codebooks[name] = Codebook(name, values, complete=True)
            continue
        one = declared.get(name) or {}
        rows = (one.get("hierarchy") or {}).get("rows") or ()
        listed = one.get("values") or [row[0] for row in rows] or _booleans(values)
        unknown = name in classed and not rows
        codebooks[name] = Codebook(name, values, listed, rows, classes_unknown=unknown, verbatim=verbatim)
    for name, order in boxes.orders.items():
        codebooks[name] = Codebook(name, order, order)
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
        rows = (one.get("hierarchy") or {}).get("rows") or ()
        books[name] = [*(one.get("values") or [row[0] for row in rows] or _booleans(book) or ())]
        books[name] += [None] if one.get("missing_is_value") else []
    return books


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
    if known is None or value is None:
        return known is value
    return not _keys_of_known(known).isdisjoint(_keys(value))


def _keys_of_known(known: Any) -> set[tuple[str, Any]]:
    """What a value of a release is found by."""
    if isinstance(known, bool):
        return {("boolean", known)}
    if isinstance(known, (int, float)):
        return {("number", known), ("text", str(known))}
    text = str(known)
    return {("text", text), *(("spelt", truth) for truth, spelt in _TRUTH.items() if text.lower() == spelt[0])}


def _keys(value: Any) -> set[tuple[str, Any]]:
    """What a value of a question looks for."""
    if isinstance(value, bool):
        return {("boolean", value), ("spelt", value)}
    text = str(value)
    keys: set[tuple[str, Any]] = {("text", text)}
    keys |= {("boolean", truth) for truth, spelt in _TRUTH.items() if text.lower() in spelt}
    number = _number(text)
    if number is not None:
        keys.add(("number", number))
        if isinstance(value, float) and value.is_integer():
            keys.add(("text", str(int(number))))
    return keys


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
