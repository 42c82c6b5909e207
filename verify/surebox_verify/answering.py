"""Answers about a release's boxes and the columns next to them: salary by sex, which such a table is published for.

A question about columns that rows have as they are is one about the boxes divided by their values (released.beside). A
question takes a number next to the boxes as a number or, where it is about values, by its values or an interval; a
number of the boxes by an interval. What cannot be answered has no range, and states why.

Where design weights are published of whole boxes, a box is a mass that may be anywhere within its bounds, and a column
next to it has one of its values there. A condition decides which of them: with `p` of the box's weight in it, unknown
between 0 and 1, its mean is between the bounds of the rows that meet it. Such ranges are reached where one such column
takes part; of several, and of spreads, they are certain but perhaps not reached, for the rows state which values go
together.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from surebox_core.errors import UndefinedStatisticError
from surebox_core.intervals import Interval
from surebox_core.moments import LARGEST
from surebox_verify.boxes import Meaning
from surebox_verify.envelope import UnreadableError
from surebox_verify.questions import MisplacedValueError, Question, computed, unanswered
from surebox_verify.released.beside import (
    MOST_VALUES,
    Beside,
    Form,
    beside,
    divided,
    has_numbers,
    meaning_of_parts,
    number_of_values,
    whole_boxes,
)
from surebox_verify.released.boxes import ReleasedBoxes
from surebox_verify.released.codebooks import Codebook, codebooks_of
from surebox_verify.released.naming import as_value, named

#: The codebooks of boxes with some columns next to them.
Books = Callable[[ReleasedBoxes, Sequence[str]], Mapping[str, Codebook]]
Answers = Generator[float, None, list[list[dict[str, Any]]]]

#: Places of the columns that a statistic takes by their values.
_BY_VALUES: Final[Mapping[str, Sequence[int]]] = {"share": (0,), "crosstab": (0, 1), "domain_mean": (1,)}
_ATTAINED_BY_MASSES: Final = ("mean", "share", "quantile", "crosstab", "domain_mean")


@dataclass(frozen=True)
class _Formed:
    """A question with the forms of the columns that it is about, in the order of the file, and of the boxes' own.

    `within` has the values of an order that are in the question's interval; None where it is about none.
    """

    question: Question
    forms: tuple[Form, ...] = ()
    own: tuple[Form, ...] = ()
    within: tuple[Any, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(form.name for form in (*self.forms, *self.own))

    def as_computed(self) -> Question:
        """The question about columns in these forms."""
        if self.within is not None:
            return replace(self.question, values=self.within, interval=None)
        if any(form.is_condition for form in (*self.forms, *self.own)):
            return replace(self.question, values=(True,), interval=None)
        return self.question

    def restored(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The objects of the question with its own values or interval."""
        if self.as_computed() is self.question:
            return entries
        values, interval = self.question.values, self.question.interval
        about = {
            "values": None if values is None else list(values),
            "interval": None if interval is None else list(interval),
        }
        return [entry | about for entry in entries]


def _books(boxes: ReleasedBoxes, names: Sequence[str]) -> Mapping[str, Codebook]:
    return codebooks_of(boxes, beside=names)


def answering(
    boxes: ReleasedBoxes,
    kept: pa.Table,
    questions: Sequence[Question],
    meaning: Meaning | None = None,
    books: Books = _books,
    *,
    by_value: bool = True,
    refuse: bool = True,
) -> Answers:
    """Compute statistics of boxes and of the columns next to them, yielding which share of them is done.

    Questions about the same columns next to the boxes, in the same form, are computed together; those about none of the
    boxes as they are. How far their ranges are searched for follows from these alone.

    Parameters
    ----------
    boxes, questions, meaning, by_value : as of `questions.computing`.
    kept : the columns that rows have as they are, a row for each of the release's.
    books : the codebooks of boxes with some columns next to them.
    refuse : whether a question about such columns whose wording does not fit them is refused; else it is answered by a
        `reason`, as is all that the values leave without an answer.

    Returns
    -------
    list
        The objects of each question.

    Raises
    ------
    surebox_core.errors.UndefinedStatisticError
        As of `questions.computing`; its `reason` names the columns.
    MisplacedValueError
        A value that a declared codebook does not have, or a column that is not there or has too many values.
    """
    work = _Work(boxes, kept, meaning or Meaning(), books, by_value)
    answers: dict[int, list[dict[str, Any]]] = {}
    groups: dict[tuple[tuple[Form, ...], tuple[Form, ...]], list[tuple[int, _Formed]]] = {}
    for place, each in enumerate(questions):
        try:
            one = work.formed(each)
        except UnreadableError as error:
            if refuse:
                raise MisplacedValueError(place, str(error)) from None
            answers[place] = [unanswered(each, str(error))]
        else:
            groups.setdefault((one.forms, one.own), []).append((place, one))
    for number, ((forms, own), some) in enumerate(groups.items()):
        formed = [one for _, one in some]
        try:
            share = number / len(groups)
            entries_of = yield from _within(work.group(formed), share, len(groups))
        except UnanswerableError as error:
            entries_of = [[unanswered(one.question, str(error))] for one in formed]
        except (UndefinedStatisticError, UnreadableError) as error:
            if refuse or not (forms or own):
                raise _placed_error(error, [place for place, _ in some]) from None
            entries_of = yield from work.each_alone(formed)
        for (place, one), entries in zip(some, entries_of, strict=True):
            answers[place] = one.restored(entries)
    return [answers[place] for place in range(len(questions))]


def _within(work: Answers, start: float, parts: int) -> Answers:
    """Some work, with the shares done of the whole that it is one of several parts of."""
    while True:
        try:
            yield start + next(work) / parts
        except StopIteration as end:
            answers: list[list[dict[str, Any]]] = end.value
            return answers


def _placed_error(error: Exception, places: Sequence[int]) -> Exception:
    """An error with the place of its question among all; the first of `places` where the error names none."""
    if isinstance(error, UndefinedStatisticError):
        return UndefinedStatisticError(places[error.index], error.kind, (), error.reason)
    if isinstance(error, MisplacedValueError):
        return MisplacedValueError(places[error.index], str(error), error.at)
    return MisplacedValueError(places[0], str(error))


@dataclass(frozen=True)
class _Work:
    """What questions are answered from."""

    boxes: ReleasedBoxes
    kept: pa.Table
    meaning: Meaning
    books: Books
    by_value: bool

    def formed(self, each: Question) -> _Formed:
        """A question with the forms of its columns."""
        about, own = _BY_VALUES.get(each.kind, ()), {*self.boxes.numeric, *self.boxes.nominal}
        forms, conditions, within = [], [], None
        for place, name in enumerate(each.of):
            is_last = place == len(each.of) - 1
            if name in own:
                if is_last and each.interval is not None:
                    within = self._within_order(name, each.interval)
                    conditions += [self._on_own(name, each.interval)] if within is None else []
            elif name in self.kept.column_names:
                interval = each.interval if is_last else None
                forms.append(self._form(each, name, interval, by_value=place in about))
        order = {name: index for index, name in enumerate(self.kept.column_names)}
        return _Formed(each, tuple(sorted(forms, key=lambda form: order[form.name])), tuple(conditions), within)

    def _within_order(self, name: str, interval: tuple[Any, Any]) -> tuple[Any, ...] | None:
        """The values of an order of numbers that are in an interval; None of any other column."""
        order = self.boxes.orders.get(name)
        return None if order is None or order.by_rank else order.within(interval)

    def _on_own(self, name: str, interval: tuple[Any, Any]) -> Form:
        if name not in self.boxes.numeric or name in self.boxes.orders:
            msg = f"column {name!r} has no numbers and no days: name `values`, not an `interval`"
            raise UnreadableError(msg)
        return Form(name, interval=interval, step=self.meaning.step(self.boxes.numeric.index(name)))

    def _form(self, each: Question, name: str, interval: tuple[Any, Any] | None, *, by_value: bool) -> Form:
        """How a column next to the boxes takes part."""
        if interval is not None:
            return Form(name, interval=interval)
        of_masses = self.boxes.survey_ends is not None and each.kind == "domain_mean"
        if by_value and of_masses and each.values is not None:
            return Form(name, values=tuple(map(named, each.values)))
        is_numeric = has_numbers(self.kept, name)
        if is_numeric and not by_value:
            return Form(name)
        count = number_of_values(self.kept, name)
        if count <= MOST_VALUES:
            return Form(name, by_value=is_numeric)
        is_nameable = by_value and each.kind != "crosstab"
        if is_nameable and each.values is not None and None not in map(as_value, each.values):
            return Form(name, values=tuple(map(named, each.values)))
        remedy = "leave it out"
        if is_nameable:
            remedy = "name `values` or an `interval`" if is_numeric else "name `values`"
        limit = f"more than the {MOST_VALUES:,} that a question distinguishes"
        msg = f"column {name!r} has {count:,} different values, {limit}: {remedy}"
        raise UnreadableError(msg)

    def each_alone(self, some: Sequence[_Formed]) -> Answers:
        """Questions of which not all have an answer."""
        answers: list[list[dict[str, Any]]] = []
        for one in some:
            answers += [(yield from self._alone(one))]
        return answers

    def _alone(self, one: _Formed) -> Generator[float, None, list[dict[str, Any]]]:
        try:
            (entries,) = yield from self.group([one])
        except (UndefinedStatisticError, UnreadableError) as error:
            reason = error.reason if isinstance(error, UndefinedStatisticError) else str(error)
            return [unanswered(one.question, reason)]
        return entries

    def group(self, some: Sequence[_Formed]) -> Answers:
        """Questions about the same columns in the same forms."""
        first = some[0]
        if not first.names:
            return (yield from self._computed(self.boxes, some, self.meaning))
        columns = [_computable(beside(self.kept, form)) for form in first.forms]
        if self.boxes.survey_ends is None:
            return (yield from self._computed(divided(self.boxes, columns, first.own), some))
        if not columns:  # of the boxes alone
            return (yield from self._computed(whole_boxes(self.boxes, columns, first.own), some))
        answers: list[list[dict[str, Any]]] = []
        for number, one in enumerate(some):
            try:
                answers += [(yield from self._of_masses(one, columns))]
            except (UndefinedStatisticError, UnreadableError) as error:
                raise _placed_error(error, range(number, len(some))) from None
        return answers

    def _computed(self, boxes: ReleasedBoxes, some: Sequence[_Formed], meaning: Meaning | None = None) -> Answers:
        meaning = meaning_of_parts(self.meaning) if meaning is None else meaning
        questions = [one.as_computed() for one in some]
        books = self.books(boxes, some[0].names)
        try:
            answers = yield from computed(boxes, questions, meaning, books, by_value=self.by_value)
            return [self._claimed(one, entries) for one, entries in zip(some, answers, strict=True)]
        except UndefinedStatisticError as error:
            names = (*boxes.numeric, *boxes.nominal)
            reason = error.in_words(lambda column: repr(names[column]))
            raise UndefinedStatisticError(error.index, error.kind, (), reason) from None

    def _claimed(self, one: _Formed, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The statement about the narrowest range, unknown where whole boxes reveal more than parts."""
        more = self.meaning.attained or self.boxes.means is not None
        if not one.names or not more or set(one.question.of) <= {form.name for form in one.forms}:
            return entries
        return [entry if entry["value_known"] else _unreached(entry) for entry in entries]

    def _of_masses(self, one: _Formed, columns: Sequence[Beside]) -> Generator[float, None, list[dict[str, Any]]]:
        """One question of boxes whose weights are known of all their records together."""
        if (values := self._each_value(one)) is not None:
            entries = []
            for value in values:
                each = self.formed(replace(one.question, values=(value,)))
                of_value = [beside(self.kept, form) for form in each.forms]
                entries += each.restored((yield from self._of_masses(each, of_value)))
            return entries
        (wide,) = yield from self._computed(whole_boxes(self.boxes, columns, one.own), [one])
        (parts,) = yield from self._computed(divided(self.boxes, columns, one.own), [one])
        attained = one.question.kind in _ATTAINED_BY_MASSES and _is_single(one, columns)
        return [_with_estimate(*each, attained=attained) for each in zip(wide, parts, strict=True)]

    def _each_value(self, one: _Formed) -> Iterator[Any] | None:
        """The values of a column next to the boxes, where a question is about the mean within each of them."""
        question, names = one.question, [form.name for form in one.forms]
        if question.kind != "domain_mean" or question.values is not None or question.interval is not None:
            return None
        if question.of[-1] not in names or not self.by_value:
            return None
        column = beside(self.kept, Form(question.of[-1], by_value=True))
        return iter([each if isinstance(each, bool | int | float) else str(each) for each in column.values])


class UnanswerableError(UnreadableError):
    """Values of a column next to the boxes leave every question about its numbers without an answer."""


def _computable(column: Beside) -> Beside:
    """A column, without an answer where its numbers are infinite or too large for sums of their products."""
    if column.ends is not None and not all((np.abs(each) <= LARGEST).all() for each in column.ends):
        msg = (
            f"column {column.name!r} has numbers above {LARGEST:g} in size, or infinite ones: "
            "ask for `share` or within an `interval` of it"
        )
        raise UnanswerableError(msg)
    return column


def _is_single(one: _Formed, columns: Sequence[Beside]) -> bool:
    """Whether one column takes part, and at most a condition next to it: what goes with what does not matter then."""
    conditions = sum(column.is_condition for column in columns) + len(one.own)
    return len(columns) - sum(column.is_condition for column in columns) <= 1 and conditions <= 1


def _with_estimate(wide: dict[str, Any], parts: Mapping[str, Any], *, attained: bool) -> dict[str, Any]:
    """The range of whole boxes, with the estimate of their parts, each record with the mean weight of its box."""
    several = isinstance(wide["guaranteed"], list) and not _is_pair(wide["guaranteed"])

    def clipped(value: float | None, ends: Sequence[float] | None) -> float | None:
        return value if value is None or ends is None else Interval(*ends).clip(value)

    estimate = parts["estimate"]
    if several and isinstance(estimate, list):
        estimate = [clipped(*each) for each in zip(estimate, wide["guaranteed"], strict=True)]
    elif not several:
        estimate = clipped(estimate, wide["guaranteed"])
    entry = wide | {
        "estimate": estimate,
        "first_order": [None] * len(estimate) if several and estimate else None,
        "reason": _why_missing(wide, estimate, parts),
    }
    if attained or wide["value_known"]:
        return entry
    return _unreached(entry)


def _why_missing(wide: Mapping[str, Any], estimate: Any, parts: Mapping[str, Any]) -> str | None:
    """Why there is no range, by whole boxes; or no estimate, by their parts."""
    reason: str | None = None
    if wide["guaranteed"] is None or None in wide["guaranteed"]:
        reason = wide["reason"]
    elif estimate is None or (isinstance(estimate, list) and None in estimate):
        reason = parts["reason"]
    return reason


def _unreached(entry: dict[str, Any]) -> dict[str, Any]:
    """A range of which it is not known what data reach."""
    ranges = entry["guaranteed"]
    several = isinstance(ranges, list) and not _is_pair(ranges)
    return entry | {"attained": [None] * len(ranges) if several else None, "sharp": False, "gap": None}


def _is_pair(value: Sequence[Any]) -> bool:
    return len(value) == 2 and all(isinstance(end, float) for end in value)
